"""What Kubernetes knows about the variables of admission expressions beyond their names.

`cel` compiles such expressions with these descriptions. Objects are typed dynamically, but a server describes `request`
and `namespaceObject` itself, and knows which variables a policy has.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver.schemas import celsource
from pocketkube.apiserver.schemas.schemanodes import Node, compile_node

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_LABELS: Final = {"type": "object", "additionalProperties": _TEXT}


def _struct(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, celsource.UNESCAPED: True}


_KIND: Final = _struct(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE: Final = _struct(group=_TEXT, version=_TEXT, resource=_TEXT)
_REQUEST: Final = compile_node(
    _struct(
        kind=_KIND,
        resource=_RESOURCE,
        subResource=_TEXT,
        requestKind=_KIND,
        requestResource=_RESOURCE,
        requestSubResource=_TEXT,
        name=_TEXT,
        namespace=_TEXT,
        operation=_TEXT,
        userInfo=_struct(
            username=_TEXT,
            uid=_TEXT,
            groups=_TEXTS,
            extra={"type": "object", "additionalProperties": _TEXTS},
        ),
        dryRun={"type": "boolean"},
        options={},
    )
)
_NAMESPACE: Final = compile_node(
    _struct(
        metadata=_struct(
            name=_TEXT,
            generateName=_TEXT,
            namespace=_TEXT,
            labels=_LABELS,
            annotations=_LABELS,
            UID=_TEXT,
            creationTimestamp=_TIME,
            deletionGracePeriodSeconds={"type": "integer"},
            deletionTimestamp=_TIME,
            generation={"type": "integer"},
            resourceVersion=_TEXT,
            finalizers=_TEXTS,
        ),
        spec=_struct(finalizers=_TEXTS),
        status=_struct(phase=_TEXT, conditions={"type": "array", "items": {}}),
    )
)
_NULLABLE: Final = frozenset({"object", "oldObject", "params", "namespaceObject"})
_TYPED: Final = frozenset({"request", "namespaceObject", "variables"})


def schemas(fields: Iterable[str] | None = None) -> Mapping[str, Node]:
    """Describes the variables; `fields` are those of `variables`, if they are known."""
    known = {"request": _REQUEST, "namespaceObject": _NAMESPACE}
    if fields is None:
        return known
    return {**known, "variables": compile_node(_struct(**{name: {} for name in fields}))}


def fits(returned: str, wanted: Sequence[str], text: str) -> bool:
    """Says whether an expression is of one of the wanted types.

    What is found in an object may be anything and fits nowhere. For what is found in the typed variables a server knows
    better, so that is given the benefit of the doubt.
    """
    if returned == "dyn":
        return any(each.text in _TYPED for each in celsource.tokens(text))
    return returned in wanted


def null_safe(source: str) -> str:
    """Lets `object.?spec` be nothing where there is no object; the library has no optional members of null."""
    pieces = celsource.tokens(source)
    for index in range(len(pieces) - 2, -1, -1):
        name, after = pieces[index], pieces[index + 1]
        before = pieces[index - 1].text if index else ""
        if name.text in _NULLABLE and after.text == ".?" and before not in (".", ".?"):
            end = name.at + len(name.text)
            safe = f"optional.ofNonZeroValue({name.text})"
            source = source[: name.at] + safe + source[end:]
    return source
