"""The control plane itself: it is a real Kubernetes, its parts can be broken one by one, and it leaves nothing behind."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.waiting import accepted

from kubeloop.client.client import Client
from kubeloop.objects import core
from kubeloop.objects.meta import Key
from kubeloop.testing.controlplane import CommandFailed, ControlPlane, Process, ProgramFailed

RELEASE = "v1.36.3"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A plane for the tests of this file that break and mend it; each leaves it whole."""
    plane = ControlPlane()
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


def exists(pid: int | None) -> bool:
    return Path("/proc", str(pid)).exists()


async def read(plane: ControlPlane, *args: str) -> Any:
    return json.loads(await plane.kubectl(*args, "-o", "json"))


async def create(plane: ControlPlane, document: dict[str, Any]) -> dict[str, Any]:
    answer = await plane.kubectl("create", "-o", "json", "-f", "-", input=json.dumps(document))
    made: dict[str, Any] = json.loads(answer)
    return made


def a_configmap(name: str, namespace: str = "default") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": name}}


def a_node(name: str) -> dict[str, Any]:
    taint = {"key": "test", "value": name, "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"taints": [taint]},
    }


def a_pod(name: str, namespace: str, node: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m"}}}
    toleration = {"key": "test", "value": node, "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "tolerations": [toleration]},
    }


READY_NODE = {
    "status": {
        "allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Test"}],
    }
}


async def test_client_and_server_are_the_release_we_pinned(control_plane: ControlPlane) -> None:
    versions = await read(control_plane, "version")
    assert versions["clientVersion"]["gitVersion"] == RELEASE
    assert versions["serverVersion"]["gitVersion"] == RELEASE


async def test_our_own_client_sees_what_kubectl_made(client: Client, namespace: str) -> None:
    found = await client.get(core.NAMESPACES, Key("", namespace))
    assert found.metadata.name == namespace


async def test_a_pod_is_scheduled_onto_a_node_made_by_hand(
    control_plane: ControlPlane, namespace: str
) -> None:
    node = f"node-of-{namespace}"
    await create(control_plane, a_node(node))
    try:
        status = json.dumps(READY_NODE)
        await control_plane.kubectl("patch", "node", node, "--subresource=status", "-p", status)
        await create(control_plane, a_pod("first", namespace, node))
        await control_plane.kubectl(
            "wait", "-n", namespace, "pod/first", "--for=condition=PodScheduled"
        )
        pod = await read(control_plane, "get", "pod", "first", "-n", namespace)
        assert pod["spec"]["nodeName"] == node
    finally:
        await control_plane.kubectl("delete", "node", node)


async def test_a_user_without_rights_is_refused_until_a_role_is_bound(
    control_plane: ControlPlane, namespace: str
) -> None:
    look = ("get", "configmaps", "-n", namespace)
    with pytest.raises(CommandFailed, match=r'Forbidden.*User "viewer" cannot list resource'):
        await control_plane.kubectl(*look, user="viewer")
    binding = ("create", "rolebinding", "look", "--clusterrole=view", "--user=viewer")
    await control_plane.kubectl(*binding, "-n", namespace)
    await accepted(lambda: control_plane.kubectl(*look, user="viewer"), CommandFailed)


async def test_the_audit_log_says_who_wrote_what(
    control_plane: ControlPlane, namespace: str
) -> None:
    await create(control_plane, a_configmap("audited", namespace))
    writes = [
        (line["verb"], line["user"]["username"], line["responseStatus"]["code"])
        for line in control_plane.audit_lines()
        if line["objectRef"].get("namespace") == namespace
        and line["objectRef"].get("name") == "audited"
    ]
    assert writes == [("create", "admin", 201)]


async def test_reads_are_not_audited(control_plane: ControlPlane) -> None:
    await control_plane.kubectl("get", "namespaces")
    verbs = {line["verb"] for line in control_plane.audit_lines()}
    assert not verbs & {"get", "list", "watch"}


