"""`korder manager`: runs the controllers against the cluster of the current kubeconfig."""

import asyncio
from importlib.metadata import version
import platform
import random
import re
import signal
from typing import Annotated
from uuid import uuid4

import structlog
import typer

from korder.api import manifests
from korder.api.meta import Key
from korder.cli import logs, loops
from korder.cli.session import cluster, home
from korder.kube import discovery
from korder.kube.client import Client
from korder.kube.errors import KubeError
from korder.runtime.clock import SystemClock
from korder.runtime.manager import Address, LeadershipLost, Manager, PartEnded, Settings

log = structlog.get_logger(__name__)

LEASE_NAME = "korder-manager"


def _address(text: str) -> Address | None:
    """Reads `host:port`, `:port`, or `0` for none, as operators in Go do."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise typer.BadParameter(f"{text!r} is not host:port, :port, or 0 for none")
    return Address(host.strip("[]"), int(port))


def _checked_address(text: str) -> str:
    _address(text)
    return text


def _checked_namespace(name: str | None) -> str | None:
    if name is not None and not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise typer.BadParameter(f"{name!r} is not the name of a namespace")
    return name


def run(
    leader_elect: Annotated[
        bool, typer.Option("--leader-elect", help="Let only one of several replicas act.")
    ] = False,
    lease_namespace: Annotated[
        str | None,
        typer.Option(
            callback=_checked_namespace,
            help="Namespace of the lease of --leader-elect; the pod's or the context's if not given.",
        ),
    ] = None,
    metrics_bind_address: Annotated[
        str, typer.Option(callback=_checked_address, help="Where to serve /metrics; 0 for nowhere.")
    ] = ":8080",
    health_probe_bind_address: Annotated[
        str,
        typer.Option(
            callback=_checked_address, help="Where to serve /healthz and /readyz; 0 for nowhere."
        ),
    ] = ":8081",
    kubeconfig: Annotated[str | None, typer.Option(help="The kubeconfig to use.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
    log_format: Annotated[
        logs.LogFormat, typer.Option(help="How log lines look.")
    ] = logs.LogFormat.TEXT,
) -> None:
    """Run korder's controllers on the cluster of the kubeconfig."""
    logs.configure(log_format)
    settings = Settings(
        identity=f"{platform.node()}_{uuid4()}",
        lease=Key(lease_namespace or home(kubeconfig, context), LEASE_NAME)
        if leader_elect
        else None,
        metrics=_address(metrics_bind_address),
        probes=_address(health_probe_bind_address),
    )
    with asyncio.Runner(loop_factory=loops.fastest()) as runner:
        try:
            runner.run(_manage(kubeconfig, context, settings))
        except LeadershipLost as lost:
            raise KubeError(f"{lost}; start again to stand for election") from lost
        except PartEnded as ended:
            raise KubeError(str(ended)) from ended


async def _manage(kubeconfig: str | None, context: str | None, settings: Settings) -> None:
    rng = random.Random()
    async with cluster(kubeconfig, context, rng, patient=True) as client:
        await _check_crds(client)
        log.info("starting", version=version("korder"), identity=settings.identity)
        manager = Manager(client, settings, clock=SystemClock(), rng=rng)
        for kind in manifests.KINDS:
            manager.informers.of(kind)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await manager.run(stop)
        log.info("stopped")


async def _check_crds(client: Client) -> None:
    absent = await discovery.missing(client, manifests.KINDS)
    if absent:
        names = ", ".join(str(kind) for kind in absent)
        raise KubeError(f"the cluster does not serve {names}: run `korder install` first")
