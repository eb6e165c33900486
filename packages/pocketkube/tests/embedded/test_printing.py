"""Tables: ages as people read them, the status of pods, and columns of custom kinds."""

import asyncio
from datetime import UTC, datetime, timedelta
import json
from typing import Any

import pytest

from kubeloop.net.http import Request
from kubeloop.objects import duration
from kubeloop.runtime.clock import VirtualClock
from pocketkube.apiserver.kinds import catalogue
from pocketkube.apiserver.kinds.printing import custom
from pocketkube.apiserver.storage import Create, Draft, Key
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

NOW = datetime(2026, 6, 1, tzinfo=UTC)
Object = dict[str, Any]

PRINTERS = {each.kind: each.printer for each in catalogue.builtin()}


def row(kind: str, **members: Any) -> dict[str, Any]:
    printer = PRINTERS[kind]
    obj = {"metadata": {"name": "x"}, **members}
    return dict(zip((c.name for c in printer.columns), printer.cells(obj, NOW), strict=True))


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (timedelta(seconds=-5), "<invalid>"),
        (timedelta(seconds=-1), "0s"),
        (timedelta(0), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=5, seconds=3), "5m3s"),
        (timedelta(minutes=10, seconds=3), "10m"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=7, minutes=59), "7h59m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=2), "2d"),
        (timedelta(days=2, hours=4), "2d4h"),
        (timedelta(days=8, hours=4), "8d"),
        (timedelta(days=729), "729d"),
        (timedelta(days=730), "2y"),
        (timedelta(days=731), "2y1d"),
        (timedelta(days=8 * 365 + 7), "8y"),
    ],
    ids=str,
)
def test_the_older_the_coarser(age: timedelta, shown: str) -> None:
    assert duration.human(int(age.total_seconds())) == shown


def status(phase: str, *containers: Object, **members: Any) -> Object:
    return {"phase": phase, "containerStatuses": list(containers), **members}


def container(ready: bool = False, restarts: int = 0, **state: Any) -> Object:
    return {"name": "c", "ready": ready, "restartCount": restarts, "state": state}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param(status("Pending"), "Pending", id="pending"),
        pytest.param(status("Running", container(ready=True, running={})), "Running", id="running"),
        pytest.param(status("Pending", container(waiting={"reason": "ErrImagePull"})), "ErrImagePull", id="waiting"),
        pytest.param(status("Succeeded", container(terminated={"exitCode": 0, "reason": "Completed"})), "Completed", id="done"),
        pytest.param(status("Failed", container(terminated={"exitCode": 2})), "ExitCode:2", id="failed"),
        pytest.param(status("Failed", container(terminated={"exitCode": 137, "signal": 9})), "Signal:9", id="killed"),
        pytest.param(status("Failed", reason="Evicted"), "Evicted", id="evicted"),
        pytest.param(status("Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]), "SchedulingGated", id="gated"),
    ],
)  # fmt: skip
def test_the_status_of_a_pod_says_why(given: Object, shown: str) -> None:
    assert row("Pod", spec={"containers": [{}]}, status=given)["Status"] == shown


def test_a_pod_that_is_being_deleted_terminates() -> None:
    meta = {"name": "x", "deletionTimestamp": "2026-06-01T00:00:00Z"}
    assert row("Pod", metadata=meta, status={"phase": "Running"})["Status"] == "Terminating"
    assert row("Pod", metadata=meta, status={"phase": "Succeeded"})["Status"] == "Succeeded"


def test_init_containers_are_counted_off() -> None:
    spec = {"containers": [{}], "initContainers": [{"name": "a"}, {"name": "b"}]}
    done = {"name": "a", "state": {"terminated": {"exitCode": 0}}}
    begun = {"name": "b", "state": {"running": {}}}
    found = row(
        "Pod", spec=spec, status={"phase": "Pending", "initContainerStatuses": [done, begun]}
    )
    assert (found["Status"], found["Ready"]) == ("Init:1/2", "0/1")


def test_restarts_tell_the_last_time() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2026-05-31T23:55:00Z"}}
    given = {**container(ready=True, restarts=3, running={}), "lastState": ended}
    found = row("Pod", spec={"containers": [{}]}, status=status("Running", given))
    assert (found["Restarts"], found["Ready"]) == ("3 (5m ago)", "1/1")


def test_rows_of_ended_pods_say_so() -> None:
    (condition,) = PRINTERS["Pod"].conditions({"metadata": {}, "status": {"phase": "Failed"}})
    assert (condition["type"], condition["reason"]) == ("Completed", "Failed")
    assert PRINTERS["Pod"].conditions({"metadata": {}}) == []


def test_nodes_show_roles_and_whether_they_take_pods() -> None:
    found = row(
        "Node",
        metadata={"name": "x", "labels": {"node-role.kubernetes.io/worker": ""}},
        spec={"unschedulable": True},
        status={"conditions": [{"type": "Ready", "status": "True"}]},
    )
    assert (found["Status"], found["Roles"]) == ("Ready,SchedulingDisabled", "worker")
    assert (found["Age"], found["Internal-IP"]) == ("<unknown>", "<none>")


@pytest.mark.parametrize("kind", sorted(PRINTERS.keys() - {"IPAddress"}))
def test_an_object_with_nothing_in_it_is_shown(kind: str) -> None:
    printer = PRINTERS[kind]
    assert len(printer.cells({"metadata": {}}, NOW)) == len(printer.columns)


def test_custom_columns_follow_their_paths() -> None:
    columns = [
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Broken", "type": "string", "jsonPath": ".spec[", "priority": 1},
    ]
    obj = {
        "metadata": {"name": "x", "creationTimestamp": "2026-05-31T22:00:00Z"},
        "spec": {"count": 3.0},
        "status": {
            "conditions": [{"type": "Other", "status": "?"}, {"type": "Ready", "status": "True"}]
        },
    }
    assert custom.printer(columns).cells(obj, NOW) == ["x", "True", 3, "120m", None]


def test_a_custom_kind_without_columns_shows_its_age() -> None:
    printer = custom.printer(None)
    assert [column.name for column in printer.columns] == ["Name", "Age"]
    assert printer.cells({"metadata": {"name": "x"}}, NOW) == ["x", None]


def test_autoscalers_show_what_they_look_at() -> None:
    wanted = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}
    found = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
    spec = {"metrics": [wanted, wanted, wanted]}
    shown = row("HorizontalPodAutoscaler", spec=spec, status={"currentMetrics": [found]})
    assert shown["Targets"] == "cpu: 7%/50%, cpu: <unknown>/50% + 1 more..."


async def test_others_get_their_turn_while_a_large_table_is_printed() -> None:
    head = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"'
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    locks: list[str] = []

    async def list_all(server: EmbeddedServer) -> bytes:
        headers = {"Authorization": f"Bearer {server.admin_token}", "Accept": accept}
        reply = await server.api.handle(
            Request("GET", "/api/v1/namespaces/default/configmaps", headers)
        )
        locks.append("table")
        return reply.body

    async def somebody_else() -> None:
        while "table" not in locks:
            locks.append("other")
            await asyncio.sleep(0)

    async with embedded_server(VirtualClock()) as server:
        for number in range(2_600):
            tail = b'","name":"m%d","namespace":"default"}}' % number
            key = Key("configmaps", "default", f"m{number}")
            await server.storage.write(Create(key, Draft(head, tail)))
        async with asyncio.TaskGroup() as group:
            listed = group.create_task(list_all(server))
            group.create_task(somebody_else())
    assert len(json.loads(listed.result())["rows"]) == 2_600
    assert locks.count("other") >= 5
