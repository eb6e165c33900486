"""CustomResourceDefinitions that a server refuses, by what is wrong with them. Pure data."""

from copy import deepcopy
from typing import Any

Object = dict[str, Any]

GOOD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.bad.korder.dev"},
    "spec": {
        "group": "bad.korder.dev",
        "scope": "Namespaced",
        "names": {
            "plural": "things",
            "singular": "thing",
            "kind": "Thing",
            "listKind": "ThingList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"a": {"type": "string", "maxLength": 8}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def _with(path: str, value: Any) -> Object:
    made: Any = deepcopy(GOOD)
    *steps, last = path.split("/")
    place = made
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return made


VERSION = "spec/versions/0"
ROOT = f"{VERSION}/schema/openAPIV3Schema"
SPEC = f"{ROOT}/properties/spec"


def _rule(**rule: Any) -> Object:
    return _with(f"{SPEC}/x-kubernetes-validations", [rule])


MISTAKES: dict[str, Object] = {
    "a name that is not plural and group": _with("metadata/name", "other.bad.korder.dev"),
    "a scope nobody knows": _with("spec/scope", "Global"),
    "a plural in capitals": _with("spec/names/plural", "Things"),
    "a kind with a blank": _with("spec/names/kind", "My Thing"),
    "a list kind like the kind": _with("spec/names/listKind", "Thing"),
    "a short name in capitals": _with("spec/names/shortNames", ["TH"]),
    "a version in capitals": _with(f"{VERSION}/name", "V1"),
    "no schema": _with(f"{VERSION}/schema", None),
    "a root that is no object": _with(f"{ROOT}/type", "array"),
    "a field without a type": _with(f"{SPEC}/properties/a", {"maxLength": 3}),
    "a list without items": _with(f"{SPEC}/properties/a", {"type": "array"}),
    "a type nobody knows": _with(f"{SPEC}/properties/a/type", "text"),
    "a type inside of an alternative": _with(
        f"{SPEC}/properties/a/anyOf", [{"type": "string"}, {"minLength": 1}]
    ),
    "a pattern that is none": _with(f"{SPEC}/properties/a/pattern", "(a|b"),
    "unique items": _with(
        f"{SPEC}/properties/a", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    ),
    "properties and additional ones": _with(f"{SPEC}/additionalProperties", {"type": "string"}),
    "a list type on a text": _with(f"{SPEC}/properties/a/x-kubernetes-list-type", "set"),
    "a list type nobody knows": _with(
        f"{SPEC}/properties/a",
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"},
    ),
    "a map list without keys": _with(
        f"{SPEC}/properties/a",
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    ),
    "a map list whose key may be absent": _with(
        f"{SPEC}/properties/a",
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    ),
    "a default of the wrong type": _with(f"{SPEC}/properties/a/default", 5),
    "a default that is too long": _with(f"{SPEC}/properties/a/default", "123456789"),
    "a rule with a field nobody knows": _rule(rule="self.b == 'x'"),
    "a rule that is no truth": _rule(rule="1 + 1"),
    "a rule that ends early": _rule(rule="self.a =="),
    "a rule with an unknown name": _rule(rule="me.a == 'x'"),
    "a rule of blanks": _rule(rule="  "),
    "a rule with a reason nobody knows": _rule(rule="true", reason="Because"),
    "a rule for a path that is none": _rule(rule="true", fieldPath=".b"),
    "a message of two lines": _rule(rule="true", message="a\nb"),
    "a message expression that is no text": _rule(rule="true", messageExpression="1"),
    "an optional old value that is not used": _rule(rule="true", optionalOldSelf=True),
    "an old value in a list without keys": _with(
        f"{SPEC}/properties/a",
        {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "string",
                "maxLength": 3,
                "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
            },
        },
    ),
    "a column without a path": _with(
        f"{VERSION}/additionalPrinterColumns", [{"name": "A", "type": "string", "jsonPath": ""}]
    ),
    "a column of a type nobody knows": _with(
        f"{VERSION}/additionalPrinterColumns",
        [{"name": "A", "type": "text", "jsonPath": ".spec.a"}],
    ),
    "a column whose path lacks the dot": _with(
        f"{VERSION}/additionalPrinterColumns",
        [{"name": "A", "type": "string", "jsonPath": "spec.a"}],
    ),
    "a scale outside of spec": _with(
        f"{VERSION}/subresources",
        {"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a"}},
    ),
}
