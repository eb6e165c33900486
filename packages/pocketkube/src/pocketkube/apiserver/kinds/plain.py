"""A kind of Kubernetes of which only the metadata is judged, and the frame in which other kinds judge more.

`catalogue` makes one for every kind that no module here says more about; strategies of single kinds override `check`,
`check_change` and `default`. Objects have been read before: every member has the type it should have.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, objectmeta
from pocketkube.apiserver.kinds.builtin import Builtin
from pocketkube.apiserver.kinds.strategy import Causes, Object

META_FIELDS = "metadata.name", "metadata.namespace"


class Plain(Builtin):
    """A kind whose objects are kept as they come."""

    name_rule: names.NameRule = staticmethod(names.subdomain)
    qualified_finalizers = True
    more_selectable: tuple[str, ...] = ()
    """Fields besides those of the metadata."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        *,
        namespaced: bool = True,
        has_status: bool = False,
        generational: bool | None = None,
        name_rule: names.NameRule | None = None,
    ) -> None:
        super().__init__(api_version, kind)
        self.has_status = has_status
        if generational is not None:
            self.generational = generational
        self._rules = objectmeta.Rules(
            name_rule or self.name_rule, namespaced, self.qualified_finalizers
        )
        self.selectable = (*self._meta_fields(), *self.more_selectable)
        nothing: Object = {"metadata": {}}
        self.read(nothing)
        self._no_status = nothing.get("status")
        self._paths = tuple((field, field.split(".")) for field in self.selectable)

    def _meta_fields(self) -> tuple[str, ...]:
        return META_FIELDS

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        if self.has_status and self._no_status is not None:
            obj["status"] = deepcopy(self._no_status)

    def check_create(self, obj: Object) -> Causes:
        return [*objectmeta.created(obj["metadata"], self._rules), *self.check(obj)]

    def check_update(self, obj: Object, old: Object) -> Causes:
        found = self._updated(obj, old)
        return [*found, *found, *self.check_change(obj, old)]

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = self._updated(obj, old)
        return [*found, *found]

    def _updated(self, obj: Object, old: Object) -> Causes:
        """What is wrong with the metadata; a server looks at them twice and says everything again."""
        return objectmeta.updated(obj["metadata"], old["metadata"], self._rules)

    def check(self, obj: Object) -> Iterable[Cause]:
        """What is wrong with an object, apart from its metadata."""
        del obj
        return ()

    def check_change(self, obj: Object, old: Object) -> Iterable[Cause]:
        """What is wrong with an object that replaces another, apart from its metadata."""
        del old
        return self.check(obj)

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {field: _text(_at(obj, path)) for field, path in self._paths}

    def unselectable(self, field: str) -> str:
        if self.more_selectable:
            return f"field label not supported: {field}"
        return super().unselectable(field)


def _at(obj: Object, path: Sequence[str]) -> Any:
    value: Any = obj
    for member in path:
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
