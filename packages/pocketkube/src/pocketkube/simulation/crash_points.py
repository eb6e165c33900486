"""Visits every crash point of a run in turn: the same run again and again, each time with a crash at another place.

    for visit in walk(make, callers={"controllers"}): ...

Tests of a program call it and judge what each visit has led to. A run without any crash tells which places there are; a run that has
crashed may pass others, and those are found by walking in pairs.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from pocketkube.simulation.world import CrashPoint, Outcome, Setup, simulate

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Visit:
    """Where processes crashed, and how the run ended; the first visit is the one without a crash."""

    crashes: tuple[CrashPoint, ...]
    outcome: Outcome

    def __str__(self) -> str:
        places = " and ".join(f"{each.place} (visit {each.nth})" for each in self.crashes)
        return f"a crash at {places}" if places else "no crash"


def walk(
    make: Callable[[], Setup],
    *,
    callers: Collection[str] = (),
    visits: int = 1,
    pairs: int = 0,
) -> Iterator[Visit]:
    """Plays a run without a crash, then once for each crash point, then for so many pairs of them.

    `make` makes the run anew, with fresh observers. `callers` are the processes that crash, all if none is named. Places that are
    passed more than once are visited up to `visits` times, spread over the run; and so are pairs over all there are.
    """
    first = simulate(make())
    yield Visit((), first)
    points = [
        CrashPoint(place, nth)
        for place, times in first.places.items()
        if not callers or place.partition(" ")[0] in callers
        for nth in _spread(range(times), visits)
    ]
    for crashes in (*((point,) for point in points), *_spread([*combinations(points, 2)], pairs)):
        yield Visit(crashes, simulate(replace(make(), crashes=crashes)))


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Takes so many of the items, evenly spread, beginning with the first."""
    taken = min(most, len(items))
    return [items[index * len(items) // taken] for index in range(taken)]
