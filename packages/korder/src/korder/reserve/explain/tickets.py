"""What a ticket holds or waits for, until when, and which pods could claim it; in a few words for tables, too."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from korder.api.reserve import TICKET_FINALIZER, AfterUse, Order, Ticket, TicketPhase
from korder.explanation import Explanation, amounts, shortened
from korder.reserve.claims import inventory, requirements
from korder.reserve.claims.inventory import is_closed
from korder.reserve.claims.requirements import InvalidRequest, Site, request_of
from korder.reserve.handovers import handover_state
from korder.reserve.handovers.handover_state import Member
from korder.reserve.tickets import deadlines, state as ticket_state, status as ticket_status
from kubeloop.objects import duration, instant
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import key_of

_TAKEN = frozenset({TicketPhase.CLAIMING, TicketPhase.CLAIMED})


def span(seconds: float) -> str:
    """A length of time, such as 45s, 5m3s or 2d4h."""
    return duration.human(int(max(seconds, 0)))


def when_text(at: datetime, now: datetime) -> str:
    """How far an instant is from now, such as `in 5m` or `3h ago`."""
    seconds = (at - now).total_seconds()
    return f"in {span(seconds)}" if seconds >= 0 else f"{span(-seconds)} ago"


def deadline(at: datetime, now: datetime) -> str:
    """When a hand-over is undone, or was due to be."""
    if at < now:
        return f"The hand-over was due to be undone {when_text(at, now)}, at the latest."
    return f"The hand-over is undone {when_text(at, now)} if the pod is not bound by then."


def pods_of(ticket: Ticket) -> str:
    """The pod that has the ticket, or how many share it."""
    if not ticket.spec.allocate_once:
        names = [f"{share.namespace}/{share.name}" for share in ticket.status.shared_by]
        return names[0] if len(names) == 1 else f"{len(names)} pods" if names else ""
    return ticket.status.claimed_pod


def life(ticket: Ticket, now: datetime) -> str:
    """Until when a ticket is there for somebody, or since when it is not."""
    status, starts = ticket.status, deadlines.opens_at(ticket)
    if ticket_state.is_over(ticket):
        return f"ended {when_text(status.finished_time, now)}" if status.finished_time else "ended"
    if status.phase in _TAKEN:
        return "with its pod"
    if starts is not None and starts > now:
        return f"starts {when_text(starts, now)}"
    if status.expiration_time is None:
        return "not begun"
    is_renewed = deadlines.is_standing(ticket) or deadlines.goes_on(ticket)
    word = "renewed" if is_renewed else "expires"
    due = status.expiration_time <= now
    return f"{'due' if due else word} {when_text(status.expiration_time, now)}"


@dataclass(frozen=True, slots=True)
class TicketQuestion:
    """A ticket and what its fate depends on.

    Attributes:
        ticket: The ticket that is asked about.
        order: The order that made it.
        guardians: Its guardians.
        waiting: The pods that wait for tickets of its namespace.
        claimant: The pod that claims it, if it is there.
        nodes: The nodes, by name; empty if they cannot be read.
        now: The moment of the question.
    """

    ticket: Ticket
    now: datetime
    order: Order | None = None
    guardians: Collection[Pod] = ()
    waiting: Collection[Pod] = ()
    claimant: Pod | None = None
    nodes: Mapping[str, Node] | None = None


def explain(asked: TicketQuestion) -> Explanation:
    """Says how it stands with the ticket."""
    stated = _by_phase(asked)
    return Explanation(
        stated.verdict,
        (*stated.facts, *_origin(asked), *_leaving(asked)),
        stated.titles,
        stated.rows,
    )


def _by_phase(asked: TicketQuestion) -> Explanation:
    match ticket_state.phase_of(asked.ticket):
        case TicketPhase.PENDING:
            return _pending(asked)
        case TicketPhase.RESERVED:
            return _reserved(asked)
        case TicketPhase.CLAIMING:
            return _claiming(asked)
        case TicketPhase.CLAIMED:
            return _claimed(asked)
        case TicketPhase.RELEASED | TicketPhase.EXPIRED:
            return _ended(asked)


def _pending(asked: TicketQuestion) -> Explanation:
    status, now = asked.ticket.status, asked.now
    due, start = deadlines.guardian_due(asked.ticket), deadlines.opens_at(asked.ticket)
    room = amounts(ticket_state.held(asked.ticket))
    why = f" ({status.reason})" if status.reason else ""
    said = f": {status.message}" if status.message else ""
    is_held = ticket_status.is_held_ahead(asked.ticket)
    facts = [] if is_held else [f"It is to hold {room}."]
    if start is not None and start > now:
        facts.append(f"It starts {when_text(start, now)}, at {instant.render(start)}.")
    if due is not None and due > now:
        facts.append(f"Its guardian is placed {when_text(due, now)}.")
    else:
        facts += _placing(asked)
    holds = f"{room} ahead of its time" if is_held else "nothing yet"
    return Explanation(f"It holds {holds}{why}{said.removesuffix('.')}.", (*facts, *_end(asked)))


def _placing(asked: TicketQuestion) -> Iterator[str]:
    """What its guardians wait for."""
    if not asked.guardians:
        yield "It has no guardian yet; the ticket controller makes one, and tries again if it is refused."
    for guardian in asked.guardians:
        name = guardian.metadata.name
        if guardian.metadata.deletion_timestamp is not None:
            yield f"Guardian {name} is on its way out."
        elif guardian.spec.scheduling_gates:
            yield f"Guardian {name} waits until the room it is to take is free."
        elif not guardian.spec.node_name:
            placer = guardian.spec.scheduler_name or "the scheduler"
            yield f"Guardian {name} waits for {placer}: `korder describe pod {name}` shows what it says."
        else:
            yield f"Guardian {name} is on node {guardian.spec.node_name}."


def _reserved(asked: TicketQuestion) -> Explanation:
    ticket = asked.ticket
    left = amounts(ticket_state.remainder(ticket, ticket.status.shared_by))
    shared = f"; {pods_of(ticket)} share it" if ticket.status.shared_by else ""
    facts = list(_end(asked))
    said = ": ".join(filter(None, (ticket.status.reason, ticket.status.message)))
    if said:
        facts.append(f"{said.removesuffix('.')}.")
    if asked.order is not None and is_closed(asked.order):
        facts.append(
            f"Nobody can claim it before order {asked.order.metadata.name} has once held"
            f" {asked.order.spec.min_available} tickets."
        )
    if why := handover_state.why(ticket, asked.guardians):
        facts.append(f"It cannot be handed over to a pod: {why}.")
    rows = shortened(_seekers(asked))
    if not rows:
        facts.append("No pod waits for it.")
    return Explanation(
        f"It holds {left} on node {ticket.status.node_name}{shared}.",
        tuple(facts),
        ("POD", "VERDICT") if rows else (),
        rows,
    )


def _seekers(asked: TicketQuestion) -> Iterator[tuple[str, ...]]:
    """The pods that wait for such a ticket, and whether they could have it."""
    ticket = asked.ticket
    for pod in sorted(asked.waiting, key=lambda each: str(key_of(each))):
        try:
            request = request_of(pod.metadata.annotations)
        except InvalidRequest:
            continue
        if not inventory.is_wanted(request, ticket):
            continue
        needs = requirements.needs_of(pod)
        mismatch = requirements.too_small(
            needs, ticket_state.remainder(ticket, ticket.status.shared_by)
        ) or _unsuited(asked, pod)
        if not requirements.may_claim(ticket, pod):
            mismatch = "is not one of its owners"
        yield str(key_of(pod)), mismatch or "would fit"


def _unsuited(asked: TicketQuestion, pod: Pod) -> str:
    if asked.nodes is None:
        return ""
    node = asked.nodes.get(asked.ticket.status.node_name)
    return requirements.unsuited(pod, Site(node) if node is not None else None)


def _claiming(asked: TicketQuestion) -> Explanation:
    ticket, node = asked.ticket, asked.ticket.status.node_name
    stage = handover_state.stage_of(Member(ticket, asked.claimant, tuple(asked.guardians)), node)
    facts = [f"The claim {stage.value}."]
    if ticket.status.claim_deadline is not None:
        facts.append(deadline(ticket.status.claim_deadline, asked.now))
    return Explanation(
        f"It is being handed over to pod {ticket.status.claimed_pod}, on node {node}.",
        tuple(facts),
    )


def _claimed(asked: TicketQuestion) -> Explanation:
    ticket, status = asked.ticket, asked.ticket.status
    since = (
        f", for {span(_seconds(status.claimed_time, asked.now))} now" if status.claimed_time else ""
    )
    who = pods_of(ticket) or "a pod"
    used = f"It uses {status.utilization_rate} of the room. " if status.utilization_rate else ""
    after = (
        "When its pod ends, the ticket takes its room back, if there is time left."
        if ticket.spec.after_use is AfterUse.RESERVE
        else "When its pod ends, the ticket is Released."
    )
    return Explanation(
        f"{who} has its room on node {status.node_name}{since}.", (f"{used}{after}",)
    )


def _ended(asked: TicketQuestion) -> Explanation:
    ticket, now = asked.ticket, asked.now
    when = f" {when_text(ticket.status.finished_time, now)}" if ticket.status.finished_time else ""
    due = deadlines.removal_due(ticket)
    stays = _removal(due, now) if due else "The object stays (Retain)."
    word = "expired" if ticket.status.phase is TicketPhase.EXPIRED else "was released"
    said = f": {ticket.status.message}" if ticket.status.message else ""
    return Explanation(f"It {word}{when}{said.removesuffix('.')}.", (stays,))


def _removal(due: datetime, now: datetime) -> str:
    word = "is" if due >= now else "was due to be"
    return f"The object {word} deleted {when_text(due, now)}."


def _end(asked: TicketQuestion) -> Iterator[str]:
    """Until when it holds, or how long it will."""
    ticket, now = asked.ticket, asked.now
    ends = deadlines.expiration(ticket, deadlines.activation(ticket), now)
    long = span(deadlines.length_of(ticket).total_seconds())
    if ends is None:
        yield f"It will hold for {long}, counted from when it is first Reserved."
    elif deadlines.is_standing(ticket) or deadlines.goes_on(ticket):
        yield f"It is renewed in place {when_text(ends, now)}, at {instant.render(ends)}."
    elif ends < now:
        yield f"It was due to expire {when_text(ends, now)}, at {instant.render(ends)}."
    else:
        yield f"It expires {when_text(ends, now)}, at {instant.render(ends)}, unless it is claimed."


def _origin(asked: TicketQuestion) -> Iterator[str]:
    name = inventory.order_of(asked.ticket)
    yield f"It is a ticket of order {name}." if name else "It belongs to no order."


def _leaving(asked: TicketQuestion) -> Iterator[str]:
    meta = asked.ticket.metadata
    if meta.deletion_timestamp is None:
        return
    since = span(_seconds(meta.deletion_timestamp, asked.now))
    yield f"It is being deleted, for {since} now."
    if TICKET_FINALIZER in meta.finalizers:
        yield (
            f"The finalizer {TICKET_FINALIZER} goes when its guardian is gone and no hand-over is under way;"
            " that is the work of `korder manager`."
        )


def _seconds(since: datetime | None, now: datetime) -> float:
    return (now - since).total_seconds() if since is not None else 0.0
