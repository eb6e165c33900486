"""Which of several faults Go would tell, once it is known that an object cannot be read.

Its decoder goes along the text, passes over values of the wrong type and stops at a type that reads itself. Its converter, which reads
what apply and strategic merge patches have made, goes along the members of the type and stops at the first fault.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pocketkube.apiserver.types import table
from pocketkube.apiserver.types.mismatch import Mismatch
from pocketkube.apiserver.types.table import Member, Type

Read = Callable[[Type, Any], Any]

_CONTAINERS: dict[str, type[Any]] = {"struct": dict, "map": dict, "list": list, "pointer": object}


def stopping(of: Type, value: Any, read: Read) -> Mismatch | None:
    """Finds the first fault at which the decoder stops, whatever it has met before."""
    return _Search(read, converting=False).find(of, value)


def first(of: Type, value: Any, read: Read) -> Mismatch | None:
    """Finds the fault at which the converter stops."""
    return _Search(read, converting=True).find(of, value)


@dataclass(frozen=True, slots=True)
class _Search:
    read: Read
    converting: bool

    def find(self, of: Type, value: Any) -> Mismatch | None:
        container = _CONTAINERS.get(of.form)
        if container is None or not isinstance(value, container):
            return self._at(of, value)
        if of.form == "struct":
            return self._in_struct(of, value)
        found = (self.find(inner, each) for inner, each in _parts(of, value) if each is not None)
        return next(filter(None, found), None)

    def _at(self, of: Type, value: Any) -> Mismatch | None:
        if self.converting or of.form.startswith("@"):
            try:
                self.read(of, value)
            except Mismatch as mismatch:
                return mismatch
        return None

    def _in_struct(self, of: Type, value: dict[str, Any]) -> Mismatch | None:
        for member in self._order(table.members(of.name), value):
            sent = value.get(member.name)
            mismatch = None if sent is None else self.find(member.type, sent)
            if mismatch is not None:
                mismatch.inside(of.name.rpartition(".")[2], ".".join((*member.via, member.name)))
                return mismatch
        return None

    def _order(self, members: Iterable[Member], value: dict[str, Any]) -> Iterable[Member]:
        if self.converting:
            return members
        known = {member.name: member for member in members}
        return (known[name] for name in value if name in known)


def _parts(of: Type, value: Any) -> Iterator[tuple[Type, Any]]:
    if of.inner is None:
        return
    if of.form == "pointer":
        yield of.inner, value
    elif of.form == "list":
        yield from ((of.inner, each) for each in value)
    else:
        yield from ((of.inner, each) for each in value.values())
