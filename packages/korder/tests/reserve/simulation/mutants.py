"""The reserve domain broken on purpose, each time in one place: what simulation must find.

A mutant is a function that patches the domain while a run is played. Where a fault shows in what is written, plans are changed on their way
from a controller to the server; elsewhere one method of a rule is replaced.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
import inspect
from itertools import chain
from typing import Any

import pytest

from korder.api.quota import QUOTAS, Quota, QuotaSpec
from korder.api.reserve import HANDOVER_TAINT, TICKETS, Order, Ticket
from korder.reserve import indexes
from korder.reserve.handovers import plan as handover_plan
from korder.reserve.handovers.completion import HandoverSteps, Members
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.handovers.handover_state import Member
from korder.reserve.orders import plan as order_plan, template as order_template
from korder.reserve.orders.pools import Account, Grant, OrderPools
from korder.reserve.quotas import (
    charging,
    charging as quotaplan,
    limits as quota_limits,
    verdict as quota_verdict,
)
from korder.reserve.quotas.limits import InForce, Limits
from korder.reserve.quotas.quota_cache import Item, QuotaCache
from korder.reserve.tickets import guardian, plan as ticket_plan, reserve_phase
from korder.reserve.tickets.controller import Tickets
from korder.reserve.tickets.snapshot import Snapshot
from kubeloop.objects import quantity
from kubeloop.objects.core import NODES, PODS, Pod, Toleration
from kubeloop.objects.meta import Key, ObjectMeta, key_of
from kubeloop.objects.plan import Create, Delete, Patch, Plan, Step
from kubeloop.objects.quantity import Quantity
from kubeloop.runtime.manager import Manager

Change = Callable[[Plan], Plan]
Reconciler = Callable[[Key, datetime], Plan | Awaitable[Plan]]


def tampered(patch: pytest.MonkeyPatch, names: Iterable[str], change: Change) -> None:
    """Changes all plans of some controllers before they are applied."""
    honest, chosen = Manager.controller, frozenset(names)

    def controller(manager: Manager, name: str, reconcile: Reconciler, **options: Any) -> Any:
        async def changed(key: Key, now: datetime) -> Plan:
            plan = reconcile(key, now)
            return change(await plan if inspect.isawaitable(plan) else plan)

        return honest(manager, name, changed if name in chosen else reconcile, **options)

    patch.setattr(Manager, "controller", controller)


def steps(change: Callable[[Step], Step]) -> Change:
    """Changes every step of a plan."""

    def changed(plan: Plan) -> Plan:
        stages = tuple(tuple(map(change, stage)) for stage in plan.stages)
        return replace(plan, stages=stages, lanes=tuple(map(changed, plan.lanes)))

    return changed


def claims_without_precondition(patch: pytest.MonkeyPatch) -> None:
    def blind(step: Step) -> Step:
        ours = isinstance(step, Patch) and step.kind == TICKETS
        return replace(step, resource_version="") if ours else step

    tampered(patch, ["claims"], steps(blind))


def knows_pods_by_name(patch: pytest.MonkeyPatch) -> None:
    def member(self: HandOvers, ticket: Ticket) -> Member:
        guardians = tuple(self._pods.reader.where(indexes.PODS_BY_TICKET, ticket.metadata.uid))
        by = ticket.status.claimed_by
        pod = self._pods.reader.get(Key(by.namespace, by.name)) if by is not None else None
        return Member(ticket, pod, guardians)

    async def users(self: Tickets, ticket: Ticket) -> dict[str, Pod]:
        found = (
            (ref.uid, self._pods.reader.get(Key(ref.namespace, ref.name)))
            for ref in indexes.users_of(ticket)
        )
        return {uid: pod for uid, pod in found if pod is not None}

    patch.setattr(HandOvers, "_member", member)
    patch.setattr(Tickets, "_users", users)


def raises_no_barrier(patch: pytest.MonkeyPatch) -> None:
    def without(plan: Plan) -> Plan:
        stages = (tuple(s for s in stage if s.kind != NODES) for stage in plan.stages)
        return replace(
            plan, stages=tuple(filter(None, stages)), lanes=tuple(map(without, plan.lanes))
        )

    tampered(patch, ["handovers"], without)


def lets_go_before_the_guardian_is_gone(patch: pytest.MonkeyPatch) -> None:
    def vacate(self: handover_plan._Barrier, member: Member, pod: Pod) -> None:
        self._open(member, pod, self._token)

    patch.setattr(handover_plan._Barrier, "_vacate", vacate)


def lowers_the_barrier_when_the_guardian_is_gone(patch: pytest.MonkeyPatch) -> None:
    """It does not wait until the pod is bound."""
    admit, watch_alone = handover_plan._Barrier._admit, handover_plan._Barrier._watch_alone

    def admit_only(self: handover_plan._Barrier, members: Members) -> None:
        needed = self._is_needed
        admit(self, members)
        self._is_needed = needed or any(member.standing for member, _ in members)

    def watch_only(self: handover_plan._Barrier, member: Member, pod: Pod) -> None:
        needed = self._is_needed
        watch_alone(self, member, pod)
        self._is_needed = needed

    patch.setattr(handover_plan._Barrier, "_admit", admit_only)
    patch.setattr(handover_plan._Barrier, "_watch_alone", watch_only)


def lowers_the_barrier_when_a_claim_is_undone(patch: pytest.MonkeyPatch) -> None:
    """Room that was vacated for a claim is free for any pod until the ticket's guardian is back."""

    def end(self: handover_plan._Barrier, member: Member, ending: Plan) -> None:
        HandoverSteps.end(self, member, ending)

    patch.setattr(handover_plan._Barrier, "end", end)


