"""Waits in real time, for a truth or for a yes; a wait in vain says what stood in its way.

await until(lambda: all_reserved(client), seconds=150)
made = await accepted(lambda: client.create(PODS, pod, dry_run=True), Forbidden)
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
Refusal = type[Exception] | tuple[type[Exception], ...]
LOOK = 0.05
"""Seconds between two looks."""


async def until(check: Callable[[], Awaitable[object]], seconds: float = 20) -> None:
    """Waits until a check finds what it looks for."""
    async with asyncio.timeout(seconds):
        while not await check():
            await asyncio.sleep(LOOK)


async def accepted(attempt: Callable[[], Awaitable[T]], refusal: Refusal, seconds: float = 30) -> T:
    """Repeats what is refused until it is not: servers learn of classes, roles and kinds a moment after they are made."""
    last: Exception | None = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return await attempt()
                except refusal as refused:
                    last = refused
                await asyncio.sleep(LOOK)
    except TimeoutError:
        raise AssertionError(f"after {seconds} s still: {last}") from last
