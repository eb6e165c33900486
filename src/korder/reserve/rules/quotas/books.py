"""One quota's book: what the orders and tickets that there are use of it, and who is served by it.

`tally` keeps the books of all quotas. An item counts in the quota's own sums and in those of the allocations that its namespace falls
under. Orders are kept by age, the oldest first, so that whoever asks how many came before one is answered at once.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from korder.api import quantity
from korder.api.meta import controller_of
from korder.api.quantity import Quantity
from korder.api.quota import Quota
from korder.api.reserve import Order, Ticket
from korder.api.resources import Resources
from korder.reserve.rules.quotas import charges, limits
from korder.reserve.rules.quotas.scopes import Labels
from korder.reserve.rules.quotas.verdict import Use

Owner = tuple[str, str]
"""An order: its namespace and its UID."""
Age = tuple[datetime, str]
"""When an order was made, and its UID; the older one is the smaller."""
_NOT_YET = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Item:
    """An order or a ticket as far as it counts."""

    labels: Labels
    charge: Resources
    owner: Owner | None = None
    version: int = 0
    age: Age | None = None


def of_ticket(ticket: Ticket) -> Item:
    """What there is to be counted of a ticket."""
    meta, owner = ticket.metadata, controller_of(ticket)
    return Item(
        meta.labels,
        charges.of_ticket(ticket),
        (meta.namespace, owner.uid) if owner is not None else None,
        int(meta.resource_version or 0),
    )


def of_order(order: Order) -> Item:
    """What there is to be counted of an order."""
    return Item(order.metadata.labels, charges.ORDER, age=_age(order))


@dataclass(frozen=True, slots=True)
class Remembered:
    """The use of a quota, charges ahead included, as long as nothing has changed since."""

    quota: Quota
    changes: int
    use: Use


@dataclass(slots=True, eq=False)
class Book:
    """One quota and what is used of it by what there is."""

    quota: Quota
    limits: limits.Memory
    totals: list[dict[str, Quantity]]
    """The quota's own, and then those of its allocations."""
    orders: list[list[Age]]
    """The orders there are, the oldest first; the quota's own, and then those of its allocations."""
    served: Counter[Owner] = field(default_factory=Counter)
    """How many tickets that count each order has."""
    remembered: Remembered | None = None
    """What was last worked out of it."""

    @classmethod
    def of(cls, quota: Quota) -> "Book":
        """An empty book."""
        parts = range(1 + len(quota.spec.allocation))
        return cls(quota, limits.Memory(quota.spec), [{} for _ in parts], [[] for _ in parts])

    def count(self, item: Item, inside: Iterable[int], sign: int) -> None:
        for number in (-1, *inside):
            total = self.totals[number + 1]
            for key, amount in item.charge.items():
                total[key] = total.get(key, quantity.ZERO) + amount * sign
            if item.age is not None:
                _file_by_age(self.orders[number + 1], item.age, sign)
        if item.owner is not None and item.charge:
            self.served[item.owner] += sign
            if not self.served[item.owner]:
                del self.served[item.owner]

    def elders(self, order: Order) -> list[int]:
        """How many older orders there are, in all and in each allocation."""
        return [bisect_left(each, _age(order)) for each in self.orders]

    @property
    def use(self) -> Use:
        total, *inside = self.totals
        return Use(total, tuple(inside))


def _age(order: Order) -> Age:
    meta = order.metadata
    return (meta.creation_timestamp or _NOT_YET, meta.uid)


def _file_by_age(ages: list[Age], age: Age, sign: int) -> None:
    if sign > 0:
        insort(ages, age)
    else:
        del ages[bisect_left(ages, age)]
