"""Which writes a webhook or a policy is about: rules of operations and resources, and selectors of labels.

`webhooks` and `policies` compile what their objects say into `Scope`s. Rules depend only on what is written and how, so
their answer is remembered for each resource; labels are looked at for each write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from kubeloop.objects import codec, selector
from kubeloop.objects.selector import LabelSelector, Selector
from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.view import View

Object = dict[str, Any]
T = TypeVar("T")
Equivalents = Callable[[Resource], Sequence[Resource]]
"""Finds the other resources under which the same objects are served."""

GROUP = "admissionregistration.k8s.io"
_NAMESPACES = ("", "v1", "namespaces")


def no_equivalents(resource: Resource) -> Sequence[Resource]:
    """For those who serve every kind in one version."""
    del resource
    return ()


class Rule(NamedTuple):
    """Operations on resources; `*` stands for all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    def covers(self, resource: Resource, subresource: str, operation: str) -> bool:
        return (
            _among(self.operations, operation)
            and _among(self.groups, resource.group)
            and _among(self.versions, resource.version)
            and any(
                plural in ("*", resource.plural) and sub in ("*", subresource)
                for plural, sub in self.resources
            )
            and self._in_scope(resource)
        )

    def _in_scope(self, resource: Resource) -> bool:
        return self.scope == "*" or (self.scope == "Namespaced") == resource.namespaced

    def names_it(self, name: str) -> bool:
        return not self.names or name in self.names


def rule(written: Mapping[str, Any]) -> Rule:
    """Reads a rule as it is stored."""
    resources = tuple(
        (plural, sub)
        for plural, _, sub in (str(each).partition("/") for each in _list(written, "resources"))
    )
    return Rule(
        frozenset(_list(written, "operations")),
        frozenset(_list(written, "apiGroups")),
        frozenset(_list(written, "apiVersions")),
        resources,
        str(written.get("scope") or "*"),
        frozenset(_list(written, "resourceNames")),
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """What a webhook, policy or binding says about the writes it wants to see."""

    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    namespaces: Selector
    objects: Selector
    equivalent: bool

    def target(
        self, attributes: Attributes, equivalents: Equivalents, *, all_without_rules: bool = False
    ) -> Resource | None:
        """The resource as which the rules see the write: the one written, or one that means the same."""
        if self.excluded and _find(
            self.excluded, attributes, self._others(attributes, equivalents)
        ):
            return None
        if not self.rules and all_without_rules:
            return attributes.resource
        return _find(self.rules, attributes, self._others(attributes, equivalents))

    def _others(self, attributes: Attributes, equivalents: Equivalents) -> Sequence[Resource]:
        return equivalents(attributes.resource) if self.equivalent else ()

    def selects(self, attributes: Attributes, view: View) -> bool:
        """Looks at the labels of the object and its namespace.

        Raises:
            Refused: the namespace does not exist.
        """
        return self._selects_object(attributes) and self._selects_namespace(attributes, view)

    def _selects_object(self, attributes: Attributes) -> bool:
        if not self.objects.requirements:
            return True
        return any(
            obj is not None and self.objects.matches(_labels(obj))
            for obj in (attributes.object, attributes.old)
        )

    def _selects_namespace(self, attributes: Attributes, view: View) -> bool:
        if not self.namespaces.requirements:
            return True
        if is_namespace(attributes.resource):
            own = attributes.object if not attributes.subresource else None
            found = own or view.get("namespaces", "", attributes.name)
        elif not attributes.namespace:
            return True
        else:
            found = view.get("namespaces", "", attributes.namespace)
        if found is None:
            raise refusal.not_found("namespaces", "", attributes.namespace or attributes.name)
        return self.namespaces.matches(_labels(found))


def scope(written: Mapping[str, Any]) -> Scope:
    """Reads what a webhook (`rules`) or a policy (`resourceRules`) says; a missing selector selects everything."""
    rules = _list(written, "rules") or _list(written, "resourceRules")
    return Scope(
        tuple(map(rule, rules)),
        tuple(map(rule, _list(written, "excludeResourceRules"))),
        _selector(written.get("namespaceSelector")),
        _selector(written.get("objectSelector")),
        written.get("matchPolicy", "Equivalent") == "Equivalent",
    )


class Index(Generic[T]):
    """Finds those who may want to see a write; whoever wants nothing of a resource costs its writes nothing.

    What a resource means the same as is part of it: whoever changes that hands in a new `Resource`.
    """

    def __init__(
        self,
        entries: Sequence[tuple[Scope, T]],
        equivalents: Equivalents,
        *,
        all_without_rules: bool = False,
    ) -> None:
        self._entries = entries
        self._equivalents = equivalents
        self._all_without_rules = all_without_rules
        self._found: dict[tuple[str, str, str, str], tuple[Resource, Sequence[T]]] = {}

    def candidates(self, attributes: Attributes) -> Sequence[T]:
        """Everybody whose rules may match; selectors, exclusions and names are still to be looked at."""
        if not self._entries:
            return ()
        resource = attributes.resource
        key = resource.stored, resource.version, attributes.subresource, attributes.operation.value
        known = self._found.get(key)
        if known is None or known[0] is not resource:
            known = self._found[key] = resource, self._search(attributes)
        return known[1]

    def _search(self, attributes: Attributes) -> Sequence[T]:
        same = [attributes.resource, *self._equivalents(attributes.resource)]
        what = attributes.subresource, attributes.operation
        return [
            entry
            for scope, entry in self._entries
            if (self._all_without_rules and not scope.rules)
            or any(each.covers(one, *what) for each in scope.rules for one in same)
        ]


def selects(written: Any, obj: Object) -> bool:
    """Whether a selector as it is stored selects an object."""
    return _selector(written).matches(_labels(obj))


def is_namespace(resource: Resource) -> bool:
    """Whether it is the resource of namespaces."""
    return (resource.group, resource.version, resource.plural) == _NAMESPACES


def namespace_of(attributes: Attributes) -> str:
    """The namespace of a write; that of a namespace is itself."""
    if attributes.namespace or not is_namespace(attributes.resource):
        return attributes.namespace
    return attributes.name


def _find(
    rules: Sequence[Rule], attributes: Attributes, others: Sequence[Resource]
) -> Resource | None:
    for each in rules:
        if _applies(each, attributes, attributes.resource):
            return attributes.resource
    for each in rules:
        for other in others:
            if other is not attributes.resource and _applies(each, attributes, other):
                return other
    return None


def _applies(each: Rule, attributes: Attributes, resource: Resource) -> bool:
    return each.covers(resource, attributes.subresource, attributes.operation) and each.names_it(
        attributes.name
    )


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _selector(written: Any) -> Selector:
    if not written:
        return selector.EVERYTHING
    try:
        return selector.from_struct(codec.convert(written, LabelSelector))
    except (msgspec.ValidationError, ValueError):
        return selector.NOTHING


def _list(written: Mapping[str, Any], member: str) -> list[Any]:
    return written.get(member) or []


def _among(items: frozenset[str], wanted: str) -> bool:
    return wanted in items or "*" in items
