"""Why a pod gets no ticket now: what it seeks is not there, not for it, not open yet, not free, or does not fit.

`choosing` calls it for those who went away empty; what it says is written to the pod and told to people.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from korder.api.core import Pod
from korder.api.meta import Key, key_of
from korder.api.reserve import ClaimReason, Reason, Ticket, TicketPhase
from korder.api.resources import Resources
from korder.reserve.rules.claims import fitting, owners, seeking
from korder.reserve.rules.claims.requests import Request
from korder.reserve.rules.claims.seeking import Market, Seeker

_ENDED = frozenset({TicketPhase.EXPIRED, TicketPhase.RELEASED})


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a pod gets no ticket now."""

    reason: ClaimReason | Reason
    message: str
    is_crowded: bool = False
    """Whether a pod that goes from some node would help."""
    is_short: bool = False
    """Whether a ticket that the pod could share is on its way to another one, and can be claimed again in a moment."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found out about the free tickets that are for a pod.

    Attributes:
        free: The first of each kind, and what is left of it.
        some_suit: Whether the pod could have had one, had others not taken it.
        is_crowded: Whether other pods on the nodes keep it from one.
        is_shared: Whether one that it could share is on its way to another pod.
    """

    free: Collection[tuple[Ticket, Resources]]
    some_suit: bool
    is_crowded: bool
    is_shared: bool = False


def why(seeker: Seeker, market: Market, judged: Judged) -> Wait:
    """Tells a pod that has got nothing what it waits for."""
    if not any(_wanted(seeker, market)):
        return Wait(ClaimReason.NO_TICKET, _missing(seeker.request, market))
    what = _words(seeker.request, market.namespace)
    if not any(_allowed(seeker, market)):
        return Wait(ClaimReason.NOT_AN_OWNER, f"The owners of {what} do not include this pod.")
    shut = market.closed()
    if shut and all(seeking.maker_of(ticket, shut) for ticket in _allowed(seeker, market)):
        makers = (seeking.maker_of(ticket, shut) for ticket in _allowed(seeker, market))
        first = min(key_of(order) for order in makers if order is not None)
        return Wait(
            ClaimReason.ORDER_CLOSED,
            f"Order {first} is closed until as many tickets as its minAvailable are held.",
        )
    if not judged.free or judged.some_suit:
        none_free = _none_free(seeker.request, market.namespace)
        return Wait(ClaimReason.NONE_FREE, none_free, is_short=judged.is_shared)
    nearest = _nearest(seeker.pod, judged.free, market)
    return Wait(ClaimReason.NONE_FITS, nearest, judged.is_crowded, judged.is_shared)


def _wanted(seeker: Seeker, market: Market) -> Iterator[Ticket]:
    """What is asked for and has not ended."""
    for ticket in market.tickets:
        if ticket.status.phase not in _ENDED and seeking.is_wanted(seeker.request, ticket):
            yield ticket


def _allowed(seeker: Seeker, market: Market) -> Iterator[Ticket]:
    """Of these, what is for the pod."""
    for ticket in _wanted(seeker, market):
        if owners.may_claim(ticket, seeker.pod):
            yield ticket


def _nearest(pod: Pod, free: Collection[tuple[Ticket, Resources]], market: Market) -> str:
    """The mismatch that is nearest to a fit: a wrong node rather than too little room."""
    needs = fitting.needs_of(pod)

    def distance(offer: tuple[Ticket, Resources]) -> tuple[bool, float, str]:
        ticket, left = offer
        short = fitting.too_small(needs, left)
        return bool(short), -sum(a.nano for a in left.values()), ticket.metadata.name

    ticket, left = min(free, key=distance)
    site = market.site(ticket.status.node_name)
    beside = fitting.leaves_some(pod, ticket)
    short = fitting.too_small(needs, left) or fitting.unsuited(pod, site, beside=beside)
    return f"No free ticket fits; the nearest is {key_of(ticket)}: {short}."


def _missing(request: Request, market: Market) -> str:
    home = market.namespace
    names = {order.metadata.name for order in market.orders}
    if request.order is not None:
        order = Key(home, request.order.name)
        if order.name not in names:
            return f"There is no order {order}."
        what = "ticket now" if _means_any(request) else "such ticket"
        return f"Order {order} has no {what}."
    if request.ticket:
        ended = [each for each in market.tickets if each.metadata.name == request.ticket]
        named = Key(home, request.ticket)
        if not ended:
            return f"There is no ticket {named}."
        return f"Ticket {named} has ended ({ended[0].status.phase})."
    if _means_any(request) and not names and not market.tickets:
        return f"There are no orders in namespace {home}."
    return f"There is none of {_words(request, home)}."


def _means_any(request: Request) -> bool:
    """Says whether every ticket would do, be it of one order."""
    return not request.ticket and not request.group and not request.labels.requirements


def _none_free(request: Request, home: str) -> str:
    if request.ticket:
        return f"Ticket {Key(home, request.ticket)} is taken or holds nothing yet."
    return f"All of {_words(request, home)} are taken or hold nothing yet."


def _words(request: Request, home: str) -> str:
    """What is asked for, in words."""
    if request.ticket:
        return f"ticket {home}/{request.ticket}"
    what = f"the tickets of group {request.group}" if request.group else "the tickets"
    if request.labels.requirements:
        what = f"{what} labelled {request.labels}"
    if request.order is not None:
        return f"{what} of order {Key(home, request.order.name)}"
    return f"{what} in namespace {home}"
