"""Which of several faults Go would tell: its decoder goes on after a value of the wrong type, but stops at a type that reads itself.

`reading` asks here once it knows that an object cannot be read, so nothing of this is done for others.
"""

from collections.abc import Callable, Iterator
from typing import Any

from korder.embedded.apiserver.types import table
from korder.embedded.apiserver.types.mismatch import Mismatch
from korder.embedded.apiserver.types.table import Type

Read = Callable[[Type, Any], Any]


def stopping(of: Type, value: Any, read: Read) -> Mismatch | None:
    """Finds the first fault at which Go stops, whatever it has met before."""
    if of.form.startswith("@"):
        try:
            read(of, value)
        except Mismatch as mismatch:
            return mismatch
        return None
    if of.form == "struct":
        return _in_struct(of, value, read)
    found = (stopping(inner, each, read) for inner, each in _parts(of, value) if each is not None)
    return next(filter(None, found), None)


def _in_struct(of: Type, value: Any, read: Read) -> Mismatch | None:
    if not isinstance(value, dict):
        return None
    members = {member.name: member for member in table.members(of.name)}
    for name, sent in value.items():
        member = members.get(name)
        if member is None or sent is None:
            continue
        mismatch = stopping(member.type, sent, read)
        if mismatch is not None:
            mismatch.inside(of.name.rpartition(".")[2], ".".join((*member.via, name)))
            return mismatch
    return None


def _parts(of: Type, value: Any) -> Iterator[tuple[Type, Any]]:
    if of.inner is None:
        return
    if of.form == "pointer":
        yield of.inner, value
    elif of.form == "list" and isinstance(value, list):
        yield from ((of.inner, each) for each in value)
    elif of.form == "map" and isinstance(value, dict):
        yield from ((of.inner, each) for each in value.values())
