"""May somebody have what he wishes for? The one answer, for admission, the ledger, and whoever explains it.

Every quota that means a wish must have room for it, and so must every allocation of such a quota that its namespace falls under, unless
that allocation may borrow: then it is enough that the quota as a whole has room. Only what a wish adds to is judged, so that
whoever asks for nothing more is never refused. `max-duration` is a length, not a sum.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from korder.api import duration, quantity, resources
from korder.api.quota import MAX_DURATION_KEY, Allocation, Enforcement, Quota, ScopeType
from korder.api.resources import Resources
from korder.reserve.rules.quotas import limits, scopes
from korder.reserve.rules.quotas.limits import InForce, Limits
from korder.reserve.rules.quotas.scopes import Labels, Place


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


def verdict(
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
        return tuple(range(len(wish.parts))) if scopes.covers(scope, place, {}) else ()
    return tuple(
        number for number, part in enumerate(wish.parts) if scopes.covers(scope, place, part.labels)
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
    for number in scopes.allocations(quota.spec, place):
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
        told = (str(used), str(hard), str(requested))
        return Shortfall(quota.metadata.name, key, *told, inside, window, quota.spec.enforcement)

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
