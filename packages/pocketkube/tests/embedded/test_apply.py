"""Server-side apply and field ownership."""

from datetime import UTC, datetime, timedelta
import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.managed_fields import apply, endpoints, fieldsets, managers, merging
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet
from pocketkube.apiserver.managed_fields.lastapplied import ANNOTATION
from pocketkube.apiserver.managed_fields.refusals import ApplyConflict, ApplyRefused

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
MAPS = endpoints.builtin("v1", "ConfigMap")
DEPLOYMENTS = endpoints.builtin("apps/v1", "Deployment")
STATUSES = endpoints.builtin("apps/v1", "Deployment", "status")

Object = dict[str, Any]


def a_map(metadata: Object | None = None, **data: str) -> Object:
    body: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", **(metadata or {})},
    }
    return {**body, "data": data} if data else body


def a_deployment(**parts: Any) -> Object:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, **parts}


def owned(obj: Object, manager: str, operation: str = "Apply") -> set[str]:
    for entry in obj["metadata"].get("managedFields", []):
        if (entry["manager"], entry["operation"]) == (manager, operation):
            fields = fieldsets.from_json(entry["fieldsV1"])
            return {fieldsets.describe(path) for path in fields.paths()}
    return set()


def times(obj: Object) -> dict[str, str]:
    return {entry["manager"]: entry.get("time", "") for entry in obj["metadata"]["managedFields"]}


def test_whoever_creates_owns_everything_but_the_name() -> None:
    made = apply.update(MAPS, None, a_map({"labels": {"l": "x"}, "uid": "u"}, a="x"), "alice", NOON)
    expected = {".data", ".data.a", ".metadata.labels", ".metadata.labels.l"}
    assert owned(made, "alice", "Update") == expected
    assert made["metadata"]["managedFields"][0] == {
        "manager": "alice",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-03-01T12:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": made["metadata"]["managedFields"][0]["fieldsV1"],
    }


def test_an_update_takes_what_it_changes_and_frees_what_it_removes() -> None:
    live = apply.update(MAPS, None, a_map(a="x", b="x", c="x"), "alice", NOON)
    changed = {**live, "data": {"a": "x", "b": "y"}}
    after = apply.update(MAPS, live, changed, "bob", LATER)
    assert owned(after, "alice", "Update") == {".data", ".data.a"}
    assert owned(after, "bob", "Update") == {".data.b"}
    assert times(after) == {"alice": "2026-03-01T12:00:00Z", "bob": "2026-03-01T13:00:00Z"}


def test_an_update_that_changes_nothing_leaves_owners_and_times() -> None:
    live = apply.update(MAPS, None, a_map(a="x"), "alice", NOON)
    assert apply.update(MAPS, live, live, "bob", LATER) == live


def test_a_writer_without_a_name_is_unknown() -> None:
    assert times(apply.update(MAPS, None, a_map(a="x"), "", NOON)) == {
        "unknown": "2026-03-01T12:00:00Z"
    }


@pytest.mark.parametrize("sent", [None, [], [{}], [{"manager": "x"}], "nonsense"], ids=repr)
def test_owners_are_forgotten_only_when_asked(sent: object) -> None:
    live = apply.update(MAPS, None, a_map(a="x"), "alice", NOON)
    asked = a_map({"managedFields": sent}, a="x")
    after = apply.update(MAPS, live, asked, "bob", NOON)
    assert ("managedFields" not in after["metadata"]) == (sent in ([], [{}]))


def test_an_empty_list_forgets_no_owners_of_a_custom_kind() -> None:
    things = endpoints.custom("test.dev/v1", "Thing", {"type": "object"}, has_status=False)
    thing = {"apiVersion": "test.dev/v1", "kind": "Thing", "metadata": {"labels": {"a": "x"}}}
    live = apply.update(things, None, thing, "alice", NOON)
    for sent, kept in (([], True), ([{}], False)):
        asked = {**thing, "metadata": {**thing["metadata"], "managedFields": sent}}
        after = apply.update(things, live, asked, "bob", NOON)
        assert ("managedFields" in after["metadata"]) == kept


def test_a_subresource_cannot_rewrite_owners() -> None:
    body = a_deployment(spec={"replicas": 1}, status={})
    live = apply.update(DEPLOYMENTS, None, body, "alice", NOON)
    asked = {**live, "metadata": {"name": "a", "managedFields": []}, "status": {"replicas": 1}}
    after = apply.update(STATUSES, live, asked, "kubelet", NOON)
    assert owned(after, "alice", "Update") == {".spec.replicas"}
    assert owned(after, "kubelet", "Update") == {".status.replicas"}
    assert after["metadata"]["managedFields"][1]["subresource"] == "status"


