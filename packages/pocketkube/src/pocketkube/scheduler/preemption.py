"""Whom a pod may push aside when no node has room for it.

Only pods of lower priority are pushed, on one node, and as few and as unimportant as will do: all of them are taken away in
thought, then the more important ones are let back in one by one as long as the pod still fits. Disruption budgets are not
looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
import random

from kubeloop.objects import core
from pocketkube.scheduler.dry_run import Trial
from pocketkube.scheduler.filters import Refusal
from pocketkube.scheduler.pod_info import Tenant

NEVER = "Never"
DISRUPTION = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"
_NOBODY = Refusal(("No preemption victims found for incoming pod",), final=True)
_UNHELPFUL = "Preemption is not helpful for scheduling"
_ENOUGH = 100
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Eviction:
    """The node to be cleared and who has to go, the most important first."""

    node: str
    victims: tuple[Tenant, ...]


@dataclass(frozen=True, slots=True)
class Hopeless:
    """Why nobody is pushed; a nomination is kept where it is only a matter of waiting."""

    note: str
    keeps_nomination: bool


def preempt(
    trial: Trial, refusals: Mapping[str, Refusal], rng: random.Random
) -> Eviction | Hopeless:
    """Chooses a node and its victims, given what every node that was asked has said."""
    waiting = _must_wait(trial, refusals)
    if waiting:
        return Hopeless(f"not eligible due to {waiting}.", keeps_nomination=True)
    names = [name for name, refusal in refusals.items() if not refusal.final]
    start = rng.randrange(len(names)) if names else 0
    enough = max(_ENOUGH, len(names) // 10)
    found: list[Eviction] = []
    said: dict[str, Refusal] = {}
    for name in (*names[start:], *names[:start]):
        answer = _victims(trial, name)
        if isinstance(answer, Eviction):
            found.append(answer)
            if len(found) == enough:
                break
        else:
            said[name] = answer
    if found:
        return min(found, key=_cost)
    total = len(trial.cluster.nodes)
    return Hopeless(unavailable(said, total, _UNHELPFUL), keeps_nomination=False)


def unavailable(said: Mapping[str, Refusal], total: int, otherwise: str = "") -> str:
    """Counts the nodes by what they said, as kube-scheduler does; `otherwise` stands for those that were not asked."""
    reasons: dict[str, int] = {}
    for refusal in said.values():
        for reason in refusal.reasons:
            reasons[reason] = reasons.get(reason, 0) + 1
    if otherwise and len(said) < total:
        reasons[otherwise] = reasons.get(otherwise, 0) + total - len(said)
    listed = ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))
    return f"0/{total} nodes are available:" + (f" {listed}." if listed else "")


def _must_wait(trial: Trial, refusals: Mapping[str, Refusal]) -> str:
    tenant = trial.tenant
    if tenant.pod.spec.preemption_policy == NEVER:
        return "preemptionPolicy=Never"
    nominated = tenant.pod.status.nominated_node_name
    if not nominated or (nominated in refusals and refusals[nominated].final):
        return ""
    if any(
        other.priority < tenant.priority and _is_leaving(other)
        for other in trial.cluster.site(nominated).tenants.values()
    ):
        return "a terminating pod on the nominated node"
    return ""


def _is_leaving(tenant: Tenant) -> bool:
    """Whether a pod ends because it was pushed aside."""
    target = core.reported(tenant.pod.status.conditions, DISRUPTION)
    return (
        tenant.pod.metadata.deletion_timestamp is not None
        and target is not None
        and target.reason == BY_SCHEDULER
    )


def _victims(trial: Trial, name: str) -> Eviction | Refusal:
    lesser = [
        other
        for other in trial.cluster.site(name).tenants.values()
        if other.priority < trial.tenant.priority
    ]
    if not lesser:
        return _NOBODY
    scene = trial.scene(name).without_pods(lesser)
    objection = trial.judge(scene)
    if objection is not None:
        return objection
    victims: list[Tenant] = []
    for other in sorted(lesser, key=lambda t: (-t.priority, _started(t))):
        crowded = scene.with_pods((other,))
        if trial.judge(crowded) is None:
            scene = crowded
        else:
            victims.append(other)
    return Eviction(name, tuple(victims))


def _cost(eviction: Eviction) -> tuple[int, int, int, float]:
    """Lowest first: the most important victim, the sum of importance, the number, and who has run for longest."""
    victims: Sequence[Tenant] = eviction.victims
    highest = victims[0].priority
    total = sum(victim.priority + 2**31 for victim in victims)
    earliest = min(_started(victim) for victim in victims if victim.priority == highest)
    return highest, total, len(victims), -earliest.timestamp()


def _started(tenant: Tenant) -> datetime:
    return tenant.pod.status.start_time or _LATEST
