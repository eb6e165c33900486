"""CustomResourceDefinitions: what is refused, and the status of those that are not."""

from copy import deepcopy
from pathlib import Path
import runpy
from typing import Any, cast

from hypothesis import given, strategies as st
import pytest

from korder.install import crds as manifests
from pocketkube.apiserver.schemas import crds, crdshape

TABLE = runpy.run_path(str(Path("packages/pocketkube/tests/agreement") / "bad_definitions.py"))
GOOD, MISTAKES = TABLE["GOOD"], TABLE["MISTAKES"]
WORDS = [
    "group",
    "names",
    "versions",
    "schema",
    "openAPIV3Schema",
    "properties",
    "type",
    "items",
    "anyOf",
    "default",
    "kind",
]
JSONS = (
    st.none()
    | st.booleans()
    | st.text(max_size=3)
    | st.just([])
    | st.just([{}])
    | st.sampled_from(["object", "array"])
)


@pytest.mark.parametrize("crd", manifests.all_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_our_own_definitions_are_accepted(crd: Any) -> None:
    made = deepcopy(crd)
    crds.fill_defaults(made)
    assert crds.check(made) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_definition_is_refused(mistake: str) -> None:
    made = deepcopy(MISTAKES[mistake])
    crds.fill_defaults(made)
    assert crds.check(made)


def test_a_rule_is_refused_at_its_own_field() -> None:
    (cause,) = crds.check(MISTAKES["a rule with a field nobody knows"])
    root = "spec.validation.openAPIV3Schema"
    assert cause.field == f"{root}.properties[spec].x-kubernetes-validations[0].rule"
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'b'" in cause.message


def test_names_come_from_the_kind() -> None:
    made = deepcopy(GOOD)
    made["spec"]["names"] = {"plural": "things", "kind": "Thing"}
    crds.fill_defaults(made)
    assert made["spec"]["names"]["singular"] == "thing"
    assert made["spec"]["names"]["listKind"] == "ThingList"
    assert crds.check(made) == []


def test_a_definition_with_free_names_is_established() -> None:
    status = crds.status_of(GOOD, [], "2030-01-01T00:00:00Z")
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"]["kind"] == "Thing"


def test_a_definition_with_taken_names_is_not() -> None:
    other = deepcopy(GOOD)
    other["metadata"]["name"] = "items.bad.korder.dev"
    other["spec"]["names"] = {
        "plural": "items",
        "singular": "thing",
        "kind": "Item",
        "listKind": "ItemList",
    }
    other["status"] = {"acceptedNames": other["spec"]["names"]}
    status = crds.status_of(GOOD, [cast("Any", other)], "2030-01-01T00:00:00Z")
    accepted, established = status["conditions"]
    assert (accepted["reason"], accepted["message"]) == (
        "SingularConflict",
        '"thing" is already in use',
    )
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")


def test_every_definition_of_the_tables_is_readable() -> None:
    assert [crdshape.malformed(crd) for crd in (*MISTAKES.values(), *manifests.all_crds())] == [
        ""
    ] * (len(MISTAKES) + len(manifests.KINDS))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"group": 5}, "$.spec.group"),
        ({"versions": "v1"}, "$.spec.versions"),
        ({"names": {"shortNames": "x"}}, "$.spec.names.shortNames"),
        (
            {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": []}}}}]},
            "openAPIV3Schema.properties[...]",
        ),
        ({"versions": [{"schema": {"openAPIV3Schema": {"anyOf": {}}}}]}, "openAPIV3Schema.anyOf"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(change: dict[str, Any], place: str) -> None:
    assert place in crdshape.malformed({**GOOD, "spec": {**GOOD["spec"], **change}})


@given(
    spec=st.recursive(
        JSONS,
        lambda below: st.dictionaries(st.sampled_from(WORDS), below, max_size=4),
        max_leaves=15,
    )
)
@pytest.mark.slow
def test_what_can_be_read_can_be_judged(spec: Any) -> None:
    crd = {**GOOD, "spec": spec}
    if not crdshape.malformed(crd):
        made = deepcopy(crd)
        crds.fill_defaults(made)
        crds.check(made)


def test_nulls_in_a_definition_are_absent() -> None:
    made = deepcopy(GOOD)
    spec = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec |= {"properties": None, "anyOf": None, "pattern": None, "x-kubernetes-validations": None}
    assert crdshape.malformed(made) == ""
    crds.fill_defaults(made)
    assert crds.check(made) == []


def test_a_bad_pattern_does_not_hide_behind_a_path() -> None:
    made = deepcopy(MISTAKES["a pattern that is none"])
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "true", "fieldPath": ".a"}]
    (cause,) = crds.check(made)
    assert cause.message.endswith("error parsing regexp: missing closing ): `(a|b`")
