"""What claims and hand-overs write on pods, ticket status and nodes, each with its precondition; includes the hand-over taint.

The hand-over barrier is a `NoSchedule` taint that keeps a node's vacated capacity for the pods it was promised to. Its value is a token: a pod that was let go
under an earlier taint does not tolerate a later one.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from korder.api.reserve import (
    HANDOVER_TAINT,
    OPENED_ANNOTATION,
    RETURN_FINALIZER,
    SCHEDULING_GATE,
    TICKET_BOUND_CONDITION,
    TICKET_CLAIMED_ANNOTATION,
    TICKET_NODE_ANNOTATION,
    AfterUse,
    ClaimReason,
    PodReference,
    Reason,
    Ticket,
)
from korder.reserve.tickets import status as ticket_status
from kubeloop.objects import codec, core, instant
from kubeloop.objects.core import (
    NODES,
    PODS,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
)
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import Patch, PatchType, Step

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


_NODE_FIELD = "metadata.name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def is_gated(pod: Pod) -> bool:
    """Says whether our gate holds the pod back."""
    return any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates)


def is_last_gate(pod: Pod) -> bool:
    """Says whether nobody else holds the pod back."""
    return all(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates)


def stated(pod: Pod) -> core.ReportedCondition | None:
    """What the pod has last been told about its ticket."""
    return core.reported(pod.status.conditions, TICKET_BOUND_CONDITION)


def is_stated(pod: Pod, reason: ClaimReason | Reason, message: str) -> bool:
    """Whether the pod's condition has this content already, so that a write would change nothing."""
    old = stated(pod)
    return old is not None and old == msgspec.structs.replace(
        old, reason=reason.value, message=message
    )


def name_for(pod: Pod, ticket: Ticket) -> str:
    """The ticket as the pod's annotation names it: with the namespace only where it is another one."""
    key = key_of(ticket)
    return key.name if key.namespace == pod.metadata.namespace else str(key)


def tell(
    pod: Pod,
    reason: ClaimReason | Reason,
    message: str,
    now: datetime,
    *,
    bound: bool = False,
    node: str = "",
    afresh: bool = False,
) -> Patch:
    """Writes on the pod whether it has a ticket, and the node that is promised to it, or none; `afresh` even if only the time is new."""
    status = "True" if bound else "False"
    old = stated(pod)
    is_old = old is not None and old.status == status and not afresh
    since = old.last_transition_time if old is not None and is_old else None
    condition: JSON = {
        "type": TICKET_BOUND_CONDITION,
        "status": status,
        "reason": reason.value,
        "message": message,
        "lastTransitionTime": instant.render(since or now),
    }
    body: dict[str, JSON] = {"conditions": [condition]}
    if node != pod.status.nominated_node_name:
        body["nominatedNodeName"] = node or None
    return Patch(
        PODS,
        key_of(pod),
        {"status": body},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )


def annotated(patch: Patch, annotations: Mapping[str, str]) -> Patch:
    """The same patch, with annotations in the same write; the status endpoint of pods takes them."""
    body: dict[str, JSON] = dict(patch.body) if isinstance(patch.body, dict) else {}
    return replace(patch, body={"metadata": {"annotations": dict(annotations)}, **body})


def let_go(pod: Pod) -> Patch:
    """Takes our gate away; the pod is scheduled like any other."""
    return _change(pod, {"spec": {"schedulingGates": _other_gates(pod)}})


def lets_go(step: Step, pod: Pod) -> bool:
    """Says whether a step would take our gate from this pod."""
    return isinstance(step, Patch) and not step.subresource and step.uid == pod.metadata.uid


def pin(
    pod: Pod,
    ticket: Ticket,
    node: str,
    token: str = "",
    now: datetime | None = None,
    *,
    return_finalizer: bool = False,
) -> Patch:
    """Ties the pod to the node, lets it pass the barrier with this token, if any, and takes our gate away, in one write.

    With `return_finalizer` a pod of a ticket that takes its room back, as a shared one always does, is deleted only after we have seen that it goes.
    """
    annotations: dict[str, JSON] = {
        TICKET_CLAIMED_ANNOTATION: name_for(pod, ticket),
        TICKET_NODE_ANNOTATION: node,
    }
    if now is not None:
        annotations[OPENED_ANNOTATION] = instant.render(now)
    terms: list[JSON] = [codec.plain(term) for term in pinned_terms(pod, node)]
    spec: dict[str, JSON] = {
        "affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}},
        "schedulingGates": _other_gates(pod),
    }
    if token:
        spec["tolerations"] = tolerations_with(pod, token)
    meta: dict[str, JSON] = {"annotations": annotations}
    returns = ticket.spec.after_use is AfterUse.RESERVE or not ticket.spec.allocate_once
    if return_finalizer and returns:
        meta["finalizers"] = [*pod.metadata.finalizers, RETURN_FINALIZER]
    return _change(pod, {"metadata": meta, "spec": spec})


def release(pod: Pod) -> Patch:
    """Takes our finalizer off a pod that terminates."""
    others: list[JSON] = [each for each in pod.metadata.finalizers if each != RETURN_FINALIZER]
    return _change(pod, {"metadata": {"finalizers": others}})


def pinned_terms(pod: Pod, node: str) -> list[NodeSelectorTerm]:
    """The pod's terms, each with the node's name added."""
    here = NodeSelectorRequirement(key=_NODE_FIELD, operator="In", values=(node,))
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    if not terms:
        return [NodeSelectorTerm(match_fields=(here,))]
    return [_with(term, here) for term in terms]


def _with(term: NodeSelectorTerm, here: NodeSelectorRequirement) -> NodeSelectorTerm:
    is_empty = not term.match_expressions and not term.match_fields
    if is_empty or here in term.match_fields:
        return term
    return msgspec.structs.replace(term, match_fields=(*term.match_fields, here))


def nominate(guardian: Pod, node: str) -> Patch:
    """Promises the node to a guardian behind its gate."""
    body: JSON = {"status": {"nominatedNodeName": node or None}}
    return Patch(PODS, key_of(guardian), body, subresource="status", uid=guardian.metadata.uid)


def open_guardian(guardian: Pod, token: str = "") -> Patch:
    """Takes a guardian's gate away, and lets it pass the barrier with this token, if any."""
    spec: dict[str, JSON] = {"schedulingGates": None}
    if token:
        spec["tolerations"] = tolerations_with(guardian, token)
    return _change(guardian, {"spec": spec})


def claim(ticket: Ticket, pod: Pod, deadline: datetime, now: datetime) -> Patch:
    """Gives the ticket to the pod, if it still is as it was read."""
    meta = pod.metadata
    owner = PodReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
    return ticket_status.written(ticket, ticket_status.claiming(ticket, owner, deadline, now))


def _change(pod: Pod, body: JSON) -> Patch:
    meta = pod.metadata
    key = Key(meta.namespace, meta.name)
    return Patch(PODS, key, body, uid=meta.uid, resource_version=meta.resource_version)


def _other_gates(pod: Pod) -> list[JSON]:
    return [{"name": g.name} for g in pod.spec.scheduling_gates if g.name != SCHEDULING_GATE]
