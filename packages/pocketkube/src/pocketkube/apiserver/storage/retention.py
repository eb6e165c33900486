"""How much of the past is kept: the one place that decides which version is the oldest worth remembering.

`Storage` notes every commit here and compacts to what it is told. It is pure: the instant comes in. The age of a change is known
only to a step of some events, and counts from the start of the process: the file stores no times, so a restart keeps more than
it must, never less.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is kept for watches that resume and pages that continue; whichever limit is reached first counts.

    Five minutes is what a real cluster keeps. The numbers bound memory: a client that lags behind 20,000 changes is better
    served by a new list.
    """

    age: float = 300.0
    events: int = 20_000
    size: int = 64 * 1024 * 1024

    @property
    def step(self) -> int:
        """Events between two marks: compaction works in portions of about this many."""
        return max(1, min(256, self.events // 8))


class _Mark(NamedTuple):
    version: int
    at: float
    weight: int


class Retention:
    """Remembers when which version was reached."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._marks: deque[_Mark] = deque()
        self._last = _Mark(0, float("-inf"), 0)
        self._weight = 0

    def note(self, version: int, weight: int, now: float) -> bool:
        """Counts a change; true if it is time to ask for the floor again."""
        self._weight += weight
        last, window = self._last, self._window
        if (
            version - last.version < window.step
            and now - last.at < window.age / 30
            and self._weight - last.weight < window.size // 8
        ):
            return False
        self._last = _Mark(version, now, self._weight)
        self._marks.append(self._last)
        return True

    def floor(self, version: int, now: float) -> int:
        """The newest version of which nobody needs to know what came before; 0 if all of the past is wanted."""
        window, floor = self._window, 0
        while self._marks and (
            self._marks[0].version <= version - window.events
            or self._marks[0].at <= now - window.age
            or self._marks[0].weight < self._weight - window.size
        ):
            floor = self._marks.popleft().version
        return floor
