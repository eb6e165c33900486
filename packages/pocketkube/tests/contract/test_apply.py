"""Server-side apply: who owns which field, who may change it, and what happens to fields that are let go."""

from tests.contract.objects import Home, config_map, managers, pod, workload
from tests.contract.wire import APPLY_PATCH, Server


async def test_an_apply_makes_what_is_not_there(server: Server, home: Home) -> None:
    made = (await server.apply(home("configmaps", "a"), config_map("a", {"k": "v"}))).ok(201)
    assert made["data"] == {"k": "v"}
    assert managers(made) == [("tester", "Apply", "")]


async def test_an_apply_that_changes_nothing_keeps_the_version(server: Server, home: Home) -> None:
    made = (await server.apply(home("configmaps", "a"), config_map("a", {"k": "v"}))).ok(201)
    again = (await server.apply(home("configmaps", "a"), config_map("a", {"k": "v"}))).ok(200)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_field_that_is_no_longer_applied_is_removed(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v", "l": "w"}))).ok()
    assert (await server.apply(path, config_map("a", {"k": "v"}))).ok()["data"] == {"k": "v"}


async def test_a_map_that_loses_its_last_entry_is_gone(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v"}))).ok()
    after = (await server.apply(path, config_map("a", {}))).ok()
    assert "data" not in after


async def test_a_field_that_another_owns_as_well_stays(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v", "l": "w"}), "one")).ok()
    (await server.apply(path, config_map("a", {"l": "w"}), "two")).ok()
    assert (await server.apply(path, config_map("a", {"k": "v"}), "one")).ok()["data"] == {
        "k": "v",
        "l": "w",
    }


async def test_a_field_of_another_manager_is_a_conflict(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v"}), "one")).ok()
    (await server.apply(path, config_map("a", {"k": "w"}), "two")).refused(
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "one": .data.k',
        {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "one"',
                    "field": ".data.k",
                }
            ]
        },
    )


async def test_several_conflicts_are_named_by_manager(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v", "l": "v"}), "one")).ok()
    answer = await server.apply(path, config_map("a", {"k": "w", "l": "w"}), "two")
    answer.refused(
        409,
        "Conflict",
        'Apply failed with 2 conflicts: conflicts with "one":\n- .data.k\n- .data.l',
    )


async def test_force_takes_a_field_over(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v"}), "one")).ok()
    taken = (await server.apply(path, config_map("a", {"k": "w"}), "two", force="true")).ok()
    assert taken["data"] == {"k": "w"}
    assert managers(taken) == [("two", "Apply", "")]


async def test_the_same_value_is_shared(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v"}), "one")).ok()
    shared = (await server.apply(path, config_map("a", {"k": "v"}), "two")).ok()
    assert sorted(managers(shared)) == [("one", "Apply", ""), ("two", "Apply", "")]


async def test_an_update_takes_fields_without_asking(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v", "l": "v"}), "one")).ok()
    changed = (await server.patch(path, {"data": {"k": "w"}}, fieldManager="hand")).ok()
    assert managers(changed) == [("one", "Apply", ""), ("hand", "Update", "")]
    answer = await server.apply(path, config_map("a", {"k": "v", "l": "v"}), "one")
    answer.refused(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "hand" using v1: .data.k'
    )


async def test_an_apply_needs_a_manager(server: Server, home: Home) -> None:
    answer = await server.patch(home("configmaps", "a"), config_map("a"), APPLY_PATCH)
    answer.refused(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )


async def test_an_apply_must_not_bring_managed_fields(server: Server, home: Home) -> None:
    body = config_map("a", managedFields=[{"manager": "me"}])
    answer = await server.apply(home("configmaps", "a"), body)
    answer.refused(400, "BadRequest", "metadata.managedFields must be nil")


async def test_an_apply_must_say_what_it_applies(server: Server, home: Home) -> None:
    answer = await server.apply(home("configmaps", "a"), {"metadata": {"name": "a"}})
    answer.refused(400, "BadRequest", "invalid object type: /, Kind=")


async def test_an_apply_cannot_rename(server: Server, home: Home) -> None:
    answer = await server.apply(home("configmaps", "a"), config_map("b"))
    answer.refused(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


async def test_an_apply_may_be_yaml(server: Server, home: Home) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    assert (await server.apply(home("configmaps", "a"), body)).ok(201)["data"] == {"k": "v"}


async def test_broken_yaml_is_refused(server: Server, home: Home) -> None:
    answer = await server.apply(home("configmaps", "a"), b"a: [")
    status = answer.refused(400, "BadRequest")
    assert status["message"].startswith("error decoding YAML: error converting YAML to JSON: yaml:")


async def test_an_apply_may_carry_the_version_it_expects(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    old = (await server.apply(path, config_map("a", {"k": "v"}))).ok()["metadata"]
    (await server.apply(path, config_map("a", {"k": "w"}))).ok()
    body = config_map("a", {"k": "x"}, resourceVersion=old["resourceVersion"])
    (await server.apply(path, body)).refused(409, "Conflict")


async def test_lists_are_merged_by_key_among_managers(server: Server, home: Home) -> None:
    path = home("deployments", "a")
    (await server.apply(path, workload("Deployment", "a"), "one")).ok(201)
    sidecar = {"name": "side", "image": "other"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [sidecar]}}},
    }
    both = (await server.apply(path, body, "two")).ok()["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in both] == ["main", "side"]
    body["spec"] = {}
    less = (await server.apply(path, body, "two")).ok()["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in less] == ["main"]


async def test_a_manager_that_lets_everything_go_is_forgotten(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.apply(path, config_map("a", {"k": "v"}), "one")).ok()
    (await server.apply(path, config_map("a", {"l": "v"}), "two")).ok()
    after = (await server.apply(path, config_map("a"), "two")).ok()
    assert managers(after) == [("one", "Apply", "")]


async def test_a_status_is_applied_under_its_own_name(server: Server, home: Home) -> None:
    (await server.apply(home("pods", "a"), pod("a"))).ok(201)
    status = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "status": {"conditions": [{"type": "x.io/Fit", "status": "True"}]},
    }
    applied = (await server.apply(home("pods", "a", "status"), status)).ok()
    assert ("tester", "Apply", "status") in managers(applied)
    assert "x.io/Fit" in {each["type"] for each in applied["status"]["conditions"]}


async def test_a_manager_name_has_a_limit(server: Server, home: Home) -> None:
    answer = await server.apply(home("configmaps", "a"), config_map("a"), "m" * 129)
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "fieldManager"


async def test_force_is_only_for_apply(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    answer = await server.patch(home("configmaps", "a"), {}, force="true")
    answer.refused(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    )


async def test_another_kind_is_reported_before_owners_that_were_sent(
    server: Server, home: Home
) -> None:
    body = {**config_map("a", managedFields=[{"manager": "x"}]), "apiVersion": "v9"}
    answer = await server.apply(home("configmaps", "a"), body)
    answer.refused(400, "BadRequest", "invalid object type: /v9, Kind=ConfigMap")


async def test_what_is_applied_is_converted_member_by_member(server: Server, home: Home) -> None:
    """Of several faults the first in the order of the type is told."""
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a"},
        "spec": {"renewTime": "today", "acquireTime": "yesterday"},
    }
    answer = await server.apply(home("leases", "a"), body)
    assert answer.status >= 400
    assert 'parsing time "yesterday"' in answer.json["message"]
