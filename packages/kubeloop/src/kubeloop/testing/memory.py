"""The smallest API server that informers and controllers can live on: a transport over dictionaries.

For unit tests of informers, controllers and elections on virtual time. It knows versions, preconditions, merge and JSON
patches, bindings, lists and watches that lag or break; nothing of schemas, finalizers or admission, for which there is a real control plane.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Self, cast
from urllib.parse import parse_qs, urlsplit

import msgspec

from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import AnswerLost, Guard, Request
from kubeloop.objects import patch
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import PatchType

Stored = dict[str, JSON]

TRAVEL = 0.001
"""Seconds a request takes to arrive."""


@dataclass
class MemoryServer:
    """One server; each `connect` gives a transport that remembers its caller."""

    version: int = 0
    objects: dict[str, Stored] = field(default_factory=dict)
    """By path."""
    log: list[tuple[int, str, str, Stored]] = field(default_factory=list)
    """Every change: version, type, path, object."""
    writes: list[tuple[str, str, str]] = field(default_factory=list)
    """Every request that changed something: caller, method, path."""
    compacted: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    lag: float = 0.0
    """Seconds a watch shows things late."""
    streams: int = 0
    """Raised to break all open watches."""

    def connect(self, caller: str = "") -> "Connection":
        """Gives a transport into the server."""
        return Connection(self, caller)

    def create(self, path: str, obj: Stored) -> Stored:
        """Makes an object in the collection at `path`."""
        meta = _meta(obj)
        full = f"{path}/{meta['name']}"
        if full in self.objects:
            raise _Refused(409, "AlreadyExists")
        meta["uid"] = f"uid-{self.version + 1}"
        return self._store(full, "ADDED", obj)

    def merge(self, path: str, body: Stored) -> Stored:
        """Applies a merge patch; members of `metadata` are preconditions."""
        current = self._current(path)
        self._check(current, cast("Stored", body.get("metadata", {})))
        change = {name: value for name, value in body.items() if name != "metadata"}
        changed = cast("Stored", patch.apply_merge(current, change))
        return current if changed == current else self._store(path, "MODIFIED", _copy(changed))

    def operate(self, path: str, operations: JSON) -> Stored:
        """Applies a JSON patch; its `test` operations are the preconditions."""
        current = self._current(path)
        try:
            changed = cast("Stored", patch.apply_json(current, operations))
        except patch.PatchFailed:
            raise _Refused(422, "Invalid") from None
        return current if changed == current else self._store(path, "MODIFIED", _copy(changed))

    def delete(self, path: str, preconditions: Stored) -> Stored:
        """Removes an object at once."""
        current = self._current(path)
        self._check(current, preconditions)
        del self.objects[path]
        self._note(path, "DELETED", current)
        return current

    def bind(self, path: str, body: Stored) -> Stored:
        """Gives a pod its node, once."""
        current = self._current(path)
        self._check(current, {"uid": _meta(body)["uid"]})
        spec = cast("Stored", current.get("spec", {}))
        if spec.get("nodeName") or spec.get("schedulingGates"):
            raise _Refused(409, "Conflict")
        node = cast("Stored", body["target"])["name"]
        self.merge(path, {"spec": {"nodeName": node}})
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def compact(self) -> None:
        """Forgets the past: watches from an older version are refused."""
        self.compacted = self.version
        self.log.clear()

    def break_watches(self) -> None:
        """Breaks every open watch."""
        self.streams += 1
        self._wake()

    def _current(self, path: str) -> Stored:
        if path not in self.objects:
            raise _Refused(404, "NotFound")
        return self.objects[path]

    def _check(self, current: Stored, wanted: Stored) -> None:
        meta = _meta(current)
        if any(meta[name] != value for name, value in wanted.items()):
            raise _Refused(409, "Conflict")

    def _store(self, path: str, kind: str, obj: Stored) -> Stored:
        self._note(path, kind, obj)
        self.objects[path] = obj
        return obj

    def _note(self, path: str, kind: str, obj: Stored) -> None:
        self.version += 1
        _meta(obj)["resourceVersion"] = str(self.version)
        self.log.append((self.version, kind, path, _copy(obj)))
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class _Refused(Exception):
    """Becomes a Status."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass
