"""A virtual loop that tells processes apart, so that one of them can be stopped and resumed like a real one.

`processes` runs everything of a process in a context that names it. Whatever such a process would do while it is stopped, it does
when it is resumed, in the order it fell due and by the later clock: exactly what SIGSTOP and SIGCONT make of a real process.
The base loop offers no public hook for this, so the turns are our own. They leave out what only sockets, threads and debugging need, for a
simulation is hardly anything but turns; and what falls due in one instant runs in the order in which it was set.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeVarTuple

from kubeloop.runtime.clock import VirtualLoop

Ts = TypeVarTuple("Ts")


class Freezer:
    """What decides whether a process runs, and keeps what it has missed."""

    def __init__(self) -> None:
        self.stopped = False
        self._missed: list[_Handle] = []

    def miss(self, handle: "_Handle") -> None:
        self._missed.append(handle)

    def resume(self) -> None:
        """Lets the process go on with what it has missed, as soon as the loop comes to it."""
        self.stopped = False
        missed, self._missed = self._missed, []
        loop = asyncio.get_running_loop()
        for handle in missed:
            loop.call_soon(handle.run)


FREEZER: ContextVar[Freezer | None] = ContextVar("freezer", default=None)
"""The process to which a callback belongs; None for the server, the wire and whoever drives them."""

_MANY = 1000
"""Timers from which those that were cancelled are looked for."""


class SimulatedLoop(VirtualLoop):
    """A virtual loop for several processes."""

    _ready: "deque[_Handle]"
    get_debug = staticmethod(bool)
    """No: every future asks, and a builtin answers without a frame."""

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[tuple[float, int, _Handle]] = []
        self._set = count()
        self._sweep_at = _MANY

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = _Handle(when, callback, args, self, copy_context() if context is None else context)
        heappush(self._timers, (when, next(self._set), timer))
        return timer

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = _Handle(0.0, callback, args, self, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def _call_soon(
        self, callback: Callable[..., object], args: tuple[object, ...], context: Context | None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        """Lets a cancelled timer lie until it would be due, or until too many do."""
        if len(self._timers) > self._sweep_at:
            self._timers = [timer for timer in self._timers if not timer[-1].cancelled()]
            heapify(self._timers)
            self._sweep_at = max(_MANY, 2 * len(self._timers))

    def _run_once(self) -> None:
        """One turn: what is ready runs; if nothing is, it is suddenly later. Without any timer it waits for the world, for real."""
        timers, ready = self._timers, self._ready
        if not ready:
            while timers and timers[0][-1].cancelled():
                heappop(timers)
            if not timers:
                super()._run_once()  # type: ignore[misc]
                return
            self.jump(timers[0][0])
        due = self._virtual_time + self._clock_resolution
        while timers and timers[0][0] < due:
            ready.append(heappop(timers)[-1])
        for _ in range(len(ready)):
            ready.popleft().run()


class _Handle(asyncio.TimerHandle):
    """A callback that knows whose it is, and looks whether that process runs."""

    __slots__ = ("freezer",)

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context,
    ) -> None:
        # All that the base classes set; they ask besides whether somebody debugs, and there are a dozen handles for every write.
        self._when = when
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self._cancelled = self._scheduled = False
        self._repr = self._source_traceback = None
        self.freezer = context.get(FREEZER)

    def run(self) -> None:
        if self._cancelled:
            return
        if self.freezer is not None and self.freezer.stopped:
            self.freezer.miss(self)
        else:
            self._run()
