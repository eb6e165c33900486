"""Why a pod gets no ticket now: what it seeks is not there, not for it, not open yet, not free, or does not fit.

`choosing` calls it for those who went away empty; what it says is written to the pod and told to people.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

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


class Reasons:
    """Why pods get nothing in one round; what many of them ask is found out once."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._shut = market.closed()
        self._orders = frozenset(order.metadata.name for order in market.orders)

    @cached_property
    def _by_name(self) -> Mapping[str, Ticket]:
        return {ticket.metadata.name: ticket for ticket in self._market.tickets}

    def why(self, seeker: Seeker, judged: Judged) -> Wait:
        """Tells a pod that has got nothing what it waits for."""
        market, shut = self._market, self._shut
        if not any(self._wanted(seeker.request)):
            return Wait(ClaimReason.NO_TICKET, self._missing(seeker.request))
        what = _words(seeker.request, market.namespace)
        if not any(self._allowed(seeker)):
            return Wait(ClaimReason.NOT_AN_OWNER, f"The owners of {what} do not include this pod.")
        if shut and all(seeking.maker_of(ticket, shut) for ticket in self._allowed(seeker)):
            makers = (seeking.maker_of(ticket, shut) for ticket in self._allowed(seeker))
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

    def _wanted(self, request: Request) -> Iterator[Ticket]:
        """What is asked for and has not ended."""
        for ticket in self._meant(request):
            if ticket.status.phase not in _ENDED and seeking.is_wanted(request, ticket):
                yield ticket

    def _meant(self, request: Request) -> Collection[Ticket]:
        """Where to look: at one ticket if it is named, else at all."""
        if not request.ticket:
            return self._market.tickets
        named = self._by_name.get(request.ticket)
        return (named,) if named is not None else ()

    def _allowed(self, seeker: Seeker) -> Iterator[Ticket]:
        """Of these, what is for the pod."""
        for ticket in self._wanted(seeker.request):
            if owners.may_claim(ticket, seeker.pod):
                yield ticket

    def _missing(self, request: Request) -> str:
        home = self._market.namespace
        if request.order is not None:
            order = Key(home, request.order.name)
            if order.name not in self._orders:
                return f"There is no order {order}."
            what = "ticket now" if _means_any(request) else "such ticket"
            return f"Order {order} has no {what}."
        if request.ticket:
            named, ended = Key(home, request.ticket), self._by_name.get(request.ticket)
            if ended is None:
                return f"There is no ticket {named}."
            return f"Ticket {named} has ended ({ended.status.phase})."
        if _means_any(request) and not self._orders and not self._market.tickets:
            return f"There are no orders in namespace {home}."
        return f"There is none of {_words(request, home)}."


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