def test_a_write_does_not_own_what_it_cannot_change() -> None:
    body = a_deployment(spec={"replicas": 1}, status={"replicas": 1})
    assert owned(apply.update(DEPLOYMENTS, None, body, "a", NOON), "a", "Update") == {
        ".spec.replicas"
    }
    assert owned(apply.apply(DEPLOYMENTS, None, body, "a", NOON), "a") == {".spec.replicas"}
    assert owned(apply.apply(STATUSES, body, body, "a", NOON), "a") == {".status.replicas"}


def test_only_so_many_updaters_are_remembered() -> None:
    live = None
    for number in range(managers.MOST_UPDATERS + 3):
        data = {**(live or {"data": {}})["data"], f"k{number:02}": "x"}
        when = NOON + timedelta(minutes=number)
        live = apply.update(MAPS, live, {**(live or a_map()), "data": data}, f"m{number:02}", when)
    assert live is not None
    entries = live["metadata"]["managedFields"]
    assert len(entries) == managers.MOST_UPDATERS
    assert entries[0]["manager"] == "ancient-changes"
    assert entries[0]["time"] == "2026-03-01T12:03:00Z"
    old = {".data", ".data.k00", ".data.k01", ".data.k02", ".data.k03"}
    assert owned(live, "ancient-changes", "Update") == old


def test_all_that_is_too_much_becomes_one_entry() -> None:
    fields = {number: fieldsets.of_paths([("f:data", f"f:k{number}")]) for number in range(13)}
    entries = {
        managers.updater(f"m{number:02}", "v1", ""): managers.Entry(owns, "v1", f"t{number:02}")
        for number, owns in fields.items()
    }
    capped = managers.capped(entries)
    bucket = capped[managers.updater("ancient-changes", "v1", "")]
    assert len(capped) == managers.MOST_UPDATERS
    assert bucket == managers.Entry(fields[0] | fields[1] | fields[2] | fields[3], "v1", "t03")


def test_applying_creates_an_object_and_owns_what_was_sent() -> None:
    made = apply.apply(MAPS, None, a_map({"labels": {}}, a="x"), "alice", NOON)
    assert made["data"] == {"a": "x"}
    assert owned(made, "alice") == {".data.a", ".metadata.labels"}


def test_what_is_no_longer_applied_is_removed() -> None:
    live = apply.apply(MAPS, None, a_map(a="x", b="x"), "alice", NOON)
    after = apply.apply(MAPS, live, a_map(b="x"), "alice", LATER)
    assert after["data"] == {"b": "x"}
    assert owned(after, "alice") == {".data.b"}


def test_what_nobody_applied_stays_in_an_item_that_is_still_applied() -> None:
    def template(**members: Any) -> Object:
        containers = [{"name": "a", **members}]
        return a_deployment(spec={"template": {"spec": {"containers": containers}}})

    live = apply.apply(DEPLOYMENTS, None, template(env=[{"name": "A"}]), "alice", NOON)
    live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    after = apply.apply(DEPLOYMENTS, live, template(), "alice", LATER)
    containers = after["spec"]["template"]["spec"]["containers"]
    assert containers == [{"name": "a", "imagePullPolicy": "Always"}]


def test_a_map_that_lost_its_last_entry_is_null_until_it_is_read_by_its_type() -> None:
    live = apply.update(MAPS, None, a_map({"labels": {"l": "x"}}), "bob", NOON)
    live = apply.apply(MAPS, live, a_map({"labels": {"l": "y"}}), "alice", NOON, force=True)
    after = apply.apply(MAPS, live, a_map(), "alice", NOON)
    assert after["metadata"]["labels"] is None
    assert owned(after, "bob", "Update") == {".metadata.labels"}


def test_what_others_own_too_stays() -> None:
    live = apply.apply(MAPS, None, a_map(a="x", b="x"), "alice", NOON)
    live = apply.apply(MAPS, live, a_map(a="x"), "bob", NOON)
    after = apply.apply(MAPS, live, a_map(b="x"), "alice", LATER)
    assert after["data"] == {"a": "x", "b": "x"}
    assert owned(after, "bob") == {".data.a"}


def test_applying_the_same_again_changes_not_even_a_time() -> None:
    live = apply.apply(MAPS, None, a_map(a="x"), "alice", NOON)
    assert apply.apply(MAPS, live, a_map(a="x"), "alice", LATER) == live


def test_agreeing_with_others_needs_no_force_and_has_no_time() -> None:
    live = apply.apply(MAPS, None, a_map(a="x"), "alice", NOON)
    after = apply.apply(MAPS, live, a_map(a="x"), "bob", LATER)
    assert times(after) == {"alice": "2026-03-01T12:00:00Z", "bob": ""}


