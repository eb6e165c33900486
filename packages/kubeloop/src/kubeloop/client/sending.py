"""Sends a request until it has an answer, a refusal or no time left.

`kubeloop.client.client` hands in requests, the transport carries them. A call waits for one of a fixed number of slots, so a crowd of
callers queues up here, in order, instead of at the server; its deadline includes that wait. Between tries it gives the slot
back. What may be tried again differs: reads always, writes only if the server cannot have acted, or if the
`Recovery` of the write says so.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
import random
from typing import NoReturn

from kubeloop.client import errors
from kubeloop.client.backoff import Backoff
from kubeloop.client.recovery import Recovery
from kubeloop.net import http

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0

_REFUSED_BEFORE_ACTING = frozenset({429, 503})
_SERVER_TROUBLE = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Sender:
    """A transport with manners; copies with another guard or deadline share its slots."""

    transport: http.Transport
    rng: random.Random
    slots: asyncio.Semaphore
    deadline: float
    guard: http.Guard | None = None
    headers: Mapping[str, str] | None = None
    waits_for_server: bool = True
    """Whether a server where nobody listens may still come up before the deadline."""

    async def read(self, request: http.Request) -> bytes:
        """Gets the answer to a request that changes nothing."""
        return await _Call(self, request, None).run()

    async def write(self, request: http.Request, recovery: Recovery) -> bytes:
        """Gets the answer to a request that changes something."""
        return await _Call(self, request, recovery).run()

    async def stream(self, request: http.Request) -> http.Response:
        """Opens an answer without end; takes no slot and is not tried again."""
        try:
            async with asyncio.timeout(self.deadline):
                response = await self.transport.send(self.dressed(request))
                if response.status < 400:
                    return response
                async with response:
                    body = await response.read()
        except TimeoutError:
            raise errors.DeadlineExceeded(
                f"{_name(request)}: no answer within {self.deadline:g} s"
            ) from None
        except http.NetError as error:
            raise errors.Unreached(str(error)) from error
        raise errors.from_response(response.status, response.headers, body)

    def dressed(self, request: http.Request) -> http.Request:
        """Adds the headers that all our requests carry."""
        headers = {**(self.headers or {}), **request.headers}
        return http.Request(request.method, request.target, headers, request.body)


class _Call:
    """One request on its way, with everything that is known about its tries so far."""

    def __init__(self, sender: Sender, request: http.Request, recovery: Recovery | None) -> None:
        self._sender = sender
        self._request = sender.dressed(request)
        self._recovery = recovery
        self._backoff = Backoff(sender.rng, FIRST_PAUSE, LONGEST_PAUSE)
        self._failure: errors.KubeError | None = None
        self._in_doubt = False
        self._sent = False

    async def run(self) -> bytes:
        try:
            async with asyncio.timeout(self._sender.deadline) as limit:
                return await self._until_settled(limit)
        except TimeoutError:
            raise self._too_late() from None

    async def _until_settled(self, limit: asyncio.Timeout) -> bytes:
        while True:
            try:
                return await self._try()
            except http.NetError as error:
                failure: errors.KubeError = errors.Unreached(str(error))
                failure.__cause__ = error
                if isinstance(error, http.NotListening) and not self._sender.waits_for_server:
                    self._give_up(failure)
                answer = await self._settle() if isinstance(error, http.AnswerLost) else None
            except errors.Fenced as error:
                self._give_up(error)
            except errors.ApiError as error:
                failure = error
                answer = await self._weigh(error)
            if answer is not None:
                return answer
            await self._pause(limit, failure)

    async def _try(self) -> bytes:
        sender = self._sender
        self._sent = False
        async with (
            sender.slots,
            await sender.transport.send(self._request, self._leave) as response,
        ):
            body = await response.read()
        if response.status < 400:
            return body
        raise errors.from_response(response.status, response.headers, body)

    def _leave(self) -> None:
        guard = self._sender.guard
        if guard is not None and self._recovery is not None:
            try:
                guard()
            except errors.KubeError:
                raise
            except Exception as refusal:
                raise errors.Fenced(f"{_name(self._request)} was held back: {refusal}") from refusal
        self._sent = True

    async def _settle(self) -> bytes | None:
        if self._recovery is None:
            return None
        self._in_doubt = True
        return await self._recovery.settle()

    async def _weigh(self, error: errors.ApiError) -> bytes | None:
        """Decides about a refusal: raises it, explains it, or returns None for another try."""
        if self._recovery is None:
            if error.code not in _SERVER_TROUBLE:
                raise error
            return None
        if error.retry_after is None or error.code not in _SERVER_TROUBLE:
            return await self._recovery.refused(error, in_doubt=self._in_doubt)
        if error.code in _REFUSED_BEFORE_ACTING:
            return None
        return await self._settle()

    async def _pause(self, limit: asyncio.Timeout, failure: errors.KubeError) -> None:
        pause = self._backoff.pause(getattr(failure, "retry_after", None))
        end = limit.when()
        if end is not None and asyncio.get_running_loop().time() + pause >= end:
            self._give_up(failure)
        self._failure = failure
        await asyncio.sleep(pause)

    def _give_up(self, failure: errors.KubeError) -> NoReturn:
        if not self._in_doubt:
            raise failure
        raise errors.UnknownOutcome(
            f"{_name(self._request)}: the answer was lost, and then: {failure}"
        ) from failure

    def _too_late(self) -> errors.KubeError:
        before = f", after this: {self._failure}" if self._failure else ""
        stated = f"{_name(self._request)}: no answer within {self._sender.deadline:g} s{before}"
        if self._recovery is not None and (self._sent or self._in_doubt):
            return errors.UnknownOutcome(stated)
        return errors.DeadlineExceeded(stated)


def _name(request: http.Request) -> str:
    return f"{request.method} {request.target.partition('?')[0]}"
