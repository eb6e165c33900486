"""The picture of one workload: in which state it was, mostly, in each part of a run.

`lines` draws one for every workload; states that follow each other unchanged are one span, so a quiet workload costs nothing.
"""

from datetime import datetime

from pocketkube.simulation.report.averages import Division
from pocketkube.simulation.report.timeline import Span, State


class Bar:
    """States over time, as they are told."""

    def __init__(self, division: Division, at: datetime) -> None:
        self._division = division
        self._width, self._last = division.width, division.count - 1
        self._at = division.since_start(at)
        self._begin = at
        self._weights: dict[State | None, int] = {}
        self._runs: list[tuple[int, State | None]] = []
        """Where a state begins; it lasts until the next one begins."""

    def hold(self, until: datetime, state: State | None) -> None:
        """The workload was in this state (None: not there) from the last call until now."""
        now = self._division.since_start(until)
        while self._at < now:
            index = self._index()
            border = now if index == self._last else min(now, (index + 1) * self._width)
            self._weights[state] = self._weights.get(state, 0) + border - self._at
            self._at = border
            if index != self._last and border == (index + 1) * self._width:
                self._close(index)

    def spans(self, end: datetime) -> tuple[Span, ...]:
        """What was drawn, up to the end."""
        if self._weights:
            self._close(self._index())
        borders = [self._division.instant(index) for index, _ in self._runs[1:]]
        return tuple(
            Span(
                start=max(self._division.instant(index), self._begin),
                end=min(until, end),
                state=state,
            )
            for (index, state), until in zip(self._runs, [*borders, end], strict=True)
            if state is not None
        )

    def _index(self) -> int:
        return min(self._at // self._width, self._last)

    def _close(self, index: int) -> None:
        there = {state: held for state, held in self._weights.items() if state is not None}
        state = max(there, key=lambda each: there[each]) if there else None
        self._weights = {}
        if not self._runs or self._runs[-1][1] is not state:
            self._runs.append((index, state))
