"""The fastest event loop this machine has; long-running verbs use it."""

import asyncio
from collections.abc import Callable


def fastest() -> Callable[[], asyncio.AbstractEventLoop]:
    """Chooses how a loop is made."""
    try:
        import uvloop  # noqa: PLC0415  not made for every platform
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
