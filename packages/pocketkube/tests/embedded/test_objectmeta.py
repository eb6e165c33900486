"""Metadata: what every kind asks of names, labels, owners and finalizers."""

from typing import Any

import pytest

from pocketkube.apiserver.kinds import names, objectmeta
from pocketkube.apiserver.kinds.objectmeta import Rules

Object = dict[str, Any]

STORED = {
    "name": "a",
    "namespace": "n",
    "uid": "u",
    "resourceVersion": "1",
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


def stated(meta: Object, rules: Rules | None = None) -> list[tuple[str, str]]:
    found = objectmeta.created({"namespace": "n", **meta}, rules or Rules())
    return [(cause.field, cause.message) for cause in found]


def changed(meta: Object, old: Object | None = None) -> list[tuple[str, str]]:
    found = objectmeta.updated({**STORED, **meta}, {**STORED, **(old or {})}, Rules())
    return [(cause.field, cause.message) for cause in found]


@pytest.mark.parametrize(
    "meta",
    [
        pytest.param({"name": "a"}, id="a plain name"),
        pytest.param({"name": "a.b-1"}, id="a name with dots"),
        pytest.param({"name": "a-x", "generateName": "a-"}, id="a generated name"),
        pytest.param(
            {"name": "a", "labels": {"Example": "", "example.com/b": "C_d.e"}}, id="labels"
        ),
        pytest.param(
            {"name": "a", "annotations": {"Example.com/A": "any thing"}}, id="annotations"
        ),
        pytest.param({"name": "a", "finalizers": ["kubernetes", "example.com/b"]}, id="finalizers"),
    ],
)
def test_good_metadata_pass(meta: Object) -> None:
    assert stated(meta) == []


@pytest.mark.parametrize(
    ("meta", "field", "sentence"),
    [
        pytest.param({}, "metadata.name", "Required value: name or generateName is required", id="no name"),
        pytest.param({"name": "A"}, "metadata.name", 'Invalid value: "A": a lowercase RFC 1123 subdomain', id="a capital"),
        pytest.param({"name": "a" * 254}, "metadata.name", "must be no more than 253 characters", id="a long name"),
        pytest.param({"name": "a", "generateName": "BB-"}, "metadata.generateName", 'Invalid value: "BB-"', id="a bad beginning"),
        pytest.param({"name": "a", "namespace": "N"}, "metadata.namespace", 'Invalid value: "N"', id="a bad namespace"),
        pytest.param({"name": "a", "namespace": ""}, "metadata.namespace", "Required value", id="no namespace"),
        pytest.param({"name": "a", "labels": {"b": "c d"}}, "metadata.labels", 'Invalid value: "c d": a valid label', id="a bad label"),
        pytest.param({"name": "a", "annotations": {"b c": ""}}, "metadata.annotations", 'Invalid value: "b c"', id="a bad annotation"),
        pytest.param({"name": "a", "annotations": {"b": "x" * 262144}}, "metadata.annotations", "Too long", id="too many annotations"),
        pytest.param({"name": "a", "finalizers": ["b"]}, "metadata.finalizers[0]", "neither a standard finalizer", id="a bare finalizer"),
        pytest.param({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}, "metadata.finalizers", "cannot be both set", id="two policies"),
        pytest.param({"name": "a", "generation": -1}, "metadata.generation", "must be greater than or equal to 0", id="a negative generation"),
    ],
)  # fmt: skip
def test_bad_metadata_are_reported(meta: Object, field: str, sentence: str) -> None:
    assert any(place == field and sentence in message for place, message in stated(meta))


def test_every_member_of_an_owner_is_needed() -> None:
    fields = [field for field, _ in stated({"name": "a", "ownerReferences": [{}]})]
    assert fields == [
        f"metadata.ownerReferences.{member}" for member in ("apiVersion", "kind", "name", "uid")
    ]


def test_an_object_has_one_controller() -> None:
    owner = {"apiVersion": "v1", "kind": "A", "name": "b", "uid": "u", "controller": True}
    ((_, message),) = stated({"name": "a", "ownerReferences": [owner, {**owner, "name": "c"}]})
    assert message.endswith('Found "true" in references for A/b and A/c')
    assert message.startswith(
        'Invalid value: [{"apiVersion":"v1","kind":"A","name":"b","uid":"u","controller":true}'
    )


def test_a_cluster_wide_kind_has_no_namespace() -> None:
    assert stated({"name": "a"}, Rules(namespaced=False)) == [
        ("metadata.namespace", "Forbidden: not allowed on this type")
    ]


def test_kinds_choose_how_their_objects_are_called() -> None:
    assert stated({"name": "system:A"}, Rules(name=names.path_segment)) == []
    assert stated({"name": "a/b%"}, Rules(name=names.path_segment)) == [
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '/'"),
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '%'"),
    ]


def test_some_kinds_take_any_finalizer() -> None:
    assert stated({"name": "a", "finalizers": ["b"]}, Rules(qualified_finalizers=False)) == []


@pytest.mark.parametrize("member", ["name", "namespace", "uid", "creationTimestamp"])
def test_who_an_object_is_never_changes(member: str) -> None:
    assert changed({member: "other"}) == [
        (f"metadata.{member}", 'Invalid value: "other": field is immutable')
    ]


def test_an_update_names_a_version() -> None:
    assert changed({"resourceVersion": ""}) == [
        ("metadata.resourceVersion", 'Invalid value: "": must be specified for an update')
    ]


def test_a_dying_object_gets_no_new_finalizers() -> None:
    dying = {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["example.com/a"]}
    assert changed({**dying, "finalizers": []}, dying) == []
    more = {**dying, "finalizers": ["example.com/a", "example.com/b"]}
    ((field, sentence),) = changed(more, dying)
    assert field == "metadata.finalizers"
    assert sentence.endswith('found new finalizers []string{"example.com/b"}')
