"""The rows of orders and tickets in the report of a simulation.

An order has tickets as its members, and some that are wanted and not there yet: numbers that it has booked, and tickets that no
controller has seen. A ticket whose start is later is not missing before. A number is forgotten as soon as the order says that it is made.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
import re
from typing import ClassVar

from korder.api.reserve import ORDERS
from pocketkube.simulation.report.averages import Division
from pocketkube.simulation.report.goals import Goal
from pocketkube.simulation.report.pod_tracker import Phase
from pocketkube.simulation.report.workload_rows import Line, Name, Tell

_NUMBER = re.compile(r"-([0-9]+)$")


@dataclass(frozen=True, slots=True)
class OrderGoal(Goal):
    """What an order wants at this moment.

    Attributes:
        booked: Numbers of tickets that it wants besides those that are there, unless they have been seen.
        nodes: On how many nodes it wants a ticket, while it makes some.
        standing: How many tickets it wants at all times, also between those that have expired and the next firing.
        closed: It wants nothing until later; what was booked before and not made never came.
    """

    booked: frozenset[int] = frozenset()
    nodes: int = 0
    standing: int = 0
    closed: bool = False


class Coming:
    """Tickets that are yet to be made, and those that are there without being counted among the others."""

    def __init__(self) -> None:
        self._booked: AbstractSet[int] = frozenset()
        self._made: set[int] = set()
        """Those of the booked numbers whose tickets have been seen."""
        self._due: set[str] = set()
        self._later: dict[datetime, set[str]] = {}
        self.lapsed = 0
        """Tickets that expired since there were as many as the order wants at all times."""

    @property
    def unmade(self) -> int:
        """How many are booked and were never seen."""
        return len(self._booked) - len(self._made)

    @property
    def due(self) -> int:
        """How many are there, and their time has come."""
        return len(self._due)

    @property
    def there(self) -> int:
        """How many are there, whenever their time comes."""
        return self.due + sum(map(len, self._later.values()))

    def book(self, numbers: AbstractSet[int]) -> None:
        """The order says which numbers may be yet to be made."""
        self._booked = numbers
        self._made &= numbers

    def make(self, name: str) -> None:
        """A ticket of this name is there, or was."""
        found = _NUMBER.search(name)
        if found and int(found[1]) in self._booked:
            self._made.add(int(found[1]))

    def come(self, uid: str, start: datetime | None) -> None:
        """A ticket is there that neither holds room nor waits for it."""
        self.leave(uid)
        if start is None:
            self._due.add(uid)
        else:
            self._later.setdefault(start, set()).add(uid)

    def leave(self, uid: str) -> None:
        """It has gone, or is counted among the others now."""
        self._due.discard(uid)
        for start in list(self._later):
            self._later[start].discard(uid)
            if not self._later[start]:
                del self._later[start]

    def advance(self, at: datetime) -> None:
        """Lets time pass."""
        for start in [each for each in self._later if each <= at]:
            self._due |= self._later.pop(start)


class OrderLine(Line):
    """The story of one order, or of a ticket that no order made."""

    noun: ClassVar[str] = "ticket"
    well: ClassVar[str] = "held"
    alone: ClassVar[str] = "is held"
    makes_more: ClassVar[bool] = True

    def __init__(self, name: Name, at: datetime, division: Division, tell: Tell) -> None:
        super().__init__(name, at, division, tell)
        self._goal = OrderGoal()
        self._coming = Coming()
        self._missed = 0
        """Tickets that ended without ever having held anything."""
        self._missed_why = ""

    def expect(self, at: datetime, uid: str, name: str, start: datetime | None) -> None:
        """A ticket was made that no controller has seen, or whose time has not come."""
        self._pass(at)
        self._coming.make(name)
        self._coming.come(uid, start)
        self._judge(at)

    def dismiss(self, at: datetime, uid: str) -> None:
        """A ticket that was expected has gone."""
        self._pass(at)
        self._coming.leave(uid)
        self._judge(at)

    def miss(self, at: datetime, uid: str) -> None:
        """A ticket ended without ever having held anything."""
        self._missed += 1
        if self._gap is not None:
            self._gap.in_vain = True
        self._missed_why = self.tracker.members[uid].why or self._missed_why
        self.move(at, uid, Phase.SUCCEEDED, "")

    def lapse(self, at: datetime, uid: str) -> None:
        """A ticket expired that held room."""
        self._pass(at)
        self._coming.lapsed += 1
        self.move(at, uid, Phase.SUCCEEDED, "")

    @property
    def _wants(self) -> OrderGoal:
        return self._goal if isinstance(self._goal, OrderGoal) else OrderGoal()

    @property
    def _expected(self) -> int:
        return self._coming.due + self._unmade + self._lapsed

    @property
    def _unmade(self) -> int:
        """How many tickets an order wants that are not there; while it is paused it makes none."""
        if self._goal.held:
            return 0
        bare = self._wants.nodes - self.tracker.unfinished - self._coming.there
        return max(self._coming.unmade, bare)

    @property
    def _lapsed(self) -> int:
        """How many tickets of a standing pool have expired and are not replaced."""
        if self._goal.held:
            return 0
        there = self.tracker.unfinished + self._coming.there + self._coming.unmade
        return max(min(self._coming.lapsed, self._wants.standing - there), 0)

    def _expect_of(self, before: Goal, *, again: bool) -> None:
        if again:
            self._coming = Coming()
        unmade = self._coming.unmade
        self._coming.book(self._wants.booked)
        if self._wants.closed and before.trouble:
            self._give_up(unmade - self._coming.unmade, before.trouble)

    def _give_up(self, number: int, why: str) -> None:
        """Tickets that could not be made are not wanted any more."""
        if number <= 0:
            return
        self._missed += number
        self._missed_why = why
        if self._gap is not None:
            self._gap.in_vain = True

    def _arrive(self, uid: str, name: str) -> None:
        self._coming.make(name)
        self._coming.leave(uid)

    def _advance(self, at: datetime) -> None:
        self._coming.advance(at)
        if not self._lapsed:
            self._coming.lapsed = 0

    @property
    def _counts_late(self) -> bool:
        return self.name.kind == ORDERS.kind

    def _verdict(self) -> tuple[bool, str]:
        if self._missed:
            number = "a ticket" if self._missed == 1 else f"{self._missed} tickets"
            why = f": {self._missed_why}" if self._missed_why else ""
            return False, f"had {number} that never held anything{why}"
        return super()._verdict()
