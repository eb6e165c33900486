"""Turns of those who write one object and met another writer: one after the other, or each write would cost all the others an attempt.

`writing` and `deleting` take one for every attempt but the first. A turn is short: who waits for a webhook or a slow disk loses
it and goes on without, so nobody stands behind somebody else's webhook, and one that writes the object it is asked about is
not waited for.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from weakref import WeakValueDictionary

from pocketkube.apiserver.storage import Key

LONGEST = 0.05
"""Seconds until a turn is passed on."""

_NO_LOCK = nullcontext()


class WriteLocks:
    """Whose turn it is, for each object that is fought over."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    def at(self, key: Key, attempt: int) -> AbstractAsyncContextManager[None]:
        """Lets the first attempt pass and the others wait until it is their turn."""
        return self._reconcile(key) if attempt else _NO_LOCK

    @asynccontextmanager
    async def _reconcile(self, key: Key) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        await lock.acquire()
        held = [lock]

        def pass_on() -> None:
            while held:
                held.pop().release()

        timer = asyncio.get_running_loop().call_later(LONGEST, pass_on)
        try:
            yield
        finally:
            timer.cancel()
            pass_on()
