"""Logs: what is said as long as there are none, and the text that the embedded server shows in their place."""

import pytest
from tests.contract.objects import Home, pod, simple
from tests.contract.wire import Server


@pytest.fixture
async def a(server: Server, home: Home) -> str:
    (await server.post(home("pods"), pod("a", {"metadata": {"labels": {"app": "a"}}}))).ok(201)
    return home("pods", "a")


async def test_a_pod_has_no_log_before_it_has_a_node(server: Server, a: str) -> None:
    answer = await server.get(f"{a}/log")
    assert (answer.status, answer.text) == (204, "")


async def test_a_log_is_of_a_container_that_exists(server: Server, a: str) -> None:
    (await server.get(f"{a}/log", container="other")).refused(
        400, "BadRequest", "container other is not valid for pod a"
    )


async def test_a_log_of_several_containers_must_name_one(server: Server, home: Home) -> None:
    containers = [{"name": "one", "image": "x"}, {"name": "two", "image": "x"}]
    (await server.post(home("pods"), pod("b", containers=containers))).ok(201)
    (await server.get(home("pods", "b", "log"))).refused(
        400,
        "BadRequest",
        "a container name must be specified for pod b, choose one of: [one two]",
    )


EMBEDDED = pytest.mark.parametrize("where", ["embedded"], indirect=True)
"""A real server asks a kubelet, and there is none."""


async def started(server: Server, a: str) -> None:
    """Lets the pod run, as its kubelet would tell it."""
    binding = simple("v1", "Binding", "a", target={"kind": "Node", "name": "n"})
    (await server.post(f"{a}/binding", binding)).ok(201)
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    main = {"name": "main", "image": "busybox", "imageID": "", "ready": True, "restartCount": 0}
    status = {"phase": "Running", "containerStatuses": [{**main, "state": state}]}
    (await server.patch(f"{a}/status", {"status": status})).ok()


@EMBEDDED
async def test_a_log_of_a_running_container_has_text(server: Server, a: str) -> None:
    await started(server, a)
    answer = await server.get(f"{a}/log")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain"
    assert "main" in answer.text
    assert answer.text.endswith("\n")


@EMBEDDED
async def test_a_log_can_carry_times(server: Server, a: str) -> None:
    await started(server, a)
    assert (await server.get(f"{a}/log", timestamps="true")).text.startswith(
        "2026-01-01T00:00:00Z "
    )


@EMBEDDED
async def test_a_log_can_be_cut(server: Server, a: str) -> None:
    await started(server, a)
    assert len((await server.get(f"{a}/log", limitBytes=5)).body) == 5
    assert (await server.get(f"{a}/log", tailLines=0)).text == ""


@EMBEDDED
async def test_a_container_that_waits_has_no_log(server: Server, a: str) -> None:
    await started(server, a)
    waiting = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    status = {"containerStatuses": [{**waiting, "state": {"waiting": {"reason": "ImagePull"}}}]}
    (await server.patch(f"{a}/status", {"status": status})).ok()
    (await server.get(f"{a}/log")).refused(
        400, "BadRequest", 'container "main" in pod "a" is waiting to start: ImagePull'
    )
