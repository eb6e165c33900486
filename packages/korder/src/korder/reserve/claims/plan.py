"""What becomes of the pods that wait for tickets of one namespace: a claim, words why not, or leave to go without.

`korder.reserve.claims.controller` gathers and calls `plan`; `matching` picks the tickets, `patches` makes the steps. A pod is only told
what it has not been told before, so a thousand waiting pods cost nothing while nothing changes for them; one that was told to wait
is told when it goes without, in a turn of its own, because a pod that is let go cannot be told in the same write. A pod that other
gates hold back as well claims nothing yet: room for a pod that cannot come would be wasted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from korder.api.reserve import (
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    ClaimReason,
    Reason,
)
from korder.reserve.claims import matching, patches, requirements
from korder.reserve.claims.inventory import Market, Seeker
from korder.reserve.claims.matching import Match
from korder.reserve.claims.pending_reason import Wait
from korder.reserve.claims.requirements import InvalidRequest, Request, request_of
from korder.reserve.handovers import completion
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.objects import core, instant
from kubeloop.objects.core import PODS, Pod, ReportedCondition
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import Emit, EventType, Plan, Step

CROWDED_SECONDS = 10.0
"""When to look again for a pod that waits for others to leave a node; nobody tells of every pod that goes."""
REFUSED_SECONDS = 20.0
"""How long a pod claims nothing after the server refused the guardian of what it would have left over, or to let the pod go."""
LONGEST_REFUSED_SECONDS = 300.0
"""The longest such pause of a pod that may not go: the older the pod, the longer, because each try puts the room at risk."""
_WITHOUT = "Scheduled without a ticket: "
_UNDONE = Wait(Reason.CLAIM_UNDONE, "The hand-over was undone; the pod looks for another ticket.")
_OVER = "Its time to wait for one is over."
_UNASKED = Wait(ClaimReason.NO_TICKET, "The pod asks for no ticket.")


@dataclass(slots=True)
class _Round:
    """What is collected while pods are looked at one after the other."""

    now: datetime
    pauses: Mapping[str, datetime]
    seekers: list[Seeker] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    emits: list[Emit] = field(default_factory=list)
    requeue_at: list[datetime] = field(default_factory=list)

    def wait(self, pod: Pod, wait: Wait) -> None:
        """Lets a pod wait and tells it why, unless it knows."""
        if patches.is_stated(pod, wait.reason, wait.message) and not pod.status.nominated_node_name:
            return
        step = patches.tell(pod, wait.reason, wait.message, self.now)
        loud = EventType.WARNING
        self._do(step, Emit(PODS, pod, wait.reason, wait.message, loud, "Waiting", step))

    def let_go(self, pod: Pod, why: str) -> None:
        note = _WITHOUT + why
        step = patches.let_go(pod)
        self._do(step, Emit(PODS, pod, ClaimReason.FELL_BACK, note, after=step))

    def part(self, pod: Pod, last: ReportedCondition) -> None:
        """Tells a pod that was let go that it waits no more; an Event has told it to people."""
        why = _OVER if completion.may_not_go(last) else last.message
        promised, reason = pod.status.nominated_node_name, ClaimReason.FELL_BACK
        self.steps.append(patches.tell(pod, reason, _WITHOUT + why, self.now, node=promised))

    def claim(self, match: Match) -> None:
        pod, ticket = match.pod, match.ticket
        deadline = self.now + TIMEOUTS.claim
        step = patches.claim(ticket, pod, deadline, self.now)
        note = f"Pod {key_of(pod)} claims the room on node {ticket.status.node_name}"
        self._do(step, Emit(TICKETS, ticket, "Claiming", note, after=step))

    def _do(self, step: Step, emit: Emit) -> None:
        self.steps.append(step)
        self.emits.append(emit)


def sought_namespace(pod: Pod) -> str | None:
    """In which namespace a pod waits for a ticket; None if it does not wait."""
    if not patches.is_gated(pod) or pod.metadata.deletion_timestamp is not None:
        return None
    own = pod.metadata.namespace
    try:
        return request_of(pod.metadata.annotations).namespace(own)
    except InvalidRequest:
        return own


def is_unreported(pod: Pod) -> bool:
    """Says whether a pod was let go without a ticket, by us or by somebody else, and still says that it waits."""
    last = patches.stated(pod)
    return (
        last is not None
        and last.status == "False"
        and last.reason != ClaimReason.FELL_BACK
        and not patches.is_gated(pod)
        and TICKET_CLAIMED_ANNOTATION not in pod.metadata.annotations
        and pod.metadata.deletion_timestamp is None
        and not core.is_finished(pod)
    )


def plan(pods: Iterable[Pod], market: Market, unreported: Iterable[Pod] = ()) -> Plan:
    """Decides about all pods that wait in a namespace and have no ticket yet, and parts from those that went without."""
    this = _Round(market.now, market.pauses())
    for pod in unreported:
        if (last := patches.stated(pod)) is not None:
            this.part(pod, last)
    for pod in pods:
        _sort(pod, this)
    matches, waits = matching.choose(this.seekers, market)
    for match in matches:
        this.claim(match)
    for seeker in this.seekers:
        wait = waits.get(seeker.pod.metadata.uid)
        if wait is not None:
            _hold_or_let_go(seeker.pod, seeker.request, wait, this, at_once=not wait.is_short)
            if wait.is_crowded:
                this.requeue_at.append(market.now + timedelta(seconds=CROWDED_SECONDS))
    requeue_at = min(this.requeue_at, default=None)
    return Plan().then(*this.steps).tell(*this.emits).requeue(requeue_at)


def _sort(pod: Pod, this: _Round) -> None:
    """Puts a pod among those who seek, or says at once what becomes of it."""
    try:
        request = request_of(pod.metadata.annotations)
    except InvalidRequest as error:
        this.wait(pod, Wait(ClaimReason.INVALID_REQUEST, f"{error}."))
        return
    last = patches.stated(pod)
    if pod.status.nominated_node_name or (last is not None and last.status == "True"):
        this.wait(pod, _UNDONE)
    elif last is not None and _is_settled_by(last, pod, request, this):
        return
    elif not request.asks:
        this.let_go(pod, _UNASKED.message)
    elif not patches.is_last_gate(pod):
        _hold_or_let_go(pod, request, _held_back(pod), this, at_once=False)
    elif (until := this.pauses.get(requirements.workload_of(pod))) is not None:
        this.requeue_at.append(until)
        _hold_or_let_go(pod, request, _backed_off(until), this)
    else:
        this.seekers.append(Seeker(pod, request))


def _is_settled_by(last: ReportedCondition, pod: Pod, request: Request, this: _Round) -> bool:
    """Says whether a pod whose last try was refused claims nothing now: it pauses, or its time is over and it goes without.

    After it was not even let go, nothing is tried before the pause is over.
    """
    again_at = _refused_until(pod, last)
    if again_at is None:
        return False
    pauses, may_not_go = again_at > this.now, completion.may_not_go(last)
    if pauses:
        this.requeue_at.append(again_at)
    if pauses and may_not_go:
        return True
    if not request.asks or request.required:
        return pauses
    ends = _ends(pod, request, this)
    is_over = ends <= this.now
    if is_over:
        this.let_go(pod, _OVER if may_not_go else last.message)
    else:
        this.requeue_at.append(ends)
    return pauses or is_over


def _hold_or_let_go(
    pod: Pod, request: Request, wait: Wait, this: _Round, *, at_once: bool = True
) -> None:
    """Lets a pod wait that requires a ticket, or that prefers one and has still time."""
    patient = request.fallback_after > timedelta()
    ends = _ends(pod, request, this)
    if request.required or (not patient and not at_once):
        this.wait(pod, wait)
    elif ends > this.now:
        this.requeue_at.append(ends)
        this.wait(pod, wait)
    else:
        this.let_go(pod, wait.message)


def _ends(pod: Pod, request: Request, this: _Round) -> datetime:
    """When a pod that only prefers a ticket goes without."""
    return (pod.metadata.creation_timestamp or this.now) + request.fallback_after


def _refused_until(pod: Pod, last: ReportedCondition) -> datetime | None:
    """When a pod may claim again whose last claim ended with a refusal."""
    at, born = last.last_transition_time, pod.metadata.creation_timestamp
    if at is None:
        return None
    least = timedelta(seconds=REFUSED_SECONDS)
    if last.reason in (ClaimReason.CHANGE_REFUSED, ClaimReason.UNGATE_REFUSED):
        return at + min(max(at - (born or at), least), timedelta(seconds=LONGEST_REFUSED_SECONDS))
    return at + least if last.reason == Reason.GUARDIAN_REFUSED else None


def _backed_off(until: datetime) -> Wait:
    return Wait(
        Reason.NEVER_BOUND,
        "Earlier pods of the same workload claimed tickets and were not bound;"
        f" this one claims at {instant.render(until)} at the earliest.",
    )


def _held_back(pod: Pod) -> Wait:
    others = sorted(gate.name for gate in pod.spec.scheduling_gates if gate.name != SCHEDULING_GATE)
    return Wait(
        ClaimReason.OTHER_GATES,
        f"The pod claims a ticket once nobody else holds it back: {', '.join(others)}.",
    )
