"""Every ticket that a pod asks for with its own verdict: would it fit, and if not, why not.

`explainpods` shows them. The questions are those of `choosing`, asked of each ticket by itself and also of those that are taken.
"""

from collections.abc import Iterator

from korder.api.core import Pod
from korder.api.meta import owned_by
from korder.api.reserve import Ticket, TicketPhase
from korder.reserve.rules.claims import fitting, owners, seeking
from korder.reserve.rules.claims.seeking import Market, Seeker
from korder.reserve.rules.orders import ticketstate
from korder.reserve.rules.telling import telling
from korder.reserve.rules.tickets import ticketstatus, usage

_TAKEN = (TicketPhase.CLAIMING, TicketPhase.CLAIMED)


def verdicts(
    seeker: Seeker, market: Market, *, knows_nodes: bool
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """How far from a claim each ticket is, and its row; where nodes are not known only sizes are compared."""
    for ticket in market.tickets:
        if not ticketstate.is_over(ticket) and seeking.is_wanted(seeker.request, ticket):
            mismatch = _mismatch(seeker.pod, ticket, market, knows_nodes=knows_nodes)
            far, verdict = _verdict(seeker.pod, ticket, market, mismatch)
            phase = str(ticketstate.phase_of(ticket))
            yield far, (ticket.metadata.name, phase, ticket.status.node_name, verdict)


def _verdict(pod: Pod, ticket: Ticket, market: Market, mismatch: str) -> tuple[int, str]:
    barred = _barred(pod, ticket, market)
    if barred:
        return 4, barred
    if ticket.status.phase in _TAKEN:
        also = f", and would not fit: the pod {mismatch}" if mismatch else ""
        return 3, f"is taken by {telling.pods_of(ticket) or 'another pod'}{also}"
    if ticket.status.phase is not TicketPhase.RESERVED:
        why = ticket.status.reason
        if ticketstatus.is_held_ahead(ticket):
            return 2, f"is held and cannot be claimed yet: {telling.life(ticket, market.now)}"
        return 2, f"holds nothing yet{f' ({why})' if why else ''}"
    blocked = market.blocked.get(ticket.metadata.uid, "")
    if mismatch or blocked:
        return (
            1,
            f"does not fit: the pod {mismatch}"
            if mismatch
            else f"cannot be handed over: {blocked}",
        )
    return (0, "would fit") if seeking.is_free(ticket, market.now) else (2, "is at its end")


def _barred(pod: Pod, ticket: Ticket, market: Market) -> str:
    """Why the pod may not have the ticket, whatever the two are like."""
    if not owners.may_claim(ticket, pod):
        home = ticket.metadata.namespace
        only = f"it names no owners, so only pods of namespace {home} may claim it"
        return (
            f"is not for this pod: {'its owners do not include it' if ticket.spec.owners else only}"
        )
    if ticket.metadata.deletion_timestamp is not None:
        return "is being deleted"
    closed = filter(seeking.is_closed, market.orders)
    if any(owned_by(ticket, order.metadata.uid) for order in closed):
        return "is closed: its order waits for minAvailable"
    return ""


def _mismatch(pod: Pod, ticket: Ticket, market: Market, *, knows_nodes: bool) -> str:
    left = usage.remainder(ticket, ticket.status.shared_by)
    short = fitting.too_small(fitting.needs_of(pod), left)
    if short or not ticket.status.node_name or not knows_nodes:
        return short
    beside = fitting.leaves_some(pod, ticket)
    return fitting.unsuited(pod, market.site(ticket.status.node_name), beside=beside)
