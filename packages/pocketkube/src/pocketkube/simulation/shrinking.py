"""Makes a failing run small: leaves out steps, faults and crashes, as long as it still breaks the same promise.

    shrink(items, fails)      the core: pure, for any sequence
    smallest(make, runs=...)  the same for what a run consists of

`soak` and tests call it. A fault hits the nth request of a caller, and when steps are left out, requests shift; so what goes on being shrunk
is what really struck in the smaller run. The number of runs is bounded: what has been reached by then is the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from pocketkube.simulation.fault_plan import Planned, Strike
from pocketkube.simulation.script import Apply, Create, Step
from pocketkube.simulation.world import CrashPoint, Outcome, Setup, simulate

T = TypeVar("T")

RUNS = 300
"""Runs after which a result has to do."""
_COUNTS = ("replicas", "completions", "parallelism")
_GAPS = (1.0, 10.0, 60.0)
_AFTER = 60.0
"""Simulated seconds that a smaller run may fail later than the first one did."""


class Spent(Exception):
    """No more runs are allowed."""


def shrink(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leaves out all that is not needed to fail: without any one of what is left, it would not.

    `fails` is true of `items`. It may raise `Spent`; then the smallest that was found so far is returned.
    """
    left = list(items)
    size = len(left)
    with suppress(Spent):
        while size:
            start, before = 0, len(left)
            while start < len(left):
                rest = left[:start] + left[start + size :]
                if fails(rest):
                    left = rest
                else:
                    start += size
            if size > 1 or len(left) == before:
                size //= 2
    return left


@dataclass(frozen=True, slots=True)
class Case:
    """What happens in a run: what is left out of it is what shrinks."""

    steps: tuple[Step, ...]
    strikes: tuple[Strike, ...] = ()
    crashes: tuple[CrashPoint, ...] = ()
    length: float = 0.0
    settle: float = 0.0

    def __len__(self) -> int:
        return len(self.steps) + len(self.strikes) + len(self.crashes)

    def put_into(self, setup: Setup) -> Setup:
        """The run in which this happens, and nothing else."""
        return replace(
            setup,
            script=self.steps,
            luck=Planned(self.strikes),
            crashes=self.crashes,
            length=self.length,
            settle=self.settle,
        )


@dataclass(frozen=True, slots=True)
class Small:
    """The smallest failing run that was found, how it ended, and how many runs that took."""

    case: Case
    outcome: Outcome
    runs: int


def what_broke(violation: str) -> str:
    """Names the promise in a violation's text: what comes before the details."""
    return violation.partition(":")[0]


def smallest(make: Callable[[], Setup], runs: int = RUNS) -> Small | None:
    """Shrinks a failing run; `make` makes it anew each time, with fresh observers. None if it does not fail."""
    setup = make()
    first = simulate(setup)
    if not first.violation:
        return None
    search = _Search(make, _as_planned(setup, first), first, runs)
    with suppress(Spent):
        search.leave_out()
        search.simplify()
    return Small(search.best, search.outcome, search.runs)


def _as_planned(setup: Setup, outcome: Outcome) -> Case:
    """What has happened in a run up to its end."""
    ended = outcome.ended_after
    case = Case(
        tuple(step for step in setup.script if step.at <= ended),
        outcome.strikes,
        tuple(setup.crashes),
        setup.length,
        setup.settle,
    )
    return replace(case, length=ended, settle=_AFTER) if ended < setup.length else case


class _Search:
    """Tries smaller cases and remembers the smallest that failed."""

    def __init__(self, make: Callable[[], Setup], case: Case, outcome: Outcome, runs: int) -> None:
        self._make = make
        self._broke = what_broke(outcome.violation)
        self._most = runs
        self._sound: set[bytes] = set()
        """Cases that did not fail."""
        self.runs = 0
        self.best = case
        self.outcome = outcome

    def leave_out(self) -> None:
        """Leaves out what is not needed, until nothing more can go."""
        before = len(self.best) + 1
        while len(self.best) < before:
            before = len(self.best)
            case = self.best
            shrink(case.strikes, lambda some: self._fails(replace(self.best, strikes=tuple(some))))
            shrink(case.crashes, lambda some: self._fails(replace(self.best, crashes=tuple(some))))
            shrink(case.steps, lambda some: self._fails(replace(self.best, steps=tuple(some))))

    def simplify(self) -> None:
        """Makes numbers smaller and pauses shorter."""
        for index in range(len(self.best.steps)):
            for simpler in _simpler(self.best.steps[index]):
                steps = (*self.best.steps[:index], simpler, *self.best.steps[index + 1 :])
                if self._fails(replace(self.best, steps=steps)):
                    break
        for gap in _GAPS:
            if self._fails(_hurried(self.best, gap)):
                break

    def _fails(self, case: Case) -> bool:
        key = msgspec.json.encode(case)
        if key in self._sound:
            return False
        if self.runs == self._most:
            raise Spent
        self.runs += 1
        outcome = simulate(case.put_into(self._make()))
        if what_broke(outcome.violation) != self._broke:
            self._sound.add(key)
            return False
        self.best = replace(case, strikes=outcome.strikes)
        self.outcome = outcome
        return True


def _simpler(step: Step) -> Iterator[Step]:
    """The same step with smaller numbers, the smallest first."""
    action = step.action
    if not isinstance(action, Apply | Create):
        return
    spec = action.manifest.get("spec", {})
    large = [name for name in _COUNTS if spec.get(name, 1) > 1]
    for number in (1, 2):
        if any(spec[name] > number for name in large):
            changed: dict[str, Any] = {name: min(number, spec[name]) for name in large}
            manifest = {**action.manifest, "spec": {**spec, **changed}}
            yield Step(step.at, msgspec.structs.replace(action, manifest=manifest))


def _hurried(case: Case, gap: float) -> Case:
    """The same with no more than `gap` seconds between two steps."""
    times = [0.0, *(step.at for step in case.steps)]
    at, saved, steps = 0.0, 0.0, []
    for (before, after), step in zip(pairwise(times), case.steps, strict=True):
        pause = min(after - before, gap)
        saved += after - before - pause
        at += pause
        steps.append(Step(round(at, 3), step.action))
    return replace(case, steps=tuple(steps), length=max(at, case.length - saved))
