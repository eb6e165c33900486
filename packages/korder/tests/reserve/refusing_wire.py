"""A server that refuses to make objects of one kind, each time in other words, as those do that name a request or a port."""

from kubeloop.net.faults import Canned
from kubeloop.net.http import Guard, Request, Response, Transport

MANY = 50
"""After so many times it has no more words."""


class RefusingWire:
    """The wire to such a server; `refuses` is the kind as paths name it."""

    def __init__(self, inner: Transport, refuses: str) -> None:
        self._inner = inner
        self._refuses = refuses
        self.refused = 0

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if request.method != "POST" or f"/{self._refuses}" not in request.target:
            return await self._inner.send(request, guard)
        self.refused += 1
        body = (
            '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,'
            f'"message":"denied, see request {min(self.refused, MANY)}"}}'
        )
        return Canned(403, body.encode(), {"Content-Type": "application/json"})

    async def close(self) -> None:
        await self._inner.close()
