"""The auditor: is told of every commit of a run, and says when a promise is broken.

The engine calls `note` after each commit, before anybody hears of it; sets a timer for `due` and then calls `look`; and calls `rest`
when the run is over and everything has had the time to settle. What it finds it returns and keeps; to stop the run is up to the
engine. A commit costs the invariants that care for its kind, however many objects there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush
from itertools import chain

from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant, Later
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was not kept, when, and on which objects; `version` is that of the last commit."""

    invariant: str
    promise: str
    sentence: str
    at: datetime
    version: int
    subjects: tuple[Subject, ...]


class Auditor:
    """Keeps the view and asks the invariants."""

    def __init__(self, invariants: Iterable[Invariant], at: datetime) -> None:
        given = tuple(invariants)
        self._invariants = {each.name: each for each in given}
        if len(self._invariants) < len(given):
            raise ValueError(
                "two invariants have the same name; a report could not tell them apart"
            )
        kinds = chain.from_iterable((*(each.resources or ()), *each.reads) for each in given)
        self.view = View(kinds, at)
        self.violations: list[Violation] = []
        self._concerned: dict[str, tuple[Invariant, ...]] = {}
        self._wishes: dict[tuple[str, Subject], datetime] = {}
        self._agenda: list[tuple[datetime, str, Subject]] = []

    def note(self, change: Change) -> tuple[Violation, ...]:
        """Judges a commit."""
        self.view.move(change)
        concerned = self._concerned.get(change.resource)
        if concerned is None:
            concerned = self._concerned[change.resource] = self._who(change.resource)
        return self._judged((each, each.check(change, self.view)) for each in concerned)

    def due(self) -> datetime | None:
        """When somebody wants to look again."""
        while self._agenda and not self._is_wished(self._agenda[0]):
            heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else None

    def look(self, now: datetime) -> tuple[Violation, ...]:
        """Judges whatever is due by now."""
        self.view.now = max(now, self.view.now)
        found: list[Violation] = []
        while (due := self.due()) is not None and due <= now:
            _, name, subject = heappop(self._agenda)
            del self._wishes[name, subject]
            invariant = self._invariants[name]
            found += self._judged([(invariant, invariant.look(subject, self.view))])
        return tuple(found)

    def rest(self, now: datetime) -> tuple[Violation, ...]:
        """Judges a run that is over."""
        late = self.look(now)
        everyone = self._invariants.values()
        return (*late, *self._judged((each, each.at_rest(self.view)) for each in everyone))

    def _who(self, resource: str) -> tuple[Invariant, ...]:
        return tuple(
            each
            for each in self._invariants.values()
            if each.resources is None or resource in map(str, each.resources)
        )

    def _judged(
        self, answers: Iterable[tuple[Invariant, Iterable[Finding]]]
    ) -> tuple[Violation, ...]:
        found: list[Violation] = []
        for invariant, findings in answers:
            for finding in findings:
                if isinstance(finding, Broken):
                    found.append(self._violation(invariant, finding))
                else:
                    self._remember(invariant.name, finding)
        self.violations += found
        return tuple(found)

    def _remember(self, name: str, later: Later) -> None:
        if self._wishes.get((name, later.subject)) != later.at:
            self._wishes[name, later.subject] = later.at
            heappush(self._agenda, (later.at, name, later.subject))

    def _violation(self, invariant: Invariant, broken: Broken) -> Violation:
        view = self.view
        return Violation(
            invariant.name,
            invariant.promise,
            broken.sentence,
            view.now,
            view.version,
            broken.subjects,
        )

    def _is_wished(self, entry: tuple[datetime, str, Subject]) -> bool:
        at, name, subject = entry
        return self._wishes.get((name, subject)) == at
