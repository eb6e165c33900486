"""Events live for an hour after they were last written, as in a real cluster; nothing else ends by itself.

`pocketkube.cluster` runs it beside a server. An event is not asked for its age: what was stored an hour ago is known by its
version, so nothing is decoded. After a restart the hour begins anew.
"""

import asyncio
from collections import deque
from contextlib import suppress

from pocketkube.apiserver.serving import documents
from pocketkube.apiserver.storage import Delete, Storage, StorageError

EVENTS = "events"
LIFETIME_SECONDS, ROUND_SECONDS = 3600.0, 60.0


class Expiry:
    """Remembers how far the storage was at which time, and removes what is older than its lifetime."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """Looks once a minute, until it is cancelled."""
        while True:
            await self._reconcile(asyncio.get_running_loop().time())
            await asyncio.sleep(ROUND_SECONDS)

    async def _reconcile(self, now: float) -> None:
        self._marks.append((now, self._storage.version))
        last = 0
        while self._marks[0][0] <= now - LIFETIME_SECONDS:
            _, last = self._marks.popleft()
        for record in self._storage.page(EVENTS).records if last else ():
            if record.version <= last:
                with suppress(StorageError):
                    draft = documents.redraft(record)
                    await self._storage.write(Delete(record.key, draft, record.version))
