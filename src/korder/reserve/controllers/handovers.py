"""Hand-overs: takes the tickets that are being claimed on each node to their end.

One key is one node, because a node has at most one batch in flight (`rules.claims.handover`). Which tickets, pods and guardians belong
together is asked of indexes by UID; nothing is remembered between turns. The lease of kube-scheduler is watched because a scheduler that
has just begun does not know of nominations of gated pods, up to 1.36: every new one is told again.
"""

from collections.abc import Hashable, Iterable
from datetime import datetime

from korder.api import codec
from korder.api.core import LEASES, NODES, PODS, Lease, Pod
from korder.api.meta import Key, controller_of
from korder.api.plan import NOTHING, Create, Plan, Step
from korder.api.reserve import TICKETS, Ticket, TicketPhase
from korder.kube.errors import ApiError, NotFound
from korder.reserve.controllers.claims import BY_CLAIMANT, BY_NODE, by_claimant, by_node, pods_on
from korder.reserve.rules.claims import handover, members
from korder.reserve.rules.claims.fitting import Site
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.scene import Scene, Settings
from korder.reserve.rules.tickets import guardian
from korder.runtime.informer import Scope
from korder.runtime.manager import Manager

SCHEDULER_LEASE = Key("kube-system", "kube-scheduler")
HANDED_OVER = "handovers.node"
"""Index of tickets: by the node on which they are handed over."""
GUARDED = "handovers.ticket"
"""Index of pods: guardians by the UID of their ticket."""
_ALL = ""


class HandOvers:
    """Drives the batches of all nodes."""

    def __init__(self, manager: Manager, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._client = manager.client
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._nodes = manager.informers.of(NODES)
        only = Scope(SCHEDULER_LEASE.namespace, fields=f"metadata.name={SCHEDULER_LEASE.name}")
        self._leases = manager.informers.of(LEASES, only)
        self._pods.add_index(BY_NODE, by_node)
        self._pods.add_index(GUARDED, guarded)
        self._tickets.add_index(BY_CLAIMANT, by_claimant)
        self._tickets.add_index(HANDED_OVER, handed_over)
        controller = manager.controller("handovers", self._turn, refused=self._refused)
        controller.follow(self._tickets, lambda ticket: map(_key, _nodes_of(ticket)))
        controller.follow(self._pods, self._nodes_for)
        controller.follow(self._leases, self._all_nodes)

    async def _turn(self, key: Key, now: datetime) -> Plan:
        tickets = tuple(self._tickets.reader.where(HANDED_OVER, key.name))
        if not tickets:
            return NOTHING
        node = self._nodes.reader.get(Key("", key.name))
        site = Site(node, pods_on(key.name, self._pods.reader)) if node is not None else None
        lease = self._leases.reader.get(SCHEDULER_LEASE)
        return handover.plan(
            Scene(
                key.name,
                site,
                [await self._member(ticket) for ticket in tickets],
                now,
                (lease.spec.holder_identity or "") if lease is not None else "",
                self._settings,
            )
        )

    def _refused(self, key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        """Ends the claim whose remainder would have had the guardian that was refused."""
        if not isinstance(step, Create) or not isinstance(step.body, dict):
            return None
        owner = controller_of(codec.convert(step.body, PODS.model))
        for ticket in self._tickets.reader.where(HANDED_OVER, key.name):
            by = ticket.status.claimed_by
            if owner is not None and owner.uid == ticket.metadata.uid and by is not None:
                pod = self._pods.reader.get(Key(by.namespace, by.name))
                mine = pod if pod is not None and pod.metadata.uid == by.uid else None
                guardians = tuple(self._pods.reader.where(GUARDED, ticket.metadata.uid))
                return handover.refused(Member(ticket, mine, guardians), error.message, now)
        return None

    async def _member(self, ticket: Ticket) -> Member:
        pod = await self._claimant(ticket)
        guardians = tuple(self._pods.reader.where(GUARDED, ticket.metadata.uid))
        name = self._free_name(ticket)
        if pod is None:
            return Member(ticket, None, guardians, free_name=name)
        best = members.rightful(pod, self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid))
        is_rival = best is not None and best.metadata.uid != ticket.metadata.uid
        return Member(ticket, pod, guardians, is_rival, name)

    async def _claimant(self, ticket: Ticket) -> Pod | None:
        """The pod that claims; a cache that does not show it may only be late, so the server is asked."""
        by = ticket.status.claimed_by
        if by is None:
            return None
        key = Key(by.namespace, by.name)
        pod = self._pods.reader.get(key)
        if pod is None or pod.metadata.uid != by.uid:
            try:
                pod = await self._client.get(PODS, key)
            except NotFound:
                return None
        return pod if pod.metadata.uid == by.uid else None

    def _free_name(self, ticket: Ticket) -> str:
        space, taken = ticket.metadata.namespace, self._pods.reader.get
        return next(name for name in guardian.names(ticket) if taken(Key(space, name)) is None)

    def _nodes_for(self, pod: Pod) -> Iterable[Key]:
        """The nodes on which a pod takes part in a hand-over, as guardian or as heir."""
        owner = controller_of(pod)
        if owner is not None and owner.kind == TICKETS.kind:
            ticket = self._tickets.reader.get(Key(pod.metadata.namespace, owner.name))
            return map(_key, _nodes_of(ticket)) if ticket is not None else ()
        tickets = self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid)
        return [_key(node) for ticket in tickets for node in _nodes_of(ticket)]

    def _all_nodes(self, _: Lease) -> Iterable[Key]:
        tickets = self._tickets.reader.where(HANDED_OVER, _ALL)
        return [_key(node) for ticket in tickets for node in _nodes_of(ticket)]


def _nodes_of(ticket: Ticket) -> Iterable[str]:
    is_claiming = ticket.status.phase is TicketPhase.CLAIMING
    return (ticket.status.node_name,) if is_claiming and ticket.status.node_name else ()


def handed_over(ticket: Ticket) -> Iterable[Hashable]:
    """Index: the node on which a ticket is handed over, and all that are."""
    for node in _nodes_of(ticket):
        yield node
        yield _ALL


def guarded(pod: Pod) -> Iterable[Hashable]:
    """Index: the ticket whose guardian a pod is."""
    owner = controller_of(pod)
    return (owner.uid,) if owner is not None and owner.kind == TICKETS.kind else ()


def _key(node: str) -> Key:
    return Key("", node)
