"""Objects as the server reads them for itself: decoded, at most once for each version, shared by everybody who asks.

`admission` and `access` look up namespaces, roles, quotas and webhooks here, `serving` the objects it changes. What is
returned belongs to all: whoever changes an object copies first (`fresh` does).
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from pocketkube.apiserver.storage import Draft, Key, Record, Storage

Object = dict[str, Any]

_HEAD = ("kind", "apiVersion", "metadata")
_VERSION = b'"metadata":{"resourceVersion":"'

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Facts:
    """What was read out of a record's bytes: the object, and what lists and watches ask again and again.

    `renewed` are the bytes as the kind's present rules want them, and until which version these rules changed what is stored.
    """

    __slots__ = ("fields", "labels", "object", "renewed")

    def __init__(self) -> None:
        self.object: Object | None = None
        self.labels: dict[str, str] | None = None
        self.fields: dict[str, str] | None = None
        self.renewed: tuple[int, bytes] | None = None


def facts(record: Record) -> Facts:
    """The notes on a record."""
    if not isinstance(record.facts, Facts):
        record.facts = Facts()
    return record.facts


def decoded(record: Record) -> Object:
    """The object of a record; shared, not to be changed."""
    notes = facts(record)
    if notes.object is None:
        notes.object = _decode(record.value)
    return notes.object


def fresh(record: Record) -> Object:
    """An object of one's own."""
    obj: Object = _decode(record.value)
    return obj


def draft(obj: Object) -> Draft:
    """Encodes an object for storage, with the place of its version left open."""
    meta = {"resourceVersion": "", **obj["metadata"]}
    meta["resourceVersion"] = ""
    head = {name: None for name in _HEAD if name in obj}
    value = _encode({**head, **obj, "metadata": meta})
    place = value.index(_VERSION) + len(_VERSION)
    return Draft(value[:place], value[place:])


class View:
    """Reads what is stored; resources are named as storage names them: `pods`, `deployments.apps`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        record = self._storage.get(Key(resource, namespace, name))
        return None if record is None else decoded(record)

    def all(self, resource: str, namespace: str = "") -> Sequence[Object]:
        return [decoded(record) for record in self._storage.page(resource, namespace).records]

    def changes(self, resource: str) -> int:
        """A number that differs after every change of the resource; for those who keep what they made of it."""
        return self._storage.changes(resource)
