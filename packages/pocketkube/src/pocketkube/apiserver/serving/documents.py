"""Stored objects as bytes: one form, written so that the version is stamped and the head is exchanged without decoding.

Every stored object begins with its kind, its version and the first member of its metadata:

    {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7", ...

so the draft of a write is a constant head and an encoded tail, an item of a list is the bytes behind the head, and another
version of a custom kind is the same bytes behind another head.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from pocketkube.apiserver import view
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.storage import Draft, Event, Record

Object = dict[str, Any]

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_METADATA = b'"metadata":{"resourceVersion":"'
_KEPT_BYTES = 8 << 20
"""How much of the lines of watches is kept."""


def head(resource: Resource) -> bytes:
    """How every object of a resource begins."""
    return _head(resource.kind, resource.api_version)


@cache
def _head(kind: str, api_version: str) -> bytes:
    return encode({"kind": kind, "apiVersion": api_version})[:-1] + b","


def draft(resource: Resource, obj: Object) -> Draft:
    """An object without its version, ready to be written."""
    if resource.strategy.converts:
        obj = dict(obj)
        resource.strategy.inward(obj)
    return view.draft(obj)


def present(resource: Resource, record: Record) -> bytes:
    """The bytes of a record; what was stored before its kind changed is renewed, once for all who read it."""
    until = resource.strategy.renewed_until
    if record.version > until:
        return record.value
    notes = view.facts(record)
    if notes.renewed is None or notes.renewed[0] != until:
        obj = view.fresh(record)
        resource.strategy.renew(obj)
        value = view.draft(obj).at(record.version)
        notes.renewed = until, record.value if value == record.value else value
        notes.labels = notes.fields = None
    return notes.renewed[1]


def known(resource: Resource, record: Record) -> Object:
    """A stored object in the version of a resource, as one's own: what is kept with a record lives as long as its past."""
    obj: Object = _decode(present(resource, record))
    if obj.get("apiVersion") == resource.api_version:
        return obj
    obj = {**obj, "apiVersion": resource.api_version}
    if resource.strategy.converts:
        resource.strategy.outward(obj)
    return obj


def shared(resource: Resource, record: Record) -> Object:
    """The same for those who change nothing in it: what was read for others before is taken."""
    read = view.facts(record).object
    if read is None or read.get("apiVersion") != resource.api_version:
        return known(resource, record)
    return read if record.version > resource.strategy.renewed_until else known(resource, record)


def redraft(record: Record) -> Draft:
    """What is stored, to be written under a new version."""
    start = record.value.index(_METADATA) + len(_METADATA)
    return Draft(record.value[:start], record.value[record.value.index(b'"', start) :])


def unchanged(record: Record, written: Draft) -> bool:
    """Whether a draft says what is stored already."""
    return record.value == written.at(record.version)


def body(value: bytes) -> bytes:
    """What follows the kind and version of a stored object."""
    return value[value.index(_METADATA) :]


def whole(resource: Resource, record: Record) -> bytes:
    """A stored object in the version of a resource."""
    return _whole(resource, present(resource, record))


def _whole(resource: Resource, value: bytes) -> bytes:
    start = head(resource)
    if value.startswith(start):
        return value
    if not resource.strategy.converts:
        return start + body(value)
    obj = _decode(value)
    resource.strategy.outward(obj)
    return encode(obj)


def item(resource: Resource, record: Record) -> bytes:
    """A stored object as a member of a list: built-in kinds are not repeated there."""
    if resource.custom:
        return whole(resource, record)
    value = record.value
    return b"{" + body(_whole(resource, value) if resource.strategy.converts else value)


def line(kind: str, value: bytes) -> bytes:
    """One event of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), value)


class Lines:
    """The last lines of watches, encoded once for everybody who watches in the stored version.

    Only the last: a line is a copy of its object, and objects live long.
    """

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._size = 0
        self._joined: tuple[Sequence[Event], Resource | None, bytes] = (), None, b""

    def of(self, resource: Resource, event: Event) -> bytes:
        """The line of a change."""
        value = present(resource, event.record)
        if not value.startswith(head(resource)):
            return line(event.change, _whole(resource, value))
        kept = self._kept.get(event.version)
        if kept is not None:
            return kept
        made = self._kept[event.version] = line(event.change, value)
        self._size += len(made)
        while self._size > _KEPT_BYTES:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
        return made

    def joined(self, resource: Resource, events: Sequence[Event]) -> bytes:
        """The lines of changes, joined once for all who are told of the very same ones."""
        stated, kind, lines = self._joined
        if stated is not events or kind is not resource:
            lines = b"".join([self.of(resource, event) for event in events])
            self._joined = events, resource, lines
        return lines


def at_version(resource: Resource, record: Record, version: int) -> bytes:
    """A stored object under another version."""
    value = whole(resource, record)
    start = value.index(_METADATA) + len(_METADATA)
    return b"%b%d%b" % (value[:start], version, value[value.index(b'"', start) :])


def bookmark(resource: Resource, version: int, *, complete: bool = False) -> bytes:
    """The line that says how far a watch has come; `complete` says that everything there was has been told."""
    end = b',"annotations":{"k8s.io/initial-events-end":"true"}' if complete else b""
    return line("BOOKMARK", b'%b%b%d"%b}}' % (head(resource), _METADATA, version, end))
