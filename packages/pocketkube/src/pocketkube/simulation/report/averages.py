"""The time of a run in equal parts, and sums that change with every pod and node, averaged over them.

`timeline_builder` tells of pods that take room and of nodes that offer it. Time is counted in whole microseconds, so that no border of a
part is ever missed by a rounding.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pocketkube.simulation.report.timeline import BUCKETS

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Division:
    """A run in at most `BUCKETS` parts of whole seconds."""

    start: datetime
    end: datetime

    @property
    def width(self) -> int:
        """Microseconds of a part."""
        whole = -(-self.since_start(self.end) // (BUCKETS * _SECOND))
        return max(whole, 1) * _SECOND

    @property
    def count(self) -> int:
        return max(-(-self.since_start(self.end) // self.width), 1)

    def begun(self, at: datetime) -> int:
        """How many parts have begun before an instant; at least one."""
        return min(max(-(-self.since_start(at) // self.width), 1), self.count)

    def since_start(self, at: datetime) -> int:
        """Microseconds from the start; what happened before counts as the start."""
        return max((at - self.start) // timedelta(microseconds=1), 0)

    def instant(self, index: int) -> datetime:
        """Where a part begins; behind the last one the run ends."""
        return min(self.start + timedelta(microseconds=index * self.width), self.end)


class Meter:
    """One sum over time: its mean and its peak in each part."""

    def __init__(self, division: Division) -> None:
        self._division = division
        self._width, count = division.width, division.count
        self._areas = [0] * count
        self._peaks = [0] * count
        self._at = 0
        self.value = 0

    def add(self, at: datetime, amount: int) -> None:
        """Changes the sum."""
        self.advance(at)
        self.value += amount
        self._touch()

    def advance(self, at: datetime) -> None:
        """Lets time pass."""
        now = self._division.since_start(at)
        while self._at < now:
            index = self._touch()
            border = now if index == len(self._areas) - 1 else (index + 1) * self._width
            until = min(now, border)
            self._areas[index] += self.value * (until - self._at)
            self._at = until

    def means(self) -> list[float]:
        """The mean in each part, as far as time has passed."""
        passed = (min(self._at - i * self._width, self._width) for i in range(len(self._areas)))
        return [
            area / time if time > 0 else 0.0 for area, time in zip(self._areas, passed, strict=True)
        ]

    def peaks(self) -> list[int]:
        """The largest sum in each part."""
        return list(self._peaks)

    def _touch(self) -> int:
        index = min(self._at // self._width, len(self._areas) - 1)
        self._peaks[index] = max(self._peaks[index], self.value)
        return index
