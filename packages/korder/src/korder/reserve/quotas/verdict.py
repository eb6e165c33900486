"""Whether a quota allows a wish: the one answer for admission, the ledger and explanations; with scopes and charges.

A scope says which namespaces, orders and tickets a quota covers. A charge is what an order or a ticket counts for (rule 20).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    RESERVED_PREFIX,
    TICKETS_KEY,
    Allocation,
    Enforcement,
    Quota,
    QuotaSpec,
    Scope,
    ScopeType,
)
from korder.api.reserve import Ticket, TicketPhase, TicketSpec
from korder.reserve.quotas import limits
from korder.reserve.quotas.limits import InForce, Limits
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import duration, quantity, resources, selector
from kubeloop.objects.quantity import Quantity
from kubeloop.objects.resources import Resources
from kubeloop.objects.selector import LabelSelector, Selector

ONE = quantity.parse(1)
ORDER: Mapping[str, Quantity] = {ORDERS_KEY: ONE}
"""What an order counts for."""


def of_ticket(ticket: Ticket) -> dict[str, Quantity]:
    """What a ticket counts for as it stands; nothing when it has ended."""
    if ticket_state.is_over(ticket):
        return {}
    if ticket_state.phase_of(ticket) is TicketPhase.CLAIMED:
        return _charge({})
    return _charge(ticket_state.remainder(ticket, ticket.status.shared_by))


def of_new(spec: TicketSpec) -> dict[str, Quantity]:
    """What a ticket that is yet to be made counts for."""
    return _charge(resources.parse_list(spec.requests))


def _charge(held: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {
        TICKETS_KEY: ONE,
        **{f"{RESERVED_PREFIX}{name}": amount for name, amount in held.items()},
    }


Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace and its labels."""

    namespace: str
    labels: Labels


def covers(scope: Scope, place: Place, labels: Labels) -> bool:
    """Says whether a quota means an object with these labels in this place."""
    match scope.type:
        case ScopeType.CLUSTER:
            return True
        case ScopeType.NAMESPACE_LIST:
            return place.namespace in scope.namespaces
        case ScopeType.NAMESPACE_SELECTOR:
            return selecting(scope.namespace_selector).matches(place.labels)
        case ScopeType.OBJECT_SELECTOR:
            return selecting(scope.object_selector).matches(labels)


def allocations(spec: QuotaSpec, place: Place) -> tuple[int, ...]:
    """The places in the list of all allocations that a namespace falls under; all of them hold."""
    return tuple(
        number
        for number, each in enumerate(spec.allocation)
        if (
            each.namespace == place.namespace
            if each.namespace_selector is None
            else selecting(each.namespace_selector).matches(place.labels)
        )
    )


def asks_for_labels(spec: QuotaSpec) -> bool:
    """Says whether labels of namespaces decide what a quota means or allows."""
    return spec.scope.type is ScopeType.NAMESPACE_SELECTOR or any(
        each.namespace_selector is not None for each in spec.allocation
    )


def selecting(structured: LabelSelector | None) -> Selector:
    """The selector that is meant; none selects nothing, nor does one that nobody can read."""
    if structured is None:
        return selector.NOTHING
    exact = tuple(sorted(structured.match_labels.items()))
    return _selecting(exact, structured.match_expressions)


@lru_cache(maxsize=4096)
def _selecting(
    exact: tuple[tuple[str, str], ...],
    expressions: tuple[selector.LabelSelectorRequirement, ...],
) -> Selector:
    structured = LabelSelector(match_labels=dict(exact), match_expressions=expressions)
    try:
        return selector.from_struct(structured)
    except selector.InvalidSelector:
        return selector.NOTHING


