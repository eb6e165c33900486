"""The wire as the contract sees it: requests of paths, headers and bytes, and answers that can be judged in one line.

Tests talk to a `Server` and know nothing of the transport below it: HTTPS to a kube-apiserver, or calls into the embedded
one. Nothing here understands Kubernetes beyond the shape of `Status`, lists and watch events.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
import re
import time
from typing import Any
from urllib.parse import urlencode

from kubeloop.net.http import Request, Response, Transport

Object = dict[str, Any]

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

PATIENCE = 8.0
"""Seconds that a watch may stay silent, and that a server's own caches may take to learn of a write."""


_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        every = ",".join(value for name, value in self.headers.items() if name == "Warning")
        return [text.replace('\\"', '"') for text in _WARNING.findall(every)]

    def ok(self, status: int | None = None) -> Any:
        """The object, if the request was granted."""
        assert self.status in ((status,) if status else (200, 201, 202)), self.body[:2000]
        return self.json

    def refused(
        self, code: int, reason: str, message: str | None = None, details: Object | None = None
    ) -> Object:
        """The Status of a refusal, which says exactly this; details are compared as far as they are given."""
        status: Object = self.json
        head = status.get("code"), status.get("reason", ""), status.get("kind"), self.status
        assert head == (code, reason, "Status", code), f"it said: {status}"
        assert status["status"] == "Failure"
        if message is not None:
            assert status["message"] == message, f"it said: {status['message']!r}"
        if details is not None:
            said = {key: status.get("details", {}).get(key) for key in details}
            assert said == details, f"it said: {said}"
        return status

    def fails(self, message: str) -> None:
        """The request was refused in these words; used where the real server calls a client's mistake its own (500)."""
        assert self.status >= 400, self.body[:2000]
        assert self.json["message"] == message, f"it said: {self.json['message']!r}"


class Watch:
    """The events of an open watch, one after the other."""

    def __init__(self, response: Response) -> None:
        self.headers = response.headers
        self._lines = _lines(response)

    async def next(self) -> Object:
        """The next event; fails if none comes in time."""
        async with asyncio.timeout(PATIENCE):
            event: Object = json.loads(await anext(self._lines))
            return event

    async def until(self, wanted: Callable[[Object], bool]) -> list[Object]:
        """All events up to the wanted one."""
        events = [await self.next()]
        while not wanted(events[-1]):
            events.append(await self.next())
        return events

    async def named(self, name: str) -> list[tuple[str, str]]:
        """Type and name of all events up to the first about `name`."""
        events = await self.until(lambda event: event["object"]["metadata"].get("name") == name)
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def rest(self) -> list[Object]:
        """Everything up to the end of the stream."""
        async with asyncio.timeout(PATIENCE):
            return [json.loads(line) async for line in self._lines]


async def _lines(response: Response) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


class Server:
    """One API server and the token of its administrator."""

    def __init__(
        self, transport: Transport, token: str, forget: Callable[[], Awaitable[None]]
    ) -> None:
        self._transport = transport
        self.token = token
        self.forget = forget
        """Makes the server forget its history: what is older than now is gone."""

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        user: str | None = None,
        **query: object,
    ) -> Answer:
        """Sends one request and reads the whole answer.

        Args:
            method: The verb, as HTTP calls it.
            path: The path, without a query.
            body: Bytes are sent as they are, everything else as JSON.
            headers: In addition to, or instead of the usual ones.
            token: Instead of the administrator's; empty for nobody's.
            user: Whom the administrator plays.
            query: The query; `_` in a name is not translated.
        """
        request = self._built(method, path, body, headers or {}, token, user, query)
        async with asyncio.timeout(PATIENCE * 3), await self._transport.send(request) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.request("GET", path, **options)

    async def post(self, path: str, body: object, **options: Any) -> Answer:
        return await self.request("POST", path, body, **options)

    async def put(self, path: str, body: object, **options: Any) -> Answer:
        return await self.request("PUT", path, body, **options)

    async def delete(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.request("DELETE", path, body, **options)

    async def patch(
        self, path: str, body: object, kind: str = MERGE_PATCH, **options: Any
    ) -> Answer:
        headers = {"Content-Type": kind, **options.pop("headers", {})}
        return await self.request("PATCH", path, body, headers=headers, **options)

    async def apply(
        self, path: str, body: object, manager: str = "tester", **options: Any
    ) -> Answer:
        """Server-side apply."""
        return await self.patch(path, body, APPLY_PATCH, fieldManager=manager, **options)

    @asynccontextmanager
    async def watch(
        self, path: str, *, headers: Mapping[str, str] | None = None, **query: object
    ) -> AsyncIterator[Watch]:
        """Opens a watch; the server must agree to it."""
        request = self._built("GET", path, None, headers or {}, None, None, {"watch": "1", **query})
        async with await self._transport.send(request) as response:
            assert response.status == 200, await response.read()
            yield Watch(response)

    async def until(
        self,
        ask: Callable[[], Awaitable[Answer]],
        wanted: Callable[[Answer], bool],
        patience: float = PATIENCE,
    ) -> Answer:
        """Asks again until the answer is as wanted: real servers learn of roles, hooks and definitions a little later."""
        end = time.monotonic() + patience  # noqa: TID251 - a real server lives in real time
        answer = await ask()
        while not wanted(answer):
            assert time.monotonic() < end, answer.body[:2000]  # noqa: TID251 - as above
            await asyncio.sleep(0.02)
            answer = await ask()
        return answer

    def _built(
        self,
        method: str,
        path: str,
        body: object,
        headers: Mapping[str, str],
        token: str | None,
        user: str | None,
        query: Mapping[str, object],
    ) -> Request:
        token = self.token if token is None else token
        usual = {"Accept": JSON}
        if token:
            usual["Authorization"] = f"Bearer {token}"
        if user:
            usual["Impersonate-User"] = user
        if body is not None:
            usual["Content-Type"] = JSON
        sent = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        target = f"{path}?{urlencode(query, doseq=True)}" if query else path
        return Request(method, target, {**usual, **headers}, sent)