class Connection:
    """A transport into the server."""

    server: MemoryServer
    caller: str

    async def send(self, request: Request, guard: Guard | None = None) -> "Canned | Stream":
        await asyncio.sleep(TRAVEL)
        if guard is not None:
            guard()
        try:
            return self._answer(request)
        except _Refused as refused:
            return refusal(refused.code, refused.reason)

    async def close(self) -> None:
        """Nothing is held."""

    def _answer(self, request: Request) -> "Canned | Stream":
        url = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        path = url.path.removesuffix("/status")
        if request.method == "GET":
            return self._read(path, query)
        self.server.writes.append((self.caller, request.method, url.path))
        body = cast("Stored", msgspec.json.decode(request.body or b"{}"))
        match request.method, request.headers.get("Content-Type"):
            case "POST", _ if path.endswith("/binding"):
                return _ok(self.server.bind(path.removesuffix("/binding"), body))
            case "POST", _:
                return _ok(self.server.create(path, body))
            case "PATCH", PatchType.JSON:
                return _ok(self.server.operate(path, cast("JSON", body)))
            case "PATCH", _:
                return _ok(self.server.merge(path, body))
            case _:
                return _ok(self.server.delete(path, cast("Stored", body.get("preconditions", {}))))

    def _read(self, path: str, query: dict[str, str]) -> "Canned | Stream":
        if query.get("watch"):
            if query.get("sendInitialEvents"):
                raise _Refused(422, "Invalid")
            since = int(query.get("resourceVersion", 0))
            if since < self.server.compacted:
                raise _Refused(410, "Expired")
            return Stream(self.server, path, since)
        if path in self.server.objects:
            return _ok(self.server.objects[path])
        if not _is_collection(path):
            raise _Refused(404, "NotFound")
        items = [o for p, o in sorted(self.server.objects.items()) if _within(p, path)]
        version = str(self.server.version)
        listing: JSON = {
            "kind": "List",
            "metadata": {"resourceVersion": version},
            "items": list[JSON](items),
        }
        return _ok(listing)


@dataclass
class Stream:
    """A watch that follows the log."""

    server: MemoryServer
    path: str
    since: int
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        broken_at = self.server.streams
        while True:
            if self.server.streams != broken_at:
                raise AnswerLost("the watch broke")
            fresh = [
                change
                for change in self.server.log
                if change[0] > self.since and _within(change[2], self.path)
            ]
            if not fresh:
                await self.server.changed.wait()
                continue
            await asyncio.sleep(self.server.lag)
            for version, kind, _, obj in fresh:
                self.since = version
                yield msgspec.json.encode({"type": kind, "object": obj}) + b"\n"

    async def close(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _is_collection(path: str) -> bool:
    """Whether a path names a resource and not one of its objects."""
    _, root, *rest = path.split("/")
    below = rest[1:] if root == "api" else rest[2:]
    if below[0] == "namespaces" and len(below) > 2:
        below = below[2:]
    return len(below) == 1


def _within(path: str, collection: str) -> bool:
    """Whether an object's path lies in a collection, of one namespace or of all."""
    head, _, plural = collection.rpartition("/")
    parent = path.rsplit("/", 1)[0]
    return parent == collection or (
        parent.startswith(f"{head}/namespaces/") and parent.endswith(f"/{plural}")
    )


def _meta(obj: Stored) -> Stored:
    return cast("Stored", obj["metadata"])


def _copy(obj: Stored) -> Stored:
    return cast("Stored", msgspec.json.decode(msgspec.json.encode(obj)))


def _ok(obj: JSON) -> Canned:
    return Canned(200, msgspec.json.encode(obj), {"Content-Type": "application/json"})
