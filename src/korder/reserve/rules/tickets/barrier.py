"""The hand-over barrier: a NoSchedule taint that keeps a node's vacated room for the pods it was promised to.

`taint` and `controllers.handovers` use it. The value of the taint is a token: the instant at which the barrier was raised. Claimants
tolerate exactly that token, so a pod that was admitted through an earlier barrier and never bound does not pass a later one.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from korder.api import codec
from korder.api.core import NODES, PODS, Node, Pod, Taint, Toleration
from korder.api.meta import JSON, key_of
from korder.api.plan import Patch, Step
from korder.api.reserve import HANDOVER_TAINT

_EFFECT = "NoSchedule"
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime.fromtimestamp(0, UTC)


def token_of(node: Node | None) -> str:
    """The token of the barrier on a node; empty if there is none."""
    taints = node.spec.taints if node is not None else ()
    return next((taint.value for taint in taints if taint.key == HANDOVER_TAINT), "")


def new_token(now: datetime) -> str:
    """The token of a barrier that is raised now."""
    return str((now - _EPOCH) // _MILLISECOND)


def raised_at(token: str) -> datetime:
    """When the barrier was raised; the epoch if the token is not one of ours, so that it counts as old."""
    return _EPOCH + int(token) * _MILLISECOND if token.isdecimal() and len(token) < 15 else _EPOCH


def raised(node: Node, token: str) -> Patch:
    """Puts the barrier on a node."""
    return _retainted(node, (*_others(node), Taint(HANDOVER_TAINT, token, _EFFECT)))


def lowered(node: Node) -> Patch:
    """Takes the barrier off a node."""
    return _retainted(node, _others(node))


def toleration(token: str) -> Toleration:
    """Lets a pod pass the barrier with this token."""
    return Toleration(key=HANDOVER_TAINT, operator="Equal", value=token, effect=_EFFECT)


def tolerates(pod: Pod, token: str) -> bool:
    """Says whether a pod passes the barrier with this token by leave of the hand-over."""
    return toleration(token) in pod.spec.tolerations


def tolerations_with(pod: Pod, token: str) -> list[JSON]:
    """All tolerations of a pod, this one included: servers accept additions only."""
    ours = () if not token or tolerates(pod, token) else (toleration(token),)
    return [codec.plain(each) for each in (*pod.spec.tolerations, *ours)]


def admitted(pod: Pod, token: str, notes: Mapping[str, JSON] | None = None) -> Patch:
    """Lets a pod that waits, gated or not, pass the barrier, and annotates it."""
    meta = pod.metadata
    body: dict[str, JSON] = {"spec": {"tolerations": tolerations_with(pod, token)}}
    if notes is not None:
        body["metadata"] = {"annotations": dict(notes)}
    return Patch(PODS, key_of(pod), body, uid=meta.uid, resource_version=meta.resource_version)


def raised_with(step: Step) -> str:
    """The token of the barrier that a step puts up; empty if it puts up none."""
    if not isinstance(step, Patch) or step.kind != NODES:
        return ""
    return token_of(codec.convert(step.body, Node))


def _others(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.key != HANDOVER_TAINT)


def _retainted(node: Node, taints: tuple[Taint, ...]) -> Patch:
    meta = node.metadata
    listed: JSON = [codec.plain(each) for each in taints] or None
    body: JSON = {"spec": {"taints": listed}}
    return Patch(NODES, key_of(node), body, uid=meta.uid, resource_version=meta.resource_version)