def lets_one_failure_stop_all_members_of_a_node(patch: pytest.MonkeyPatch) -> None:
    """The steps of all members are stages of one plan, one member after the other; the first failing stage ends the plan."""

    def stages(plan: Plan) -> tuple[tuple[Step, ...], ...]:
        return *plan.stages, *chain.from_iterable(map(stages, plan.lanes))

    def together(plan: Plan) -> Plan:
        emits = (*plan.emits, *(n for lane in plan.lanes for n in lane.emits))
        return Plan(stages(plan), emits, plan.requeue_at)

    tampered(patch, ["handovers"], together)


def never_falls_back_to_the_slow_path(patch: pytest.MonkeyPatch) -> None:
    """A pod whose free room was taken waits beside its guardian until the deadline."""
    honest = handover_plan._Barrier._watch_beside

    def watch_beside(self: handover_plan._Barrier, member: Member, pod: Pod) -> None:
        if member.deadline <= self.scene.now:
            honest(self, member, pod)
        else:
            self.requeue_at.append(member.deadline)

    patch.setattr(handover_plan._Barrier, "_watch_beside", watch_beside)


def guardians_tolerate_the_barrier(patch: pytest.MonkeyPatch) -> None:
    """A template that tolerates every taint gets guardians that pass the barrier too."""
    honest = guardian._tolerations

    def tolerations(wanted: Iterable[Toleration], place: guardian.Place) -> Iterable[Toleration]:
        yield from honest(wanted, place)
        if any(map(guardian._is_unlimited, wanted)):
            yield Toleration(key=HANDOVER_TAINT, operator="Exists")

    patch.setattr(guardian, "_tolerations", tolerations)


def replaces_tickets_instead_of_renewing_them(patch: pytest.MonkeyPatch) -> None:
    """A ticket expires and its guardian goes before its successor, a new ticket, holds room."""

    def not_renewed(_: Order) -> None:
        return None

    patch.setattr(order_template, "renewal", not_renewed)


def keeps_unbound_members_until_their_deadline(patch: pytest.MonkeyPatch) -> None:
    """A pod that no scheduler binds keeps the node's barrier up for a minute."""

    def unbound_due(_: handover_plan._Barrier, member: Member, __: Pod) -> datetime:
        return member.deadline

    patch.setattr(handover_plan._Barrier, "_unbound_due", unbound_due)


def deletes_guardians_by_name(patch: pytest.MonkeyPatch) -> None:
    def blind(step: Step) -> Step:
        ours = isinstance(step, Delete) and step.kind == PODS
        return replace(step, uid="") if ours else step

    tampered(patch, ["handovers"], steps(blind))


def forgets_when_tickets_expire(patch: pytest.MonkeyPatch) -> None:
    tampered(patch, ["tickets"], lambda plan: replace(plan, requeue_at=None))


def counts_the_ttl_from_now(patch: pytest.MonkeyPatch) -> None:
    def aftermath(snapshot: Snapshot, now: datetime) -> Plan:
        if snapshot.guardians:
            return snapshot.dismissal(snapshot.guardians, now)
        seconds = snapshot.ticket.spec.lifecycle.ttl_seconds_after_finished
        return Plan().requeue(now + timedelta(seconds=seconds + 1))

    patch.setattr(ticket_plan, "_aftermath", aftermath)


def reserves_before_the_guardian_is_bound(patch: pytest.MonkeyPatch) -> None:
    honest = reserve_phase._held

    def held(snapshot: Snapshot, left: Any, now: datetime) -> Plan:
        made = [pod for pod in snapshot.live if not pod.spec.node_name]
        return (
            reserve_phase._guarded(snapshot, made[0], now) if made else honest(snapshot, left, now)
        )

    patch.setattr(reserve_phase, "_held", held)


