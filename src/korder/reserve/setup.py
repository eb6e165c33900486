"""Puts the controllers of `reserve` on a manager, one line for each.

`korder manager` calls it on any cluster, `korder up` and simulation on the embedded one. Webhooks are served by `webhooks.serving`, only
where they are installed.
"""

from dataclasses import dataclass

from korder.api.core import NODES
from korder.api.reserve import ORDERS
from korder.reserve.controllers.claims import Claims
from korder.reserve.controllers.counting import Counting
from korder.reserve.controllers.handovers import HandOvers
from korder.reserve.controllers.measuring import Measuring
from korder.reserve.controllers.orders import Orders
from korder.reserve.controllers.pretenders import Pretenders
from korder.reserve.controllers.quotas import Quotas
from korder.reserve.controllers.renewing import Renewing
from korder.reserve.controllers.tickets import Tickets
from korder.reserve.rules.claims import scene
from korder.reserve.rules.claims.scene import Handover
from korder.reserve.rules.tickets import guardian
from korder.reserve.webhooks.gates import Counted
from korder.runtime.manager import Manager


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How orders and tickets are served.

    Attributes:
        guardian_image: What guardians run.
        pull_secrets: Secrets with which that image is pulled, in the namespaces of the tickets.
        allow_system_classes: Whether a ticket may name a priority class of the system.
        recreate_stuck_pods: Whether a pod that was given a ticket and cannot be bound is deleted if its controller makes another.
        handover: What keeps room on a full node while it is handed over.
    """

    guardian_image: str = "registry.k8s.io/pause:3.10"
    pull_secrets: tuple[str, ...] = ()
    allow_system_classes: bool = False
    recreate_stuck_pods: bool = True
    handover: Handover = Handover.TAINT


USUAL = Options()


def add_reserve(manager: Manager, options: Options = USUAL) -> Counted:
    """Puts everything that looks after orders, tickets, quotas and the pods that ask for them on a manager, and what measures it.

    What comes back is what gates ask that serve admission in the same process.
    """
    guardians = guardian.Options(
        options.guardian_image,
        options.pull_secrets,
        options.allow_system_classes,
        options.handover is Handover.NOMINATE,
    )
    counting = Counting(manager)
    Orders(manager, counting)
    Quotas(manager, counting)
    Tickets(manager, guardians, Renewing(counting.tally))
    Claims(manager)
    HandOvers(manager, scene.Settings(options.handover, options.recreate_stuck_pods, guardians))
    Pretenders(manager)
    Measuring(manager)
    nodes, orders = manager.informers.of(NODES).reader, manager.informers.of(ORDERS).reader
    return Counted(counting.tally, nodes.all, orders.get)
