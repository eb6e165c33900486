"""Bytes of an API server to typed objects, fast.

`kubeloop.client.client` and `kubeloop.client.watch` decode everything here, in one pass per body or line with a decoder that is made once per type.
Only what does not fit is looked at twice: bodies with nulls (`kubeloop.objects.codec`), bookmarks, which are objects without content, and
errors inside a watch, which are not objects at all. One object that cannot be read, left by an older version or a newer one, must
not hide the others: it is told apart as `Unreadable`.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar, cast

import msgspec

from kubeloop.client import errors
from kubeloop.objects import codec
from kubeloop.objects.machinery import Status
from kubeloop.objects.meta import Base, HasMetadata, Kind, ListMeta, Object, ObjectMeta, key_of

T = TypeVar("T", bound=HasMetadata)
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that does not fit its type: where it is, and why."""

    metadata: ObjectMeta
    why: str

    def __str__(self) -> str:
        return f"{key_of(self)} cannot be read: {self.why}"


class ObjectList(Base, Generic[T]):
    """One page of a list."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] = ()


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page as far as it can be read."""

    metadata: ListMeta
    items: tuple[T, ...]
    unreadable: tuple[Unreadable, ...] = ()


UNREADABLE = "UNREADABLE"
"""Our own type of an event whose object does not fit; no server sends it."""


class WatchEvent(Base, Generic[T]):
    """One line of a watch; of a BOOKMARK's object, and of an unreadable one, only the metadata is true."""

    type: str
    object: T


_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError)
"""What a body that is no JSON, or of another shape, raises; text that is no UTF-8 raises an error of its own."""

_RECENT = 64
"""How many lines of watches are remembered as what they were read as."""

_DECODERS: dict[object, object] = {}
"""Making a decoder costs a hundred times as much as using it."""


class _Envelope(Base):
    type: str
    object: msgspec.Raw


class _RawList(Base):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


def decode_object(data: bytes, model: type[T]) -> T:
    """Reads one object."""
    return _decode(data, model)


def decode_list(data: bytes, model: type[T]) -> Page[T]:
    """Reads one page of a list; if something in it does not fit, item by item."""
    page: type[ObjectList[T]] = ObjectList[model]  # type: ignore[valid-type]  # chosen at run time
    try:
        whole = _decode(data, page)
    except errors.Undecodable:
        return _read_singly(data, model)
    return Page(whole.metadata, whole.items)


def _read_singly(data: bytes, model: type[T]) -> Page[T]:
    raw = _decode(data, _RawList)
    items: list[T] = []
    unreadable: list[Unreadable] = []
    for item in raw.items:
        content = bytes(item)
        try:
            items.append(_decode(content, model))
        except errors.Undecodable as error:
            unreadable.append(_unreadable(content, error))
    return Page(raw.metadata, tuple(items), tuple(unreadable))


def _unreadable(content: bytes, error: errors.Undecodable) -> Unreadable:
    return Unreadable(_decode(content, Object).metadata, str(error))


def stamped(item: T, kind: Kind[T]) -> T:
    """Gives an item of a list the type it has everywhere else: servers leave it out there."""
    if not isinstance(item, Object) or item.kind:
        return item
    return msgspec.structs.replace(item, api_version=kind.api_version, kind=kind.kind)


class EventDecoder(Generic[T]):
    """Reads the lines of a watch on one kind."""

    def __init__(self, model: type[T]) -> None:
        self._model = model
        event: type[WatchEvent[T]] = WatchEvent[model]  # type: ignore[valid-type]  # chosen at run time
        self._decoder = _decoder(event)

    def decode(self, line: bytes) -> WatchEvent[T]:
        """Reads one line; raises what an ERROR event says."""
        try:
            event = _event(self._decoder, line)
        except _MALFORMED:
            return self._decode_odd(line)
        return event if event.type != "ERROR" else self._decode_odd(line)

    def _decode_odd(self, line: bytes) -> WatchEvent[T]:
        envelope = _decode(line, _Envelope)
        content = bytes(envelope.object)
        match envelope.type:
            case "ERROR":
                raise errors.from_status(_decode(content, Status))
            case "BOOKMARK":
                marker = cast("T", _decode(content, Object))
                return WatchEvent(type=envelope.type, object=marker)
            case _:
                return self._decode_content(envelope.type, content)

    def _decode_content(self, kind: str, content: bytes) -> WatchEvent[T]:
        try:
            return WatchEvent(type=kind, object=_decode(content, self._model))
        except errors.Undecodable as error:
            odd = cast("T", _unreadable(content, error))
            return WatchEvent(type="DELETED" if kind == "DELETED" else UNREADABLE, object=odd)


@lru_cache(maxsize=_RECENT)
def _event(decoder: "msgspec.json.Decoder[WatchEvent[T]]", line: bytes) -> WatchEvent[T]:
    """Reads a line that several watches in one process may show at about the same time; all get the same event."""
    return decoder.decode(line)


def _decode(data: bytes, wanted: type[D]) -> D:
    try:
        return _decoder(wanted).decode(data)
    except _MALFORMED:
        return _decode_without_nulls(data, wanted)


def _decode_without_nulls(data: bytes, wanted: type[D]) -> D:
    try:
        return codec.decode(data, wanted)
    except msgspec.ValidationError as error:
        raise errors.Undecodable(f"the server's answer does not fit {wanted}: {error}") from error
    except _MALFORMED as error:
        raise errors.Undecodable(f"the server's answer is not JSON: {error}") from error


def _decoder(wanted: type[D]) -> msgspec.json.Decoder[D]:
    found = _DECODERS.get(wanted)
    if found is None:
        found = _DECODERS[wanted] = msgspec.json.Decoder(wanted)
    return cast("msgspec.json.Decoder[D]", found)
