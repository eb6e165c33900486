"""A span in which a workload has less than it wants: since when, why, and how much of how many was missing for how long.

`lines` opens and closes them. Of a gap in which the numbers change, what lasted longest is told: between the end of one pod and the
start of the next much is missing for an instant.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(slots=True)
class Gap:
    """Since when something is missing, and how much of how many, each with how long it was so."""

    since: datetime
    cause: str
    why: str = ""
    in_vain: bool = False
    """Whether something was given up for which this workload waited."""
    lapsed: bool = False
    """Whether members had ended that are wanted at all times."""
    now: tuple[int, int] = (0, 0)
    at: datetime | None = None
    lengths: dict[tuple[int, int], timedelta] = field(default_factory=dict)

    def hold(self, at: datetime, missing: int, wanted: int) -> None:
        """From now on so many are missing."""
        if self.at is not None:
            self.lengths[self.now] = self.lengths.get(self.now, timedelta()) + (at - self.at)
        self.at, self.now = at, (missing, wanted)

    def mostly(self) -> tuple[int, int]:
        """How many of how many were missing for the longest time."""
        return max(self.lengths, key=lambda each: self.lengths[each], default=self.now)
