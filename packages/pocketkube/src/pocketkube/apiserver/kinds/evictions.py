"""Evictions: whether a pod may be taken away now, and what a budget must remember of it.

`serving.podpaths` calls this with the pod and the budgets of its namespace. All of it is pure; budgets are copied
before they change.
"""

from collections.abc import Iterable, Mapping
import copy
from typing import Any, Final

from kubeloop.objects.machinery import StatusCause, StatusDetails
from pocketkube.apiserver import refusal
from pocketkube.apiserver.kinds import podstatus, templates
from pocketkube.apiserver.refusal import Refused

Object = dict[str, Any]
Values = Mapping[str, Any]

_TOO_MANY: Final = 2000
_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."


def needs_no_budget(pod: Values) -> bool:
    """A pod that does not run, or goes anyway, is nobody's loss."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


def budget_of(pod: Values, budgets: Iterable[Object]) -> Object | None:
    """The budget that watches over a pod.

    Raises:
        Refused: there is more than one; the real server answers this with 500, as here.
    """
    labels = pod["metadata"].get("labels") or {}
    found = [budget for budget in budgets if _selects(budget, labels)]
    if len(found) > 1:
        said = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise refusal.failure(500, "", said)
    return found[0] if found else None


def _selects(budget: Values, labels: Mapping[str, str]) -> bool:
    chosen = templates.selector((budget.get("spec") or {}).get("selector"))
    return chosen is not None and chosen.matches(labels)


def is_free(pod: Values, budget: Values) -> bool:
    """Whether the pod may go although nothing is left in the budget: it is not ready, so nothing is lost."""
    if _is_ready(pod):
        return False
    status = budget.get("status") or {}
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = status.get("desiredHealthy", 0)
    return bool(0 < desired <= status.get("currentHealthy", 0))


def _is_ready(pod: Values) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in (pod.get("status") or {}).get("conditions") or ()
    )


def charge(budget: Values, pod: str, now: str) -> Object:
    """A budget from which one disruption was taken.

    Raises:
        Refused: 429 nothing is left, or nobody has counted yet.
    """
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _wait(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _TOO_MANY:
        said = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, said)
    if allowed == 0:
        raise _wait(_why(name, status), 0)
    charged = copy.deepcopy(dict(budget))
    left = charged["status"]
    left["disruptionsAllowed"] = allowed - 1
    left["disruptedPods"] = {**(left.get("disruptedPods") or {}), pod: now}
    if allowed == 1:
        _exhausted(charged, now)
    return charged


def _why(name: str, status: Values) -> str:
    condition = _condition(status)
    stated = (condition.get("message") or "") if condition.get("status") == "False" else ""
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if stated and condition.get("reason") == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {stated}"
    if healthy <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    if stated:
        reason = condition.get("reason", "")
        return f"The disruption budget {name} does not allow evicting pods currently ({reason}): {stated}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _condition(status: Values) -> Values:
    found = (
        one for one in status.get("conditions") or () if one.get("type") == "DisruptionAllowed"
    )
    return next(found, {})


def _exhausted(budget: Object, now: str) -> None:
    status = budget["status"]
    old = _condition(status)
    since = old.get("lastTransitionTime", now) if old.get("status") == "False" else now
    made = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": since,
    }
    others = [one for one in status.get("conditions") or () if one is not old]
    status["conditions"] = [*others, made]


def _wait(why: str, seconds: int) -> Refused:
    causes = (StatusCause(reason="DisruptionBudget", message=why),)
    details = StatusDetails(causes=causes, retry_after_seconds=seconds)
    return refusal.failure(429, "TooManyRequests", _VIOLATES, details)


def _forbidden(name: str, why: str) -> Refused:
    return refusal.forbidden("poddisruptionbudget", "policy", name, why)


def mark(pod: Object, now: str) -> None:
    """Writes into a pod why it goes."""
    wanted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    podstatus.condition(pod, wanted, now)
