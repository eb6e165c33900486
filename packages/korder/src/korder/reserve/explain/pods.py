"""Why a pod has no ticket, which ticket would fit it and what is wrong with the others, and what it waits for."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
import difflib

from korder.api.reserve import (
    GUARDIAN_LABEL,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKET_NODE_ANNOTATION,
    TICKETS,
    Order,
    Ticket,
    TicketPhase,
)
from korder.explanation import Explanation, amounts, pairs, shortened
from korder.reserve.claims import inventory, matching, patches as claim_patches, requirements
from korder.reserve.claims.inventory import Market, Seeker
from korder.reserve.claims.requirements import (
    REQUEST_ANNOTATIONS,
    InvalidRequest,
    Request,
    request_of,
)
from korder.reserve.explain import tickets
from korder.reserve.handovers import handover_state
from korder.reserve.handovers.handover_state import Member
from korder.reserve.tickets import state as ticket_state, status as ticket_status
from kubeloop.objects import core
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import controller_of, key_of, owned_by

_ALIKE = 0.85
"""How much of two words is the same if one is thought to be the other, misspelt."""


def ended(pod: Pod) -> Explanation:
    """Speaks of a pod that has ended, or is about to."""
    past = _past(pod)
    if past:
        return Explanation(f"It has ended. It had ticket {past}, on node {pod.spec.node_name}.")
    return Explanation("It has ended, and has no ticket.")


def free(pod: Pod, request: Request, parting: str) -> Explanation:
    """Speaks of a pod that nothing of ours holds back; `parting` is what it was told when it was let go, if that is known."""
    where = f"It is on node {pod.spec.node_name}" if pod.spec.node_name else "It waits for a node"
    if past := _past(pod):
        came = f"It came to node {pod.spec.node_name} with ticket {past}"
        return Explanation(f"{came}, which is gone; nothing is taken from it.")
    if not request.asks:
        names = ", ".join(REQUEST_ANNOTATIONS)
        ask = f"A pod asks with one of the annotations {names}, when it is created."
        return Explanation(
            f"{where}, and asks for no ticket.", (*_misspelt(pod.metadata.annotations), ask)
        )
    last = claim_patches.stated(pod)
    if last is None and request.required:
        return Explanation(
            f"{where} without a ticket, though it requires one: it has never had the gate {SCHEDULING_GATE}.",
            (
                "Admission was not there when it was created; `korder install` puts it into the cluster.",
                "A gate cannot be added later: create the pod again.",
            ),
        )
    words = f"{last.reason}: {last.message}" if last is not None else parting
    stated = (f"It was last told: {words}",) if words else ()
    if request.required:
        return Explanation(
            f"{where} without a ticket, though it requires one: somebody took the gate away.",
            stated,
        )
    patience = request.fallback_after.total_seconds()
    waited = f"waited no longer than {tickets.span(patience)}" if patience else "did not wait"
    return Explanation(
        f"{where} without a ticket: none that fits was there, and it {waited}.", stated
    )


def _past(pod: Pod) -> str:
    """The ticket with which the pod came to its node, if it did; what somebody wrote himself does not fit its node."""
    given = pod.metadata.annotations
    came = pod.spec.node_name and given.get(TICKET_NODE_ANNOTATION) == pod.spec.node_name
    return given.get(TICKET_CLAIMED_ANNOTATION, "") if came else ""


def _misspelt(annotations: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(annotations):
        for meant in difflib.get_close_matches(name, REQUEST_ANNOTATIONS, n=1, cutoff=_ALIKE):
            yield f"It carries {name}, which korder does not know: is {meant} meant?"


_TAKEN = (TicketPhase.CLAIMING, TicketPhase.CLAIMED)


def verdicts(
    seeker: Seeker, market: Market, *, knows_nodes: bool
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """How far from a claim each ticket is, and its row; where nodes are not known only sizes are compared."""
    for ticket in market.tickets:
        if not ticket_state.is_over(ticket) and inventory.is_wanted(seeker.request, ticket):
            mismatch = _mismatch(seeker.pod, ticket, market, knows_nodes=knows_nodes)
            far, verdict = _verdict(seeker.pod, ticket, market, mismatch)
            phase = str(ticket_state.phase_of(ticket))
            yield far, (ticket.metadata.name, phase, ticket.status.node_name, verdict)


def _verdict(pod: Pod, ticket: Ticket, market: Market, mismatch: str) -> tuple[int, str]:
    barred = _barred(pod, ticket, market)
    if barred:
        return 4, barred
    if ticket.status.phase in _TAKEN:
        also = f", and would not fit: the pod {mismatch}" if mismatch else ""
        return 3, f"is taken by {tickets.pods_of(ticket) or 'another pod'}{also}"
    if ticket.status.phase is not TicketPhase.RESERVED:
        why = ticket.status.reason
        if ticket_status.is_held_ahead(ticket):
            return 2, f"is held and cannot be claimed yet: {tickets.life(ticket, market.now)}"
        return 2, f"holds nothing yet{f' ({why})' if why else ''}"
    blocked = market.blocked.get(ticket.metadata.uid, "")
    if mismatch or blocked:
        return (
            1,
            f"does not fit: the pod {mismatch}"
            if mismatch
            else f"cannot be handed over: {blocked}",
        )
    return (0, "would fit") if inventory.is_free(ticket, market.now) else (2, "is at its end")


def _barred(pod: Pod, ticket: Ticket, market: Market) -> str:
    """Why the pod may not have the ticket, whatever the two are like."""
    if not requirements.may_claim(ticket, pod):
        home = ticket.metadata.namespace
        only = f"it names no owners, so only pods of namespace {home} may claim it"
        return (
            f"is not for this pod: {'its owners do not include it' if ticket.spec.owners else only}"
        )
    if ticket.metadata.deletion_timestamp is not None:
        return "is being deleted"
    closed = filter(inventory.is_closed, market.orders)
    if any(owned_by(ticket, order.metadata.uid) for order in closed):
        return "is closed: its order waits for minAvailable"
    return ""


def _mismatch(pod: Pod, ticket: Ticket, market: Market, *, knows_nodes: bool) -> str:
    left = ticket_state.remainder(ticket, ticket.status.shared_by)
    short = requirements.too_small(requirements.needs_of(pod), left)
    if short or not ticket.status.node_name or not knows_nodes:
        return short
    beside = requirements.leaves_some(pod, ticket)
    return requirements.unsuited(pod, market.site(ticket.status.node_name), beside=beside)


_SILENCE = timedelta(seconds=10)
"""After which a pod that nobody has told anything makes one doubt that a manager runs."""


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """A pod and what its ticket depends on.

    Attributes:
        pod: The pod that is asked about.
        market: The tickets where it seeks, their orders and nodes.
        waiting: All pods that wait for those tickets, this one too.
        guardians: The guardians of those tickets.
        knows_nodes: Whether nodes can be read; where they cannot, only sizes are compared.
        parting: What an Event said when it was let go without a ticket, as long as there is one.
    """

    pod: Pod
    market: Market
    waiting: Collection[Pod] = ()
    guardians: Collection[Pod] = ()
    knows_nodes: bool = True
    parting: str = ""


def explain(asked: PodQuestion) -> Explanation:
    """Says how it stands with the pod's ticket."""
    pod = asked.pod
    if GUARDIAN_LABEL in pod.metadata.labels:
        return _guardian(pod)
    try:
        request = request_of(pod.metadata.annotations)
    except InvalidRequest as error:
        return Explanation(f"What it asks for cannot be understood: {error}.", _gate(pod))
    ticket = _ticket_of(asked)
    if ticket is not None:
        return _has(asked, ticket)
    if core.is_finished(pod) or pod.metadata.deletion_timestamp is not None:
        return ended(pod)
    if not claim_patches.is_gated(pod):
        return free(pod, request, asked.parting)
    return _waits(asked, request)


