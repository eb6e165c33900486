"""What is said of nodes: that nothing is known of one any more, and the taints that follow from its conditions.

Rules over one Node, each answering with the step that is due or with none. `node_lifecycle` asks them, and `nodes` where the loss of a
machine is an event.
"""

from datetime import datetime, timedelta

from kubeloop.objects import core, instant
from kubeloop.objects.core import NODES, Node, Taint
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Patch, PatchType, Step

GRACE = timedelta(seconds=50)
"""How long a node may be silent."""

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_READY = {"True": "", "False": NOT_READY, "Unknown": UNREACHABLE}
_CONDITIONS = "Ready", "MemoryPressure", "DiskPressure", "PIDPressure"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_CORDON = "node.kubernetes.io/unschedulable"
_OURS = frozenset(
    {(key, effect) for key in (NOT_READY, UNREACHABLE) for effect in ("NoSchedule", "NoExecute")}
    | {(key, "NoSchedule") for key in (*_PRESSURES.values(), _CORDON)}
)


def silenced(node: Node, now: datetime) -> tuple[Step, ...]:
    """The step that says that nothing is known of a node any more, unless that is said already."""
    unknown: list[JSON] = []
    for kind in _CONDITIONS:
        said = core.reported(node.status.conditions, kind)
        if said is not None and said.status == "Unknown":
            continue
        never = said is None
        unknown.append(
            {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated" if never else "NodeStatusUnknown",
                "message": "Kubelet never posted node status."
                if never
                else "Kubelet stopped posting node status.",
                "lastTransitionTime": instant.render(now),
            }
        )
    if not unknown:
        return ()
    body: JSON = {"status": {"conditions": unknown}}
    meta = node.metadata
    return (
        Patch(
            NODES,
            key_of(node),
            body,
            PatchType.STRATEGIC,
            subresource="status",
            uid=meta.uid,
            resource_version=meta.resource_version,
        ),
    )


def tainted(node: Node, now: datetime) -> tuple[Step, ...]:
    """The step that gives a node the taints its conditions ask for, and no others of ours."""
    ready = core.reported(node.status.conditions, "Ready")
    if ready is None:
        return ()
    wanted = {
        (key, "NoSchedule")
        for kind, key in _PRESSURES.items()
        if (said := core.reported(node.status.conditions, kind)) and said.status == "True"
    }
    if node.spec.unschedulable:
        wanted.add((_CORDON, "NoSchedule"))
    trouble = _READY.get(ready.status, "")
    if trouble:
        wanted |= {(trouble, "NoSchedule"), (trouble, "NoExecute")}
    has = {(each.key, each.effect) for each in node.spec.taints}
    if wanted == has & _OURS:
        return ()
    kept = [each for each in node.spec.taints if (each.key, each.effect) not in _OURS - wanted]
    added: list[JSON] = [
        {"key": key, "effect": effect, "timeAdded": instant.render(now)}
        for key, effect in sorted(wanted - has)
    ]
    body: JSON = {"spec": {"taints": [*map(_plain, kept), *added]}}
    meta = node.metadata
    return (Patch(NODES, key_of(node), body, uid=meta.uid, resource_version=meta.resource_version),)


def _plain(taint: Taint) -> JSON:
    said = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    written: dict[str, JSON] = {name: text for name, text in said.items() if text}
    if taint.time_added is not None:
        written["timeAdded"] = instant.render(taint.time_added)
    return written