@pytest.mark.parametrize("part", ["etcd", "apiserver", "scheduler", "controller_manager"])
async def test_a_restarted_part_keeps_data_and_address(plane: ControlPlane, part: str) -> None:
    name = f"before-{part.replace('_', '-')}"
    made = await create(plane, a_configmap(name))
    process: Process = getattr(plane, part)
    before = process.pid
    await process.restart()
    await plane.ready()
    assert process.pid not in (None, before)
    assert not exists(before)
    found = await read(plane, "get", "configmap", name)
    assert found["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_killed_server_is_gone_and_comes_back_with_its_data(plane: ControlPlane) -> None:
    await create(plane, a_configmap("before-kill"))
    plane.etcd.kill()
    plane.apiserver.kill()
    with pytest.raises(CommandFailed, match="refused"):
        await plane.kubectl("get", "configmap", "before-kill")
    await plane.etcd.start()
    await plane.apiserver.start()
    await plane.ready()
    await plane.kubectl("get", "configmap", "before-kill")


async def test_a_paused_server_says_nothing_until_it_is_resumed(plane: ControlPlane) -> None:
    plane.apiserver.pause()
    with pytest.raises(CommandFailed, match=r"(?i)timeout|deadline"):
        await plane.kubectl("get", "namespaces", "--request-timeout=1s")
    plane.apiserver.resume()
    await plane.ready()
    await plane.kubectl("get", "namespaces")


async def test_after_compaction_and_restart_the_past_is_expired(plane: ControlPlane) -> None:
    old = (await create(plane, a_configmap("old")))["metadata"]["resourceVersion"]
    await create(plane, a_configmap("new"))
    configmaps = f"/api/v1/namespaces/default/configmaps?resourceVersion={old}"
    watch_since = ("get", "--raw", f"{configmaps}&watch=true&timeoutSeconds=1")
    list_as_of = ("get", "--raw", f"{configmaps}&resourceVersionMatch=Exact")
    assert '"name":"new"' in await plane.kubectl(*watch_since)

    await plane.apiserver.restart()
    assert '"name":"new"' not in await plane.kubectl(*list_as_of)
    assert await plane.compact() > int(old)
    with pytest.raises(CommandFailed, match=r"Expired|too old"):
        await plane.kubectl(*list_as_of)

    refusal = json.loads(await plane.kubectl(*watch_since))
    assert refusal["type"] == "ERROR"
    assert refusal["object"]["code"] == 410
    assert refusal["object"]["reason"] == "Expired"


async def test_a_part_with_a_wrong_flag_says_so_and_nothing_stays_running(tmp_path: Path) -> None:
    plane = ControlPlane(folder=tmp_path, flags={"kube-apiserver": ["--no-such-flag"]})
    with pytest.raises(ProgramFailed) as failure:
        await plane.start()
    message = str(failure.value)
    assert message.startswith("kube-apiserver ended with exit code 1.")
    assert "unknown flag: --no-such-flag" in message
    assert str(tmp_path / "kube-apiserver.log") in message
    assert [part.pid for part in plane.parts] == [None] * 4


async def test_a_plane_leaves_neither_processes_nor_files() -> None:
    async with ControlPlane() as plane:
        pids = [part.pid for part in plane.parts]
        assert all(map(exists, pids))
        assert plane.kubeconfig().exists()
    assert not any(map(exists, pids))
    assert not plane.folder.exists()


async def test_without_a_controller_manager_pods_need_no_service_account(
    a_control_plane: Callable[..., Awaitable[ControlPlane]],
) -> None:
    plane = await a_control_plane(without=["kube-controller-manager", "kube-scheduler"])
    assert plane.controller_manager.pid is None
    assert plane.scheduler.pid is None
    await create(plane, a_pod("lonely", "default", "nowhere"))


async def test_an_unknown_user_is_named(control_plane: ControlPlane) -> None:
    with pytest.raises(LookupError, match="does not know 'nobody', only admin, viewer"):
        control_plane.kubeconfig("nobody")
