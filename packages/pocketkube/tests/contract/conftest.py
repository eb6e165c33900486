"""The servers that the contract is held against: a kube-apiserver with nothing around it, and the embedded one.

Each test runs once on each, in a namespace of its own. The real one is marked `e2e`; no controllers run beside it, so that nothing moves unless a test
moves it. Both are asked in real time, because webhooks are called over real sockets.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.contract.objects import Home, unique
from tests.contract.wire import Server
import yaml

from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Transport
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.apiserver.admission.webhooks import over_network
from pocketkube.apiserver.admission.webhooks.calls import Endpoint
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

HERE = Path(__file__).parent
_TO_WEBHOOKS: list[Transport] = []


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


@pytest.fixture(scope="session")
def ours() -> Iterator[EmbeddedServer]:
    """The embedded server, without controllers; it belongs to no loop, as little as a real one."""
    with asyncio.Runner() as runner:
        running = embedded_server(SystemClock(), connect=_connect)
        yield runner.run(running.__aenter__())
        runner.run(running.__aexit__(None, None, None))


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("real", marks=[pytest.mark.e2e]),
    ]
)
def where(request: pytest.FixtureRequest) -> ControlPlane | EmbeddedServer:
    """The server of the session under which the test runs."""
    found: ControlPlane | EmbeddedServer
    found = request.getfixturevalue("plane" if request.param == "real" else "ours")
    return found


@pytest.fixture
async def server(where: ControlPlane | EmbeddedServer) -> AsyncIterator[Server]:
    """The server under test."""
    if isinstance(where, EmbeddedServer):
        storage = where.storage
        yield Server(where.transport(), where.admin_token, lambda: storage.compact(storage.version))
        for each in _TO_WEBHOOKS:
            await each.close()
        return
    transport, token = _connected(where)
    yield Server(transport, token, lambda: _forget(where))
    await transport.close()


def _connect(endpoint: Endpoint) -> Transport:
    """Connections to webhooks belong to the loop of a test, and end with it."""
    _TO_WEBHOOKS.append(over_network(endpoint))
    return _TO_WEBHOOKS[-1]


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
