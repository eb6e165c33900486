"""Time: the one place that reads the wall clock and the monotonic clock.

Everything in `runtime` takes a `Clock`; rules take instants. Waiting always goes through the event loop, so a virtual loop
makes a whole process virtual: `VirtualLoop` jumps to the next timer when nothing is runnable, and `VirtualClock` derives
its wall time from that loop. Timers are set for instants of the wall clock and survive its jumps: they fire at most a
second late and never early.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
import math
import os
from pathlib import Path
import selectors
import time
from typing import Protocol

RECHECK = 1.0
"""Seconds after which a waiting timer looks at the wall clock again, because somebody may have set it."""


_NANOSECOND = 1e-9
_LOADED = time.monotonic()
_STEADY: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What runtime knows about time."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def call_at(self, instant: datetime, callback: Callable[[], None]) -> Timer: ...


class SystemClock:
    """The real clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        # The ordinary monotonic clock stands still while a machine sleeps; a lease does not.
        return time.clock_gettime(_STEADY) if _STEADY is not None else time.monotonic()

    def call_at(self, instant: datetime, callback: Callable[[], None]) -> Timer:
        return _PatientTimer(self, instant, callback)


def age_of_process() -> float:
    """How many seconds ago this process was started; where the system does not tell, since this module was loaded."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, IndexError, ValueError):
        return time.monotonic() - _LOADED


class _PatientTimer:
    """Waits in small portions and asks the wall clock after each."""

    def __init__(self, clock: SystemClock, instant: datetime, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._instant = instant
        self._callback = callback
        self._handle = self._arm()

    def cancel(self) -> None:
        self._handle.cancel()

    def _arm(self) -> asyncio.TimerHandle:
        remaining = (self._instant - self._clock.now()).total_seconds()
        return asyncio.get_running_loop().call_later(min(max(remaining, 0.0), RECHECK), self._check)

    def _check(self) -> None:
        if self._clock.now() >= self._instant:
            self._callback()
        else:
            self._handle = self._arm()


class VirtualClock:
    """Wall time derived from the loop's time, so that a virtual loop moves it; `jump` sets it like a careless administrator."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._read = (-1.0, start)
        """What was read last, and when in the loop's own time: many read within one instant."""
        self._pending: dict[_VirtualTimer, None] = {}
        """In the order in which they were set, so that a jump is the same in every run."""

    def now(self) -> datetime:
        at = asyncio.get_running_loop().time()
        if at != self._read[0]:
            self._read = at, self._start + timedelta(seconds=at)
        return self._read[1]

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_at(self, instant: datetime, callback: Callable[[], None]) -> Timer:
        return _VirtualTimer(self, instant, callback)

    def jump(self, by: timedelta) -> None:
        """Sets the wall clock forward or back; pending timers follow their instants."""
        self._start += by
        self._read = (-1.0, self._start)
        for timer in sorted(self._pending, key=lambda timer: timer.instant):
            timer.rearm()

    def loop_time(self, instant: datetime) -> float:
        """Says when, in the loop's own time, the wall clock will show `instant`."""
        return (instant - self._start).total_seconds()

    def watch(self, timer: "_VirtualTimer") -> None:
        self._pending[timer] = None

    def unwatch(self, timer: "_VirtualTimer") -> None:
        self._pending.pop(timer, None)


class _VirtualTimer:
    """Fires at the exact instant of a virtual clock."""

    def __init__(
        self, clock: VirtualClock, instant: datetime, callback: Callable[[], None]
    ) -> None:
        self.instant = instant
        self._clock = clock
        self._callback = callback
        self._handle = self._arm()
        clock.watch(self)

    def cancel(self) -> None:
        self._handle.cancel()
        self._clock.unwatch(self)

    def rearm(self) -> None:
        self._handle.cancel()
        self._handle = self._arm()

    def _arm(self) -> asyncio.TimerHandle:
        when = self._clock.loop_time(self.instant)
        return asyncio.get_running_loop().call_at(when, self._fire)

    def _fire(self) -> None:
        self._clock.unwatch(self)
        self._callback()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits for a timer: when nothing is runnable it is suddenly later."""

    def __init__(self) -> None:
        self._virtual_time = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._virtual_time

    def jump_to_next_timer(self) -> None:
        # The base loop offers no public view of its next timer; the sum `time() + timeout` would drift by float errors.
        self.jump(self._scheduled[0].when())  # type: ignore[attr-defined]

    def jump(self, to: float) -> None:
        """Makes it later, if it is not that late already."""
        if to > self._virtual_time:
            self._virtual_time = to
            # The base loop runs what is due before `time() + resolution`; after half a year a nanosecond would be lost in the sum.
            self._clock_resolution = max(_NANOSECOND, math.ulp(to))


class _JumpingSelector(selectors.DefaultSelector):
    """Looks at files without waiting, and turns a wait for a timer into a jump; waits for real only if no timer is set."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self._loop.jump_to_next_timer()
        return ready
