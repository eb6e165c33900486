"""Why a pod gets no ticket now: what it seeks is not there, not for it, not open yet, not free, or does not fit.

`matching` calls it for those who went away empty; what it says is written to the pod and told to people.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from korder.api.reserve import ClaimReason, Reason, Ticket
from korder.reserve.claims import inventory, requirements
from korder.reserve.claims.inventory import Market, Seeker
from korder.reserve.claims.requirements import Request
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects.meta import Key, key_of
from kubeloop.objects.resources import Resources


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
        some_suit: Whether the pod could have had one, had others not taken it.
        mismatch: What is nearest to a fit where one is large enough, but not on a node for the pod.
        is_crowded: Whether other pods on the nodes keep it from one.
        is_shared: Whether one that it could share is on its way to another pod.
        blocked: Which one would fit and cannot be handed over now, and why; empty if there is none.
    """

    some_suit: bool
    mismatch: str
    is_crowded: bool
    is_shared: bool
    blocked: str = ""


@dataclass(frozen=True, slots=True)
class _Range:
    """What there is for a pod, whoever has it now: the different sizes, and whether pods share some of it."""

    sizes: Collection[Resources]
    is_shared: bool


class Reasons:
    """Why pods get nothing in one round; what many of them ask is found out once."""

    def __init__(self, market: Market, kinds: Collection[Ticket], labels: Collection[str]) -> None:
        self._market = market
        self._kinds = kinds
        self._labels = labels
        self._shut = market.closed()
        self._orders = frozenset(order.metadata.name for order in market.orders)
        self._found: dict[Hashable, Wait | _Range] = {}

    @cached_property
    def _by_name(self) -> Mapping[str, Ticket]:
        return {ticket.metadata.name: ticket for ticket in self._market.tickets}

    @cached_property
    def _by_node(self) -> Mapping[str, Collection[Ticket]]:
        """What has not ended and is on a node, or is meant to be."""
        found: dict[str, list[Ticket]] = {}
        for ticket in self._market.tickets:
            if not inventory.has_ended(ticket):
                node = ticket.status.node_name or ticket.spec.node_name
                found.setdefault(node, []).append(ticket)
        return found

    def why(self, seeker: Seeker, judged: Judged) -> Wait:
        """Tells a pod that has got nothing what it waits for."""
        asked = seeker.request, inventory.standing(seeker.pod, self._labels)
        if asked not in self._found:
            self._found[asked] = self._find(seeker)
        found = self._found[asked]
        return found if isinstance(found, Wait) else self._unmet(seeker, found, judged)

    def _find(self, seeker: Seeker) -> Wait | _Range:
        """What there is for the pod, or why there is nothing."""
        wanted = [each for each in self._meant(seeker.request) if not inventory.has_ended(each)]
        wanted = [each for each in wanted if inventory.is_wanted(seeker.request, each)]
        if not wanted:
            return Wait(ClaimReason.NO_TICKET, self._missing(seeker.request))
        allowed = [each for each in wanted if requirements.may_claim(each, seeker.pod)]
        if not allowed:
            what = _words(seeker.request, self._market.namespace)
            return Wait(ClaimReason.NOT_AN_OWNER, f"The owners of {what} do not include this pod.")
        makers = [inventory.maker_of(ticket, self._shut) for ticket in allowed]
        if all(makers):
            first = min(key_of(order) for order in makers if order is not None)
            return Wait(
                ClaimReason.ORDER_CLOSED,
                f"Order {first} is closed until as many tickets as its minAvailable are held.",
            )
        return _range_of(allowed)

    def _meant(self, request: Request) -> Collection[Ticket]:
        """Where to look: at one ticket if it is named, else at one of each kind."""
        if not request.ticket:
            return self._kinds
        named = self._by_name.get(request.ticket)
        return (named,) if named is not None else ()

    def _unmet(self, seeker: Seeker, there: _Range, judged: Judged) -> Wait:
        """What the pod cannot have of what there is for it; of one that can be on certain nodes only, what is there counts."""
        request, what = seeker.request, _words(seeker.request, self._market.namespace)
        nodes = requirements.only_nodes(seeker.pod) if not request.ticket else None
        if nodes is None:
            return self._short(seeker, what, there, judged)
        where = f"node {' or '.join(nodes)}"
        there = self._on(nodes, seeker)
        if not there.sizes:
            short = f"must be on {where}, where none is"
            return Wait(ClaimReason.NONE_FITS, _unfit(request, what, "No ticket fits", short))
        return self._short(seeker, f"{what} on {where}", there, judged)

    def _on(self, nodes: Iterable[str], seeker: Seeker) -> _Range:
        """What there is for the pod on these nodes."""
        found = (ticket for node in nodes for ticket in self._by_node.get(node, ()))
        return _range_of(
            ticket
            for ticket in found
            if inventory.is_wanted(seeker.request, ticket)
            and requirements.may_claim(ticket, seeker.pod)
        )

    def _short(self, seeker: Seeker, what: str, there: _Range, judged: Judged) -> Wait:
        """What keeps the pod from these tickets: their size, their nodes, or other pods.

        A size that no ticket has is told whether tickets are free or not, and of a mismatch no ticket is named that others are like:
        the words stay the same while others come and go.
        """
        needs, request = requirements.needs_of(seeker.pod), seeker.request
        large = [size for size in there.sizes if requirements.is_large_enough(needs, size)]
        if not large:
            short = _nearest(needs, there.sizes)
            return Wait(ClaimReason.NONE_FITS, _unfit(request, what, "No ticket fits", short))
        if judged.blocked and not judged.some_suit:
            none_free = f"No ticket is free; {judged.blocked}."
            return Wait(ClaimReason.NONE_FREE, none_free, judged.is_crowded, judged.is_shared)
        if judged.mismatch and not judged.some_suit:
            unfit = _unfit(request, what, "No free ticket fits", judged.mismatch)
            return Wait(ClaimReason.NONE_FITS, unfit, judged.is_crowded, judged.is_shared)
        if len(large) < len(there.sizes):
            what = f"{what} that are large enough"
        none_free = _none_free(request, what, is_shared=there.is_shared)
        return Wait(ClaimReason.NONE_FREE, none_free, is_short=judged.is_shared)

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


def _range_of(tickets: Iterable[Ticket]) -> _Range:
    sizes: dict[Hashable, Resources] = {}
    is_shared = False
    for ticket in tickets:
        size = tuple(sorted(ticket.spec.requests.items()))
        if size not in sizes:
            sizes[size] = ticket_state.held(ticket)
        is_shared = is_shared or not ticket.spec.allocate_once
    return _Range(sizes.values(), is_shared)


def _nearest(needs: Resources, sizes: Iterable[Resources]) -> str:
    """What the largest of these has too little of."""
    _, short = min(
        (-sum(amount.nano for amount in size.values()), requirements.too_small(needs, size))
        for size in sizes
    )
    return short


def _means_any(request: Request) -> bool:
    """Says whether every ticket would do, be it of one order."""
    return not request.ticket and not request.group and not request.labels.requirements


def _unfit(request: Request, what: str, none: str, mismatch: str) -> str:
    if request.ticket:
        return f"T{what[1:]} does not fit: {mismatch}."
    return f"{none}; nearest mismatch: {mismatch}."


def _none_free(request: Request, what: str, *, is_shared: bool) -> str:
    if request.ticket:
        used_up = ", has too little left" if is_shared else ""
        return f"T{what[1:]} is taken{used_up} or holds nothing yet."
    used_up = ", have too little left" if is_shared else ""
    return f"All of {what} are taken{used_up} or hold nothing yet."


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
