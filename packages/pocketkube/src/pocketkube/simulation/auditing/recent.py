"""What was true of something until a short while ago.

A controller decides by what its informers show, and they may lag: what it does is right if it was right at any moment of the
last few seconds. Invariants that judge such decisions keep here what has ended since. Old entries are dropped as new ones come,
so the memory is that of the busiest few seconds.
"""

from collections import deque
from datetime import datetime, timedelta
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, each until `span` after it ended."""

    def __init__(self, span: timedelta) -> None:
        self._span = span
        self._order: deque[tuple[datetime, K]] = deque()
        self._values: dict[K, deque[tuple[datetime, V]]] = {}

    def ended(self, key: K, value: V, at: datetime) -> None:
        """Notes that the value held until this instant."""
        self._forget(at)
        self._order.append((at, key))
        self._values.setdefault(key, deque()).append((at, value))

    def of(self, key: K, now: datetime) -> list[V]:
        """What ended within the span, oldest first."""
        self._forget(now)
        return [value for _, value in self._values.get(key, ())]

    def _forget(self, now: datetime) -> None:
        while self._order and self._order[0][0] < now - self._span:
            _, key = self._order.popleft()
            values = self._values[key]
            values.popleft()
            if not values:
                del self._values[key]
