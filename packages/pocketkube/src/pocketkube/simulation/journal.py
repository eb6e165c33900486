"""The journal of a run: one line for everything that crossed the wire or was done to the world, in order.

    at          who         what
    12.002325   scheduler > POST /api/v1/namespaces/default/pods/web-0/binding 5f0c11aa        sent, with a checksum of the body
    12.002325   scheduler = pods default/web-0 v871 MODIFIED 09ab12ff                          committed
    12.004410   scheduler < 201 77aa0102                                                       answered
    12.007001   nodes     ~ /api/v1/pods 1804 v871 0badcafe                                    delivered by a watch
    20.000000   script    ! {"deed":"crash",...}                                               done to the world
    31.500000   nodes     ! 17 the answer got lost                                             a fault on the wire

Two runs are the same if their journals are, byte for byte; the digest says so in one word. `wire`, `processes` and `world` write it.
"""

from collections import deque
from collections.abc import Callable
import hashlib
import zlib

Sink = Callable[[str], object]

LAST = 20_000
"""Lines that are kept in memory, so that a report can show what led to a violation."""

_TOGETHER = 500
"""Lines that are hashed together, which is quicker than one by one."""


def checksum(data: bytes) -> str:
    """Tells bodies apart in few characters."""
    return f"{zlib.crc32(data):08x}"


class Journal:
    """Takes lines, keeps the last ones, and gives each to a sink."""

    def __init__(self, now: Callable[[], float], sink: Sink | None = None) -> None:
        self._now = now
        self._sink = sink
        self._digest = hashlib.sha256()
        self._unhashed: list[str] = []
        self._last: deque[str] = deque(maxlen=LAST)
        self.lines = 0
        self.writes = 0
        """How many objects were written."""

    @property
    def digest(self) -> str:
        """Names everything that was written so far."""
        self._hash()
        return self._digest.hexdigest()

    def note(self, who: str, sign: str, what: str) -> None:
        line = f"{self._now():.6f} {who} {sign} {what}"
        self._unhashed.append(line)
        if len(self._unhashed) == _TOGETHER:
            self._hash()
        self._last.append(line)
        self.lines += 1
        if self._sink is not None:
            self._sink(line)

    def _hash(self) -> None:
        self._digest.update("".join([f"{line}\n" for line in self._unhashed]).encode())
        self._unhashed.clear()

    def about(self, words: tuple[str, ...], limit: int = 20) -> list[str]:
        """Returns the last lines that contain one of the words, and the last deeds and faults; oldest first."""
        found: list[str] = []
        for line in reversed(self._last):
            if len(found) == limit:
                break
            if any(word in line for word in words) or " ! " in line:
                found.append(line)
        return found[::-1]
