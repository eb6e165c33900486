"""What can be said of our definitions without an API server; the rest is asked of a real one in tests/e2e."""

from collections.abc import Iterator
from dataclasses import dataclass
import re
from typing import Any

import msgspec
import msgspec.inspect
import pytest
from tests.tables.mistakes import MISTAKES
import yaml

from korder.install import crds
from kubeloop.schema.schema_types import STAND_INS

CRDS = {definition["spec"]["names"]["kind"]: definition for definition in crds.all_crds()}
DEFINITIONS = {definition.kind.kind: definition for definition in crds.DEFINITIONS}

NEWER_THAN_1_28 = re.compile(
    r"\b(quantity|isQuantity|ip|isIP|cidr|isCIDR|format|named|semver|isSemver|optional|hasValue|orValue|sets|two)\("
)


@dataclass(frozen=True, slots=True)
class Node:
    """One schema somewhere in a definition."""

    kind: str
    path: str
    schema: dict

    @property
    def id(self) -> str:
        return f"{self.kind} {self.path}"


def root(kind: str) -> Any:
    (version,) = CRDS[kind]["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def nodes() -> Iterator[Node]:
    for kind in CRDS:
        yield from below(Node(kind, "", root(kind)))


def below(node: Node) -> Iterator[Node]:
    yield node
    for name, member in node.schema.get("properties", {}).items():
        yield from below(Node(node.kind, f"{node.path}.{name}".lstrip("."), member))
    if "items" in node.schema:
        yield from below(Node(node.kind, f"{node.path}[]", node.schema["items"]))
    if "additionalProperties" in node.schema:
        yield from below(Node(node.kind, f"{node.path}{{}}", node.schema["additionalProperties"]))


NODES = tuple(nodes())
RULES = [(node, rule) for node in NODES for rule in node.schema.get("x-kubernetes-validations", ())]


def test_every_kind_has_its_definition_in_a_stable_order():
    assert list(CRDS) == [
        "Order",
        "Ticket",
        "Quota",
        "ClusterAdvertisement",
        "Reservation",
        "Resource",
        "ResourceMonitor",
        "Booking",
        "BookingScheduler",
        "ShardingConfig",
        "CircuitBreaker",
    ]
    assert crds.all_crds() == crds.all_crds()


def test_files_are_named_after_group_and_plural():
    names = [crds.file_name(definition) for definition in crds.all_crds()]

    assert names[0] == "core.korder.dev_orders.yaml"
    assert names[-1] == "kridge.kusionstack.io_circuitbreakers.yaml"
    assert len(set(names)) == 11


def test_something_else_has_no_file_name():
    with pytest.raises(ValueError, match="not a CustomResourceDefinition"):
        crds.file_name({"kind": "Pod"})


def test_yaml_needs_neither_tags_nor_aliases():
    for definition in crds.all_crds():
        text = yaml.safe_dump(definition, sort_keys=False)
        assert "&id" not in text
        assert "!!" not in text
        assert yaml.safe_load(text) == definition


@pytest.mark.parametrize("kind", CRDS)
def test_a_definition_names_its_kind(kind: str):
    definition, described = CRDS[kind], DEFINITIONS[kind]
    spec = definition["spec"]

    assert definition["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert spec["names"]["singular"] == kind.lower()
    assert spec["names"]["listKind"] == f"{kind}List"
    assert spec["names"]["categories"] == ["korder"]
    assert spec["names"]["shortNames"]
    assert spec["scope"] == ("Namespaced" if described.kind.namespaced else "Cluster")
    assert spec["versions"][0]["name"] == described.kind.version
    assert spec["versions"][0]["subresources"]["status"] == {}


def test_short_names_are_unique():
    names = [
        name for definition in CRDS.values() for name in definition["spec"]["names"]["shortNames"]
    ]

    assert len(set(names)) == len(names)


def test_only_quotas_belong_to_the_cluster():
    assert [kind for kind, crd in CRDS.items() if crd["spec"]["scope"] == "Cluster"] == ["Quota"]


def test_orders_can_be_scaled():
    assert CRDS["Order"]["spec"]["versions"][0]["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("Order", ["Strategy", "Desired", "Current", "Available", "Claimed", "Ready", "Age"]),
        ("Ticket", ["Phase", "Reason", "CPU", "Memory", "Node", "Claimed-By", "Expiration", "Age"]),
        ("Resource", ["LOCKED BY", "LOCKED UNTIL", "INSTANCES", "RUNNING", "STATUS"]),
        ("Booking", ["START", "END", "STATUS"]),
        ("BookingScheduler", ["SCHEDULE", "DURATION", "NEXT"]),
        (
            "ClusterAdvertisement",
            ["ClusterID", "Available-CPU", "Available-Memory", "Score", "Active", "Age"],
        ),
        ("Reservation", ["Target", "CPU", "Memory", "Phase", "Expires", "Age"]),
    ],
)
def test_printed_columns_are_the_documented_ones(kind: str, headers: list[str]):
    columns = CRDS[kind]["spec"]["versions"][0]["additionalPrinterColumns"]

    assert [column["name"] for column in columns if not column.get("priority")] == headers


def test_the_tickets_an_order_wants_are_those_its_controller_counts():
    """One for each eligible node, whatever replicas says, is wanted by an order for every node."""
    columns = CRDS["Order"]["spec"]["versions"][0]["additionalPrinterColumns"]

    assert {c["name"]: c["jsonPath"] for c in columns}["Desired"] == ".status.desiredReplicas"


def test_a_monitor_prints_only_what_every_object_has():
    assert "additionalPrinterColumns" not in CRDS["ResourceMonitor"]["spec"]["versions"][0]


def test_wide_columns_of_tickets_say_why_in_a_sentence():
    columns = CRDS["Ticket"]["spec"]["versions"][0]["additionalPrinterColumns"]

    wide = [column["name"] for column in columns if column.get("priority")]
    assert wide == ["Guardian-Pod", "Used", "Message"]


def test_every_column_points_at_a_field():
    paths = {(node.kind, node.path) for node in NODES}
    for kind, definition in CRDS.items():
        for column in definition["spec"]["versions"][0].get("additionalPrinterColumns", ()):
            path = column["jsonPath"].lstrip(".")
            if path.startswith("metadata") or "[?(" in path:
                continue
            parent, _, leaf = path.rpartition(".")
            assert (kind, path) in paths or (kind, f"{parent}{{}}") in paths, (kind, leaf)


def members(model: type) -> Iterator[tuple[str, msgspec.inspect.Type]]:
    """All fields of a struct and of those inside it, by their path."""
    struct: Any = msgspec.inspect.type_info(STAND_INS.get(model, model))
    for field in struct.fields:
        yield from inside(field.encode_name, field.type)


def inside(path: str, kind: msgspec.inspect.Type) -> Iterator[tuple[str, msgspec.inspect.Type]]:
    match kind:
        case msgspec.inspect.Metadata():
            yield from inside(path, kind.type)
        case msgspec.inspect.UnionType():
            for member in kind.types:
                yield from inside(path, member)
        case msgspec.inspect.VarTupleType():
            yield from inside(f"{path}[]", kind.item_type)
        case msgspec.inspect.DictType():
            yield from inside(f"{path}{{}}", kind.value_type)
        case msgspec.inspect.StructType():
            yield path, kind
            for name, member in members(kind.cls):
                yield f"{path}.{name}", member
        case _:
            yield path, kind


@pytest.mark.parametrize("kind", CRDS)
def test_every_field_of_a_struct_is_in_its_definition(kind: str):
    by_path = {node.path: node.schema for node in NODES if node.kind == kind}

    for path, member in members(DEFINITIONS[kind].kind.model):
        if path.startswith("metadata"):
            continue
        assert path in by_path
        if isinstance(member, msgspec.inspect.EnumType):
            assert by_path[path]["enum"] == [word.value for word in member.cls]


@pytest.mark.parametrize("kind", CRDS)
def test_every_field_is_explained(kind: str):
    silent = [
        node.path
        for node in NODES
        if node.kind == kind
        and node.path not in ("", "metadata")
        and not node.path.endswith(("]", "}"))
        and "description" not in node.schema
    ]

    assert silent == []


@pytest.mark.parametrize("light", STAND_INS, ids=lambda light: light.__name__)
def test_a_stand_in_has_every_field_of_the_type_it_stands_in_for(light: Any):
    full: Any = STAND_INS[light]

    assert set(light.__struct_encode_fields__) <= set(full.__struct_encode_fields__)


def test_defaults_are_those_of_the_types():
    """An object that a server has filled in reads as one that nobody has filled in."""
    for node in NODES:
        for name, member in node.schema.get("properties", {}).items():
            if "default" not in member:
                continue
            model = owner(node)
            field = next(f for f in msgspec.structs.fields(model) if f.encode_name == name)
            assert msgspec.convert(member["default"], field.type) == field.default, node.id


def owner(node: Node) -> type:
    """Finds the struct that a schema was made from."""
    model: type = DEFINITIONS[node.kind].kind.model
    for step in re.findall(r"[^.\[\]{}]+", node.path):
        field = next(f for f in msgspec.structs.fields(model) if f.encode_name == step)
        model = next(
            t.cls
            for _, t in inside("", msgspec.inspect.type_info(field.type))
            if isinstance(t, msgspec.inspect.StructType)
        )
        model = STAND_INS.get(model, model)
    return model


def faults(schema: dict) -> Iterator[str]:
    """What an API server would not accept as a structural schema."""
    typeless = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if "type" not in schema and not typeless:
        yield "no type"
    if {"properties", "additionalProperties"} <= set(schema):
        yield "a struct and a map at once"
    if not set(schema.get("required", ())) <= set(schema.get("properties", ())):
        yield "requires what it does not have"
    if "default" in schema and "type" not in schema:
        yield "a default of no type"
    if schema.get("type") == "array":
        yield from faults_of_list(schema)


def faults_of_list(schema: dict) -> Iterator[str]:
    if not schema.get("maxItems"):
        yield "no end"
    match schema.get("x-kubernetes-list-type"):
        case "map":
            if not set(schema["x-kubernetes-list-map-keys"]) <= set(schema["items"]["required"]):
                yield "a key that may be absent"
        case "set":
            if schema["items"]["type"] not in ("string", "integer"):
                yield "a set of what cannot be compared"
        case "atomic":
            pass
        case _:
            yield "neither map nor set nor atomic"


@pytest.mark.parametrize("kind", CRDS)
def test_a_schema_is_structural(kind: str):
    found = {node.path: list(faults(node.schema)) for node in NODES if node.kind == kind}

    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_no_rule_reads_along_a_text_that_may_be_a_number():
    """Kubernetes 1.28 prices such a rule as if the text were as large as a request; newer servers do not tell."""
    mixed = re.compile(r"\b(matches|contains|find|split|replace|substring)\(")
    for node, rule in RULES:
        values = node.schema.get("additionalProperties", node.schema)
        if values.get("x-kubernetes-int-or-string"):
            assert not mixed.search(rule["rule"]), node.id


def test_every_map_has_an_end():
    open_ended = [
        node.id
        for node in NODES
        if "additionalProperties" in node.schema and "maxProperties" not in node.schema
    ]

    assert open_ended == []


def test_every_pattern_is_whole_and_understood_by_go():
    for node in NODES:
        pattern = node.schema.get("pattern")
        if pattern is not None:
            assert pattern.startswith("^(?:$.a"), "it begins with a sentence"
            assert pattern.endswith(")$")
            assert not re.search(r"\(\?[=!<]|\\[1-9dwsb]|\+\+", pattern), node.id


@pytest.mark.parametrize("kind", CRDS)
def test_rules_are_such_that_kubernetes_1_28_can_read_them(kind: str):
    for node, rule in RULES:
        if node.kind != kind:
            continue
        expression = rule["rule"]
        assert "self" in expression
        assert not NEWER_THAN_1_28.search(expression), expression
        assert set(rule) <= {"rule", "message", "fieldPath", "reason"}
        assert expression.count("(") == expression.count(")"), expression
        assert expression.count("'") % 2 == 0, expression
        for name in re.findall(r"\b(?:self|oldSelf)\.([A-Za-z_]\w*)(?![\w(])", expression):
            assert name.strip("_") in node.schema["properties"], expression


@pytest.mark.parametrize("kind", CRDS)
def test_a_rule_names_an_existing_field_in_one_line(kind: str):
    paths = {node.path for node in NODES if node.kind == kind}
    for node, rule in RULES:
        if node.kind != kind:
            continue
        path = (node.path + rule.get("fieldPath", "")).lstrip(".")
        assert path in paths
        assert path.rpartition(".")[2].rstrip("[]{}") in rule["message"]
        assert "\n" not in rule["message"]


@pytest.mark.parametrize(
    "message", sorted({rule["message"] for _, rule in RULES}), ids=lambda m: m[:70]
)
def test_every_rule_has_a_mistake_that_it_refuses(message: str):
    assert any(mistake.says and mistake.says in message for mistake in MISTAKES)


SERVER_WORDS = (
    "",
    "Unsupported value",
    "Duplicate value",
    "Required value",
    "oneOf",
    "greater than or equal to 0",
    "less than or equal to 1e+06",
)


@pytest.mark.parametrize("kind", CRDS)
def test_every_mistake_that_quotes_a_rule_quotes_one_of_its_kind(kind: str):
    messages = [rule["message"] for node, rule in RULES if node.kind == kind]
    messages += [node.schema["pattern"] for node in NODES if "pattern" in node.schema]
    quoting = [
        mistake
        for mistake in MISTAKES
        if mistake.after["kind"] == kind and mistake.says not in SERVER_WORDS
    ]

    assert [m.id for m in quoting if not any(m.says in message for message in messages)] == []


def words(path: str) -> tuple[str, ...]:
    """A path without its indexes."""
    return tuple(re.findall(r"[A-Za-z_]+", path))


@pytest.mark.parametrize("kind", CRDS)
def test_every_list_of_words_has_a_mistake_that_is_not_in_it(kind: str):
    refused = {
        words(mistake.field)
        for mistake in MISTAKES
        if mistake.after["kind"] == kind and mistake.says == "Unsupported value"
    }
    listed = {words(node.path) for node in NODES if node.kind == kind and "enum" in node.schema}

    assert listed - refused == set()


def test_mistakes_have_names_of_their_own():
    names = [mistake.id for mistake in MISTAKES]

    assert len(set(names)) == len(names)
    assert len(names) >= 80


def test_a_definition_without_scale_has_only_a_status():
    assert CRDS["Ticket"]["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_metadata_is_left_to_the_server():
    for kind in CRDS:
        assert root(kind)["properties"]["metadata"] == {"type": "object"}


def test_a_selector_has_one_owner():
    """Two appliers who each add a label would select what neither meant."""
    selectors = [node for node in NODES if "matchLabels" in node.schema.get("properties", ())]

    assert selectors
    assert {node.schema.get("x-kubernetes-map-type") for node in selectors} == {"atomic"}


def test_a_selector_may_have_a_bare_member():
    """The seed's `matchLabels:` is null, and a server-side apply does not drop nulls."""
    for node in NODES:
        if node.path.endswith((".matchLabels", "elector.matchExpressions")):
            assert node.schema["nullable"] is True


def test_metadata_of_a_template_is_kept():
    by_path = {(node.kind, node.path): node.schema for node in NODES}

    assert (
        by_path["Order", "spec.template.metadata"]["x-kubernetes-preserve-unknown-fields"] is True
    )
