"""Hand-overs: drives the tickets that are being claimed on each node to their end.

One key is one node, because a node has at most one hand-over at a time. Tickets, pods and guardians are matched by UID through indexes; nothing is
remembered between reconciles. `Schedulers` reads from the lease of kube-scheduler which replica schedules.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from korder.api.reserve import (
    HANDOVER_TAINT,
    TICKETS,
    PodReference,
    Reason,
    Ticket,
)
from korder.reserve import indexes
from korder.reserve.claims import patches as claim_patches
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers import completion, handover_state, plan as handover_plan
from korder.reserve.handovers.handover_state import (
    Handover,
    Member,
    Return,
    Scene,
    SchedulerSigns,
    Settings,
)
from korder.reserve.tickets import guardian, guardian_replacement, plan as ticket_plan
from korder.reserve.tickets.snapshot import is_leaving
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.client.errors import ApiError, NotFound, WebhookFailed
from kubeloop.objects import codec, core
from kubeloop.objects.core import LEASES, NODES, PODS, Lease, Node, Pod
from kubeloop.objects.meta import Key, controller_of
from kubeloop.objects.plan import NOTHING, Create, Delete, Emit, EventType, Patch, Plan, Step
from kubeloop.runtime.informer import Scope
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change

SCHEDULER_LEASE = Key("kube-system", "kube-scheduler")


class Schedulers:
    """The scheduler that is at work now."""

    def __init__(self, manager: Manager) -> None:
        only = Scope(SCHEDULER_LEASE.namespace, fields=f"metadata.name={SCHEDULER_LEASE.name}")
        self._clock = manager.clock
        self._leases = manager.informers.of(LEASES, only)
        self._signs: SchedulerSigns | None = None
        self._leases.on_change(self._seen)

    @property
    def at_work(self) -> str:
        """Its identity, as far as is known."""
        return _holder(self._leases.reader.get(SCHEDULER_LEASE))

    @property
    def signs(self) -> SchedulerSigns | None:
        """What its lease shows; None if it has none."""
        return self._signs if self.at_work else None

    def _seen(self, change: Change[Lease]) -> None:
        """Notes by our own clock that the lease changed: others may be wrong."""
        old, new = change
        now, last = self._clock.now(), self._signs
        is_taken = last is not None and _holder(old) != _holder(new)
        taken = now if is_taken else (last.taken if last is not None else None)
        self._signs = SchedulerSigns(now, taken)

    def on_new(self, call: Callable[[], None]) -> None:
        """Calls when another one takes over; that one renews its lease is no news."""

        def changed(change: Change[Lease]) -> None:
            old, new = change
            if _holder(old) != _holder(new):
                call()

        self._leases.on_change(changed)


def _holder(lease: Lease | None) -> str:
    return (lease.spec.holder_identity or "") if lease is not None else ""


_TAINT_AGAIN = timedelta(seconds=5)
"""How long after the server refused to taint a node it is asked again."""
_TRY_AGAIN = timedelta(seconds=1)
"""How long after a webhook did not answer the pod is let go again."""
_INHERITED_FOR = timedelta(seconds=3)
"""How long a barrier stands at least after this process has first seen it, if another one raised it."""


class _Sighting(NamedTuple):
    """A barrier by its token, and until when it is left alone; None if this process has raised it."""

    token: str
    until: datetime | None


class HandOvers:
    """Drives the batches of all nodes."""

    def __init__(self, manager: Manager, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._client = manager.client
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._nodes = manager.informers.of(NODES)
        self._schedulers = Schedulers(manager)
        self._barriers: dict[str, _Sighting] = {}
        """The last barrier of each node: whether this process raised it, or until when it is not lowered."""
        self._pods.add_indexes(indexes.OF_PODS)
        self._tickets.add_indexes(indexes.OF_TICKETS)
        self._controller = manager.controller("handovers", self._reconcile, refused=self._refused)
        self._controller.follow(
            self._tickets, lambda ticket: map(_key, indexes.nodes_concerned(ticket))
        )
        self._controller.follow(self._pods, self._nodes_for)
        self._nodes.on_change(self._node_changed)
        self._schedulers.on_new(self._tell_all)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        tickets = tuple(self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, key.name))
        node = self._nodes.reader.get(Key("", key.name))
        returning = self._returns(key.name, now)
        leaving = list(self._pods.reader.where(indexes.PODS_LEAVING, key.name))
        if not (tickets or returning or leaving or claim_patches.token_of(node)):
            return NOTHING
        site = (
            Site(node, self._pods.reader.where(indexes.PODS_BY_NODE, key.name))
            if node is not None
            else None
        )
        plan = handover_plan.plan(
            Scene(
                key.name,
                site,
                [await self._member(ticket) for ticket in tickets],
                now,
                self._schedulers.at_work,
                self._settings,
                returning,
                leaving,
                self._schedulers.signs,
                self._inherited_until(node, now),
            )
        )
        token = next(filter(None, map(claim_patches.raised_with, plan.steps)), "")
        if token:
            self._barriers[key.name] = _Sighting(token, None)
        return plan

    def _inherited_until(self, node: Node | None, now: datetime) -> datetime | None:
        """How long a barrier stands at least that another process raised, because our caches may not show its members yet."""
        token, name = claim_patches.token_of(node), node.metadata.name if node is not None else ""
        if not token:
            return None
        known = self._barriers.get(name)
        if known is None or known.token != token:
            known = self._barriers[name] = _Sighting(token, now + _INHERITED_FOR)
        return known.until

    def _returns(self, node: str, now: datetime) -> list[Return]:
        """The tickets that are about to take room on the node back, as far as something can be done for them."""
        if self._settings.handover is not Handover.TAINT:
            return []
        found = (
            self._return(t, now)
            for t in self._tickets.reader.where(indexes.TICKETS_BY_RETURN_NODE, node)
        )
        return [each for each in found if each is not None]

    def _return(self, ticket: Ticket, now: datetime) -> Return | None:
        guardians = tuple(self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid))
        waiting = [pod for pod in guardians if not pod.spec.node_name]
        demand = guardian.demand(ticket)
        if guardian_replacement.is_arriving(ticket):
            is_occupied = any(pod.spec.node_name for pod in guardians)
            return Return(is_occupied, waiting, demand=None if is_occupied else demand)
        if not (ticket.status.shared_by or ticket_plan.returns(ticket, now)):
            return None
        users = [each for each in (ticket.status.claimed_by, *ticket.status.shared_by) if each]
        pods = [self._user(each) for each in users]
        leaving = [pod for pod in pods if pod is not None and is_leaving(pod)]
        if leaving:
            return self._return_of(ticket, leaving, guardians)
        if None in pods:
            return Return(is_occupied=False, waiting=waiting, is_new=True, demand=demand)
        return None

    def _return_of(
        self, ticket: Ticket, leaving: list[Pod], guardians: tuple[Pod, ...]
    ) -> Return | None:
        """The return of room that pods still have; nothing if a guardian has been placed beside the pod."""
        waiting = [pod for pod in guardians if not pod.spec.node_name]
        since = min(map(_deletion_requested_at, leaving))
        if ticket.status.shared_by:
            return Return(is_occupied=True, waiting=waiting, since=since)
        if any(pod.spec.node_name and not is_leaving(pod) for pod in guardians):
            return None
        demand = guardian.demand(ticket)
        return Return(is_occupied=True, waiting=waiting, demand=demand, since=since)

    def _user(self, user: PodReference) -> Pod | None:
        """The pod that has room of a ticket; None if it has ended."""
        pod = self._pods.reader.get(Key(user.namespace, user.name))
        is_there = pod is not None and pod.metadata.uid == user.uid and not core.is_finished(pod)
        return pod if is_there else None

    def _node_changed(self, change: Change[Node]) -> None:
        """A barrier without a hand-over is lowered; one that was removed from outside is raised again."""
        old, new = change
        if new is None and old is not None:
            self._barriers.pop(old.metadata.name, None)
        if new is not None and (claim_patches.token_of(new) or claim_patches.token_of(old)):
            self._controller.queue.add(_key(new.metadata.name))

    def _refused(self, key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        """Ends the claim whose remainder would have had the guardian that was refused, or whose pod may not be let go, or deleted."""
        if isinstance(step, Patch) and step.kind == NODES:
            return self._unprotected(key.name, error, now)
        made = step.body if isinstance(step, Create) else None
        owner = controller_of(codec.convert(made, PODS.model)) if isinstance(made, dict) else None
        for ticket in self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, key.name):
            by = ticket.status.claimed_by
            if by is None:
                continue
            pod = self._pods.reader.get(Key(by.namespace, by.name))
            mine = pod if pod is not None and pod.metadata.uid == by.uid else None
            guardians = tuple(self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid))
            member = Member(ticket, mine, guardians)
            if owner is not None and owner.uid == ticket.metadata.uid:
                return completion.roll_back_refused(member, error.message, now)
            if mine is not None and getattr(step, "uid", "") == mine.metadata.uid:
                return self._refused_for(member, mine, step, error, now)
        return None

    def _refused_for(
        self, member: Member, pod: Pod, step: Step, error: ApiError, now: datetime
    ) -> Plan | None:
        """What follows when a pod may not be changed or deleted; a webhook that does not answer may answer later."""
        if claim_patches.lets_go(step, pod):
            if (
                isinstance(error, WebhookFailed)
                and now + TIMEOUTS.last_retry_before_deadline < member.deadline
            ):
                return Plan().requeue(now + _TRY_AGAIN)
            return completion.roll_back_kept(member, pod, error.message, now)
        if isinstance(step, Patch) and pod.spec.node_name:
            return completion.done(member, pod, now)
        if isinstance(step, Delete):
            alone = replace(self._settings, recreate_stuck_pods=False)
            scene = Scene(member.ticket.status.node_name, None, (member,), now, settings=alone)
            return completion.never_bound(scene, member, pod)
        return None

    def _unprotected(self, node: str, error: ApiError, now: datetime) -> Plan:
        """Says on the tickets that wait for it that the node may not be tainted; nothing is vacated on it, and no pod is kept."""
        why = (
            f"cannot change the taint {HANDOVER_TAINT} of node {node}: {error.message};"
            " repeat `korder install`, or run the manager with --handover=nominate"
        )
        waiting = self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, node)
        emits = (
            Emit(TICKETS, each, Reason.HANDING_OVER, why, EventType.WARNING) for each in waiting
        )
        leaving = self._pods.reader.where(indexes.PODS_LEAVING, node)
        released = map(claim_patches.release, leaving)
        return Plan().then(*released).tell(*emits).requeue(now + _TAINT_AGAIN)

    async def _member(self, ticket: Ticket) -> Member:
        pod = await self._claimant(ticket)
        guardians = tuple(self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid))
        name = self._free_name(ticket)
        if pod is None:
            return Member(ticket, None, guardians, free_name=name)
        best = handover_state.rightful(
            pod, self._tickets.reader.where(indexes.TICKETS_BY_CLAIMANT, pod.metadata.uid)
        )
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
        owner = indexes.ticket_of(pod)
        if owner is not None:
            ticket = self._tickets.reader.get(Key(pod.metadata.namespace, owner.name))
            return map(_key, indexes.nodes_concerned(ticket)) if ticket is not None else ()
        tickets = self._tickets.reader.where(indexes.TICKETS_BY_CLAIMANT, pod.metadata.uid)
        nodes = (node for ticket in tickets for node in indexes.nodes_concerned(ticket))
        return [_key(node) for node in (*nodes, *indexes.leaving_nodes(pod))]

    def _tell_all(self) -> None:
        for ticket in self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, indexes.ALL):
            for node in indexes.handover_nodes(ticket):
                self._controller.queue.add(_key(node))


def _deletion_requested_at(pod: Pod) -> datetime:
    """When a pod that terminates was deleted: its timestamp is the end of its grace."""
    grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return (pod.metadata.deletion_timestamp or handover_state.NEVER + grace) - grace


def _key(node: str) -> Key:
    return Key("", node)
