"""A folder is used by one cluster at a time, whether it keeps its state there or only a kubeconfig.

`up` asks before it reads or writes anything in a folder. The lock is the kernel's, on a file of its own: it ends with the process
that holds it, however that ends. The file stays, for a file that is removed can be locked by one process while the next one makes another.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
import fcntl
import os
from pathlib import Path

from kubeloop.client.errors import KubeError

LOCK = "lock"

PATIENCE = 1.0
"""Seconds to wait for a process that is just ending to give the folder back."""

POLL = 0.05
"""Seconds between two attempts: the kernel tells nobody when a lock is given back."""


@asynccontextmanager
async def alone_in(folder: Path) -> AsyncIterator[None]:
    """Keeps other clusters out of a folder while the block runs; makes the folder if it is not there.

    Raises:
        KubeError: another cluster uses it, or no cluster can.
    """
    with _opened(folder) as lock:
        await _take(lock, folder)
        yield


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)


async def _take(lock: int, folder: Path) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not _is_taken(lock, folder):
                await asyncio.sleep(POLL)
    except TimeoutError:
        raise KubeError(
            f"{folder} is in use by another `korder up`: end that one, or give this one a folder of its own with --data-dir"
        ) from None


def _is_taken(lock: int, folder: Path) -> bool:
    """Whether the lock is ours after an attempt to take it."""
    with _explained(folder):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Says in one sentence why a folder cannot be used."""
    try:
        yield
    except FileExistsError as error:
        raise KubeError(f"{folder} cannot hold a cluster: it is not a folder") from error
    except OSError as error:
        raise KubeError(f"{folder} cannot hold a cluster: {error.strerror}") from error
