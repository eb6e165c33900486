"""Who waits to be scheduled: ready ones by priority and time, the others until something happens.

`pocketkube.scheduler.scheduler` owns it. A pod that found no node waits for a change in the cluster that may help it, as the scheduler sees it, and
at least for its backoff, which doubles from one to ten seconds; after five minutes it is tried again in any case.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
import heapq
from itertools import count

from kubeloop.objects.meta import Key
from pocketkube.scheduler.pod_info import Tenant

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=10)
PATIENCE = timedelta(minutes=5)
"""How long a pod waits for something to happen before it is tried anyway."""

_MOST_DOUBLINGS = 8
_Rank = tuple[int, datetime, int]
Hope = Callable[[Tenant], bool]


@dataclass(slots=True)
class _Entry:
    """A pod that is ready (no `due`), or that has failed and may be tried again when it is due."""

    rank: _Rank
    tenant: Tenant
    attempts: int = 0
    due: datetime | None = None


class Backlog:
    """Pending pods by name."""

    def __init__(self) -> None:
        self._entries: dict[Key, _Entry] = {}
        self._ready: list[tuple[_Rank, Key]] = []
        self._waiting: dict[Key, _Entry] = {}
        """Those who wait for something to happen."""
        self._social: dict[Key, _Entry] = {}
        """Those among them for whom it may be the coming of another pod."""
        self._numbers = count()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, tenant: Tenant, now: datetime) -> None:
        """Makes a pod ready that is new or has changed; its failures so far are forgotten."""
        rank = (-tenant.priority, now, next(self._numbers))
        self._make_ready(tenant.key, _Entry(rank, tenant))

    def forget(self, key: Key) -> None:
        self._entries.pop(key, None)
        self._stop_waiting(key)

    def first(self) -> Key | None:
        """The ready pod whose turn it is."""
        while self._ready:
            rank, key = self._ready[0]
            entry = self._entries.get(key)
            if entry is not None and entry.due is None and entry.rank == rank:
                return key
            heapq.heappop(self._ready)
        return None

    def failed(self, tenant: Tenant, now: datetime) -> datetime:
        """Lets a pod wait after an attempt and says when it is to be tried at the latest."""
        before = self._entries.get(tenant.key)
        attempts = before.attempts + 1 if before is not None else 1
        pause = min(FIRST_PAUSE * 2 ** min(attempts - 1, _MOST_DOUBLINGS), LONGEST_PAUSE)
        rank = (-tenant.priority, now, next(self._numbers))
        entry = _Entry(rank, tenant, attempts, now + pause)
        self._entries[tenant.key] = self._waiting[tenant.key] = entry
        if tenant.social:
            self._social[tenant.key] = entry
        return now + PATIENCE

    def stir(
        self, now: datetime, hopeful: Hope, *, social_only: bool = False
    ) -> list[tuple[Key, datetime]]:
        """Takes note that something has happened that gives some hope; returns who is to be asked about only later, and when."""
        later: list[tuple[Key, datetime]] = []
        for key, entry in tuple((self._social if social_only else self._waiting).items()):
            if not hopeful(entry.tenant):
                continue
            if entry.due is not None and entry.due > now:
                self._stop_waiting(key)
                later.append((key, entry.due))
            else:
                self._make_ready(key, entry)
        return later

    def ripen(self, key: Key, now: datetime) -> datetime | None:
        """Makes a pod ready that is asked about, or says when its backoff is over."""
        entry = self._entries.get(key)
        if entry is None or entry.due is None:
            return None
        if entry.due > now:
            return entry.due
        self._make_ready(key, entry)
        return None

    def _make_ready(self, key: Key, entry: _Entry) -> None:
        self._stop_waiting(key)
        entry.due = None
        self._entries[key] = entry
        heapq.heappush(self._ready, (entry.rank, key))

    def _stop_waiting(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._social.pop(key, None)
