"""Claims that end while our gate still holds the pod: the ticket says why, and the pod looks for another one.

`handover` and the controllers call it. A pod to which nothing has been promised yet need not be told; what becomes of the ticket is written
last. `claiming` asks which refusal a pod was told of: one that may not be tied to a node may still go without a ticket.
"""

from datetime import datetime

from korder.api.core import PODS, Pod, ReportedCondition
from korder.api.plan import EventType, Notice, Plan
from korder.api.reserve import ClaimReason, Reason
from korder.reserve.rules.claims import claimsteps, endings
from korder.reserve.rules.claims.members import Member, beginning, is_marked

_STAYS = "The pod cannot be let go: "


def late(member: Member, pod: Pod, now: datetime) -> Plan:
    """The guardians did not go in time, or the node's other hand-overs took too long."""
    words = "The hand-over took too long; the pod looks for another ticket."
    return _told(pod, words, now, endings.too_late(member, now))


def closed(member: Member, pod: Pod, why: str, now: datetime) -> Plan:
    """The node has been cordoned, marked otherwise, or is gone."""
    words = f"The hand-over was undone: {why}; the pod looks for another ticket."
    return _told(pod, words, now, endings.closed(member, why, now))


def refused(member: Member, message: str, now: datetime) -> Plan:
    """The server does not take the guardian of what the pod would leave."""
    ending = endings.refused(member, message, now)
    if member.pod is None:
        return ending
    why = f"{beginning(member.ticket)}cannot hold what the pod would leave over: {message}"
    step = claimsteps.tell(member.pod, Reason.GUARDIAN_REFUSED, why, now, afresh=True)
    notice = Notice(
        PODS, member.pod, Reason.GUARDIAN_REFUSED, why, EventType.WARNING, "Waiting", step
    )
    return Plan(((step,), *ending.stages), (notice, *ending.notices))


def kept_back(member: Member, pod: Pod, message: str, now: datetime) -> Plan:
    """The server does not let the pod be tied to its node, because of somebody else's rule."""
    words = f"The pod cannot be tied to node {member.ticket.status.node_name}: {message}"
    given, ending = _unchanged(pod, words, now), endings.kept_back(member, message, now)
    return Plan((*given.stages, *ending.stages), (*given.notices, *ending.notices))


def unchanged(pod: Pod, message: str, now: datetime) -> Plan:
    """Tells a pod that the server does not even let it go without a ticket."""
    return _unchanged(pod, f"{_STAYS}{message}", now)


def may_not_go(told: ReportedCondition) -> bool:
    """Says whether a pod was last told that it may not even go without a ticket."""
    return told.reason == ClaimReason.CHANGE_REFUSED and told.message.startswith(_STAYS)


def _unchanged(pod: Pod, words: str, now: datetime) -> Plan:
    reason = ClaimReason.CHANGE_REFUSED
    step = claimsteps.tell(pod, reason, words, now, afresh=True)
    notice = Notice(PODS, pod, reason, words, EventType.WARNING, "Waiting", step)
    return Plan().then(step).tell(notice)


def _told(pod: Pod, words: str, now: datetime, ending: Plan) -> Plan:
    if not is_marked(pod):
        return ending
    step = claimsteps.tell(pod, Reason.CLAIM_UNDONE, words, now)
    return Plan(((step,), *ending.stages), ending.notices)