def test_a_conflict_names_the_owner_and_the_field() -> None:
    spec = {"replicas": 1}
    live = apply.update(DEPLOYMENTS, None, a_deployment(spec=spec), "kubectl", NOON)
    with pytest.raises(ApplyConflict) as conflict:
        apply.apply(DEPLOYMENTS, live, a_deployment(spec={"replicas": 2}), "bob", NOON)
    text = 'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas'
    assert str(conflict.value) == text
    [cause] = conflict.value.causes
    assert (cause.field, cause.message) == (
        ".spec.replicas",
        'conflict with "kubectl" using apps/v1',
    )


def test_conflicts_with_several_stand_manager_by_manager() -> None:
    live = apply.apply(MAPS, None, a_map(a="x", b="x"), "alice", NOON)
    live = apply.update(MAPS, live, {**live, "data": {"a": "x", "b": "x", "c": "x"}}, "carol", NOON)
    with pytest.raises(ApplyConflict) as conflict:
        apply.apply(MAPS, live, a_map(a="y", b="y", c="y"), "bob", NOON)
    assert str(conflict.value) == (
        'Apply failed with 3 conflicts: conflicts with "alice":\n- .data.a\n- .data.b\n'
        'conflicts with "carol" using v1:\n- .data.c'
    )


def test_an_owner_at_a_subresource_is_named_with_it() -> None:
    status = a_deployment(status={"replicas": 1})
    live = apply.update(STATUSES, a_deployment(), status, "x", NOON)
    assert "managedFields" not in live["metadata"]
    live = apply.apply(STATUSES, a_deployment(), status, "alice", NOON)
    with pytest.raises(ApplyConflict, match='conflict with "alice" with subresource "status"'):
        apply.apply(STATUSES, live, a_deployment(status={"replicas": 2}), "bob", NOON)


def test_force_takes_fields_over() -> None:
    live = apply.apply(MAPS, None, a_map(a="x", b="x"), "alice", NOON)
    after = apply.apply(MAPS, live, a_map(a="y"), "bob", LATER, force=True)
    assert after["data"] == {"a": "y", "b": "x"}
    assert (owned(after, "alice"), owned(after, "bob")) == ({".data.b"}, {".data.a"})


def test_what_was_there_before_the_first_apply_belongs_to_nobody_in_particular() -> None:
    after = apply.apply(MAPS, a_map(a="x"), a_map(b="x"), "alice", NOON)
    assert owned(after, "before-first-apply", "Update") == {".data", ".data.a"}
    with pytest.raises(ApplyConflict, match="before-first-apply"):
        apply.apply(MAPS, a_map(a="x"), a_map(a="y"), "alice", NOON)