def _guardian(pod: Pod) -> Explanation:
    owner = controller_of(pod)
    if owner is None or owner.kind != TICKETS.kind:
        return Explanation(
            "It is labelled as a guardian, but no ticket owns it: it guards nothing."
        )
    where = f" on node {pod.spec.node_name}" if pod.spec.node_name else ""
    return Explanation(
        f"It is a guardian: it holds the room of ticket {owner.name}{where}.",
        (f"`korder explain ticket {owner.name}` tells about the ticket.",),
    )


def _ticket_of(asked: PodQuestion) -> Ticket | None:
    uid = asked.pod.metadata.uid
    for ticket in asked.market.tickets:
        by = ticket.status.claimed_by
        has = by is not None and by.uid == uid and not ticket_state.is_over(ticket)
        if has or any(share.uid == uid for share in ticket.status.shared_by):
            return ticket
    return None


def _has(asked: PodQuestion, ticket: Ticket) -> Explanation:
    pod, node, name = asked.pod, ticket.status.node_name, key_of(ticket)
    if ticket.status.phase is not TicketPhase.CLAIMING:
        return Explanation(f"It has ticket {name}, on node {node}.")
    mine = [each for each in asked.guardians if owned_by(each, ticket.metadata.uid)]
    stage = handover_state.stage_of(Member(ticket, pod, mine), node)
    facts = [f"The claim {stage.value}."]
    deadline = ticket.status.claim_deadline
    if deadline is not None:
        facts.append(tickets.deadline(deadline, asked.market.now))
    return Explanation(f"Ticket {name} is being handed over to it, on node {node}.", tuple(facts))


