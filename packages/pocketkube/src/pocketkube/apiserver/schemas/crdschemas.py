"""Whether a schema of a CustomResourceDefinition is structural, and whether its defaults and rules hold water.

Called by `crds`. Everything that Kubernetes forbids in structural schemas is named at its own path; rules are compiled
only once the schema around them is sound, as a server does. What was found is kept, as `structural` keeps what it compiled.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas import rules, schemapatterns
from pocketkube.apiserver.schemas.schemanodes import META, Node, compile_node
from pocketkube.apiserver.schemas.schemavalues import Checker

Schema = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)
_NEVER_NESTED: Final = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
}
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def check(schema: Schema, at: str) -> list[Cause]:
    """What is wrong with the schema of a version, which stands at this field."""
    return list(_checked(msgspec.json.encode(schema), at))


@lru_cache(maxsize=32)
def _checked(written: bytes, at: str) -> tuple[Cause, ...]:
    schema: Schema = msgspec.json.decode(written)
    causes = sorted(
        _structural(schema, at, "root"), key=lambda cause: f"{cause.field}: {cause.message}"
    )
    causes += _words(schema, at, is_root=True)
    if causes:
        return tuple(causes)
    node = compile_node(schema)
    return tuple(_defaults(node, at)) or tuple(_rules(node, at, "", is_resource=True))


def _structural(schema: Schema, at: str, level: str) -> Iterator[Cause]:
    named = schema.get("type", "")
    whole = "items" not in schema
    if named == "array" and whole:
        yield fe.required(f"{at}.items", "must be specified")
    if isinstance(schema.get("items"), Mapping):
        yield from _structural(schema["items"], f"{at}.items", "item")
    for name, below in schema.get("properties", {}).items():
        yield from _structural(below, f"{at}.properties[{name}]", "field")
    additional = schema.get("additionalProperties")
    if additional is not None and level == "root":
        yield fe.forbidden(f"{at}.additionalProperties", "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _structural(additional, f"{at}.additionalProperties", "field")
    yield from _typed(schema, at, level)
    yield from _nested_words(schema, at)


def _typed(schema: Schema, at: str, level: str) -> Iterator[Cause]:
    named, embedded = schema.get("type", ""), schema.get("x-kubernetes-embedded-resource")
    either, keeps = (
        schema.get("x-kubernetes-int-or-string"),
        schema.get("x-kubernetes-preserve-unknown-fields"),
    )
    if either and keeps:
        detail = "must be false if x-kubernetes-int-or-string is true"
        yield fe.invalid(f"{at}.x-kubernetes-preserve-unknown-fields", value=True, detail=detail)
    if embedded and named != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield (
            fe.invalid(f"{at}.type", named, detail) if named else fe.required(f"{at}.type", detail)
        )
    elif not named and not either and not keeps:
        where = {"root": "at the root", "item": "for specified array items"}
        yield fe.required(
            f"{at}.type", f"must not be empty {where.get(level, 'for specified object fields')}"
        )
    if level == "root" and named and named != "object":
        yield fe.invalid(f"{at}.type", named, "must be object at the root")
    if embedded and not keeps and not schema.get("properties"):
        yield fe.required(
            f"{at}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        )
    metadata = schema.get("properties", {}).get("metadata")
    if (
        level == "root"
        and metadata
        and set(metadata.get("properties", {})) - {"name", "generateName"}
    ):
        yield fe.forbidden(
            f"{at}.properties[metadata]",
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        )


def _nested_words(schema: Schema, at: str) -> Iterator[Cause]:
    """The alternatives may only narrow down what the schema around them describes."""
    either = schema.get("x-kubernetes-int-or-string")
    for word in ("anyOf", "allOf", "oneOf"):
        for index, below in enumerate(schema.get(word) or ()):
            if not (either and (schema[word] == _EITHER or below.get("anyOf") == _EITHER)):
                yield from _nested(below, f"{at}.{word}[{index}]", with_rules=word == "allOf")
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], f"{at}.not", with_rules=False)
    pattern = schema.get("pattern")
    if pattern:
        try:
            schemapatterns.matcher(pattern)
        except ValueError as problem:
            detail = f"must be a valid regular expression, but isn't: {problem}"
            yield fe.invalid(f"{at}.pattern", pattern, detail)


def _nested(schema: Schema, at: str, *, with_rules: bool) -> Iterator[Cause]:
    yield from _nested_words(schema, at)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{at}.items", with_rules=with_rules)
    for name, below in schema.get("properties", {}).items():
        place = f"{at}.properties[{name}]"
        if name == "metadata":
            yield fe.forbidden(place, "must not be specified in a nested context")
        yield from _nested(below, place, with_rules=with_rules)
    for word, detail in _NEVER_NESTED.items():
        if schema.get(word):
            yield fe.forbidden(f"{at}.{word}", detail)
    if schema.get(rules.VALIDATIONS) and not with_rules:
        yield fe.forbidden(f"{at}.{rules.VALIDATIONS}", "must be empty to be structural")


def _words(schema: Schema, at: str, *, is_root: bool = False) -> Iterator[Cause]:
    named = schema.get("type", "")
    if named and named not in _TYPES:
        yield fe.not_supported(f"{at}.type", named, _TYPES)
    for word in _UNSUPPORTED:
        if schema.get(word):
            yield fe.forbidden(f"{at}.{word}", f"{word} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield fe.forbidden(f"{at}.uniqueItems", detail)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        detail = "additionalProperties and properties are mutual exclusive"
        yield fe.forbidden(f"{at}.additionalProperties", detail)
    yield from _list_words(schema, at)
    yield from _rule_words(schema, at)
    for name in META.intersection(schema.get("properties", {})) if is_root else ():
        if "default" in schema["properties"][name]:
            place = f"{at}.properties[{name}].default"
            yield fe.forbidden(place, f"must not be set in top-level {name}")
    for below, place in _parts(schema, at):
        yield from _words(below, place)


def _parts(schema: Schema, at: str) -> Iterator[tuple[Schema, str]]:
    for name, below in schema.get("properties", {}).items():
        yield below, f"{at}.properties[{name}]"
    for word in ("additionalProperties", "items", "not"):
        if isinstance(schema.get(word), Mapping):
            yield schema[word], f"{at}.{word}"
    for word in ("allOf", "oneOf", "anyOf"):
        for index, below in enumerate(schema.get(word) or ()):
            yield below, f"{at}.{word}[{index}]"


def _list_words(schema: Schema, at: str) -> Iterator[Cause]:
    kind, keys = (
        schema.get("x-kubernetes-list-type"),
        schema.get("x-kubernetes-list-map-keys") or (),
    )
    named = schema.get("type", "")
    if kind and named != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        yield (
            fe.invalid(f"{at}.type", named, detail) if named else fe.required(f"{at}.type", detail)
        )
    if kind and kind not in ("atomic", "set", "map"):
        yield fe.not_supported(f"{at}.x-kubernetes-list-type", kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        place, detail = (
            f"{at}.x-kubernetes-list-type",
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
        yield fe.invalid(place, kind, detail) if kind else fe.required(place, detail)
    if kind == "map":
        yield from _map_list_words(schema, at, list(keys))


def _map_list_words(schema: Schema, at: str, keys: list[str]) -> Iterator[Cause]:
    place = f"{at}.x-kubernetes-list-map-keys"
    items = schema.get("items")
    if not keys:
        yield fe.required(place, "must not be empty if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        yield fe.required(f"{at}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type", "") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield fe.invalid(f"{at}.items.type", items.get("type", ""), detail)
        return
    for index, key in enumerate(keys):
        below = items.get("properties", {}).get(key)
        if below is None:
            yield fe.invalid(place, keys, "entries must all be names of item properties")
        elif key not in items.get("required", ()) and "default" not in below:
            detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield fe.required(f"{at}.items.properties[{key}].default", detail)
        if key in keys[:index]:
            yield fe.invalid(place, keys, "must not contain duplicate entries")


def _rule_words(schema: Schema, at: str) -> Iterator[Cause]:
    for index, rule in enumerate(schema.get(rules.VALIDATIONS) or ()):
        place = f"{at}.{rules.VALIDATIONS}[{index}]"
        message, path = rule.get("message", ""), rule.get("fieldPath", "")
        if not str(rule.get("rule", "")).strip():
            yield fe.required(f"{place}.rule", "rule is not specified")
        elif message and not message.strip():
            yield fe.invalid(f"{place}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield fe.invalid(f"{place}.message", message, "must not contain line breaks")
        elif "\n" in rule["rule"].strip() and not message:
            detail = "message must be specified if rule contains line breaks"
            yield fe.required(f"{place}.message", detail)
        if rule.get("reason") and rule["reason"] not in _REASONS:
            yield fe.not_supported(f"{place}.reason", rule["reason"], _REASONS)
        if path and _leads_nowhere(schema, path):
            yield fe.invalid(f"{place}.fieldPath", path, "must be a valid path")


def _leads_nowhere(schema: Schema, path: str) -> bool:
    try:
        return rules.field_path(compile_node(schema), path) is None
    except ValueError:  # a pattern is none, which is reported elsewhere
        return False


def _defaults(node: Node, at: str) -> Iterator[Cause]:
    if node.default is not None:
        yield from Checker(f"{at}.default").run(node, node.default)
    for name, below in node.properties.items():
        yield from _defaults(below, f"{at}.properties[{name}]")
    if node.additional is not None:
        yield from _defaults(node.additional, f"{at}.additionalProperties")
    if node.items is not None:
        yield from _defaults(node.items, f"{at}.items")


def _rules(node: Node, at: str, loose: str, *, is_resource: bool = False) -> Iterator[Cause]:
    """Compiles the rules; `loose` is the list within which old entries cannot be found."""
    for index, rule in enumerate(node.schema.get(rules.VALIDATIONS) or ()):
        place = f"{at}.{rules.VALIDATIONS}[{index}]"
        try:
            rules.compile_rule(node, rule, is_resource=is_resource)
        except rules.RuleError as problem:
            yield fe.unshown(f"{place}.{problem.member}", f"{_as_go(rule)}: {problem}")
        if rules.names_old(rule["rule"]):
            if loose:
                detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {loose}"
                yield fe.invalid(f"{place}.rule", rule["rule"], detail)
        elif "optionalOldSelf" in rule:
            detail = "may not be set if oldSelf is not used in rule"
            yield fe.invalid(f"{place}.optionalOldSelf", rule["optionalOldSelf"], detail)
    for name, below in node.properties.items():
        yield from _rules(below, f"{at}.properties[{name}]", loose, is_resource=below.embedded)
    if node.additional is not None:
        yield from _rules(node.additional, f"{at}.additionalProperties", loose)
    if node.items is not None:
        deeper = loose or ("" if node.list_type == "map" else at)
        yield from _rules(node.items, f"{at}.items", deeper, is_resource=node.items.embedded)


def _as_go(rule: Schema) -> str:
    """A rule as a server prints it, with the names of its own struct in its own order."""
    members = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return f"{{{','.join(f'{fe.compact(name)}:{fe.compact(value)}' for name, value in members.items())}}}"
