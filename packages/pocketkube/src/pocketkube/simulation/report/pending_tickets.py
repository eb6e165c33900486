"""What an order wants and does not have yet: numbers that it has booked, and tickets that nobody has looked at.

`lines` keeps one for every order and adds it to what is wanted: between the first and the last ticket of an order, those that are there are
not all. A ticket whose start is later is not missing before. A number is forgotten as soon as the order says that it is made.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime
import re

_NUMBER = re.compile(r"-([0-9]+)$")


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
