"""Faults on the wire: a transport that misbehaves, by plan or by chance, around one that works.

Put it between a `Client` and any transport, real or in memory; all code above runs as it is. A fault hits a request when its
rule says so. The two ways to lose an answer are told apart, because they are the ones that matter: before the server acted
and after.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
import random
from typing import Self

from kubeloop.net.http import AnswerLost, Guard, Request, Response, Transport, Unreachable


class Fault(StrEnum):
    """What can happen to a request."""

    UNREACHABLE = "no connection"
    LOST_BEFORE = "the request got lost on the way"
    LOST_AFTER = "the server acted and its answer got lost"
    CONFLICT = "409 although nothing changed"
    TOO_MANY = "429 with Retry-After"
    BROKEN = "500"
    SLOW = "the request takes a while"
    SLOW_ANSWER = "the server acted and its answer takes a while"
    HELD_UP = "the request is on its way for long"
    CUT = "the body breaks off in the middle of a line"
    EXPIRED = "410"
    LATE = "the watch lags behind"


def always(_: Request) -> bool:
    """Matches every request."""
    return True


def writes(request: Request) -> bool:
    """Matches requests that change something."""
    return request.method != "GET"


def watches(request: Request) -> bool:
    """Matches watches."""
    return "watch=" in request.target


@dataclass(slots=True)
class Rule:
    """Which requests a fault hits: those that match, by chance, at most so many times."""

    fault: Fault
    matches: Callable[[Request], bool] = always
    chance: float = 1.0
    times: int | None = None


_REFUSALS = {
    Fault.CONFLICT: (409, "Conflict"),
    Fault.TOO_MANY: (429, "TooManyRequests"),
    Fault.BROKEN: (500, "InternalError"),
    Fault.EXPIRED: (410, "Expired"),
}


@dataclass
class FaultyTransport:
    """A transport with bad days."""

    inner: Transport
    rng: random.Random
    rules: list[Rule] = field(default_factory=list)
    slowness: float = 3.0
    """The longest a slow answer takes, in seconds."""
    hits: dict[Fault, int] = field(default_factory=dict)
    """How often each fault happened; a test that injects faults should see that they came."""

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        fault = self._draw(request)
        if fault is None:
            return await self.inner.send(request, guard)
        return await self._suffer(fault, request, guard)

    async def _suffer(self, fault: Fault, request: Request, guard: Guard | None) -> Response:
        match fault:
            case Fault.UNREACHABLE:
                raise Unreachable("injected: no connection")
            case Fault.LOST_BEFORE:
                raise AnswerLost("injected: the request got lost")
            case Fault.LOST_AFTER:
                async with await self.inner.send(request, guard) as answer:
                    await answer.read()
                raise AnswerLost("injected: the answer got lost")
            case Fault.SLOW | Fault.LATE | Fault.HELD_UP:
                await asyncio.sleep(self.rng.uniform(0, self.slowness))
                return await self.inner.send(request, guard)
            case Fault.SLOW_ANSWER:
                answer = await self.inner.send(request, guard)
                await asyncio.sleep(self.rng.uniform(0, self.slowness))
                return answer
            case Fault.CUT:
                cut_at = self.rng.randint(1, 4_000)
                return CutResponse(await self.inner.send(request, guard), cut_at)
            case _:
                return refusal(*_REFUSALS[fault])

    async def close(self) -> None:
        await self.inner.close()

    def _draw(self, request: Request) -> Fault | None:
        for rule in self.rules:
            if rule.times == 0 or not rule.matches(request) or self.rng.random() >= rule.chance:
                continue
            if rule.times is not None:
                rule.times -= 1
            self.hits[rule.fault] = self.hits.get(rule.fault, 0) + 1
            return rule.fault
        return None


@dataclass
class Canned:
    """A whole answer in memory."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body

    async def close(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def refusal(code: int, reason: str) -> Canned:
    """The Status with which an API server refuses."""
    body = (
        '{"kind":"Status","apiVersion":"v1","status":"Failure",'
        f'"reason":"{reason}","code":{code},"message":"injected: {reason}"}}'
    )
    headers = {"Content-Type": "application/json"}
    if code == 429:
        headers["Retry-After"] = "1"
    return Canned(code, body.encode(), headers)


class CutResponse:
    """An answer whose connection breaks after so many bytes."""

    def __init__(self, inner: Response, cut_at: int) -> None:
        self._inner = inner
        self._left = cut_at

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            yield chunk[: self._left]
            self._left -= len(chunk)
            if self._left <= 0:
                raise AnswerLost("injected: the body broke off")

    async def close(self) -> None:
        await self._inner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
