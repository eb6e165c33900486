"""The ticket controller: gathers all about one ticket, lets the rules decide, and hands their plan to the runtime.

`setup` puts it on a manager; `korder.reserve.tickets.plan` decides. A turn reads only what its ticket's indexes name, however many tickets there
are. A pod or node that the caches do not show may only be late: before a ticket is released or a guardian taken for lost, the server
itself is asked.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from korder.api.reserve import TICKETS, Ticket, TicketPhase
from korder.reserve import indexes
from korder.reserve.claims import patches as claim_patches, requirements
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers.controller import Schedulers
from korder.reserve.quotas.controller import Renewing
from korder.reserve.tickets import guardian, guardian_replacement, plan
from korder.reserve.tickets.guardian import Options
from korder.reserve.tickets.snapshot import Snapshot, is_leaving
from kubeloop.client.errors import ApiError, NotFound
from kubeloop.objects import node_room
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Node, Pod
from kubeloop.objects.meta import HasMetadata, Key, Kind, controller_of, key_of, owned_by
from kubeloop.objects.plan import NOTHING, Create, Plan, Step
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change

T = TypeVar("T", bound=HasMetadata)

_CATCH_UP = timedelta(seconds=1)
"""How long to wait for a cache that is behind."""
_MOST_AVOIDED = 100
"""How many nodes a guardian is kept from; where more are cordoned, the scheduler may take it to one and it moves on."""


class Tickets:
    """Looks after all tickets."""

    def __init__(
        self,
        manager: Manager,
        options: Options | None = None,
        renewing: Renewing | None = None,
    ) -> None:
        self._options = options or Options()
        self._renewing = renewing
        self._shrunk: set[str] = set()
        """Nodes that may have less than their pods request: new ones, and those that were resized."""
        self._client = manager.client
        self._tickets = manager.informers.of(TICKETS)
        self._pods = manager.informers.of(PODS)
        self._nodes = manager.informers.of(NODES)
        self._namespaces = manager.informers.of(NAMESPACES)
        self._tickets.add_indexes(indexes.OF_TICKETS)
        self._nodes.add_indexes(indexes.OF_NODES)
        self._pods.add_indexes(indexes.OF_PODS)
        self._schedulers = Schedulers(manager)
        self._controller = manager.controller(
            "tickets", self._reconcile, workers=32, refused=self._refused
        )
        self._controller.follow(self._pods, self._concerned)
        self._tickets.on_change(self._ticket_changed)
        self._nodes.on_change(self._node_changed)
        self._schedulers.on_new(self._tell_all)

    def _concerned(self, pod: Pod) -> Iterable[Key]:
        """The ticket that a guardian belongs to, and the tickets that a pod uses."""
        owner = controller_of(pod)
        if owner is not None and owner.kind == TICKETS.kind:
            yield Key(pod.metadata.namespace, owner.name)
        yield from map(
            key_of, self._tickets.reader.where(indexes.TICKETS_BY_USER, pod.metadata.uid)
        )

    def _ticket_changed(self, change: Change[Ticket]) -> None:
        old, new = change
        if old is None or new is None or not plan.is_reworded(old, new):
            self._controller.queue.add(key_of(change.objects[0]))

    def _node_changed(self, change: Change[Node]) -> None:
        """Heartbeats concern nobody: only a node that comes, goes, is cordoned, or is resized does."""
        old, new = change
        if old is not None and new is not None and _same(old, new):
            return
        name = change.objects[0].metadata.name
        if old is None or (new is not None and new.status.allocatable != old.status.allocatable):
            self._shrunk.add(name)
        for ticket in self._tickets.reader.where(indexes.TICKETS_BY_NODE, name):
            self._controller.queue.add(key_of(ticket))
        if self._is_open(name):
            self._tell(indexes.GUARDIANS_AVOIDING, name)

    def _tell_all(self) -> None:
        """Another scheduler has to be told which guardians are promised room."""
        self._tell(indexes.GUARDIANS_NOMINATED, indexes.ALL)

    def _tell(self, index: str, value: str) -> None:
        """Lets the tickets of these guardians be looked at."""
        for pod in self._pods.reader.where(index, value):
            for key in self._concerned(pod):
                self._controller.queue.add(key)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        ticket = self._tickets.reader.get(key)
        if ticket is None:
            return NOTHING
        guardians = tuple(self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid))
        if await self._is_behind(ticket, guardians):
            return Plan().requeue(now + _CATCH_UP)
        snapshot = Snapshot(
            ticket,
            self._options,
            guardians,
            await self._users(ticket),
            await self._nodes_of(ticket, guardians),
            self._free_name(ticket),
            self._ends(key.namespace),
            self._is_busy(ticket.status.node_name),
            self._is_awaited(ticket),
            partial(self._promised, ticket),
            self._schedulers.at_work,
            self._cordoned,
            self._is_open,
            self._barred,
            self._taint_keys,
            partial(self._has_room, ticket.status.node_name),
            self._overbooked,
        )
        if self._tickets.reader.get(key) is not ticket:
            return Plan().requeue(now)
        return plan.plan(snapshot, now)

    def _refused(self, key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        ticket = self._tickets.reader.get(key)
        if ticket is None or not isinstance(step, Create):
            return None
        return plan.refused(ticket, error.message, now)

    async def _is_behind(self, ticket: Ticket, guardians: tuple[Pod, ...]) -> bool:
        """Says whether the guardian that is said to hold the room exists though it is not to be seen yet."""
        namespace, _, name = ticket.status.guardian_pod.partition("/")
        known = any(pod.metadata.name == name for pod in guardians)
        is_guarded = ticket.status.phase in (TicketPhase.RESERVED, TicketPhase.PENDING)
        if not is_guarded or known or not name:
            return False
        pod = await self._find(PODS, self._pods, Key(namespace, name))
        return pod is not None and owned_by(pod, ticket.metadata.uid)

    async def _users(self, ticket: Ticket) -> dict[str, Pod]:
        found: dict[str, Pod] = {}
        for reference in indexes.users_of(ticket):
            key = Key(reference.namespace, reference.name)
            pod = self._pods.reader.get(key)
            if pod is None or pod.metadata.uid != reference.uid:
                pod = await self._ask(PODS, key)
            if pod is not None and pod.metadata.uid == reference.uid:
                found[reference.uid] = pod
        return found

    async def _nodes_of(self, ticket: Ticket, guardians: tuple[Pod, ...]) -> dict[str, Node]:
        names = (ticket.status.node_name, *(pod.spec.node_name for pod in guardians))
        found = {
            name: await self._find(NODES, self._nodes, Key("", name))
            for name in dict.fromkeys(filter(None, names))
        }
        return {name: node for name, node in found.items() if node is not None}

    async def _find(self, kind: Kind[T], informer: Informer[T], key: Key) -> T | None:
        return informer.reader.get(key) or await self._ask(kind, key)

    async def _ask(self, kind: Kind[T], key: Key) -> T | None:
        try:
            return await self._client.get(kind, key)
        except NotFound:
            return None

    def _free_name(self, ticket: Ticket) -> str:
        space, taken = ticket.metadata.namespace, self._pods.reader.get
        return next(name for name in guardian.names(ticket) if taken(Key(space, name)) is None)

    def _is_busy(self, node: str) -> bool:
        """Says whether room is being handed over on the node."""
        return bool(node and self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, node))

    def _is_awaited(self, ticket: Ticket) -> bool:
        """Says whether another ticket on the node is about to take back room that nobody has any more."""
        others = self._tickets.reader.where(
            indexes.TICKETS_BY_ARRIVAL_NODE, ticket.status.node_name
        )
        return any(other is not ticket and not self._is_held(other) for other in others)

    def _cordoned(self) -> list[str]:
        nodes = self._nodes.reader.where(indexes.NODES_CORDONED, indexes.ALL)
        return sorted(node.metadata.name for node in nodes)[:_MOST_AVOIDED]

    def _taint_keys(self) -> list[str]:
        return [str(key) for key in self._nodes.reader.values(indexes.NODES_BY_TAINT_KEY)]

    def _has_room(self, name: str, pod: Pod) -> bool:
        node = self._nodes.reader.get(Key("", name))
        if node is None or node.spec.unschedulable:
            return False
        there = self._pods.reader.where(indexes.PODS_BY_NODE, name)
        room = node_room.room_of(node, [each for each in there if not self._is_followed(each)])
        return not room.lacks(node_room.demand_of(pod))

    def _is_followed(self, pod: Pod) -> bool:
        """Says whether a pod terminates whose ticket already has a guardian beside it: its room is left to others that return."""
        if not is_leaving(pod):
            return False
        tickets = self._tickets.reader.where(indexes.TICKETS_BY_USER, pod.metadata.uid)
        uids = [ticket.metadata.uid for ticket in tickets if not ticket.status.shared_by]
        guardians = (
            g for uid in uids for g in self._pods.reader.where(indexes.PODS_BY_TICKET, uid)
        )
        return any(g.spec.node_name == pod.spec.node_name for g in guardians)

    def _overbooked(self, pod: Pod) -> Collection[str]:
        """Names what a bound pod requests and its node has too little of; only nodes that may be too small are counted."""
        name = pod.spec.node_name
        node = self._nodes.reader.get(Key("", name))
        if name not in self._shrunk or node is None:
            return ()
        site = Site(node, self._pods.reader.where(indexes.PODS_BY_NODE, name))
        if not requirements.is_overbooked(site):
            self._shrunk.discard(name)
        return requirements.overbooked(site, node_room.demand_of(pod))

    def _is_open(self, name: str) -> bool:
        node = self._nodes.reader.get(Key("", name))
        return node is not None and not node.spec.unschedulable

    def _promised(self, ticket: Ticket) -> list[Pod]:
        """The guardians of other tickets that are promised room on the node which is still in use."""
        return [
            pod
            for pod in self._pods.reader.where(indexes.PODS_BY_NODE, ticket.status.node_name)
            if guardian.is_gated(pod)
            and not owned_by(pod, ticket.metadata.uid)
            and not self._finds_room(pod)
        ]

    def _finds_room(self, waiting: Pod) -> bool:
        owner = controller_of(waiting)
        key = Key(waiting.metadata.namespace, owner.name if owner is not None else "")
        ticket = self._tickets.reader.get(key)
        return (
            ticket is not None
            and guardian_replacement.is_arriving(ticket)
            and not self._is_held(ticket)
        )

    def _is_held(self, ticket: Ticket) -> bool:
        """Says whether a guardian of the ticket is on some node, be it that it is about to go."""
        guardians = self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid)
        return any(pod.spec.node_name for pod in guardians)

    def _barred(self, ticket: Ticket, now: datetime) -> str:
        return "" if self._renewing is None else self._renewing.barred(ticket, now)

    def _ends(self, name: str) -> bool:
        namespace = self._namespaces.reader.get(Key("", name))
        return namespace is not None and namespace.metadata.deletion_timestamp is not None


def _same(old: Node, new: Node) -> bool:
    return (
        old.metadata.uid == new.metadata.uid
        and old.spec.unschedulable == new.spec.unschedulable
        and old.status.allocatable == new.status.allocatable
        and claim_patches.token_of(old) == claim_patches.token_of(new)
    )