def names_tickets_by_their_number(patch: pytest.MonkeyPatch) -> None:
    def numbers(
        snapshot: Any, order_pools: OrderPools, account: Account, wanted: int
    ) -> frozenset[int]:
        first = len(snapshot.tickets)
        order_pools.next_index = max(order_pools.next_index, first + wanted)
        return frozenset(range(first, first + wanted))

    patch.setattr(order_plan, "_numbers", numbers)


def misses_pods_that_vanish_while_it_is_down(patch: pytest.MonkeyPatch) -> None:
    """It releases a ticket when it has seen its pod before; what it has never seen it takes for alive."""
    honest, seen = Tickets._users, dict[Tickets, set[str]]()

    async def users(self: Tickets, ticket: Ticket) -> dict[str, Pod]:
        found = await honest(self, ticket)
        known = seen.setdefault(self, set())
        known.update(found)
        for reference in indexes.users_of(ticket):
            if reference.uid not in known:
                found[reference.uid] = Pod(metadata=ObjectMeta(uid=reference.uid))
        return found

    patch.setattr(Tickets, "_users", users)


def counts_a_refill_twice(patch: pytest.MonkeyPatch) -> None:
    """It remembers how many tickets it has asked for instead of reading it, and writes its books over whatever is there."""
    honest, asked = order_plan._numbers, dict[tuple[str, str], int]()

    def numbers(
        snapshot: Any, order_pools: OrderPools, account: Account, wanted: int
    ) -> frozenset[int]:
        meta = snapshot.order.metadata
        at = meta.uid, meta.resource_version
        more = asked[at] = asked.get(at, 0) + wanted
        return honest(snapshot, order_pools, account, more)

    def blind(step: Step) -> Step:
        ours = isinstance(step, Patch) and step.subresource == "status"
        return replace(step, resource_version="") if ours else step

    patch.setattr(order_plan, "_numbers", numbers)
    tampered(patch, ["orders"], steps(blind))


def reads_the_ledger_from_its_cache(patch: pytest.MonkeyPatch) -> None:
    """It writes what it has worked out from what it saw last over whatever is there."""

    def blind(step: Step) -> Step:
        ours = isinstance(step, Patch) and step.kind == QUOTAS
        return replace(step, resource_version="") if ours else step

    tampered(patch, ["orders"], steps(blind))


def makes_before_it_charges(patch: pytest.MonkeyPatch) -> None:
    """What is made is only counted when it is seen."""
    honest = charging.grant

    def grant(
        view: charging.View, order: Order, wanted: Sequence[Create], now: datetime
    ) -> tuple[Grant, frozenset[str]]:
        granted, short = honest(view, order, wanted, now)
        return replace(granted, charges=()), short

    patch.setattr(charging, "grant", grant)


def polls_for_edges_of_windows(patch: pytest.MonkeyPatch) -> None:
    """Every two minutes it looks at each quota, and sets no timer."""
    honest = quotaplan.plan

    def plan(view: charging.View, quota: Quota, now: datetime, never_made: Any = ()) -> Plan:
        return replace(honest(view, quota, now, never_made), requeue_at=now + timedelta(minutes=2))

    patch.setattr(quotaplan, "plan", plan)


def counts_in_whole_units(patch: pytest.MonkeyPatch) -> None:
    """Three times 500m are three."""
    honest = quota_verdict._charge

    def charge(held: Mapping[str, Quantity]) -> dict[str, Quantity]:
        return honest({name: quantity.parse(amount.value()) for name, amount in held.items()})

    patch.setattr(quota_verdict, "_charge", charge)


def multiplies_whole_units(patch: pytest.MonkeyPatch) -> None:
    """Half of 2500m is one and a half, as 2500m are three."""
    honest = quota_limits.in_force

    def in_force(spec: QuotaSpec, instant: datetime) -> InForce:
        force = honest(spec, instant)
        if not force.windows:
            return force
        whole = {key: quantity.parse(a.value()) for key, a in force.hard.amounts.items()}
        return replace(force, hard=Limits(whole, force.hard.longest))

    patch.setattr(quota_limits, "in_force", in_force)


def counts_a_release_twice(patch: pytest.MonkeyPatch) -> None:
    """Once when a ticket ends, and once more when it goes."""
    honest = QuotaCache.ticket_changed

    def ticket_changed(self: QuotaCache, old: Ticket | None, new: Ticket | None) -> None:
        if old is not None and new is None and not quota_verdict.of_ticket(old):
            again = {key: -amount for key, amount in quota_verdict.of_new(old.spec).items()}
            for book, inside in self._entered.get(("Ticket", *key_of(old)), ()):
                book.count(Item({}, again), inside, 1)
        honest(self, old, new)

    patch.setattr(QuotaCache, "ticket_changed", ticket_changed)
