"""The command line against a real API server: install, run, stop, and refuse with one sentence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
import random
import re
import signal
import sys

from korder.api.reserve import ORDERS
from kubeloop.client.connect import open_client
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.ports import free_ports
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane

Plane = Callable[..., Awaitable[ControlPlane]]
BARE = {"without": ("kube-scheduler", "kube-controller-manager")}


async def korder(*args: str) -> tuple[int, str, str]:
    """Runs a verb to its end: exit code, standard output, standard error."""
    process = await _start(*args)
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def _start(*args: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "korder", *args, stdout=pipe, stderr=pipe
    )


@asynccontextmanager
async def a_manager(*args: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await _start("manager", *args)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def fetch(port: int, path: str, expect: int = 200, seconds: float = 20) -> str:
    """Reads a page of the manager, waiting until it answers as expected."""
    transport = HttpTransport(f"http://127.0.0.1:{port}")
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    async with await transport.send(Request("GET", path)) as answer:
                        text = (await answer.read()).decode()
                    if answer.status == expect:
                        return text
                except Unreachable:
                    pass
                await asyncio.sleep(0.1)
    finally:
        await transport.close()


async def test_missing_crds_an_installation_and_a_manager_that_runs_keeps_its_port_and_stops(
    a_control_plane: Plane, clock: Clock
) -> None:
    plane = await a_control_plane(**BARE)
    config = ("--kubeconfig", str(plane.kubeconfig()))

    code, _, err = await korder("manager", *config)
    assert code == 1
    assert re.fullmatch(
        r"korder: the cluster does not serve .*orders\.core\.korder\.dev.*: run `korder install` first\n",
        err,
    )

    for _ in range(2):
        code, out, err = await korder("install", *config)
        assert (code, err) == (0, "")
        assert len([line for line in out.splitlines() if line.endswith(" established")]) == 11

    async with open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(1)) as client:
        meta: JSON = {"name": "an-order", "namespace": "default"}
        await client.create(ORDERS, {"metadata": meta, "spec": {"template": {"spec": {}}}})
        metrics, probes = free_ports(2)
        async with a_manager(
            *config,
            "--leader-elect",
            "--lease-namespace=default",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            "--log-format=json",
        ) as process:
            await fetch(probes, "/readyz")
            assert await fetch(probes, "/healthz") == "ok\n"
            async with asyncio.timeout(100):
                while "korder_leader 1.0" not in (text := await fetch(metrics, "/metrics")):
                    await asyncio.sleep(0.1)
            assert 'korder_objects{resource="orders.core.korder.dev"} 1.0' in text
            lease = await client.get(LEASES, Key("default", "korder-manager"))
            assert lease.spec.holder_identity
            await _its_port_is_taken(config, probes)
            process.send_signal(signal.SIGTERM)
            _, logged = await process.communicate()
            assert process.returncode == 0
            assert b'"event": "stopped"' in logged.splitlines()[-1]
        released = await client.get(LEASES, Key("default", "korder-manager"))
        assert not released.spec.holder_identity


async def _its_port_is_taken(config: tuple[str, str], probes: int) -> None:
    address = f"--health-probe-bind-address=127.0.0.1:{probes}"
    code, _, err = await korder("manager", *config, address, "--metrics-bind-address=0")
    assert code == 1
    assert (
        err.splitlines()[-1]
        == f"korder: cannot listen on 127.0.0.1:{probes}: Address already in use"
    )


async def test_a_token_nobody_knows(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        re.sub(r"token: .*", "token: expired-long-ago", control_plane.kubeconfig().read_text())
    )
    code, _, err = await korder("manager", "--kubeconfig", str(config))
    assert code == 1
    assert err == "korder: the server does not accept our credentials (wrong or expired)\n"


async def test_a_user_without_rights(control_plane: ControlPlane) -> None:
    code, _, err = await korder("install", "--kubeconfig", str(control_plane.kubeconfig("viewer")))
    assert code == 1
    assert len(err.splitlines()) == 1
    assert 'User "viewer" cannot patch resource "customresourcedefinitions"' in err


async def test_a_server_that_went_away(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = tmp_path / "config"
    (closed,) = free_ports(1)
    config.write_text(
        re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{closed}", control_plane.kubeconfig().read_text())
    )
    verbs = ("manager", "install")
    stated = await asyncio.gather(*(korder(verb, "--kubeconfig", str(config)) for verb in verbs))
    for code, _, err in stated:
        assert code == 1
        assert re.fullmatch(
            r"korder: cannot reach the API server: .*127\.0\.0\.1:\d+.*refused.*\n", err
        )
