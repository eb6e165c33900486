"""Measures how late the event loop runs timers, and which reconcile kept it busy.

Everything of a process shares one loop, so a reconcile that computes for seconds without awaiting anything delays probes, webhooks and
the renewal of the lease. Controllers note how long each step of a reconcile holds the loop; the watchdog sets a timer
again and again, observes how late it fires, and logs the reconcile with the longest step when that is too late.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.metrics import Metrics

log = structlog.get_logger(__name__)

R = TypeVar("R")

INTERVAL = 0.25
"""Seconds between two measurements; a blocked loop is noticed if it is blocked longer than that."""
TOO_LATE = 1.0
"""Seconds of lag from which a line is logged."""


class Step(NamedTuple):
    """A part of a reconcile between two awaits."""

    seconds: float
    controller: str
    key: Key


class Activity:
    """The longest step of any reconcile since the last look."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._longest: Step | None = None

    def run(self, controller: str, key: Key, step: Callable[[], R]) -> R:
        """Runs a step and notes how long it took."""
        started = self._clock.monotonic()
        try:
            return step()
        finally:
            seconds = self._clock.monotonic() - started
            if self._longest is None or seconds > self._longest.seconds:
                self._longest = Step(seconds, controller, key)

    def stepwise(self, controller: str, key: Key, work: Awaitable[R]) -> Awaitable[R]:
        """Gives the same work, with every step of it noted."""
        return _Stepwise(work, partial(self.run, controller, key))

    def take(self) -> Step | None:
        """Gives the longest step and forgets it."""
        longest, self._longest = self._longest, None
        return longest


class _Stepwise(Generic[R]):
    """An awaitable that hands each of its steps to a function that runs it."""

    def __init__(self, work: Awaitable[R], run: Callable[[Callable[[], Any]], Any]) -> None:
        self._work = work
        self._run = run

    def __await__(self) -> Generator[Any, Any, R]:
        work = self._work.__await__()
        step = partial(next, work)
        while True:
            try:
                awaited = self._run(step)
            except StopIteration as end:
                result: R = end.value
                return result
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001  it is passed on
                step = partial(work.throw, error)
            else:
                step = partial(next, work)


class Watchdog:
    """Measures the lag of the event loop until it is cancelled."""

    def __init__(self, clock: Clock, metrics: Metrics, activity: Activity) -> None:
        self._clock = clock
        self._metrics = metrics
        self._activity = activity

    async def run(self) -> None:
        while True:
            due = self._clock.monotonic() + INTERVAL
            await asyncio.sleep(INTERVAL)
            lag = max(self._clock.monotonic() - due, 0.0)
            self._metrics.loop_lag.observe(lag)
            step = self._activity.take()
            if lag >= TOO_LATE:
                _report(lag, step)


def _report(lag: float, step: Step | None) -> None:
    """Logs a lag, as a warning if a step of a reconcile explains at least half of it."""
    seconds = round(lag, 3)
    if step is None or step.seconds < lag / 2:
        log.info("event loop was blocked", seconds=seconds)
    else:
        log.warning(
            "event loop was blocked",
            seconds=seconds,
            controller=step.controller,
            key=str(step.key),
            step_seconds=round(step.seconds, 3),
        )
