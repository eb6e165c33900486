"""What each object adds to the figures that people watch.

`controllers.measuring` adds them up as objects come, change and go, so a scrape costs as much as there are lines, not
objects; the reference page lists them. What an object adds depends on the object alone: what it added before is taken away
by asking again about the old one. Amounts are whole numbers (resources in nano units), so that sums never drift.
"""

from collections.abc import Mapping
from typing import NamedTuple

from korder.api import conditions, quantity
from korder.api.core import Pod
from korder.api.meta import controller_of
from korder.api.quantity import Quantity
from korder.api.quota import MAX_DURATION_KEY, Quota
from korder.api.reserve import (
    GUARDIAN_LABEL,
    TICKETS,
    Order,
    OrderCondition,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.rules.orders import strategies, ticketstate
from korder.reserve.rules.tickets import usage

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
    labels = (order.metadata.namespace, str(strategies.of(order).type))
    idle = (
        order.spec.paused
        or order.metadata.deletion_timestamp is not None
        or conditions.is_true(order.status.conditions, OrderCondition.COMPLETE)
    )
    counted: Amounts = {(ORDERS_TOTAL, labels): 1}
    return counted if idle else {**counted, (ORDERS_ACTIVE, labels): 1}


def of_ticket(ticket: Ticket) -> Amounts:
    """A ticket is counted by its phase, and its room by who has it."""
    phase = ticketstate.phase_of(ticket)
    namespace, node = ticket.metadata.namespace, ticket.status.node_name
    labels = (namespace, str(phase))
    amounts: Amounts = {(TICKETS_TOTAL, labels): 1}
    if ticketstate.is_over(ticket):
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
    return ticketstate.phase_of(ticket) is TicketPhase.PENDING and ticket.status.reason in _LOSSES


def room(ticket: Ticket) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
    """How much of a ticket is held for somebody to come, and how much pods use."""
    phase, shares = ticketstate.phase_of(ticket), ticket.status.shared_by
    if ticketstate.is_over(ticket):
        return {}, {}
    if phase is TicketPhase.PENDING or (phase is TicketPhase.CLAIMED and shares):
        return {}, usage.taken(shares)
    if not ticket.spec.allocate_once:
        return usage.remainder(ticket, shares), usage.taken(shares)
    whole = usage.held(ticket)
    return (whole, {}) if phase in _HELD else ({}, whole)


def unit(resource: str) -> str:
    """The unit in which a resource is shown."""
    if resource == "cpu":
        return "cores"
    return "bytes" if resource.startswith(_BYTES) else "count"
