"""Puts everything of `reserve` on a manager: one line for each controller, and the gates of its webhooks.

`korder manager` calls it on any cluster, `korder up` and simulation on the embedded one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from korder.api.meta import Key
from korder.kube.client import Client
from korder.reserve.controllers.claims import Claims
from korder.reserve.controllers.handovers import HandOvers
from korder.reserve.controllers.measuring import Measuring
from korder.reserve.controllers.orders import Orders
from korder.reserve.controllers.tickets import Tickets
from korder.reserve.rules import guardian, handover, hooks
from korder.reserve.rules.site import WEBHOOK
from korder.reserve.webhooks import gates
from korder.runtime.clock import Clock
from korder.runtime.manager import Address, Manager
from korder.runtime.webhook.bundles import Bundles
from korder.runtime.webhook.gate import Gate
from korder.runtime.webhook.rotation import Policy
from korder.runtime.webhook.server import Settings, WebhookServer
from korder.runtime.webhook.sources import SecretSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How orders and tickets are served.

    Attributes:
        guardian_image: What guardians run.
        pull_secrets: Secrets with which that image is pulled, in the namespaces of the tickets.
        allow_system_classes: Whether a ticket may name a priority class of the system.
        recreate_stuck_pods: Whether a pod that was given a ticket and cannot be bound is deleted if its controller makes another.
        nominate: Whether hand-overs on full nodes are protected by nomination.
    """

    guardian_image: str = "registry.k8s.io/pause:3.10"
    pull_secrets: tuple[str, ...] = ()
    allow_system_classes: bool = False
    recreate_stuck_pods: bool = True
    nominate: bool = True


USUAL = Options()


def add_reserve(manager: Manager, options: Options = USUAL) -> None:
    """Puts the controllers of orders, tickets, claims and hand-overs on a manager, and what measures them."""
    Orders(manager)
    Tickets(
        manager,
        guardian.Options(
            options.guardian_image, options.pull_secrets, options.allow_system_classes
        ),
    )
    Claims(manager)
    HandOvers(manager, handover.Settings(options.nominate, options.recreate_stuck_pods))
    Measuring(manager)


def gates_of(options: Options, clock: Clock) -> Mapping[str, Gate]:
    """What answers admission reviews, by path."""
    return {
        hooks.PODS: gates.pods,
        hooks.RESERVE: gates.orders_and_tickets(clock, system_classes=options.allow_system_classes),
    }


def add_webhooks(
    manager: Manager,
    client: Client,
    options: Options,
    *,
    home: str,
    names: Sequence[str],
    address: Address,
    clock: Clock,
) -> None:
    """Serves the gates with a manager, under these names, with a certificate from a Secret in `home`."""
    source = SecretSource(client, Key(home, WEBHOOK), Policy(frozenset(names)), clock)
    server = WebhookServer(
        gates_of(options, clock),
        source,
        Bundles(client, mutating=[WEBHOOK], validating=[WEBHOOK]),
        settings=Settings(address.host or None, address.port),
        registry=manager.metrics.registry,
        clock=clock,
    )
    manager.add(server)
