"""What people are told of a run, line by line: a log that never grows beyond a limit.

`timeline_builder` writes it. The first half and the last half of too many lines are kept, because a story needs its beginning and its
end. Nodes to which the same happens at once are one line: a hundred nodes that join are not a hundred news.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pocketkube.simulation.report.timeline import Happening

MOST = 1_000
_NODE = "Node"
TOGETHER = timedelta(seconds=1)


@dataclass(slots=True)
class _Nodes:
    at: datetime
    what: str
    names: list[str] = field(default_factory=list)


class Happenings:
    """Lines in the order in which they are told, which is not quite that of time."""

    def __init__(self) -> None:
        self._first: list[Happening] = []
        self._last: deque[Happening] = deque(maxlen=MOST // 2)
        self._reported = 0
        self._nodes: _Nodes | None = None

    def add(self, happening: Happening) -> None:
        """Something happened."""
        self._reported += 1
        if len(self._first) < MOST // 2:
            self._first.append(happening)
        else:
            self._last.append(happening)

    def node(self, at: datetime, name: str, what: str) -> None:
        """Something happened to a node."""
        same = self._nodes
        if same is None or same.what != what or at - same.at > TOGETHER:
            self._flush()
            same = self._nodes = _Nodes(at, what)
        same.names.append(name)

    def stated(self) -> tuple[tuple[Happening, ...], int]:
        """All that is kept, by time, and how many lines are not."""
        self._flush()
        kept = sorted([*self._first, *self._last], key=lambda each: (each.at, each.kind != _NODE))
        return tuple(kept), self._reported - len(kept)

    def _flush(self) -> None:
        nodes, self._nodes = self._nodes, None
        if nodes is None:
            return
        first, *others = sorted(nodes.names, key=lambda name: (len(name), name))
        name = f"{first} … {others[-1]}" if others else first
        count = f" ({len(nodes.names)} nodes)" if others else ""
        bad = nodes.what in ("lost", "removed")
        self.add(
            Happening(at=nodes.at, kind=_NODE, name=name, text=f"{nodes.what}{count}", bad=bad)
        )