def test_ports_are_the_same_with_and_without_the_usual_protocol() -> None:
    def template(*ports: Object) -> Object:
        containers = [{"name": "a", "ports": [*ports]}]
        return a_deployment(spec={"template": {"spec": {"containers": containers}}})

    live = apply.apply(DEPLOYMENTS, None, template({"containerPort": 80}), "alice", NOON)
    other = template(
        {"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}
    )
    after = apply.apply(DEPLOYMENTS, live, other, "bob", NOON)
    ports = after["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]


@pytest.mark.parametrize(
    ("body", "manager", "code", "message"),
    [
        pytest.param(a_map(), "", 422, "fieldManager: Required value", id="nobody"),
        pytest.param(
            {**a_map(), "kind": "Pod"}, "a", 400, "invalid object type: /v1, Kind=Pod", id="kind"
        ),
        pytest.param(
            a_map({"managedFields": []}),
            "a",
            400,
            "metadata.managedFields must be nil",
            id="owners",
        ),
        pytest.param(
            a_map({"finalizers": ["f", "f"]}),
            "a",
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): "
            '.metadata.finalizers: duplicate entries for key [="f"]',
            id="an item twice",
        ),
        pytest.param({**a_map(), "data": 1}, "a", 500, "expected map, got &{1}", id="a number"),
    ],
)
def test_what_is_no_configuration_is_refused(
    body: Object, manager: str, code: int, message: str
) -> None:
    with pytest.raises(ApplyRefused) as refused:
        apply.apply(MAPS, None, body, manager, NOON)
    assert refused.value.code == code
    assert message in str(refused.value)


def test_who_moves_from_client_side_apply_meets_no_conflict_with_himself() -> None:
    memory = json.dumps(a_map(a="x"))
    live = apply.update(
        MAPS, None, a_map({"annotations": {ANNOTATION: memory}}, a="x"), "old", NOON
    )
    after = apply.apply(MAPS, live, a_map(a="y"), "kubectl", LATER)
    assert after["data"] == {"a": "y"}
    assert json.loads(after["metadata"]["annotations"][ANNOTATION]) == a_map(a="y")
    with pytest.raises(ApplyConflict):
        apply.apply(MAPS, live, a_map(a="y"), "another", LATER)


def test_what_changed_since_client_side_apply_is_a_conflict() -> None:
    memory = json.dumps(a_map(a="x"))
    live = apply.update(
        MAPS, None, a_map({"annotations": {ANNOTATION: memory}}, a="z"), "old", NOON
    )
    with pytest.raises(ApplyConflict):
        apply.apply(MAPS, live, a_map(a="y"), "kubectl", LATER)


def test_a_write_that_only_sets_times_is_none() -> None:
    live = apply.apply(MAPS, None, a_map(a="x"), "alice", NOON)
    later = apply.apply(MAPS, None, a_map(a="x"), "alice", LATER)
    other = apply.apply(MAPS, None, a_map(a="y"), "alice", LATER)
    assert apply.keep_times(live, later) == live
    assert apply.keep_times(live, other) == other


def test_stored_owners_that_cannot_be_read_do_not_stop_an_update() -> None:
    live = a_map({"managedFields": [{"manager": "x", "operation": "Guess"}]}, a="x")
    assert apply.update(MAPS, live, a_map(a="y"), "bob", NOON) == a_map(a="y")
    with pytest.raises(ApplyRefused, match="failed to decode managed fields"):
        apply.apply(MAPS, live, a_map(a="y"), "bob", NOON)


KEYS = st.sampled_from("abc")
DATA = st.dictionaries(KEYS, KEYS, min_size=1, max_size=3)
METADATA = st.fixed_dictionaries(
    {}, optional={"labels": DATA, "finalizers": st.lists(KEYS, unique=True, min_size=1, max_size=3)}
)
BODIES = st.builds(lambda meta, data: a_map(meta, **data), METADATA, DATA | st.just({}))
WRITES = st.lists(st.tuples(st.sampled_from(["alice", "bob", "carol"]), BODIES), max_size=3)


def written(writes: list[tuple[str, Object]]) -> Object | None:
    live = None
    for manager, body in writes:
        live = apply.apply(MAPS, live, body, manager, NOON, force=True)
    return live


def sets(obj: Object) -> list[FieldSet]:
    entries = managers.decode(obj["metadata"].get("managedFields"))
    return [entry.fields for entry in entries.values()]


@given(WRITES, BODIES)
def test_applying_twice_is_applying_once(writes: list[tuple[str, Object]], body: Object) -> None:
    once = apply.apply(MAPS, written(writes), body, "alice", NOON, force=True)
    assert apply.apply(MAPS, once, body, "alice", LATER) == once


@given(WRITES, BODIES)
def test_a_forced_configuration_comes_true(writes: list[tuple[str, Object]], body: Object) -> None:
    after = apply.apply(MAPS, written(writes), body, "alice", NOON, force=True)
    applied = merging.fields_of(MAPS.structure, body)
    assert not merging.compare(MAPS.structure, after, body).changed & applied


@given(WRITES)
def test_everything_owned_is_there_and_everything_there_is_owned(
    writes: list[tuple[str, Object]],
) -> None:
    live = written(writes)
    if live is None:
        return
    bare = {**live, "metadata": {k: v for k, v in live["metadata"].items() if k != "managedFields"}}
    there = merging.with_structs(MAPS.structure, merging.fields_of(MAPS.structure, bare))
    all_owned = fieldsets.of_paths([("f:metadata",)])
    for fields in sets(live):
        all_owned |= merging.with_structs(MAPS.structure, fields)
    names = fieldsets.of_paths([("f:metadata", "f:name"), ("f:apiVersion",), ("f:kind",)])
    assert all_owned == there - names


@given(WRITES, BODIES)
def test_without_force_nobody_loses_a_value(writes: list[tuple[str, Object]], body: Object) -> None:
    live = written(writes)
    try:
        after = apply.apply(MAPS, live, body, "dora", NOON)
    except ApplyConflict:
        return
    lost = [fields for fields in sets(live or a_map()) if fields not in sets(after)]
    assert not lost


@given(WRITES, BODIES, BODIES)
def test_an_update_leaves_each_changed_field_with_one_owner(
    writes: list[tuple[str, Object]], before: Object, after: Object
) -> None:
    live = written([*writes, ("alice", before)])
    assert live is not None
    owners = live["metadata"].get("managedFields")
    new = {**after, "metadata": {**after["metadata"], "managedFields": owners}}
    updated = apply.update(MAPS, live, new, "eve", LATER)
    changed = merging.compare(MAPS.structure, {**live, "metadata": {}}, {**after, "metadata": {}})
    for path in (changed.changed).paths():
        held = [fields for fields in sets(updated) if fields & fieldsets.of_paths([path])]
        assert len(held) == (1 if owners else 0)
