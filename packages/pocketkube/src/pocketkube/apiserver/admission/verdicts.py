"""What the plugins share: whether a write is theirs to judge, where its parts are, and how they say no.

Objects have been read by their strategy before, so members have the right types; any of them may still be missing, because
plugins that mutate come before the checks of the kind.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeloop.objects import quantity
from kubeloop.objects.quantity import Quantity
from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes, Object, Operation
from pocketkube.apiserver.refusal import Refused

CREATE, UPDATE, DELETE = Operation.CREATE, Operation.UPDATE, Operation.DELETE


def concerns(attributes: Attributes, stored: str, *operations: Operation) -> bool:
    """Says whether a resource itself, not a part of it, is written in one of these ways."""
    return (
        attributes.resource.stored == stored
        and not attributes.subresource
        and attributes.operation in operations
    )


def written(attributes: Attributes) -> Object:
    """The object of a write that has one."""
    return attributes.object if attributes.object is not None else {}


def denied(attributes: Attributes, why: str) -> Refused:
    """A refusal by admission; an object without a name is told by the prefix of its name."""
    meta = written(attributes).get("metadata") or {}
    name = attributes.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return refusal.forbidden(attributes.resource.plural, attributes.resource.group, name, why)


def own(obj: Object, name: str) -> Object:
    """A member that is an object, made if it is not there; for plugins that change it."""
    found: Object | None = obj.get(name)
    if found is None:
        found = obj[name] = {}
    return found


def part(obj: Mapping[str, Any], name: str) -> Object:
    """A member that is an object, or an empty one in its place."""
    found: Object = obj.get(name) or {}
    return found


def items(obj: Mapping[str, Any], name: str) -> list[Any]:
    """A member that is a list, or an empty one in its place."""
    found: list[Any] = obj.get(name) or []
    return found


def containers(spec: Mapping[str, Any]) -> Iterator[Object]:
    """The ordinary containers of a pod, then those that run before them."""
    yield from items(spec, "containers")
    yield from items(spec, "initContainers")


def amounts(wire: Mapping[str, Any]) -> dict[str, Quantity]:
    """A resource list as numbers, sorted by name; what is no number is left to the checks of the kind."""
    found: dict[str, Quantity] = {}
    for name in sorted(wire):
        try:
            found[name] = quantity.parse(wire[name])
        except (quantity.InvalidQuantity, TypeError):
            continue
    return found


def aggregate(errors: list[str]) -> str:
    """Several errors in one text, each of them once."""
    stated = list(dict.fromkeys(errors))
    return stated[0] if len(stated) == 1 else f"[{', '.join(stated)}]"