@dataclass(frozen=True, slots=True)
class Part:
    """Like objects of a wish: their labels, what they add in all, and how long they are to be held if that is new."""

    labels: Labels
    amounts: Resources
    length: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to make or to enlarge in a namespace."""

    place: Place
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What is used of a quota, and of each of its allocations."""

    total: Resources = field(default_factory=dict)
    allocations: tuple[Resources, ...] = ()

    def of(self, number: int) -> Resources:
        """The use of the allocation at this place in the list."""
        return self.allocations[number] if number < len(self.allocations) else {}


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A limit that stands in the way, in the words of people: durations are durations."""

    quota: str
    key: str
    used: str
    hard: str
    requested: str
    allocation: str = ""
    window: str = ""
    enforcement: Enforcement = Enforcement.REFUSE

    @property
    def waits(self) -> bool:
        """Says whether the wish may wait for room; no duration gets shorter by waiting."""
        return self.enforcement is Enforcement.WAIT and self.key != MAX_DURATION_KEY

    def __str__(self) -> str:
        who = f"quota {self.quota}"
        if self.allocation:
            who += f", allocation {self.allocation}"
        if self.window:
            who += f", window {self.window}"
        if self.key == MAX_DURATION_KEY:
            return f"{who}: {self.key} is {self.hard}, requested {self.requested}"
        return f"{who}: {self.key} used {self.used} of {self.hard}, requested {self.requested}"


Using = Callable[[Quota], Use]
"""What is used of a quota, charges of tickets yet to be made included."""
Limiting = Callable[[Quota, datetime], InForce]


def worked_out(quota: Quota, instant: datetime) -> InForce:
    """The limits of a quota at an instant, remembered by nobody."""
    return limits.in_force(quota.spec, instant)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What parts of a wish add in all, as far as they add anything, and the longest time that is new."""

    amounts: Resources
    length: duration.Duration | None


def judge(
    quotas: Iterable[Quota],
    usage: Using,
    wish: Wish,
    instant: datetime,
    limiting: Limiting = worked_out,
) -> tuple[Shortfall, ...]:
    """All limits that stand in the way of a wish, quota by quota; none means that it is granted."""
    known: dict[tuple[int, ...], _Asked] = {}
    short: list[Shortfall] = []
    for quota in quotas:
        meant = _meant(quota, wish)
        if not meant:
            continue
        if meant not in known:
            known[meant] = _added([wish.parts[number] for number in meant])
        short += _judged(quota, usage(quota), known[meant], wish.place, limiting(quota, instant))
    return tuple(short)


def _meant(quota: Quota, wish: Wish) -> tuple[int, ...]:
    """The parts of a wish that a quota means, by their places."""
    scope, place = quota.spec.scope, wish.place
    if scope.type is not ScopeType.OBJECT_SELECTOR:
        return tuple(range(len(wish.parts))) if covers(scope, place, {}) else ()
    return tuple(
        number for number, part in enumerate(wish.parts) if covers(scope, place, part.labels)
    )


def _added(parts: Iterable[Part]) -> _Asked:
    total: Resources = {}
    longest: timedelta | None = None
    for part in parts:
        total = resources.add(total, part.amounts)
        if part.length is not None:
            longest = part.length if longest is None else max(longest, part.length)
    amounts = {key: amount for key, amount in total.items() if amount > quantity.ZERO}
    length = None if longest is None else _exactly(longest)
    return _Asked(amounts, length)


def _exactly(length: timedelta) -> duration.Duration:
    return duration.Duration(length // timedelta(microseconds=1) * 1000)


def _judged(
    quota: Quota, use: Use, asked: _Asked, place: Place, force: InForce
) -> Iterator[Shortfall]:
    window = ",".join(force.windows)
    yield from _short(quota, asked, use.total, force.hard, window)
    for number in allocations(quota.spec, place):
        allocation, allowed = quota.spec.allocation[number], force.allocations[number]
        if allocation.borrow:
            allowed = Limits({}, allowed.longest)
        yield from _short(quota, asked, use.of(number), allowed, window, allocation)


def _short(
    quota: Quota,
    asked: _Asked,
    used: Resources,
    allowed: Limits,
    window: str,
    allocation: Allocation | None = None,
) -> Iterator[Shortfall]:
    """What one set of limits says to what is asked."""

    def short(key: str, used: object, hard: object, requested: object) -> Shortfall:
        inside = allocation.key if allocation is not None else ""
        stated = (str(used), str(hard), str(requested))
        return Shortfall(quota.metadata.name, key, *stated, inside, window, quota.spec.enforcement)

    for key, hard in allowed.amounts.items():
        wanted = asked.amounts.get(key)
        if wanted is None:
            continue
        before = used.get(key, quantity.ZERO)
        if before.nano + wanted.nano > hard.nano:
            yield short(key, before, hard, wanted)
    length, longest = asked.length, allowed.longest
    if longest is not None and length is not None and length > longest:
        yield short(MAX_DURATION_KEY, "", longest, length)
