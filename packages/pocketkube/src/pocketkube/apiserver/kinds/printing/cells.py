"""What many tables share: ages, labels, selectors, containers, quantities."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from kubeloop.objects import duration, instant, quantity
from pocketkube.apiserver.kinds.printer import Column, Object

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
AGE = Column("Age")
OF_CONTAINERS = (Column("Containers", priority=1), Column("Images", priority=1))


def named(*names: str) -> tuple[Column, ...]:
    """Columns of texts."""
    return tuple(map(Column, names))


def wide(*names: str) -> tuple[Column, ...]:
    """Columns of texts that are shown only on demand."""
    return tuple(Column(name, priority=1) for name in names)


def integers(*names: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(name, "integer") for name in names)


def since(text: str | None, now: datetime) -> str:
    """How long ago an instant was."""
    if not text:
        return UNKNOWN
    try:
        return duration.human(int((now - instant.parse(text)).total_seconds()))
    except instant.InvalidInstant:
        return "<invalid>"


def name(obj: Object) -> str:
    """What the object is called."""
    found: str = obj["metadata"].get("name", "")
    return found


def age(obj: Object, now: datetime) -> str:
    """How long ago the object was made."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def part(obj: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A part of an object that may be missing."""
    for member in path:
        obj = obj.get(member) or {}
    return dict(obj)


def labels(given: Mapping[str, str] | None) -> str:
    """Labels in one line."""
    return ",".join(f"{key}={given[key]}" for key in sorted(given)) if given else NONE


def selector(given: Mapping[str, Any] | None, missing: str = NONE) -> str:
    """A structured selector in one line."""
    if given is None:
        return missing
    texts = [(key, f"{key}={value}") for key, value in (given.get("matchLabels") or {}).items()]
    expressions = given.get("matchExpressions") or ()
    texts += [(each.get("key", ""), _expression(each)) for each in expressions]
    return ",".join(text for _, text in sorted(texts, key=itemgetter(0))) or NONE


def _expression(each: Mapping[str, Any]) -> str:
    key, values = each.get("key", ""), ",".join(sorted(each.get("values") or ()))
    match each.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"


def containers(template: Mapping[str, Any]) -> list[str]:
    """The names and images of the containers of a pod template."""
    found = part(template, "spec").get("containers") or ()
    return [",".join(str(each.get(member, "")) for each in found) for member in ("name", "image")]


def amount(text: str | None) -> str:
    """A quantity as it is written; nothing is 0."""
    try:
        return str(quantity.parse(text)) if text else "0"
    except quantity.InvalidQuantity:
        return str(text)


def is_true(conditions: Iterable[Mapping[str, Any]] | None, kind: str) -> bool:
    """Whether a condition is there and true."""
    return any(
        each.get("type") == kind and each.get("status") == "True" for each in conditions or ()
    )


def listed(items: Sequence[str], most: int = 3) -> str:
    """The first items of a list, and how many more there are."""
    if not items:
        return UNSET
    text = ",".join(items[:most])
    return f"{text} + {len(items) - most} more..." if len(items) > most else text
