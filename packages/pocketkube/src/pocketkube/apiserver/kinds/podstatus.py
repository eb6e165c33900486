"""The status of a pod: what writers of it may say, and what is kept when they say nothing.

`pods` calls this for the `status` path; `podparts` and `evictions` set conditions with it. The time of a condition is
given by the caller.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import checks, defaults

Object = dict[str, Any]
Values = Mapping[str, Any]

GATED: Final[Object] = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_SYSTEM: Final = "PodScheduled", "Ready", "Initialized"
_LISTS: Final = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", ""),
)


def default(pod: Object) -> None:
    """Rounds amounts, as in the spec, and makes the first address and the list of all agree; the single one counts."""
    status = pod.get("status")
    if not status:
        return
    first, addresses = status.get("podIP"), status.get("podIPs")
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
    defaults.rounded(status, "allocatedResources")
    for holder in (status, *(one for name, _ in _LISTS for one in status.get(name) or ())):
        defaults.rounded(holder, "allocatedResources")
        defaults.rounded(holder.get("resources") or {}, "limits", "requests")


def condition(pod: Object, wanted: Values, now: str) -> None:
    """Sets a condition; its time moves only when its status does."""
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    changed = {**wanted, "lastProbeTime": None, "lastTransitionTime": now}
    for at, one in enumerate(conditions):
        if one.get("type") == wanted["type"]:
            if one.get("status") == wanted["status"]:
                changed["lastTransitionTime"] = one.get("lastTransitionTime")
            conditions[at] = changed
            return
    conditions.append(changed)


def keep(pod: Object, old: Object) -> None:
    """Puts back what the status path cannot change or forgot to say."""
    meta = pod["metadata"]
    for member in ("deletionTimestamp", "ownerReferences"):
        if member in old["metadata"]:
            meta[member] = old["metadata"][member]
        else:
            meta.pop(member, None)
    status, before = pod.setdefault("status", {}), old.get("status") or {}
    for member in ("qosClass", "observedGeneration"):
        if not status.get(member) and before.get(member):
            status[member] = before[member]
    seen: dict[str, list[int]] = {}
    for one in before.get("conditions") or ():
        seen.setdefault(one.get("type", ""), []).append(one.get("observedGeneration", 0))
    for one in status.get("conditions") or ():
        generations = seen.get(one.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if not one.get("observedGeneration") and generation:
            one["observedGeneration"] = generation


def check(pod: Object, old: Object) -> Iterator[Cause]:
    """What is wrong with a new status."""
    status, before = pod.get("status") or {}, old.get("status") or {}
    yield from _check_conditions("status.conditions", status.get("conditions") or ())
    yield from _check_nomination(status, before, bound=bool(old["spec"].get("nodeName")))
    if status.get("observedGeneration", 0) < 0:
        said = "must be a non-negative integer"
        yield fielderrors.invalid("status.observedGeneration", status["observedGeneration"], said)
    if status.get("qosClass", "") != before.get("qosClass", ""):
        yield fielderrors.invalid(
            "status.qosClass", status.get("qosClass", ""), "field is immutable"
        )
    for name, kind in _LISTS:
        yield from _check_transitions(
            f"status.{name}", status.get(name) or (), before.get(name) or (), old["spec"], kind
        )
    yield from _check_addresses(status)


def _check_conditions(field: str, conditions: Sequence[Values]) -> Iterator[Cause]:
    for at, one in enumerate(conditions):
        if one.get("observedGeneration", 0) < 0:
            said = "must be a non-negative integer"
            where = f"{field}[{at}].observedGeneration"
            yield fielderrors.invalid(where, one["observedGeneration"], said)
        if one.get("type") not in _SYSTEM:
            yield from naming.named(f"{field}[{at}].Type", one.get("type", ""), naming.label_key)


def _check_nomination(status: Values, before: Values, *, bound: bool) -> Iterator[Cause]:
    node = status.get("nominatedNodeName") or ""
    if not node or node == before.get("nominatedNodeName", ""):
        return
    yield from naming.named("status.nominatedNodeName", node, naming.dns_subdomain)
    if bound:
        said = "may not be set on pods that are already bound to a node"
        yield fielderrors.forbidden("status.nominatedNodeName", said)


def _check_transitions(
    field: str, new: Sequence[Values], old: Sequence[Values], spec: Values, kind: str
) -> Iterator[Cause]:
    """A container that ended runs again only if something says that it may."""
    if kind and _all_may_restart(spec):
        return
    now = {one.get("name", ""): one for one in reversed(new)}
    for at, one in enumerate(old):
        ended = (one.get("state") or {}).get("terminated")
        later = now.get(one.get("name", ""))
        if ended is None or later is None or (later.get("state") or {}).get("terminated"):
            continue
        code = ended.get("exitCode", 0)
        if not kind or not _may_restart(spec, kind, one.get("name", ""), code):
            said = "may not be transitioned to non-terminated state"
            yield fielderrors.forbidden(f"{field}[{at}].state", said)


def _all_may_restart(spec: Values) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("containers", "initContainers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _may_restart(spec: Values, kind: str, name: str, code: int) -> bool:
    found = (one for one in spec.get(kind) or () if one.get("name") == name)
    container = next(found, None)
    if container is None:
        return False
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        if (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _check_addresses(status: Values) -> Iterator[Cause]:
    for member, single in (("podIPs", ""), ("hostIPs", "hostIP")):
        addresses = [one.get("ip", "") for one in status.get(member) or ()]
        if single and addresses and status.get(single, "") != addresses[0]:
            said = "must be equal to `hostIP`"
            yield fielderrors.invalid("status.hostIPs[0].ip", addresses[0], said)
        wrong = [
            list(checks.check_address(f"status.{member}[{at}]", address))
            for at, address in enumerate(addresses)
        ]
        yield from (cause for causes in wrong for cause in causes)
        yield from _check_families(f"status.{member}", addresses, list(map(bool, wrong)))


def _check_families(field: str, addresses: Sequence[str], wrong: Sequence[bool]) -> Iterator[Cause]:
    """At most one address of each family."""
    if len(addresses) < 2:
        return
    if any(wrong):
        at = wrong.index(True)
        said = f"failed to check for dual stack with error:invalid IP[{at}]: {addresses[at]}"
        yield Cause(field=field, reason="InternalError", message=f"Internal error: {said}")
    families = {":" in address for address in addresses}
    if any(wrong) or len(addresses) > 2 or len(families) < 2:
        said = "may specify no more than one IP for each IP family"
        yield fielderrors.invalid(field, [{"IP": address} for address in addresses], said)
