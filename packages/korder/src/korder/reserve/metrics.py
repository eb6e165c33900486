"""Metrics of orders, tickets, guardians and quotas, kept current as informers report changes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from korder.api.quota import MAX_DURATION_KEY, QUOTAS, Quota
from korder.api.reserve import (
    GUARDIAN_LABEL,
    ORDERS,
    TICKETS,
    Order,
    OrderCondition,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.orders import firings as order_firings
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import conditions, quantity
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import HasMetadata, controller_of
from kubeloop.objects.quantity import Quantity
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change

NANO = 10**9


class Family(NamedTuple):
    """One gauge: its name, what it tells, and its labels."""

    name: str
    help: str
    labels: tuple[str, ...]
    unit: int = 1
    """What one is in the amounts that are added."""


_AMOUNT = ("resource_type", "unit")

ORDERS_TOTAL = Family("korder_orders_total", "Orders there are.", ("namespace", "strategy"))
ORDERS_ACTIVE = Family(
    "korder_orders_active",
    "Orders that make tickets: neither paused, nor complete, nor being deleted.",
    ("namespace", "strategy"),
)
TICKETS_TOTAL = Family("korder_tickets_total", "Tickets there are.", ("namespace", "phase"))
TICKETS_ACTIVE = Family(
    "korder_tickets_active",
    "Tickets that have not ended: all but Released and Expired.",
    ("namespace", "phase"),
)
GUARDIANS_TOTAL = Family("korder_guardian_pods_total", "Guardian pods there are.", ("namespace",))
RESERVED = Family(
    "korder_reserved_resources",
    "Room that is held and not in use.",
    ("namespace", *_AMOUNT),
    NANO,
)
CLAIMED = Family(
    "korder_claimed_resources",
    "Room of tickets that pods use.",
    ("namespace", *_AMOUNT),
    NANO,
)
NODE_RESERVED = Family(
    "korder_node_reserved_resources",
    "Room that is held on a node and not in use.",
    ("node", *_AMOUNT),
    NANO,
)
NODE_CLAIMED = Family(
    "korder_node_claimed_resources",
    "Room of tickets on a node that pods use.",
    ("node", *_AMOUNT),
    NANO,
)

QUOTA_LIMITS = Family(
    "korder_quota_limits",
    "What a quota allows now, windows included.",
    ("quota_name", "resource_type"),
    NANO,
)
QUOTA_USAGE = Family(
    "korder_quota_usage_ratio",
    "The part of a limit that is used; above 1 it is exceeded. Of a limit of 0 it is 0, or above 1 once anything is used.",
    ("quota_name", "resource_type"),
    NANO,
)

FAMILIES = (
    ORDERS_TOTAL,
    ORDERS_ACTIVE,
    TICKETS_TOTAL,
    TICKETS_ACTIVE,
    GUARDIANS_TOTAL,
    RESERVED,
    CLAIMED,
    NODE_RESERVED,
    NODE_CLAIMED,
    QUOTA_LIMITS,
    QUOTA_USAGE,
)

Line = tuple[Family, tuple[str, ...]]
"""A gauge and the values of its labels."""
Amounts = dict[Line, int]

_HELD = frozenset({TicketPhase.RESERVED, TicketPhase.CLAIMING})
_LOSSES = frozenset(
    {
        Reason.LOST,
        Reason.EVICTED,
        Reason.PREEMPTED,
        Reason.GUARDIAN_FAILED,
        Reason.GUARDIAN_DELETED,
        Reason.NODE_LOST,
        Reason.STOLEN,
    }
)
_BYTES = ("memory", "ephemeral-storage", "hugepages-", "storage")


def of_order(order: Order) -> Amounts:
    """An order is counted, and once more while it makes tickets."""
    labels = (order.metadata.namespace, str(order_firings.of(order).type))
    idle = (
        order.spec.paused
        or order.metadata.deletion_timestamp is not None
        or conditions.is_true(order.status.conditions, OrderCondition.COMPLETE)
    )
    counted: Amounts = {(ORDERS_TOTAL, labels): 1}
    return counted if idle else {**counted, (ORDERS_ACTIVE, labels): 1}


def of_ticket(ticket: Ticket) -> Amounts:
    """A ticket is counted by its phase, and its room by who has it."""
    phase = ticket_state.phase_of(ticket)
    namespace, node = ticket.metadata.namespace, ticket.status.node_name
    labels = (namespace, str(phase))
    amounts: Amounts = {(TICKETS_TOTAL, labels): 1}
    if ticket_state.is_over(ticket):
        return amounts
    amounts[TICKETS_ACTIVE, labels] = 1
    held, used = room(ticket)
    for family, of_node, some in ((RESERVED, NODE_RESERVED, held), (CLAIMED, NODE_CLAIMED, used)):
        for name, amount in some.items():
            if amount > quantity.ZERO:
                amounts[family, (namespace, name, unit(name))] = amount.nano
                if node:
                    amounts[of_node, (node, name, unit(name))] = amount.nano
    return amounts


def of_pod(pod: Pod) -> Amounts:
    """A guardian is counted, any other pod is not; the label alone makes none, as anybody can write it."""
    if GUARDIAN_LABEL not in pod.metadata.labels:
        return {}
    owner = controller_of(pod)
    ours = owner is not None and owner.kind == TICKETS.kind
    return {(GUARDIANS_TOTAL, (pod.metadata.namespace,)): 1} if ours else {}


def of_quota(quota: Quota) -> Amounts:
    """The limits of a quota, and how much of each is used; where nothing is allowed, anything that is used is more than all of it."""
    amounts: Amounts = {}
    for key, limit in quota.status.hard.items():
        if key == MAX_DURATION_KEY:
            continue
        labels = (quota.metadata.name, key)
        hard = quantity.parse(limit).nano
        amounts[QUOTA_LIMITS, labels] = hard
        used = quantity.parse(quota.status.used.get(key, 0)).nano
        beyond_nothing = NANO + used if used else 0
        amounts[QUOTA_USAGE, labels] = used * NANO // hard if hard else beyond_nothing
    return amounts


def has_lost(old: Ticket, new: Ticket) -> bool:
    """Says whether a ticket has lost its room between two looks; one that gives it up on purpose has not."""
    return _is_lost(new) and not _is_lost(old)


def _is_lost(ticket: Ticket) -> bool:
    return ticket_state.phase_of(ticket) is TicketPhase.PENDING and ticket.status.reason in _LOSSES


def room(ticket: Ticket) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
    """How much of a ticket is held for somebody to come, and how much pods use."""
    phase, shares = ticket_state.phase_of(ticket), ticket.status.shared_by
    if ticket_state.is_over(ticket):
        return {}, {}
    if phase is TicketPhase.PENDING or (phase is TicketPhase.CLAIMED and shares):
        return {}, ticket_state.taken(shares)
    if not ticket.spec.allocate_once:
        return ticket_state.remainder(ticket, shares), ticket_state.taken(shares)
    whole = ticket_state.held(ticket)
    return (whole, {}) if phase in _HELD else ({}, whole)


def unit(resource: str) -> str:
    """The unit in which a resource is shown."""
    if resource == "cpu":
        return "cores"
    return "bytes" if resource.startswith(_BYTES) else "count"


T = TypeVar("T", bound=HasMetadata)

_SECONDS = (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10, 30, 60)


class Measuring(Collector):
    """Measures what a manager's informers show of orders, tickets, guardians and quotas."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._sums: dict[Line, int] = {}
        self._begun: dict[str, float] = {}
        """Since when hand-overs are under way, by the ticket's UID."""
        registry = manager.metrics.registry
        self._seconds = Histogram(
            "korder_handover_seconds",
            "Time from a claim until its pod was bound.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._lost = Counter(
            "korder_tickets_lost_total",
            "Tickets that lost the room they held, by namespace and reason.",
            ("namespace", "reason"),
            registry=registry,
        )
        self._undone = Counter(
            "korder_handovers_undone_total",
            "Claims that did not end with their pod bound, by namespace and reason.",
            ("namespace", "reason"),
            registry=registry,
        )
        registry.register(self)
        tickets = manager.informers.of(TICKETS)
        tickets.on_change(self._summed(of_ticket))
        tickets.on_change(self._follow)
        manager.informers.of(ORDERS).on_change(self._summed(of_order))
        manager.informers.of(PODS).on_change(self._summed(of_pod))
        manager.informers.of(QUOTAS).on_change(self._summed(of_quota))

    def collect(self) -> list[Metric]:
        """Prints the sums, if this replica leads."""
        shown = {
            family: GaugeMetricFamily(family.name, family.help, labels=family.labels)
            for family in FAMILIES
        }
        if self._manager.leading:
            for (family, labels), amount in sorted(self._sums.items()):
                shown[family].add_metric(labels, amount / family.unit)
        return list(shown.values())

    def _summed(self, amounts: Callable[[T], Amounts]) -> Callable[[Change[T]], None]:
        def take(change: Change[T]) -> None:
            before = {} if change.old is None else amounts(change.old)
            after = {} if change.new is None else amounts(change.new)
            if before != after:
                self._add(before, -1)
                self._add(after, 1)

        return take

    def _add(self, amounts: Amounts, sign: int) -> None:
        for line, amount in amounts.items():
            total = self._sums.get(line, 0) + sign * amount
            if total:
                self._sums[line] = total
            else:
                self._sums.pop(line, None)

    def _follow(self, change: Change[Ticket]) -> None:
        """Counts what happened to a ticket between two looks."""
        old, new = change
        if old is None or new is None or old.metadata.uid != new.metadata.uid:
            self._begun.pop(change.objects[0].metadata.uid, None)
            return
        before, after = ticket_state.phase_of(old), ticket_state.phase_of(new)
        if self._manager.leading and has_lost(old, new):
            self._lost.labels(*_why(new)).inc()
        if before is not after and TicketPhase.CLAIMING in (before, after):
            self._time(old, new)

    def _time(self, old: Ticket, new: Ticket) -> None:
        """Takes the time of a hand-over that begins or ends."""
        uid, now = new.metadata.uid, self._manager.clock.monotonic()
        begun = self._begun.pop(uid, None)
        if new.status.phase is TicketPhase.CLAIMING:
            self._begun[uid] = now
        elif not self._manager.leading:
            return
        elif not _succeeded(old, new):
            self._undone.labels(*_why_undone(new)).inc()
        elif begun is not None:
            self._seconds.observe(now - begun)


def _succeeded(old: Ticket, new: Ticket) -> bool:
    """Says whether the pod that claimed has the room, or its share of it."""
    more = len(new.status.shared_by) > len(old.status.shared_by)
    return new.status.phase is TicketPhase.CLAIMED or more


def _why_undone(ticket: Ticket) -> tuple[str, str]:
    """A ticket that holds its room again says why it does, not why its pod did not come."""
    if ticket_state.is_held(ticket):
        return ticket.metadata.namespace, Reason.CLAIM_UNDONE
    return _why(ticket)


def _why(ticket: Ticket) -> tuple[str, str]:
    return ticket.metadata.namespace, ticket.status.reason or Reason.CLAIM_UNDONE
