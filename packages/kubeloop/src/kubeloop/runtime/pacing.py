"""Backs off keys that are requeued at once by their own reconciles, again and again.

`kubeloop.runtime.queue` asks it for a pause before such a key is ready again. A key is *requeued at once* if, while it is being reconciled or within
moments afterwards, a time comes that its reconcile asked for, a reconcile adds it directly (its own, or that of another key in a circle),
or its own write triggers it. Some repeats are normal: a reconcile that wrote something is followed by another that sees the result. So the
first repeats are free, and those after a write count an eighth. After that each pause is longer than the last, up to a second. The
series ends when the key is left alone for a moment, or when anything else adds it, such as a watch or a write for another key.
"""

from collections.abc import Hashable
from contextvars import ContextVar
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

OUTSIDE, WRITE, DIRECT = 0, 1, 8
"""What it counts, in eighths, that a key is added: by anything but a reconcile, by a write, or without one."""

AT_ONCE = 0.01
"""Seconds between the end of a reconcile and the next request for its key that still count as at once."""
FREE_REPEATS = 10
"""Repeats without a write before the first pause; with writes eight times as many."""
FIRST_PAUSE = 0.005
LONGEST_PAUSE = 1.0
_MOST_DOUBLINGS = 10


class Reconciling(NamedTuple):
    """The reconcile on whose behalf code runs: the queue of its controller, its key, and what the keys count that it adds now."""

    queue: object
    key: Hashable
    weight: int


RECONCILING: ContextVar[Reconciling | None] = ContextVar("reconciling", default=None)
"""Set by controllers, and inherited by tasks and timers."""


def weight_for(queue: object, key: Hashable) -> int:
    """What it counts that this key is added to this queue right now."""
    cause = RECONCILING.get()
    if cause is None:
        return OUTSIDE
    is_own = cause.queue is queue and cause.key == key
    return cause.weight if is_own or cause.weight == DIRECT else OUTSIDE


class _Ended(NamedTuple):
    """When the last reconcile of a key ended, and which repeat it was, in eighths."""

    at: float
    repeats: int


class Pacing(Generic[K]):
    """Counts the repeats of each key."""

    def __init__(self) -> None:
        self._repeats: dict[K, int] = {}
        """Of keys that wait, or are being reconciled, because they were requeued at once."""
        self._ended: dict[K, _Ended] = {}
        self._ended_before: dict[K, _Ended] = {}
        """What ended before `_since`; two dictionaries that take turns cost less than forgetting single keys."""
        self._since = 0.0

    def done(self, key: K, now: float) -> None:
        """Notes the end of a reconcile."""
        if now - self._since > AT_ONCE:
            self._ended_before, self._ended, self._since = self._ended, {}, now
        self._ended[key] = _Ended(now, self._repeats.pop(key, 0))

    def end(self, key: K) -> None:
        """Ends the series of a key that is to be reconciled for another reason."""
        self._repeats.pop(key, None)

    def pause(self, key: K, now: float, weight: int) -> float:
        """Counts a repeat and returns how many seconds it has to wait."""
        ended = self._ended.get(key) or self._ended_before.get(key)
        if ended is None or now - ended.at > AT_ONCE:
            return 0.0
        repeats = self._repeats[key] = ended.repeats + weight
        beyond = repeats / DIRECT - FREE_REPEATS
        if beyond <= 0:
            return 0.0
        return min(FIRST_PAUSE * 2 ** min(beyond - 1, _MOST_DOUBLINGS), LONGEST_PAUSE)
