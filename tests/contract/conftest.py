"""The servers that the contract is held against: a kube-apiserver with nothing around it, and the embedded one.

Each test runs once on each. The real one is marked `e2e`; no controllers run beside it, so that nothing moves unless a test
moves it. Both are asked in real time, because webhooks are called over real sockets.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.contract.objects import Home, unique
from tests.contract.wire import Server
import yaml

from korder.net.client import HttpTransport
from korder.net.tls import ClientTls, RotatingTls
from korder.runtime.clock import Clock
from korder.testing.controlplane import ControlPlane
from korder.testing.embedded import embedded_server

HERE = Path(__file__).parent


def pytest_collectstart(collector: pytest.Collector) -> None:
    # The loop of a test is chosen by this mark while it is being collected, before a server is chosen for it.
    for node in collector.listchain():
        if node.path == HERE and not any(node.iter_markers("enable_socket")):
            node.add_marker(pytest.mark.enable_socket)


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A kube-apiserver on its etcd. It is told of a controller manager, because without one it would not ask for service accounts."""
    plane = ControlPlane(
        without={"kube-scheduler"}, flags={"kube-apiserver": ["--allow-privileged=true"]}
    )

    async def start() -> None:
        await plane.etcd.start()
        await plane.apiserver.start()

    asyncio.run(start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("real", marks=[pytest.mark.e2e, pytest.mark.timeout(60)]),
    ]
)
def where(request: pytest.FixtureRequest) -> ControlPlane | None:
    """The real plane, or nothing for the embedded server."""
    if request.param == "embedded":
        return None
    plane: ControlPlane = request.getfixturevalue("plane")
    return plane


@pytest.fixture
async def server(where: ControlPlane | None, clock: Clock) -> AsyncIterator[Server]:
    """The server under test."""
    if where is None:
        async with embedded_server(clock) as ours:
            yield Server(
                ours.transport(),
                ours.admin_token,
                lambda: ours.storage.compact(ours.storage.version),
            )
        return
    transport, token = _connected(where)
    yield Server(transport, token, lambda: _forget(where))
    await transport.close()


def _connected(plane: ControlPlane) -> tuple[HttpTransport, str]:
    user = yaml.safe_load(plane.kubeconfig().read_text())["users"][0]["user"]
    tls = RotatingTls(lambda: ClientTls(ca_file=str(plane.folder / "ca.crt")))
    return HttpTransport(plane.server, tls=tls, compress=False), user["token"]


async def _forget(plane: ControlPlane) -> None:
    await plane.compact()
    plane.apiserver.kill()
    await plane.apiserver.start()


@pytest.fixture
async def home(server: Server) -> Home:
    """A namespace of the test's own, with the service account that pods run as."""
    name = unique("test")
    (await server.post("/api/v1/namespaces", {"metadata": {"name": name}})).ok(201)
    home = Home(name)
    account = await server.post(home("serviceaccounts"), {"metadata": {"name": "default"}})
    assert account.status in (201, 409)
    return home
