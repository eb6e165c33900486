"""Why a pod has no ticket, which would fit it, and what it waits for.

`korder explain pod` asks it; `explainfree` speaks of pods that do not wait, `choosing` gives the reason that the claim controller would give, `members` how far a
hand-over is, `offers` what is wrong with each ticket, the most hopeful first.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta

from korder.api import core
from korder.api.core import Pod
from korder.api.meta import controller_of, key_of, owned_by
from korder.api.reserve import (
    GUARDIAN_LABEL,
    TICKETS,
    Order,
    Ticket,
    TicketPhase,
)
from korder.reserve.rules.claims import choosing, claimsteps, fitting, members, seeking
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.requests import (
    REQUEST_ANNOTATIONS,
    InvalidRequest,
    Request,
    request_of,
)
from korder.reserve.rules.claims.seeking import Market, Seeker
from korder.reserve.rules.orders import ticketstate
from korder.reserve.rules.telling import explainfree, offers, telling
from korder.reserve.rules.telling.explaining import Explanation, amounts, pairs, shortened

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
        return explainfree.ended(pod)
    if not claimsteps.is_gated(pod):
        return explainfree.free(pod, request, asked.parting)
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
        has = by is not None and by.uid == uid and not ticketstate.is_over(ticket)
        if has or any(share.uid == uid for share in ticket.status.shared_by):
            return ticket
    return None


def _has(asked: PodQuestion, ticket: Ticket) -> Explanation:
    pod, node, name = asked.pod, ticket.status.node_name, key_of(ticket)
    if ticket.status.phase is not TicketPhase.CLAIMING:
        return Explanation(f"It has ticket {name}, on node {node}.")
    mine = [each for each in asked.guardians if owned_by(each, ticket.metadata.uid)]
    stage = members.stage_of(Member(ticket, pod, mine), node)
    facts = [f"The claim {stage.value}."]
    deadline = ticket.status.claim_deadline
    if deadline is not None:
        facts.append(telling.deadline(deadline, asked.market.now))
    return Explanation(f"Ticket {name} is being handed over to it, on node {node}.", tuple(facts))


def _waits(asked: PodQuestion, request: Request) -> Explanation:
    seeker = Seeker(asked.pod, request)
    rows = sorted(offers.verdicts(seeker, asked.market, knows_nodes=asked.knows_nodes))
    return Explanation(
        _state(seeker, asked),
        (*_gate(asked.pod), *_needs(seeker), *_prospects(seeker, asked)),
        ("TICKET", "PHASE", "NODE", "VERDICT") if rows else (),
        shortened(row for _, row in rows),
    )


def _state(seeker: Seeker, asked: PodQuestion) -> str:
    pod, last = asked.pod, claimsteps.told(asked.pod)
    if not claimsteps.is_last_gate(pod):
        return "It waits: other gates hold it back, and it claims nothing before they are gone."
    if not asked.knows_nodes:
        said = f" ({last.reason}): {last.message}" if last is not None else "."
        return f"It waits{said}"
    matches, waits = choosing.choose([seeker], asked.market)
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
    yield f"It needs {amounts(fitting.needs_of(seeker.pod))}."


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
        yield f"It goes without a ticket {telling.when(due, now) if due > now else 'at once'}."
    for order in _asked_orders(seeker.request, asked.market):
        firing = order.status.next_schedule_time
        if order.spec.paused:
            yield f"Order {key_of(order)} is paused and makes no tickets."
        elif firing is not None:
            yield f"Order {key_of(order)} fires next {telling.when(firing, now)}."
    if not asked.knows_nodes:
        yield "You may not read nodes, so only sizes were compared."
    if claimsteps.told(pod) is None and born is not None and now - born > _SILENCE:
        yield "Nobody has told it anything yet: does `korder manager` run?"


def _comes_before(other: Pod, seeker: Seeker, market: Market) -> bool:
    """Whether a pod that is served first wants what this one wants; pods that want other tickets are in nobody's way."""
    try:
        theirs, ours = request_of(other.metadata.annotations), seeker.request
    except InvalidRequest:
        return False
    if seeking.precedence(seeker) <= seeking.precedence(Seeker(other, theirs)):
        return False
    return _words_of(theirs) == _words_of(ours) or any(
        seeking.is_wanted(theirs, ticket) and seeking.is_wanted(ours, ticket)
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
