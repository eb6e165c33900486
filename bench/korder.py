"""korder itself on a cluster that is measured, as users run it: `korder install` with webhooks, `korder manager` as a process with its own rights.

It leads without election: on a machine that others keep busy it would lose the lease for reasons that nobody wants to measure.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

from bench.plane import a_client
from korder.api.reserve import ORDERS
from korder.install_config import MANAGER, NAMESPACE
from kubeloop.client.errors import InternalError
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.ports import LOOPBACK, free_ports
from kubeloop.objects.meta import JSON
from kubeloop.testing.controlplane import ControlPlane
from kubeloop.testing.processes import Process


@dataclass(frozen=True, slots=True)
class Measured:
    """A manager that runs."""

    process: Process
    metrics: int

    async def writes(self) -> float:
        """What its controllers have sent so far; Events are not among it."""
        return await self._total("korder_writes")

    async def rest(self) -> None:
        """Waits until it has written and told everything there was: Events come after the deeds."""
        before, now = -1.0, 0.0
        while before != now:
            before, now = now, await self.writes() + await self._total("korder_events")
            await asyncio.sleep(1.0)

    async def _total(self, name: str) -> float:
        text = (await _ask(self.metrics, "/metrics"))[1].decode()
        families = text_string_to_metric_families(text)
        counted = next(family for family in families if family.name == name)
        return sum(each.value for each in counted.samples if each.name.endswith("_total"))

    def memory(self) -> float:
        """The most memory it had, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


@asynccontextmanager
async def managed(plane: ControlPlane, *flags: str) -> AsyncIterator[Measured]:
    """Installs korder, runs a manager while the block does, and takes the doors away again, since nobody answers them afterwards."""
    webhooks, probes, metrics = free_ports(3)
    site = ("--admission=webhook", f"--webhook-url=https://{LOOPBACK}:{webhooks}")
    await _korder("install", f"--kubeconfig={plane.kubeconfig()}", *site)
    process = Process(
        "korder manager",
        (
            *(sys.executable, "-m", "korder", "manager"),
            f"--kubeconfig={await _account(plane)}",
            f"--lease-namespace={NAMESPACE}",
            f"--webhook-bind-address={LOOPBACK}:{webhooks}",
            f"--health-probe-bind-address={LOOPBACK}:{probes}",
            f"--metrics-bind-address={LOOPBACK}:{metrics}",
            *flags,
        ),
        log=plane.folder / "manager.log",
        is_ready=lambda: _is_ready(probes),
    )
    await process.start()
    try:
        await _trusted(plane)
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_outlive(process))
            yield Measured(process, metrics)
            watch.cancel()
    finally:
        await process.stop()
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        await plane.kubectl("delete", kind, "--all")


async def _trusted(plane: ControlPlane) -> None:
    """Waits until the API server has heard of the certificate that the webhooks show."""
    nothing: JSON = {"replicas": 0, "template": {"spec": {"duration": "1h"}}}
    probe: dict[str, JSON] = {"metadata": {"name": "p", "namespace": "default"}, "spec": nothing}
    async with a_client(plane.kubeconfig()) as client, asyncio.timeout(30):
        while True:
            try:
                await client.create(ORDERS, probe, dry_run=True)
            except InternalError:
                await asyncio.sleep(0.1)
            else:
                return


async def _outlive(process: Process) -> None:
    """Ends the run if the manager ends before it: nothing would come of waiting."""
    while process.pid is not None:
        await asyncio.sleep(1.0)
    raise RuntimeError(f"the manager has ended: {process.log.read_text().splitlines()[-1]}")


async def _korder(*args: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "korder", *args), stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise RuntimeError(f"korder {args[0]} ended with {process.returncode}")


async def _account(plane: ControlPlane) -> Path:
    """A kubeconfig of the manager's service account."""
    token = (await plane.kubectl("create", "token", MANAGER, "-n", NAMESPACE)).strip()
    config = plane.folder / "manager.kubeconfig"
    config.write_text(re.sub(r"token: .*", f"token: {token}", plane.kubeconfig().read_text()))
    return config


async def _is_ready(port: int) -> bool:
    try:
        status, _ = await _ask(port, "/readyz")
    except Unreachable:
        return False
    return status == 200


async def _ask(port: int, path: str) -> tuple[int, bytes]:
    transport = HttpTransport(f"http://{LOOPBACK}:{port}")
    try:
        async with await transport.send(Request("GET", path)) as answer:
            return answer.status, await answer.read()
    finally:
        await transport.close()
