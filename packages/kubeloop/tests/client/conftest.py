"""Servers in memory: one that follows a script, and one that keeps objects."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
import json
import random
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import AnswerLost, Guard, Request, Response, Unreachable

Step = Response | Exception | Callable[[Request], Any]


class Script:
    """A transport that answers with one step after the other and keeps what it was asked.

    A step is an answer, an error to raise, or a function of the request that gives or raises one. The last step is
    repeated for ever.
    """

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.requests: list[Request] = []
        self.times: list[float] = []

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Unreachable):
            raise step
        if guard is not None:
            guard()
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        if callable(step):
            step = step(request)
        if asyncio.iscoroutine(step):
            step = await step
        if isinstance(step, Exception):
            raise step
        return step

    async def close(self) -> None:
        """Nothing is held."""

    @property
    def targets(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.requests]


@dataclass
class Stream:
    """An answer whose body comes in pieces: bytes, errors to raise, or seconds of silence."""

    pieces: tuple[bytes | Exception | float, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    closed: bool = False

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            match piece:
                case bytes():
                    yield piece
                case float():
                    await asyncio.sleep(piece)
                case error:
                    raise error

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Shelf:
    """A tiny API server: named objects with versions, UIDs, preconditions and finalizers; knows one dialect of patches."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.commits: list[str] = []
        self._versions = count(100)

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if guard is not None:
            guard()
        path = urlsplit(request.target).path
        body = json.loads(request.body) if request.body else {}
        match request.method:
            case "GET":
                return self._found(path)
            case "POST":
                return self._create(f"{path}/{body['metadata']['name']}", body)
            case "PATCH":
                return self._patch(path, body)
            case "DELETE":
                return self._delete(path, body.get("preconditions", {}))
        raise AssertionError(f"unexpected {request}")

    async def close(self) -> None:
        """Nothing is held."""

    def _found(self, path: str) -> Response:
        found = self.objects.get(path)
        return Canned(200, json.dumps(found).encode()) if found else refusal(404, "NotFound")

    def _create(self, path: str, body: dict[str, Any]) -> Response:
        if path in self.objects:
            return refusal(409, "AlreadyExists")
        body["metadata"]["uid"] = f"uid-{next(self._versions)}"
        # Servers keep status apart, print quantities and fill in defaults their own way.
        body.pop("status", None)
        for values in [body.get("spec", {}).get("requests", {})]:
            values.update({name: "500m" for name, value in values.items() if value == "0.5"})
        body.setdefault("spec", {})["restartPolicy"] = "Always"
        return self._commit("create", path, body)

    def _patch(self, path: str, body: dict[str, Any]) -> Response:
        found = self.objects.get(path)
        if found is None:
            return refusal(404, "NotFound")
        metadata = body.pop("metadata", {})
        if not self._matches(found, metadata):
            return refusal(409, "Conflict")
        return self._commit("patch", path, {**found, **body})

    def _delete(self, path: str, preconditions: dict[str, str]) -> Response:
        found = self.objects.get(path)
        if found is None:
            return refusal(404, "NotFound")
        if not self._matches(found, preconditions):
            return refusal(409, "Conflict")
        if found["metadata"].get("finalizers"):
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return self._commit("delete", path, found)
        del self.objects[path]
        self.commits.append(f"delete {path.rpartition('/')[2]}")
        return Canned(200, b'{"kind":"Status","status":"Success"}')

    def _matches(self, found: dict[str, Any], wanted: dict[str, str]) -> bool:
        return all(found["metadata"].get(name) == value for name, value in wanted.items())

    def _commit(self, verb: str, path: str, body: dict[str, Any]) -> Response:
        body["metadata"]["resourceVersion"] = str(next(self._versions))
        self.objects[path] = body
        self.commits.append(f"{verb} {body['metadata']['name']}")
        return Canned(200, json.dumps(body).encode())


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def stream() -> Callable[..., Stream]:
    return lambda *pieces, **more: Stream(pieces, **more)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def client() -> Callable[..., Client]:
    """Makes a client around a transport."""

    def make(transport: Any, **options: Any) -> Client:
        return Client(transport, rng=random.Random(7), **options)

    return make


@pytest.fixture
def answer() -> Callable[..., Canned]:
    """Makes an answer from an object."""

    def make(content: object, status: int = 200, **headers: str) -> Canned:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Canned(status, json.dumps(content).encode(), named)

    return make


@pytest.fixture
def lost() -> AnswerLost:
    return AnswerLost("the answer got lost")
