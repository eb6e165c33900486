"""Hand-overs: takes the tickets that are being claimed on each node to their end.

One key is one node, because a node has at most one batch in flight (`rules.claims.handover`). Which tickets, pods and guardians belong
together is asked of indexes by UID; nothing is remembered between turns.
"""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from korder.api import codec
from korder.api.core import NODES, PODS, Pod
from korder.api.meta import Key, OwnerReference, controller_of
from korder.api.plan import NOTHING, Create, Delete, Plan, Step
from korder.api.reserve import TICKETS, Ticket
from korder.kube.errors import ApiError, NotFound, WebhookFailed
from korder.reserve.controllers.claims import (
    BY_CLAIMANT,
    BY_NODE,
    EVERYWHERE,
    HANDED_OVER,
    by_claimant,
    by_node,
    handed_over,
    nodes_of,
    pods_on,
)
from korder.reserve.controllers.schedulers import Schedulers
from korder.reserve.rules.claims import claimsteps, givingback, handover, members, stuck
from korder.reserve.rules.claims.fitting import Site
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.scene import Scene, Settings
from korder.reserve.rules.tickets import guardian
from korder.runtime.manager import Manager

GUARDED = "handovers.ticket"
"""Index of pods: guardians by the UID of their ticket."""
_LAST_TRIES = timedelta(seconds=20)
"""How long before its end a claim ends because a webhook does not answer; until then it is only tried again."""


class HandOvers:
    """Drives the batches of all nodes."""

    def __init__(self, manager: Manager, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._client = manager.client
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._nodes = manager.informers.of(NODES)
        self._schedulers = Schedulers(manager)
        self._pods.add_index(BY_NODE, by_node)
        self._pods.add_index(GUARDED, guarded)
        self._tickets.add_index(BY_CLAIMANT, by_claimant)
        self._tickets.add_index(HANDED_OVER, handed_over)
        self._controller = manager.controller("handovers", self._turn, refused=self._refused)
        self._controller.follow(self._tickets, lambda ticket: map(_key, nodes_of(ticket)))
        self._controller.follow(self._pods, self._nodes_for)
        self._schedulers.on_new(self._tell_all)

    async def _turn(self, key: Key, now: datetime) -> Plan:
        tickets = tuple(self._tickets.reader.where(HANDED_OVER, key.name))
        if not tickets:
            return NOTHING
        node = self._nodes.reader.get(Key("", key.name))
        site = Site(node, pods_on(key.name, self._pods.reader)) if node is not None else None
        return handover.plan(
            Scene(
                key.name,
                site,
                [await self._member(ticket) for ticket in tickets],
                now,
                self._schedulers.at_work,
                self._settings,
            )
        )

    def _refused(self, key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        """Ends the claim whose remainder would have had the guardian that was refused, or whose pod may not be let go, or deleted."""
        made = step.body if isinstance(step, Create) else None
        owner = controller_of(codec.convert(made, PODS.model)) if isinstance(made, dict) else None
        for ticket in self._tickets.reader.where(HANDED_OVER, key.name):
            by = ticket.status.claimed_by
            if by is None:
                continue
            pod = self._pods.reader.get(Key(by.namespace, by.name))
            mine = pod if pod is not None and pod.metadata.uid == by.uid else None
            guardians = tuple(self._pods.reader.where(GUARDED, ticket.metadata.uid))
            member = Member(ticket, mine, guardians)
            if owner is not None and owner.uid == ticket.metadata.uid:
                return givingback.refused(member, error.message, now)
            if mine is not None and claimsteps.lets_go(step, mine):
                passes = isinstance(error, WebhookFailed) and now + _LAST_TRIES < member.deadline
                return None if passes else givingback.kept_back(member, mine, error.message, now)
            if mine is not None and isinstance(step, Delete) and step.uid == mine.metadata.uid:
                alone = replace(self._settings, recreate_stuck_pods=False)
                scene = Scene(key.name, None, (member,), now, settings=alone)
                return stuck.never_bound(scene, member, mine)
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
        owner = ticket_of(pod)
        if owner is not None:
            ticket = self._tickets.reader.get(Key(pod.metadata.namespace, owner.name))
            return map(_key, nodes_of(ticket)) if ticket is not None else ()
        tickets = self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid)
        return [_key(node) for ticket in tickets for node in nodes_of(ticket)]

    def _tell_all(self) -> None:
        for ticket in self._tickets.reader.where(HANDED_OVER, EVERYWHERE):
            for node in nodes_of(ticket):
                self._controller.queue.add(_key(node))


def guarded(pod: Pod) -> Iterable[Hashable]:
    """Index: the ticket whose guardian a pod is."""
    owner = ticket_of(pod)
    return () if owner is None else (owner.uid,)


def ticket_of(pod: Pod) -> OwnerReference | None:
    """The ticket whose guardian a pod is; a kind of this name in another group is none of ours."""
    owner = controller_of(pod)
    if owner is None or owner.kind != TICKETS.kind:
        return None
    return owner if owner.api_version.rpartition("/")[0] == TICKETS.group else None


def _key(node: str) -> Key:
    return Key("", node)
