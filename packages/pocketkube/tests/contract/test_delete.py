"""Deleting: finalizers, grace, preconditions, propagation and whole collections."""

from typing import Any

import pytest
from tests.contract.objects import Home, config_map, names, pod, workload
from tests.contract.wire import JSON_PATCH, Server


def options(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **members}


@pytest.fixture
async def a(server: Server, home: Home) -> str:
    """The path of a config map."""
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    return home("configmaps", "a")


async def test_a_deletion_is_answered_with_a_status(server: Server, a: str) -> None:
    uid = (await server.get(a)).ok()["metadata"]["uid"]
    assert (await server.delete(a)).ok(200) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": uid},
    }
    (await server.get(a)).refused(404, "NotFound", 'configmaps "a" not found')


async def test_what_is_gone_cannot_be_deleted_again(server: Server, a: str) -> None:
    (await server.delete(a)).ok()
    (await server.delete(a)).refused(404, "NotFound", 'configmaps "a" not found')


async def test_a_deleted_pod_is_answered_with_the_pod(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    gone = (await server.delete(home("pods", "a"))).ok(200)
    assert (gone["kind"], gone["metadata"]["name"]) == ("Pod", "a")


async def test_a_finalizer_keeps_an_object_in_deletion(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    marked = (await server.delete(path)).ok(200)
    assert marked["kind"] == "ConfigMap"
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    kept = (await server.get(path)).ok()
    assert kept["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    (await server.patch(path, {"metadata": {"finalizers": None}})).ok(200)
    (await server.get(path)).refused(404, "NotFound")


async def test_the_last_finalizer_can_be_removed_by_an_update(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    marked = (await server.delete(path)).ok()
    del marked["metadata"]["finalizers"]
    (await server.put(path, marked)).ok(200)
    assert (await server.get(path)).status == 404


async def test_an_object_in_deletion_takes_no_new_finalizers(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    (await server.delete(path)).ok()
    add = [{"op": "add", "path": "/metadata/finalizers/-", "value": "x.io/more"}]
    (await server.patch(path, add, JSON_PATCH)).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is '
        'being deleted, found new finalizers []string{"x.io/more"}',
    )
    (await server.patch(path, {"metadata": {"finalizers": None}})).ok()


async def test_a_second_deletion_of_a_waiting_object_changes_nothing(
    server: Server, home: Home
) -> None:
    path = home("configmaps", "a")
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    first = (await server.delete(path)).ok()
    assert (await server.delete(path)).ok() == first


async def test_a_deletion_time_cannot_be_changed(server: Server, home: Home) -> None:
    path = home("configmaps", "a")
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    marked = (await server.delete(path)).ok()["metadata"]["deletionTimestamp"]
    answer = await server.patch(path, {"metadata": {"deletionTimestamp": None}, "data": {"k": "v"}})
    assert answer.ok()["metadata"]["deletionTimestamp"] == marked


async def test_another_uid_is_not_deleted(server: Server, a: str) -> None:
    uid = (await server.get(a)).ok()["metadata"]["uid"]
    answer = await server.delete(a, options(preconditions={"uid": "other"}))
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in '
        f"record ({uid}). The object might have been deleted and then recreated",
    )


async def test_the_right_uid_is_deleted(server: Server, a: str) -> None:
    uid = (await server.get(a)).ok()["metadata"]["uid"]
    (await server.delete(a, options(preconditions={"uid": uid}))).ok(200)


async def test_another_version_is_not_deleted(server: Server, a: str) -> None:
    version = (await server.get(a)).ok()["metadata"]["resourceVersion"]
    answer = await server.delete(a, options(preconditions={"resourceVersion": "1"}))
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the '
        f"ResourceVersion in record ({version}). The object might have been modified",
    )


async def test_a_pod_on_a_node_is_given_its_grace(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", nodeName="n"))).ok()
    marked = (await server.delete(home("pods", "a"))).ok(200)["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 30
    assert "deletionTimestamp" in (await server.get(home("pods", "a"))).ok()["metadata"]


async def test_grace_can_be_asked_for_and_shortened_but_not_prolonged(
    server: Server, home: Home
) -> None:
    path = home("pods", "a")
    (await server.post(home("pods"), pod("a", nodeName="n"))).ok()
    for asked, given in ((20, 20), (5, 5), (50, 5)):
        marked = (await server.delete(path, gracePeriodSeconds=asked)).ok()["metadata"]
        assert marked["deletionGracePeriodSeconds"] == given


async def test_no_grace_is_the_end_of_a_pod(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", nodeName="n"))).ok()
    (await server.delete(home("pods", "a"), options(gracePeriodSeconds=0))).ok(200)
    assert (await server.get(home("pods", "a"))).status == 404


async def test_a_pod_without_a_node_goes_at_once(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    (await server.delete(home("pods", "a"))).ok(200)
    assert (await server.get(home("pods", "a"))).status == 404


async def test_a_pod_that_has_ended_goes_at_once(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", nodeName="n"))).ok()
    (await server.patch(home("pods", "a", "status"), {"status": {"phase": "Succeeded"}})).ok()
    (await server.delete(home("pods", "a"))).ok(200)
    assert (await server.get(home("pods", "a"))).status == 404


async def test_negative_grace_is_as_short_as_possible(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", nodeName="n"))).ok()
    marked = (await server.delete(home("pods", "a"), gracePeriodSeconds=-1)).ok()["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
    ids=["foreground", "orphan"],
)
async def test_a_policy_leaves_a_finalizer_for_the_collector(
    server: Server, home: Home, policy: str, finalizers: list[str]
) -> None:
    (await server.post(home("replicasets"), workload("ReplicaSet", "a"))).ok()
    answer = await server.delete(home("replicasets", "a"), propagationPolicy=policy)
    marked = answer.ok()["metadata"]
    assert marked["finalizers"] == finalizers
    assert marked["deletionTimestamp"]


async def test_background_deletion_removes_at_once(server: Server, home: Home) -> None:
    (await server.post(home("replicasets"), workload("ReplicaSet", "a"))).ok()
    (await server.delete(home("replicasets", "a"), options(propagationPolicy="Background"))).ok()
    assert (await server.get(home("replicasets", "a"))).status == 404


async def test_a_policy_nobody_knows_is_refused(server: Server, a: str) -> None:
    answer = await server.delete(a, options(propagationPolicy="Sideways"))
    answer.refused(
        422,
        "Invalid",
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: '
        '"Foreground", "Background", "Orphan", "nil"',
    )


async def test_two_ways_to_say_orphan_exclude_each_other(server: Server, a: str) -> None:
    answer = await server.delete(a, options(propagationPolicy="Orphan", orphanDependents=True))
    answer.refused(
        422,
        "Invalid",
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
        "orphanDependents and deletionPropagation cannot be both set",
    )


async def test_orphan_dependents_is_still_understood(server: Server, home: Home) -> None:
    (await server.post(home("replicasets"), workload("ReplicaSet", "a"))).ok()
    marked = await server.delete(home("replicasets", "a"), options(orphanDependents=True))
    assert marked.ok()["metadata"]["finalizers"] == ["orphan"]


async def test_a_body_that_is_no_delete_options_is_refused(server: Server, a: str) -> None:
    answer = await server.delete(a, {"apiVersion": "v1", "kind": "ConfigMap"})
    status = answer.refused(400, "BadRequest")
    assert "ConfigMap" in status["message"]


async def test_a_collection_is_deleted_at_once(server: Server, home: Home) -> None:
    for name in ("a", "b", "c"):
        (await server.post(home("configmaps"), config_map(name, labels={"n": name}))).ok()
    gone = (await server.delete(home("configmaps"))).ok(200)
    assert gone["kind"] == "ConfigMapList"
    assert sorted(names(gone)) == ["a", "b", "c"]
    assert names((await server.get(home("configmaps"))).ok()) == []


async def test_only_the_selected_of_a_collection_are_deleted(server: Server, home: Home) -> None:
    for name in ("a", "b", "c"):
        (await server.post(home("configmaps"), config_map(name, labels={"n": name}))).ok()
    (await server.delete(home("configmaps"), labelSelector="n in (a,b)")).ok()
    assert names((await server.get(home("configmaps"))).ok()) == ["c"]
    (await server.delete(home("configmaps"), fieldSelector="metadata.name=other")).ok()
    assert names((await server.get(home("configmaps"))).ok()) == ["c"]


async def test_finalizers_hold_members_of_a_collection(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/wait"]))).ok()
    (await server.post(home("configmaps"), config_map("b"))).ok()
    (await server.delete(home("configmaps"))).ok()
    assert names((await server.get(home("configmaps"))).ok()) == ["a"]


async def test_namespaces_cannot_be_deleted_as_a_collection(server: Server) -> None:
    (await server.delete("/api/v1/namespaces")).refused(405, "MethodNotAllowed")
