"""Keeps the tickets of every order: gathers an order and what it owns, asks the rules, and lets the runtime apply the plan.

Upstream: `setup` puts it on a manager. Downstream: `korder.reserve.orders.plan`, `korder.reserve.orders.daemonset` for DaemonSet mode, `korder.reserve.orders.plan`. Tickets
belong to an order by the UID of their owner reference, never by label. A change of a ticket is looked at a breath later, together with
what follows it: of a thousand tickets that become Reserved an order hears a few times, not a thousand. So is a status that we wrote, or
each look at a busy order would lead to the next one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import NODE_LABEL, ORDER_UID_LABEL, ORDERS, TICKETS, Order, Ticket
from korder.reserve import indexes
from korder.reserve.orders import assignments, daemonset, plan, pools
from korder.reserve.orders.pools import Grant, Granting, freely
from korder.reserve.quotas import charging
from korder.reserve.quotas.controller import QuotaCounter
from korder.reserve.quotas.ledger import gives_more
from kubeloop.client.errors import ApiError
from kubeloop.objects.core import NODES, Node
from kubeloop.objects.meta import Key, controller_of, key_of, owned_by
from kubeloop.objects.plan import NOTHING, Create, Plan, Step
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change

DEBOUNCE_SECONDS = 0.25
"""Seconds between a change of a ticket or node and the look at its order."""
_DEBOUNCE_SECONDS_PER_NODE = 0.000_15
"""Seconds more for each node in DaemonSet mode, where a look costs as much as there are nodes: at 5,000 of them a second."""
_CATCH_UP = timedelta(seconds=1)
"""How long to wait for a cache that is behind."""


class Orders:
    """Runs all orders."""

    def __init__(self, manager: Manager, quota_counter: QuotaCounter | None = None) -> None:
        self._orders = manager.informers.of(ORDERS)
        self._tickets = manager.informers.of(TICKETS)
        self._tickets.add_indexes(indexes.OF_TICKETS)
        self._nodes = manager.informers.of(NODES)
        self._orders.add_indexes(indexes.OF_ORDERS)
        self._trusted: set[str] = set()
        """UIDs of orders of which all tickets have been seen in this term: what is gone from then on is gone."""
        manager.on_elected(self._trusted.clear)
        self._gone: dict[str, dict[str, Ticket]] = {}
        """By the UIDs of orders, the tickets that this life has seen go, by name, as they were last."""
        self._quota_counter = quota_counter
        self._short: dict[str, dict[Key, None]] = {}
        """By the names of quotas, the orders that wait for room in them, in the order in which they came."""
        self._client = manager.client
        self._controller = manager.controller("orders", self._reconcile, refused=self._refused)
        self._orders.on_change(self._order_changed)
        self._tickets.on_change(self._ticket_changed)
        self._nodes.on_change(self._node_changed)
        if quota_counter is not None:
            manager.informers.of(QUOTAS).on_change(self._quota_changed)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        order = self._orders.reader.get(key)
        if order is None:
            return NOTHING
        tickets = tuple(self._tickets.reader.where(indexes.TICKETS_BY_OWNER, order.metadata.uid))
        if await self._is_behind(order, tickets):
            return Plan().requeue(now + _CATCH_UP)
        if order.metadata.deletion_timestamp is not None:
            self._gone.pop(order.metadata.uid, None)
            return plan.ending(order, tickets)
        return plan.beginning(order) or self._decide(order, tickets, now)

    def _decide(self, order: Order, tickets: tuple[Ticket, ...], now: datetime) -> Plan:
        def taken(name: str) -> bool:
            return self._tickets.reader.get(Key(order.metadata.namespace, name)) is not None

        if order.spec.daemon_set:
            nodes, rivals = self._nodes.reader.all(), self._rivals_of(order)
            return daemonset.plan(
                daemonset.Snapshot(
                    order, tickets, nodes, now, taken, rivals, self._granting(order, now)
                )
            )
        gone = self._gone_of(order)
        granting = self._granting(order, now)
        return plan.plan(pools.Snapshot(order, tickets, now, taken, gone, granting))

    def _granting(self, order: Order, now: datetime) -> Granting:
        """Asks the ledgers of all quotas, and remembers which of them have no room for the order."""
        if self._quota_counter is None:
            return freely
        view, key = self._quota_counter.view, key_of(order)

        def grant(wanted: Sequence[Create]) -> Grant:
            granted, short = charging.grant(view, order, wanted, now)
            for name in short:
                self._short.setdefault(name, {})[key] = None
            return granted

        return grant

    def _gone_of(self, order: Order) -> Collection[Ticket]:
        """Tickets that went before the order could note that they were made, or how they ended; what it has noted is forgotten here."""
        uid = order.metadata.uid
        left = pools.unsettled(order, self._gone.pop(uid, {}))
        if left:
            self._gone[uid] = left
        return left.values()

    async def _is_behind(self, order: Order, tickets: Collection[Ticket]) -> bool:
        """Says whether tickets that seem gone are only late to be seen, as they may be at the beginning of a term."""
        meta = order.metadata
        if meta.uid in self._trusted:
            return False
        ends_bare = meta.deletion_timestamp is not None and not tickets
        if ends_bare or pools.misses_some(order, tickets):
            labels = f"{ORDER_UID_LABEL}={meta.uid}"
            listed = (await self._client.list(TICKETS, meta.namespace, labels=labels)).items
            seen = {ticket.metadata.uid for ticket in tickets}
            if any(each.metadata.uid not in seen and owned_by(each, meta.uid) for each in listed):
                return True
        self._trusted.add(meta.uid)
        return False

    def _refused(self, key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        order = self._orders.reader.get(key)
        if order is None or not isinstance(step, Create):
            return None
        return plan.refused(order, error.message, now)

    def _rivals_of(self, order: Order) -> Callable[[str], Iterable[str]]:
        """Finds the other orders that have a ticket on a node."""

        def rivals(node: str) -> Iterable[str]:
            for ticket in self._tickets.reader.where(indexes.TICKETS_BY_ASSIGNED_NODE, node):
                owner = controller_of(ticket)
                if owner is not None and owner.uid != order.metadata.uid:
                    yield f"order {ticket.metadata.namespace}/{owner.name}"

        return rivals

    def _order_changed(self, change: Change[Order]) -> None:
        old, new = change
        if old is not None and new is not None and plan.is_reworded(old, new):
            return
        if old is None or new is None or _has_news(old, new):
            self._controller.queue.add(key_of(change.objects[0]))
        else:
            self._look_soon(key_of(new))
        if old is not None and new is None:
            self._trusted.discard(old.metadata.uid)
            self._gone.pop(old.metadata.uid, None)
        if old is not None and (new is None or old.metadata.labels != new.metadata.labels):
            self._let_others_follow(old)

    def _let_others_follow(self, order: Order) -> None:
        """Looks at the orders that may now be old enough for a quota that has limited their number."""
        if self._quota_counter is not None:
            meta = order.metadata
            for quota in self._quota_counter.quota_cache.applying(meta.namespace, meta.labels):
                self._look_at_waiting(quota.metadata.name)

    def _ticket_changed(self, change: Change[Ticket]) -> None:
        for ticket in change.objects:
            for key in _order_of(ticket):
                self._look_soon(key)
        old, new = change
        if old is not None and new is None and NODE_LABEL not in old.metadata.labels:
            for order in filter(None, map(self._orders.reader.get, _order_of(old))):
                if owned_by(old, order.metadata.uid):
                    self._gone.setdefault(order.metadata.uid, {})[old.metadata.name] = old

    def _node_changed(self, change: Change[Node]) -> None:
        """Looks at orders in DaemonSet mode, unless all that has changed is the time of a heartbeat."""
        old, new = change
        if old is None or new is None or assignments.relevant(old, new):
            for order in self._orders.reader.where(indexes.ORDERS_BY_DAEMONSET_MODE, value=True):
                self._look_soon(key_of(order))

    def _quota_changed(self, change: Change[Quota]) -> None:
        """Looks at the orders that wait for room in a quota, if there may be more of it."""
        if change.old is None or change.new is None or gives_more(change.old, change.new):
            self._look_at_waiting(change.objects[0].metadata.name)

    def _look_at_waiting(self, quota: str) -> None:
        for key in self._short.pop(quota, ()):
            self._look_soon(key)

    def _look_soon(self, key: Key) -> None:
        order = self._orders.reader.get(key)
        more = len(self._nodes.reader) if order is not None and order.spec.daemon_set else 0
        seconds = DEBOUNCE_SECONDS + more * _DEBOUNCE_SECONDS_PER_NODE
        self._controller.queue.add_after(key, seconds)


def _has_news(old: Order, new: Order) -> bool:
    """Says whether more has changed than what is told about an order, or tickets are due to be made."""
    before, after = old.metadata, new.metadata
    return (
        before.generation != after.generation
        or before.deletion_timestamp != after.deletion_timestamp
        or before.finalizers != after.finalizers
        or new.status.made_index < new.status.next_index
    )


def _order_of(ticket: Ticket) -> Iterable[Key]:
    owner = controller_of(ticket)
    if owner is not None and owner.kind == ORDERS.kind:
        yield Key(ticket.metadata.namespace, owner.name)