def _waits(asked: PodQuestion, request: Request) -> Explanation:
    seeker = Seeker(asked.pod, request)
    rows = sorted(verdicts(seeker, asked.market, knows_nodes=asked.knows_nodes))
    return Explanation(
        _state(seeker, asked),
        (*_gate(asked.pod), *_needs(seeker), *_prospects(seeker, asked)),
        ("TICKET", "PHASE", "NODE", "VERDICT") if rows else (),
        shortened(row for _, row in rows),
    )


def _state(seeker: Seeker, asked: PodQuestion) -> str:
    pod, last = asked.pod, claim_patches.stated(asked.pod)
    if not claim_patches.is_last_gate(pod):
        return "It waits: other gates hold it back, and it claims nothing before they are gone."
    if not asked.knows_nodes:
        said = f" ({last.reason}): {last.message}" if last is not None else "."
        return f"It waits{said}"
    matches, waits = matching.choose([seeker], asked.market)
    if matches:
        return f"It would get ticket {key_of(matches[0].ticket)} now."
    wait = waits[pod.metadata.uid]
    return f"It waits ({wait.reason}): {wait.message}"


def _gate(pod: Pod) -> tuple[str, ...]:
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    return (f"Gates: {', '.join(gates)}.",) if gates else ()


def _needs(seeker: Seeker) -> Iterator[str]:
    given = seeker.pod.metadata.annotations
    asks = {name: given[name] for name in REQUEST_ANNOTATIONS if name in given}
    yield f"It asks with {pairs(asks)}." if asks else "It asks for nothing."
    yield f"It needs {amounts(requirements.needs_of(seeker.pod))}."


def _prospects(seeker: Seeker, asked: PodQuestion) -> Iterator[str]:
    """What may change its state, and when."""
    pod, now = seeker.pod, asked.market.now
    before = sum(_comes_before(other, seeker, asked.market) for other in asked.waiting)
    if before:
        others = "1 other pod comes" if before == 1 else f"{before} other pods come"
        yield f"{others} before it, by priority and age."
    born = pod.metadata.creation_timestamp
    if seeker.request.required:
        yield "It waits until there is a ticket, however long."
    elif born is not None:
        due = born + seeker.request.fallback_after
        yield f"It goes without a ticket {tickets.when_text(due, now) if due > now else 'at once'}."
    for order in _asked_orders(seeker.request, asked.market):
        firing = order.status.next_schedule_time
        if order.spec.paused:
            yield f"Order {key_of(order)} is paused and makes no tickets."
        elif firing is not None:
            yield f"Order {key_of(order)} fires next {tickets.when_text(firing, now)}."
    if not asked.knows_nodes:
        yield "You may not read nodes, so only sizes were compared."
    if claim_patches.stated(pod) is None and born is not None and now - born > _SILENCE:
        yield "Nobody has told it anything yet: does `korder manager` run?"


def _comes_before(other: Pod, seeker: Seeker, market: Market) -> bool:
    """Whether a pod that is served first wants what this one wants; pods that want other tickets are in nobody's way."""
    try:
        theirs, ours = request_of(other.metadata.annotations), seeker.request
    except InvalidRequest:
        return False
    if inventory.precedence(seeker) <= inventory.precedence(Seeker(other, theirs)):
        return False
    return _words_of(theirs) == _words_of(ours) or any(
        inventory.is_wanted(theirs, ticket) and inventory.is_wanted(ours, ticket)
        for ticket in market.tickets
    )


def _words_of(request: Request) -> tuple[object, ...]:
    order = request.order.name if request.order is not None else ""
    return order, request.ticket, request.group, request.labels


def _asked_orders(request: Request, market: Market) -> list[Order]:
    if request.ticket:
        named = [each for each in market.tickets if each.metadata.name == request.ticket]
        return [o for o in market.orders for each in named if owned_by(each, o.metadata.uid)]
    wanted = request.order.name if request.order is not None else ""
    return [order for order in market.orders if wanted in ("", order.metadata.name)]
