"""CustomResourceDefinitions: what is refused, and the status of those that are not."""

from copy import deepcopy
from pathlib import Path
import runpy
from typing import Any, cast

import pytest

from korder.api import manifests
from korder.embedded.apiserver import crds

TABLE = runpy.run_path(str(Path(__file__).parents[1] / "e2e" / "bad_definitions.py"))
GOOD, MISTAKES = TABLE["GOOD"], TABLE["MISTAKES"]


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
    status = crds.status_of(GOOD, [cast("Any", other)], "2030-01-01T00:00:00Z")
    accepted, established = status["conditions"]
    assert (accepted["reason"], accepted["message"]) == (
        "SingularConflict",
        '"thing" is already in use',
    )
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")
