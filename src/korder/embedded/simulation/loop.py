"""A virtual loop that tells processes apart, so that one of them can be stopped and resumed like a real one.

`processes` runs everything of a process in a context that names it. Whatever such a process would do while it is stopped, it does
when it is resumed, in the order it fell due and by the later clock: exactly what SIGSTOP and SIGCONT make of a real process.
The base loop offers no public hook for this; handles of our own, that look before they run, are the smallest one.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
import heapq
from typing import TypeVarTuple

from korder.runtime.clock import VirtualLoop

Ts = TypeVarTuple("Ts")


class Freezer:
    """What decides whether a process runs, and keeps what it has missed."""

    def __init__(self) -> None:
        self.stopped = False
        self._missed: list[asyncio.Handle] = []

    def miss(self, handle: asyncio.Handle) -> None:
        self._missed.append(handle)

    def resume(self) -> None:
        """Lets the process go on with what it has missed, as soon as the loop comes to it."""
        self.stopped = False
        missed, self._missed = self._missed, []
        loop = asyncio.get_running_loop()
        for handle in missed:
            loop.call_soon(_run_late, handle)


FREEZER: ContextVar[Freezer | None] = ContextVar("freezer", default=None)
"""The process to which a callback belongs; None for the server, the wire and whoever drives them."""


class SimulatedLoop(VirtualLoop):
    """A virtual loop for several processes."""

    def __init__(self) -> None:
        super().__init__(deaf=True)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        freezer = context.get(FREEZER)
        if freezer is None:
            return super().call_at(when, callback, *args, context=context)
        timer = _FrozenTimer(when, callback, args, self, context)
        timer.freezer = freezer
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001  what the base loop does
        return timer

    def _call_soon(
        self, callback: Callable[..., object], args: tuple[object, ...], context: Context | None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        freezer = context.get(FREEZER)
        handle: asyncio.Handle
        if freezer is None:
            handle = asyncio.Handle(callback, args, self, context)
        else:
            handle = _FrozenHandle(callback, args, self, context)
            handle.freezer = freezer
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle


class _FrozenHandle(asyncio.Handle):
    """A callback of a process that may be stopped when it falls due."""

    freezer: Freezer

    def _run(self) -> None:
        if self.freezer.stopped:
            self.freezer.miss(self)
        else:
            super()._run()


class _FrozenTimer(_FrozenHandle, asyncio.TimerHandle):
    """A timer of a process that may be stopped when it falls due."""


def _run_late(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # noqa: SLF001  as the loop does
