"""A custom resource with every word a schema can use, and random objects for it, right and wrong. Pure data."""

from collections.abc import Callable
from copy import deepcopy
import random
from typing import Any

Object = dict[str, Any]
GROUP = "agree.korder.dev"

SPEC: Object = {
    "type": "object",
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 6, "pattern": "^[a-z]+([-][a-z]+)*$"},
        "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "multipleOf": 2},
        "long": {"type": "integer", "exclusiveMinimum": True, "minimum": -3, "nullable": True},
        "ratio": {"type": "number", "exclusiveMaximum": True, "maximum": 1.5, "minimum": -0.25},
        "single": {"type": "number", "format": "float"},
        "flag": {"type": "boolean", "default": True},
        "level": {"type": "string", "enum": ["low", "mid", "high"], "default": "mid"},
        "grade": {"type": "integer", "enum": [1, 2, 3]},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%?$"},
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "span": {"type": "string", "format": "duration"},
        "address": {"type": "string", "format": "ipv4"},
        "network": {"type": "string", "format": "cidr"},
        "uid": {"type": "string", "format": "uuid"},
        "data": {"type": "string", "format": "byte"},
        "odd": {"type": "string", "format": "nobody-knows"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 4, "items": {"type": "string", "maxLength": 3}},
        "numbers": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "integer"}},
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "required": ["port"], "properties": {
                "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "note": {"type": "string", "nullable": True}}},
        },
        "parts": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "string"}, "weight": {"type": "integer", "default": 1},
                "inner": {"type": "object", "default": {"deep": 7}, "properties": {"deep": {"type": "integer", "maximum": 9}, "deeper": {"type": "string", "default": "d"}}}},
                "x-kubernetes-validations": [
                    {"rule": "self.weight >= oldSelf.weight", "message": "weight must not shrink"},
                    {"rule": "self.weight < 5", "messageExpression": "'weight of ' + self.id + ' is too large'"}]},
        },
        "labels": {"type": "object", "minProperties": 1, "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 4}},
        "limits": {"type": "object", "additionalProperties": {"type": "object", "properties": {"cpu": {"type": "integer", "default": 3, "minimum": 1}}}},
        "choice": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
                   "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}},
        "several": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
                    "anyOf": [{"required": ["x"], "properties": {"x": {"minimum": 5}}}, {"required": ["y"], "properties": {"y": {"minLength": 3}}}],
                    "allOf": [{"properties": {"x": {"maximum": 8}}}, {"properties": {"y": {"maxLength": 5}}}]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
        "object": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "namespace": {"type": "string"},
        "with-dash": {"type": "string"},
        "maybe": {"type": "object", "nullable": True, "properties": {"x": {"type": "integer", "default": 1}}},
        "amount": {"type": "string"},
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed must stay"}]},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.ratio) || self.ratio < 1.0 || self.size > 4", "message": "a large ratio needs size", "fieldPath": ".ratio"},
        {"rule": "!has(self.__namespace__) || self.__namespace__ != 'default'", "reason": "FieldValueForbidden", "message": "not in default", "fieldPath": ".namespace"},
        {"rule": "!has(self.with__dash__dash) || self.with__dash__dash.size() > 1", "reason": "FieldValueRequired", "fieldPath": ".with-dash"},
        {"rule": "!has(self.tags) || self.tags.all(t, t != 'bad')"},
        {"rule": "!has(self.numbers) || self.numbers.sum() < 20 && self.numbers.isSorted()", "messageExpression": "'sum is ' + (self.numbers.sum() > 19 ? 'large' : 'small but not sorted')"},
        {"rule": "!has(self.numbers) || size(self.numbers) == 0 || self.numbers.max() - self.numbers.min() < 12"},
        {"rule": "!has(self.at) || self.at > timestamp('2020-01-01T00:00:00Z')", "message": "too old"},
        {"rule": "!has(self.span) || self.span < duration('10h')", "message": "too long", "fieldPath": ".span"},
        {"rule": "!has(self.amount) || !isQuantity(self.amount) || quantity(self.amount).isLessThan(quantity('2Gi'))", "message": "too much"},
        {"rule": "!has(self.port) || (type(self.port) == int ? self.port > 10 : self.port.endsWith('%'))", "message": "port"},
        {"rule": "!has(self.labels) || self.labels.all(k, k.find('[0-9]+') == '')", "fieldPath": ".labels"},
        {"rule": "!has(self.numbers) || self.numbers[1] != 3"},
        {"rule": "!has(self.limits) || self.limits.all(k, v, v.cpu < 50 || k == 'big')", "message": "cpu"},
        {"rule": "!has(oldSelf.tags) || has(self.tags) && sets.contains(self.tags, oldSelf.tags)", "message": "tags stay"},
        {"rule": "!oldSelf.hasValue() || oldSelf.value().size <= self.size", "optionalOldSelf": True, "message": "size grows"},
        {"rule": "!has(self.tags) || !has(oldSelf.tags) || self.tags == oldSelf.tags || self.size > 2", "message": "tags change only with size"},
        {"rule": "!has(self.day) || self.day.getFullYear() > 2000", "message": "day"},
        {"rule": "!has(self.address) || ip(self.address).family() == 4 && !ip(self.address).isLoopback()", "message": "loopback"},
        {"rule": "!has(self.odd) || !format.dns1123Label().validate(self.odd).hasValue()", "message": "label"},
        {"rule": "!has(self.odd) || self.odd.replace('-', '+').upperAscii() != 'A+B'", "message": "a plus b"},
    ],
}  # fmt: skip

CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "widgets",
            "singular": "widget",
            "kind": "Widget",
            "listKind": "WidgetList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {"spec": SPEC},
                    }
                },
            }
        ],
    },
}


def _bound(schema: Object) -> Object:
    """Bounds for CEL's cost estimate where a test has no other use for them."""
    made = dict(schema)
    if made.get("type") == "string" and "enum" not in made:
        made.setdefault("maxLength", 64)
    if made.get("x-kubernetes-int-or-string"):
        made.setdefault("maxLength", 16)
    if made.get("type") == "array":
        made.setdefault("maxItems", 8)
        made["items"] = _bound(made["items"])
    if "additionalProperties" in made:
        made.setdefault("maxProperties", 8)
        made["additionalProperties"] = _bound(made["additionalProperties"])
    if "properties" in made:
        made["properties"] = {name: _bound(below) for name, below in made["properties"].items()}
    return made


CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = _bound(SPEC)

GOOD: dict[str, Callable[[random.Random], Any]] = {
    "name": lambda r: r.choice(["ab", "abc", "a-b", "abcdef"]),
    "size": lambda r: r.choice([0, 2, 4, 10]),
    "long": lambda r: r.choice([-2, 0, 2**40, None]),
    "ratio": lambda r: r.choice([-0.25, 0, 0.5, 1, 1.25]),
    "single": lambda r: r.choice([1.5, 3, -2.25]),
    "flag": lambda r: r.random() < 0.5,
    "level": lambda r: r.choice(["low", "mid", "high"]),
    "grade": lambda r: r.choice([1, 2, 3]),
    "port": lambda r: r.choice([80, "50%", 11]),
    "at": lambda r: r.choice(["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.123456789+02:00"]),
    "day": lambda r: r.choice(["2030-01-31", "2024-02-29"]),
    "span": lambda r: r.choice(["1h30m", "3 hours", "90s", "0"]),
    "address": lambda r: r.choice(["10.0.0.1", "192.168.1.1"]),
    "network": lambda r: r.choice(["10.0.0.0/8", "fd00::/8"]),
    "uid": lambda r: "8c1d7b0e-3f7d-4f3b-9b1a-0d6a5f3c2e11",
    "data": lambda r: r.choice(["aGVsbG8=", "AAAA"]),
    "odd": lambda r: r.choice(["a", "a-c"]),
    "tags": lambda r: r.sample(["a", "b", "c", "d"], r.randint(0, 3)),
    "numbers": lambda r: sorted(r.choices([0, 1, 2, 4, 5], k=r.randint(2, 4))),
    "ports": lambda r: [{"port": p, **r.choice([{}, {"note": None}, {"note": "n"}])} for p in r.sample([1, 2, 3], 2)],
    "parts": lambda r: [{"id": i, **r.choice([{}, {"weight": 3}, {"inner": {}}, {"inner": {"deep": 2}}])} for i in r.sample(["x", "y", "z"], 2)],
    "labels": lambda r: dict.fromkeys(r.sample(["a", "b", "c"], r.randint(1, 3)), "v"),
    "limits": lambda r: {"small": r.choice([{}, {"cpu": 2}]), "big": {"cpu": 70}},
    "choice": lambda r: r.choice([{"a": 1}, {"b": 2}]),
    "several": lambda r: r.choice([{"x": 6}, {"y": "four"}, {"x": 1, "y": "abc"}]),
    "free": lambda r: {"anything": [1, {"x": "y"}], "known": {"x": 1}},
    "object": lambda r: {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n"}, "more": {"x": 1}},
    "namespace": lambda r: "team",
    "with-dash": lambda r: "xy",
    "maybe": lambda r: r.choice([None, {}, {"x": 3}]),
    "amount": lambda r: r.choice(["1", "500Mi", "nothing"]),
    "fixed": lambda r: r.choice(["f", "g"]),
}  # fmt: skip

BAD: dict[str, list[Any]] = {
    "name": ["a", "abcdefg", "A-B", "ab\n"],
    "size": [-2, 12, 3, 2**31, 2.5],
    "long": [-3, -4, 2.5],
    "ratio": [1.5, -0.5, 3],
    "single": [1e300],
    "level": ["", "LOW", 5],
    "grade": [0, 4, 1.5, "1"],
    "port": [5, "abc", "7", True, 1.5],
    "at": ["2019-01-01T00:00:00Z", "2030-01-01", "2030-13-01T00:00:00Z", "x"],
    "day": ["2030-02-30", "1999-01-01", "30-01-01"],
    "span": ["11h", "3 days", "soon"],
    "address": ["10.0.0.256", "fd00::1", "127.0.0.1", "x"],
    "network": ["10.0.0.0", "10.0.0.0/33"],
    "uid": ["8c1d7b0e", "g" * 32],
    "data": ["a", "%%%%"],
    "odd": ["-a", "A", "a-b"],
    "tags": [["a", "a"], ["bad"], ["a", "b", "c", "d", "e"], ["long"], [1, "a"]],
    "numbers": [[], [1], [2, 1], [1, 3], [5, 5, 5, 6], [0, 12], [1, 2, 3, 4, 5, 6], ["x", 1]],
    "ports": [[{"port": 1}, {"port": 1, "protocol": "TCP"}], [{"protocol": "UDP"}], [1], [{"port": "x"}], {}],
    "parts": [[{"id": "x"}, {"id": "x"}], [{"id": "x", "weight": 6}], [{"id": "x", "inner": {"deep": 10}}], [{}], [None]],
    "labels": [{}, {"a": "12345"}, {"a1": "x"}, {"a": None}, {"a": "b", "b": "c", "c": "d", "d": "e"}, {"a": 5}],
    "limits": [{"small": {"cpu": 60}}, {"x": {"cpu": 0}}, {"x": None}, {"x": {"cpu": None}}, {"x": []}],
    "choice": [{}, {"a": 1, "b": 2}, {"a": 1, "c": 3}, {"a": "x"}],
    "several": [{}, {"x": 1}, {"y": "ab"}, {"x": 9, "y": "ab"}, {"x": 9}, {"y": "sixsix"}, {"x": 1, "y": "sixsix"}],
    "free": [{"known": {"x": "s", "y": 1}}, {"list": [{"a": None}], "null": None}],
    "object": [{}, {"apiVersion": "v1"}, {"apiVersion": "", "kind": ""}],
    "namespace": ["default"],
    "with-dash": ["x"],
    "maybe": [{"x": None}, {"x": "s"}, {"y": 1}],
    "amount": ["3Gi", "2048Mi"],
    "fixed": ["h"],
}  # fmt: skip

STRANGE: list[Any] = [None, True, 7, 1.5, "text", [], {}, [{}], {"unknown": {"x": 1}}]
READ = ("at", "day", "span", "data", "address")
"""A server lets lists pass for texts with a format, and then fails over them in rules, in words of its own."""


def some(rng: random.Random, *, wrong: float = 0.08) -> Object:
    """A random Widget; each field is wrong with the given chance."""
    spec: Object = {}
    for name, good in GOOD.items():
        dice = rng.random()
        if dice < wrong * 0.6:
            spec[name] = deepcopy(rng.choice(BAD.get(name, STRANGE)))
        elif dice < wrong:
            strange = [
                value for value in STRANGE if name not in READ or not isinstance(value, list)
            ]
            spec[name] = deepcopy(rng.choice(strange))
        elif dice < 0.5 or name in ("name", "size"):
            spec[name] = good(rng)
    if rng.random() < 0.1:
        spec["unknown"] = rng.choice([1, {"x": 1}, None])
    made: Object = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "x"},
        "spec": spec,
    }
    if rng.random() < 0.03:
        made.pop("spec")
    if rng.random() < 0.05:
        made["extra"] = {"x": 1}
    return made


def changed(rng: random.Random, obj: Object) -> Object:
    """The object after somebody changed a few fields."""
    made, other = deepcopy(obj), some(rng, wrong=0.2)
    spec = made.setdefault("spec", {})
    for name in rng.sample(sorted(GOOD), 6):
        if name in other.get("spec", {}):
            spec[name] = other["spec"][name]
        elif name not in ("name", "size"):
            spec.pop(name, None)
    return made
