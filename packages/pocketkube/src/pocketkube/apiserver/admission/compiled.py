"""Objects that rule admission (webhooks, policies, bindings), compiled once and kept until they change.

`webhooks` and `policies` ask for the whole on every write; as long as none of the resources changed that costs a look at
a number. After a change only what is new is compiled again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from pocketkube.apiserver.view import View

Object = dict[str, Any]
T = TypeVar("T")
W = TypeVar("W")


class Compiled(Generic[T]):
    """What was made of each object of one resource, in the order of names."""

    def __init__(self, view: View, resource: str, compile_one: Callable[[Object], T]) -> None:
        self._view = view
        self._resource = resource
        self._compile_one = compile_one
        self._made: dict[tuple[str, str], T] = {}

    @property
    def changed(self) -> int:
        return self._view.changes(self._resource)

    def all(self) -> Sequence[T]:
        """Compiles what is new and forgets what is gone."""
        made: dict[tuple[str, str], T] = {}
        for obj in self._view.all(self._resource):
            meta = obj.get("metadata") or {}
            key = str(meta.get("uid") or meta.get("name")), str(meta.get("resourceVersion"))
            made[key] = self._made[key] if key in self._made else self._compile_one(obj)
        self._made = made
        return [*made.values()]


class Whole(Generic[W]):
    """One thing made of several resources, made again when one of them has changed."""

    def __init__(self, make: Callable[[], W], *parts: Compiled[Any]) -> None:
        self._make = make
        self._parts = parts
        self._seen: tuple[int, ...] | None = None
        self._whole: W

    def get(self) -> W:
        seen = tuple([part.changed for part in self._parts])
        if seen != self._seen:
            self._whole = self._make()
            self._seen = seen
        return self._whole
