"""A kind of the fuzzer's own, with everything a schema can ask for: defaults, limits, lists with keys, sets, and rules in CEL."""

import random
from typing import Any

from tests.agreement.fuzzing.values import metadata, sometimes

Object = dict[str, Any]
Edits = tuple[tuple[tuple[str | int, ...], Any], ...]

GROUP = "fuzz.example.com"
API_VERSION = f"{GROUP}/v1"

_TEXT: Object = {"type": "string", "maxLength": 20}
_PORT: Object = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _TEXT,
        "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 80},
        "protocol": {**_TEXT, "default": "TCP"},
    },
}
_SPEC: Object = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 10},
        "limit": {"type": "integer"},
        "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 8},
        "fixed": {
            **_TEXT,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is fixed"}],
        },
        "share": {"type": "number", "multipleOf": 0.5},
        "when": {"type": "string", "format": "date-time"},
        "either": {"x-kubernetes-int-or-string": True},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
        "tags": {
            "type": "array",
            "maxItems": 4,
            "x-kubernetes-list-type": "set",
            "items": _TEXT,
        },
        "ports": {
            "type": "array",
            "maxItems": 4,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": _PORT,
        },
        "parts": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "object", "properties": {"a": _TEXT}},
        },
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": _TEXT, "b": {"type": "boolean", "default": True}},
        },
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.limit) || self.size <= self.limit", "message": "size is beyond limit"},
        {
            "rule": "!has(self.tags) || self.tags.all(tag, tag.startsWith('t'))",
            "messageExpression": "'tags of ' + self.mode + ' must start with t'",
            "reason": "FieldValueForbidden",
            "fieldPath": ".tags",
        },
    ],
}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.ready",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.mode"}, {"jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": _SPEC,
                            "status": {
                                "type": "object",
                                "properties": {
                                    "ready": {"type": "integer", "minimum": 0},
                                    "phase": {**_TEXT, "default": "New"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}

_VALUES: dict[str, tuple[Any, ...]] = {
    "size": (0, 1, 5, 10, 11, -1, "1", 1.0, 1.5, None),
    "limit": (3, 20, 1),
    "mode": ("fast", "slow", "odd", None, ""),
    "name": ("good", "x", "Bad", "waytoolongname", None),
    "fixed": ("one", "two"),
    "share": (0.5, 1, 0.3, "1", 2.0),
    "when": ("2024-01-01T00:00:00Z", "today"),
    "either": (1, "50%", True, None),
    "open": ({"x": {"y": [1, "2", None]}}, {}, "no", None),
    "maybe": (None, "x", 1),
    "map": ({"a": 1}, {"a": 1, "b": 2, "c": 3, "d": 4}, {"a": "x"}, {"a": None}),
    "tags": (["t1"], ["t1", "t2"], ["t1", "t1"], ["x"], [], ["t1", 1], None),
    "ports": (
        [{"name": "a"}],
        [{"name": "a", "port": 1}, {"name": "b", "protocol": "UDP"}],
        [{"name": "a"}, {"name": "a"}],
        [{"port": 5}],
        [{"name": "a", "port": 0}],
        [{"name": "a", "extra": 1}],
        [None],
    ),
    "parts": ([{"a": "x"}, {}], [{"a": 1}], [{}, {}, {}, {}], [{"b": 1}]),
    "whole": ({"a": "x"}, {}, {"b": False}, {"c": 1}, None),
    "unknown": (1, {"a": 1}),
}


def widget(rng: random.Random, name: str) -> Object:
    spec: Object = {"size": rng.choice((0, 1, 2, 3))}
    for key in rng.sample(sorted(_VALUES), rng.randint(0, 4)):
        spec[key] = rng.choice(_VALUES[key])
    made: Object = {"metadata": metadata(rng, name)}
    if sometimes(rng, 0.95):
        made["spec"] = spec
    if sometimes(rng, 0.2):
        made["status"] = widget_status(rng)
    return made


def widget_edits(rng: random.Random) -> Edits:
    key = rng.choice(sorted(_VALUES))
    return ((("spec", key), rng.choice((*_VALUES[key], "<drop>"))),)


def widget_status(rng: random.Random) -> Object:
    return rng.choice(
        (
            {"ready": 1},
            {"ready": 2, "phase": "Up"},
            {"ready": -1},
            {"ready": "x"},
            {},
            {"odd": 1},
            {"phase": None},
        )
    )
