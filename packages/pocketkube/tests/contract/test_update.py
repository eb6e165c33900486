"""Replacing objects: optimistic concurrency, preconditions, and what cannot be changed."""

from tests.contract.objects import Home, config_map, managers, pod, simple
from tests.contract.wire import Server

STALE = (
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
    "please apply your changes to the latest version and try again"
)


async def test_an_update_replaces_the_object(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v", "l": "w"}))).ok()
    changed = (await server.put(home("configmaps", "a"), config_map("a", {"k": "x"}))).ok(200)
    assert changed["data"] == {"k": "x"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_an_update_of_a_stale_version_is_a_conflict(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    (await server.put(home("configmaps", "a"), {**made, "data": {"k": "w"}})).ok()
    answer = await server.put(home("configmaps", "a"), {**made, "data": {"k": "x"}})
    answer.refused(409, "Conflict", STALE, {"name": "a", "kind": "configmaps"})


async def test_an_update_of_the_current_version_is_granted(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    assert (await server.put(home("configmaps", "a"), {**made, "data": {}})).ok(200)


async def test_an_update_without_a_version_is_unconditional(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    for value in ("w", "x"):
        (await server.put(home("configmaps", "a"), config_map("a", {"k": value}))).ok(200)


async def test_an_update_without_a_change_keeps_the_version(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    same = (await server.put(home("configmaps", "a"), made)).ok(200)
    assert same == made


async def test_a_custom_rule_a_lease_needs_a_version(server: Server, home: Home) -> None:
    lease = simple("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
    (await server.post(home("leases"), lease)).ok(201)
    answer = await server.put(home("leases", "a"), lease)
    answer.refused(
        422,
        "Invalid",
        'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update",
        {"name": "a", "group": "coordination.k8s.io", "kind": "leases"},
    )


async def test_an_update_with_another_uid_is_a_conflict(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    answer = await server.put(home("configmaps", "a"), config_map("a", {"k": "w"}, uid="other"))
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: '
        f"/registry/configmaps/{home.name}/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: other, UID in object meta: {made['metadata']['uid']}",
    )


async def test_an_update_of_what_is_not_there_is_not_found(server: Server, home: Home) -> None:
    answer = await server.put(home("configmaps", "a"), config_map("a"))
    answer.refused(404, "NotFound", 'configmaps "a" not found')


async def test_a_lease_is_made_by_an_update(server: Server, home: Home) -> None:
    lease = simple("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
    assert (await server.put(home("leases", "a"), lease)).ok(201)["spec"] == lease["spec"]


async def test_the_name_in_the_body_must_be_the_one_in_the_path(server: Server, home: Home) -> None:
    answer = await server.put(home("configmaps", "a"), config_map("b"))
    answer.refused(
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (a)",
    )


async def test_a_body_without_a_name_does_not_match_the_path(server: Server, home: Home) -> None:
    answer = await server.put(home("configmaps", "a"), {"data": {}})
    answer.refused(
        400,
        "BadRequest",
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    )


async def test_a_version_that_is_no_number_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    answer = await server.put(home("configmaps", "a"), config_map("a", resourceVersion="new"))
    answer.fails('strconv.ParseUint: parsing "new": invalid syntax')


async def test_times_and_ids_stay_when_they_are_left_out(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a"))).ok()["metadata"]
    sent = config_map("a", {"k": "v"}, creationTimestamp=None)
    kept = (await server.put(home("configmaps", "a"), sent)).ok()["metadata"]
    assert kept["creationTimestamp"] == made["creationTimestamp"]
    assert kept["uid"] == made["uid"]


async def test_an_update_notes_the_fields_it_changed(server: Server, home: Home) -> None:
    body = config_map("a", {"k": "v", "l": "v"})
    (await server.post(home("configmaps"), body, fieldManager="one")).ok()
    body["data"]["l"] = "w"
    changed = (await server.put(home("configmaps", "a"), body, fieldManager="two")).ok()
    assert managers(changed) == [("one", "Update", ""), ("two", "Update", "")]
    fields = [entry["fieldsV1"] for entry in changed["metadata"]["managedFields"]]
    assert fields == [{"f:data": {".": {}, "f:k": {}}}, {"f:data": {"f:l": {}}}]


async def test_a_status_cannot_be_set_through_the_object(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a", {"status": {"phase": "Failed"}}))).ok()
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    made["status"]["phase"] = "Running"
    assert (await server.put(home("pods", "a"), made)).ok()["status"]["phase"] == "Pending"


async def test_a_status_is_replaced_through_its_own_path(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a"))).ok()
    made["status"] = {"phase": "Running"}
    made["spec"]["containers"][0]["image"] = "other"
    made["metadata"]["labels"] = {"new": "label"}
    changed = (await server.put(home("pods", "a", "status"), made, fieldManager="kubelet")).ok()
    assert changed["status"]["phase"] == "Running"
    assert changed["spec"]["containers"][0]["image"] == "busybox"
    assert ("kubelet", "Update", "status") in managers(changed)


async def test_a_status_can_be_read_alone_and_is_the_whole_object(
    server: Server, home: Home
) -> None:
    made = (await server.post(home("pods"), pod("a"))).ok()
    assert (await server.get(home("pods", "a", "status"))).ok() == made


async def test_managed_fields_can_be_cleared(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    sent = config_map("a", {"k": "v"}, managedFields=[{}])
    cleared = (await server.put(home("configmaps", "a"), sent)).ok()
    assert "managedFields" not in cleared["metadata"]


async def test_a_put_on_a_collection_is_not_allowed(server: Server, home: Home) -> None:
    answer = await server.put(home("configmaps"), config_map("a"))
    answer.refused(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


async def test_owners_that_stand_there_twice_are_reported_before_anything_else(
    server: Server, home: Home
) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "u"}
    body = pod("missing", {"metadata": {"ownerReferences": [owner, owner]}})
    answer = await server.put(home("pods", "missing"), body)
    answer.refused(404, "NotFound")
    [warning] = answer.warnings
    assert warning.startswith(".metadata.ownerReferences contains duplicate entries")
