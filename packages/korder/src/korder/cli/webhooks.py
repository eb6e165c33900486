"""Serves the admission handlers of all domains with a manager, behind a certificate that all replicas share."""

from collections.abc import Mapping, Sequence

from korder.install_config import PRODUCT, WEBHOOK
from kubeloop.client.client import Client
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Address, Manager
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_sources import SecretSource
from kubeloop.runtime.webhook.handler import AdmissionHandler
from kubeloop.runtime.webhook.rotation import Policy
from kubeloop.runtime.webhook.server import Settings, WebhookServer


def add_webhooks(
    manager: Manager,
    client: Client,
    handlers: Mapping[str, AdmissionHandler],
    address: Address,
    names: Sequence[str],
    home: str,
    clock: Clock,
) -> None:
    """Serves admission handlers at an address, under these names, with a certificate from a Secret in the namespace `home`."""
    source = SecretSource(client, Key(home, WEBHOOK), Policy(frozenset(names)), clock)
    server = WebhookServer(
        handlers,
        source,
        CaInjector(client, mutating=[WEBHOOK], validating=[WEBHOOK]),
        settings=Settings(address.host or None, address.port, metric_prefix=PRODUCT),
        registry=manager.metrics.registry,
        clock=clock,
    )
    manager.add(server)
