"""Who is struck by which fault on the wire: decided by chance from a seed, or by a plan.

Each request of a caller has a number; whether it is struck depends on the seed, the caller and that number and on nothing else, so
leaving one strike out does not move the others. What has struck is recorded as a plan, which can be played again or be
shrunk. `world` gives every caller an `UnluckyTransport` of one `Luck`.
"""

from collections.abc import Iterable, Sequence
import random
from typing import Protocol

import msgspec

from kubeloop.net import faults
from kubeloop.net.faults import Fault, FaultyTransport
from kubeloop.net.http import Guard, Request, Response, Transport
from pocketkube.simulation.journal import Journal
from pocketkube.simulation.wire import Wire


class Strike(msgspec.Struct, frozen=True):
    """One fault: the `nth` request of a caller suffers it."""

    caller: str
    nth: int
    fault: Fault


class Luck(Protocol):
    """Decides about every request, in the order in which they are sent."""

    def draw(self, caller: str, nth: int, request: Request) -> Fault | None: ...


_READ = (
    Fault.UNREACHABLE,
    Fault.LOST_BEFORE,
    Fault.TOO_MANY,
    Fault.BROKEN,
    Fault.SLOW,
    Fault.SLOW_ANSWER,
)
_CREATE = (*_READ, Fault.LOST_AFTER)
_CHANGE = (*_CREATE, Fault.CONFLICT)
_WATCH = (*_READ, Fault.CUT, Fault.LATE, Fault.EXPIRED)
_HELD_UP = 30.0
"""Seconds: longer than a lease, so when a request arrives its sender may not lead any more."""


class Chance:
    """Strikes so many of all requests, 0.05 for one in twenty, until it is told to end.

    It holds none up: every promise of time would have to wait for those.
    """

    def __init__(self, seed: int, rate: float) -> None:
        self._seed = seed
        self._rate = rate
        self._callers: dict[str, random.Random] = {}
        self.ended = False

    def draw(self, caller: str, nth: int, request: Request) -> Fault | None:
        rng = self._callers.get(caller)
        if rng is None:
            rng = self._callers[caller] = random.Random(f"{self._seed} {caller}")
        struck = rng.random() < self._rate
        if not struck or self.ended:
            return None
        return random.Random(f"{self._seed} {caller} {nth}").choice(_possible(request))


class Planned:
    """Strikes exactly as planned."""

    def __init__(self, strikes: Iterable[Strike]) -> None:
        self._faults = {(strike.caller, strike.nth): strike.fault for strike in strikes}

    def draw(self, caller: str, nth: int, request: Request) -> Fault | None:
        fault = self._faults.get((caller, nth))
        if fault is Fault.HELD_UP:
            return fault
        return fault if fault is not None and fault in _possible(request) else None


def _possible(request: Request) -> Sequence[Fault]:
    if faults.watches(request):
        return _WATCH
    if request.method == "GET":
        return _READ
    return _CREATE if request.method == "POST" else _CHANGE


class UnluckyTransport(FaultyTransport):
    """The wire of one caller, with the faults that luck has for it; counts go on over all its lives."""

    def __init__(
        self, inner: Transport, caller: str, luck: Luck, journal: Journal, strikes: list[Strike]
    ) -> None:
        super().__init__(inner, random.Random(0))
        self._caller = caller
        self._luck = luck
        self._journal = journal
        self._strikes = strikes
        self._nth = 0

    def connect(self, wire: Wire) -> None:
        """Begins a new life."""
        self.inner = wire

    async def _suffer(self, fault: Fault, request: Request, guard: Guard | None) -> Response:
        if fault is Fault.LATE and isinstance(self.inner, Wire):
            lag = self.rng.uniform(0, self.slowness)
            return await self.inner.send(request, guard, lag=lag)
        if fault is Fault.HELD_UP and isinstance(self.inner, Wire):
            return await self.inner.send(request, guard, late=_HELD_UP)
        return await super()._suffer(fault, request, guard)

    def _draw(self, request: Request) -> Fault | None:
        self._nth += 1
        fault = self._luck.draw(self._caller, self._nth, request)
        if fault is not None:
            self.rng = random.Random(f"{self._caller} {self._nth}")
            self._strikes.append(Strike(self._caller, self._nth, fault))
            self._journal.note(self._caller, "!", f"{self._nth} {fault}")
        return fault
