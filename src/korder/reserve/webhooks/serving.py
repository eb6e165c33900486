"""Serves the gates with a manager, behind a certificate that all replicas share.

`korder manager` calls it where webhooks are installed. Every replica answers, leading or not.
"""

from collections.abc import Mapping, Sequence

from korder.api.meta import Key
from korder.kube.client import Client
from korder.reserve.rules.doors import hooks
from korder.reserve.rules.doors.site import WEBHOOK
from korder.reserve.webhooks import gates
from korder.reserve.webhooks.gates import Counted
from korder.runtime.clock import Clock
from korder.runtime.manager import Address, Manager
from korder.runtime.webhook.bundles import Bundles
from korder.runtime.webhook.gate import Gate
from korder.runtime.webhook.rotation import Policy
from korder.runtime.webhook.server import Settings, WebhookServer
from korder.runtime.webhook.sources import SecretSource


def by_path(clock: Clock, counted: Counted, *, system_classes: bool) -> Mapping[str, Gate]:
    """The gates, by the paths they answer at."""
    return {
        hooks.PODS: gates.pods,
        hooks.TOLERATIONS: gates.tolerations,
        hooks.RESERVE: gates.orders_and_tickets(clock, counted, system_classes=system_classes),
        hooks.QUOTAS: gates.quotas(counted),
    }


def add_webhooks(
    manager: Manager,
    client: Client,
    served: Mapping[str, Gate],
    address: Address,
    names: Sequence[str],
    home: str,
    clock: Clock,
) -> None:
    """Serves gates at an address, under these names, with a certificate from a Secret in the namespace `home`."""
    source = SecretSource(client, Key(home, WEBHOOK), Policy(frozenset(names)), clock)
    server = WebhookServer(
        served,
        source,
        Bundles(client, mutating=[WEBHOOK], validating=[WEBHOOK]),
        settings=Settings(address.host or None, address.port),
        registry=manager.metrics.registry,
        clock=clock,
    )
    manager.add(server)
