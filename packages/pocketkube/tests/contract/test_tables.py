"""Tables for people and metadata for caches: other forms of the same objects."""

from typing import Any

import pytest
from tests.contract.objects import Home, config_map, pod, simple, workload
from tests.contract.wire import Server

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


def columns(table: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each["name"], each["priority"]) for each in table["columnDefinitions"]]


async def test_a_list_of_pods_is_a_table(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    table = (await server.get(home("pods"), headers=TABLE)).ok()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert columns(table) == [
        ("Name", 0),
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", 1),
        ("Node", 1),
        ("Nominated Node", 1),
        ("Readiness Gates", 1),
    ]
    [row] = table["rows"]
    assert row["cells"][:4] == ["a", "0/1", "Pending", "0"]
    assert row["cells"][5:] == ["<none>", "<none>", "<none>", "<none>"]
    assert int(table["metadata"]["resourceVersion"]) > 0


async def test_rows_carry_metadata_by_default(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    [row] = (await server.get(home("configmaps"), headers=TABLE)).ok()["rows"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "a"
    assert "data" not in row["object"]


async def test_rows_can_carry_whole_objects_or_nothing(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    whole = await server.get(home("configmaps"), headers=TABLE, includeObject="Object")
    assert whole.ok()["rows"][0]["object"]["data"] == {"k": "v"}
    bare = await server.get(home("configmaps"), headers=TABLE, includeObject="None")
    assert bare.ok()["rows"][0]["object"] is None


async def test_one_object_is_a_table_of_one_row(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v", "l": "w"}))).ok()
    table = (await server.get(home("configmaps", "a"), headers=TABLE)).ok()
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 2]


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        (
            "deployments",
            workload("Deployment", "a", replicas=2),
            {"Ready": "0/2", "Up-to-date": 0, "Available": 0, "Containers": "main"},
        ),
        ("replicasets", workload("ReplicaSet", "a"), {"Desired": 1, "Current": 0, "Ready": 0}),
        ("statefulsets", workload("StatefulSet", "a"), {"Ready": "0/1"}),
        ("daemonsets", workload("DaemonSet", "a"), {"Desired": 0, "Node Selector": "<none>"}),
        (
            "services",
            simple("v1", "Service", "a", spec={"clusterIP": "None", "ports": [{"port": 80}]}),
            {"Type": "ClusterIP", "Cluster-IP": "None", "Port(s)": "80/TCP"},
        ),
        ("secrets", simple("v1", "Secret", "a"), {"Type": "Opaque", "Data": 0}),
        (
            "leases",
            simple("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"}),
            {"Holder": "me"},
        ),
        (
            "poddisruptionbudgets",
            simple(
                "policy/v1",
                "PodDisruptionBudget",
                "a",
                spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            ),
            {"Min Available": "1", "Max Unavailable": "N/A", "Allowed Disruptions": 0},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_kinds_have_columns_of_their_own(
    server: Server, home: Home, resource: str, obj: dict[str, Any], expected: dict[str, Any]
) -> None:
    (await server.post(home(resource), obj)).ok(201)
    table = (await server.get(home(resource, "a"), headers=TABLE)).ok()
    names = [each["name"] for each in table["columnDefinitions"]]
    row = dict(zip(names, table["rows"][0]["cells"], strict=True))
    assert {key: row.get(key) for key in expected} == expected


async def test_a_job_says_how_far_it_is(server: Server, home: Home) -> None:
    job = simple(
        "batch/v1",
        "Job",
        "a",
        spec={
            "completions": 3,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }
            },
        },
    )
    (await server.post(home("jobs"), job)).ok(201)
    table = (await server.get(home("jobs", "a"), headers=TABLE)).ok()
    names = [each["name"] for each in table["columnDefinitions"]]
    row = dict(zip(names, table["rows"][0]["cells"], strict=True))
    assert (row["Status"], row["Completions"]) == ("Running", "0/3")


async def test_namespaces_show_their_status(server: Server, home: Home) -> None:
    table = (await server.get(f"/api/v1/namespaces/{home.name}", headers=TABLE)).ok()
    assert table["rows"][0]["cells"][:2] == [home.name, "Active"]


async def test_a_watch_of_tables_names_columns_once(server: Server, home: Home) -> None:
    path = home("configmaps")
    (await server.post(path, config_map("a"))).ok()
    async with server.watch(path, headers=TABLE) as watch:
        first = await watch.next()
        (await server.post(path, config_map("b"))).ok()
        second = await watch.next()
    assert first["object"]["kind"] == "Table"
    assert next(each["name"] for each in first["object"]["columnDefinitions"]) == "Name"
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"


async def test_a_bad_wish_for_rows_is_refused(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), headers=TABLE, includeObject="Half")
    answer.refused(400, "BadRequest")


async def test_a_list_can_be_metadata_only(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}, labels={"x": "y"}))).ok()
    found = (await server.get(home("configmaps"), headers=METADATA_LIST)).ok()
    assert (found["kind"], found["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    [item] = found["items"]
    assert item["metadata"]["labels"] == {"x": "y"}
    assert "data" not in item


async def test_an_object_can_be_metadata_only(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    found = (await server.get(home("configmaps", "a"), headers=METADATA)).ok()
    assert found["kind"] == "PartialObjectMetadata"
    assert found["metadata"]["name"] == "a"
    assert "data" not in found


async def test_a_watch_can_be_metadata_only(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok()
    async with server.watch(home("configmaps"), headers=METADATA) as watch:
        event = await watch.next()
    assert event["type"] == "ADDED"
    assert event["object"]["kind"] == "PartialObjectMetadata"


async def test_the_answer_to_a_write_can_be_metadata_only(server: Server, home: Home) -> None:
    body = config_map("a", {"k": "v"})
    made = (await server.post(home("configmaps"), body, headers=METADATA)).ok(201)
    assert made["kind"] == "PartialObjectMetadata"


async def test_clients_list_forms_by_preference(server: Server, home: Home) -> None:
    wishes = {"Accept": f"{TABLE['Accept']},application/json"}
    assert (await server.get(home("pods"), headers=wishes)).ok()["kind"] == "Table"
    wishes = {"Accept": "application/json;as=Chair;v=v1;g=meta.k8s.io,application/json"}
    assert (await server.get(home("pods"), headers=wishes)).ok()["kind"] == "PodList"


async def test_yaml_is_spoken(server: Server, home: Home) -> None:
    headers = {"Accept": "application/yaml", "Content-Type": "application/yaml"}
    body = b"metadata: {name: a}\ndata: {k: v}\n"
    answer = await server.post(home("configmaps"), body, headers=headers)
    assert answer.status == 201
    assert answer.headers["Content-Type"] == "application/yaml"
    assert "kind: ConfigMap\n" in answer.text
