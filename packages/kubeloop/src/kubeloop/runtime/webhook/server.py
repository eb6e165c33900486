"""The admission webhook server as one part of a process: gates behind TLS that looks after itself.

The command line builds it from the gates of the domains and hands it to the manager, which runs it on every replica,
leading or not, and asks `ready` for `/readyz`. It listens at once and refuses handshakes until there is a certificate, so
that an API server meets a clear error and not a hanging connection.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import CollectorRegistry

from kubeloop.net.server import Server
from kubeloop.net.server_tls import ServerTls
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import handler
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_rotator import EVERY, CertRotator
from kubeloop.runtime.webhook.cert_sources import Source
from kubeloop.runtime.webhook.handler import AdmissionHandler, HandlerMetrics


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, how long reviews under way may take at the end, how often to check certificates, how metrics begin."""

    host: str | None = None
    port: int = 9443
    drain_seconds: float = 10.0
    look_every: timedelta = EVERY
    metric_prefix: str = "kubeloop"


class WebhookServer:
    """Serves each gate under its name: `pods` answers at `/pods`."""

    def __init__(
        self,
        gates: Mapping[str, AdmissionHandler],
        source: Source,
        bundles: CaInjector,
        *,
        settings: Settings,
        registry: CollectorRegistry,
        clock: Clock,
    ) -> None:
        metrics = HandlerMetrics(registry, settings.metric_prefix)
        tls = ServerTls()
        routes = {
            f"/{name}": handler.mount(name, asked, metrics, clock) for name, asked in gates.items()
        }
        self._server = Server(routes, settings.host, settings.port, tls)
        self._drain_seconds = settings.drain_seconds
        self.cert_rotator = CertRotator(source, bundles, tls, clock, every=settings.look_every)
        self._port = 0
        self._started = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether reviews are answered behind a certificate that is good at this moment."""
        return self._server.listening and self.cert_rotator.valid

    async def port(self) -> int:
        """Waits until it listens and says where."""
        await self._started.wait()
        return self._port

    async def run(self) -> None:
        """Serves until cancelled, then drains."""
        self._port = await self._server.start()
        self._started.set()
        try:
            await self.cert_rotator.run()
        finally:
            await self._server.stop(self._drain_seconds)
