"""`korder manager`: runs the controllers against the cluster of the current kubeconfig, and serves webhooks where they are installed."""

import asyncio
from dataclasses import dataclass, replace
from importlib.metadata import version
import platform
import random
import signal
from typing import Annotated
from urllib.parse import urlsplit
from uuid import uuid4

import structlog
import typer

from korder import install_config
from korder.cli import cluster_objects, logs, loops, webhooks
from korder.cli.domain_flags import OptionsOf, with_domain_flags
from korder.cli.install import Wish
from korder.cli.session import checked_namespace, cluster, home
from korder.domains import DOMAINS
from korder.install import crds
from kubeloop.client import discovery
from kubeloop.client.client import Client
from kubeloop.client.errors import Forbidden, KubeError
from kubeloop.objects.admission import WebhookClientConfig
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.manager import Address, Manager, PartEnded, Settings
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.handler import AdmissionHandler

log = structlog.get_logger(__name__)


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


@dataclass(frozen=True, slots=True)
class _Typed:
    """What was asked for: of the manager, of its controllers, of webhooks; and where lease and certificate are kept, if it was said."""

    settings: Settings
    options: OptionsOf
    elect: bool
    admission: Wish
    hooks: Address | None
    namespace: str | None


@with_domain_flags("kubeconfig")
def run(  # noqa: PLR0913, PLR0917  the options of the verb
    leader_elect: Annotated[
        bool, typer.Option("--leader-elect", help="Let only one of several replicas act.")
    ] = False,
    lease_namespace: Annotated[
        str | None,
        typer.Option(
            callback=checked_namespace,
            help="Namespace of lease and certificate; the one korder is installed in if not given.",
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
    webhook_bind_address: Annotated[
        str, typer.Option(callback=_checked_address, help="Where to serve webhooks; 0 for nowhere.")
    ] = f":{install_config.WEBHOOK_PORT}",
    admission: Annotated[
        Wish, typer.Option(help="Serve webhooks if they are installed (auto), always, or never.")
    ] = Wish.AUTO,
    kubeconfig: Annotated[str | None, typer.Option(help="The kubeconfig to use.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
    log_format: Annotated[
        logs.LogFormat, typer.Option(help="How log lines look.")
    ] = logs.LogFormat.TEXT,
    *,
    options: OptionsOf,
) -> None:
    """Run korder's controllers on the cluster of the kubeconfig."""
    logs.configure(log_format)
    settings = Settings(
        identity=f"{platform.node()}_{uuid4()}",
        component=install_config.PRODUCT,
        metric_prefix=install_config.PRODUCT,
        metrics=_address(metrics_bind_address),
        probes=_address(health_probe_bind_address),
        measure_lag=True,
    )
    hooks = _address(webhook_bind_address)
    typed = _Typed(settings, options, leader_elect, admission, hooks, lease_namespace)
    with asyncio.Runner(loop_factory=loops.fastest()) as runner:
        try:
            runner.run(_manage(kubeconfig, context, typed))
        except PartEnded as ended:
            raise KubeError(str(ended)) from ended


async def _manage(kubeconfig: str | None, context: str | None, typed: _Typed) -> None:
    rng, clock = random.Random(), SystemClock()
    async with cluster(kubeconfig, context, rng, patient=True) as client:
        await _check_crds(client)
        log.info("starting", version=version("korder"), identity=typed.settings.identity)
        for domain in DOMAINS:
            await domain.check(client)
        namespace = typed.namespace or await _installed(client) or home(kubeconfig, context)
        lease = Key(namespace, install_config.LEASE) if typed.elect else None
        manager = Manager(client, replace(typed.settings, lease=lease), clock=clock, rng=rng)
        handlers = dict[str, AdmissionHandler]()
        for domain in DOMAINS:
            handlers |= domain.controllers(manager, typed.options[domain.name], clock)
        names = await _names(client, typed.admission, namespace)
        if names and typed.hooks is not None:
            webhooks.add_webhooks(manager, client, handlers, typed.hooks, names, namespace, clock)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await manager.run(stop)
        log.info("stopped")


async def _installed(client: Client) -> str:
    """The namespace korder is installed in, where all its managers stand for election; nothing if it is not or may not be known."""
    try:
        return min(await cluster_objects.homes(client), default="")
    except Forbidden:
        return ""


async def _names(client: Client, wish: Wish, namespace: str) -> list[str]:
    """The names API servers call our webhooks by; none if they are not to be served."""
    if wish is Wish.POLICY:
        return []
    found = await CaInjector(client, mutating=[install_config.WEBHOOK]).find()
    called = [hook.client_config for one in found for hook in one.configuration.webhooks]
    names = sorted({_host(config) for config in called})
    if not names and wish is Wish.WEBHOOK:
        return [f"{install_config.WEBHOOK}.{namespace}.svc"]
    return names


def _host(config: WebhookClientConfig) -> str:
    if config.service is not None:
        return f"{config.service.name}.{config.service.namespace}.svc"
    return urlsplit(config.url or "").hostname or ""


async def _check_crds(client: Client) -> None:
    absent = await discovery.missing(client, crds.KINDS)
    if absent:
        names = ", ".join(str(kind) for kind in absent)
        raise KubeError(f"the cluster does not serve {names}: run `korder install` first")
