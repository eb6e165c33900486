"""What is used of every quota, updated as orders, tickets, namespaces and quotas come, change and go.

Updates are O(matching quotas), reads are O(1). One cache serves the controllers and the webhooks of a process.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from korder.api.quota import Quota, ScopeType
from korder.api.reserve import Order, Ticket
from korder.reserve.quotas import limits, verdict
from korder.reserve.quotas.limits import InForce, Memory
from korder.reserve.quotas.verdict import Labels, Place, Use
from kubeloop.objects import quantity
from kubeloop.objects.meta import HasMetadata, Key, controller_of, key_of
from kubeloop.objects.quantity import Quantity
from kubeloop.objects.resources import Resources
from kubeloop.objects.selector import Operator, Requirement

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
        verdict.of_ticket(ticket),
        (meta.namespace, owner.uid) if owner is not None else None,
        int(meta.resource_version or 0),
    )


def of_order(order: Order) -> Item:
    """What there is to be counted of an order."""
    return Item(order.metadata.labels, verdict.ORDER, age=_age(order))


@dataclass(frozen=True, slots=True)
class Remembered:
    """The use of a quota, charges ahead included, as long as nothing has changed since."""

    quota: Quota
    changes: int
    use: Use


@dataclass(slots=True, eq=False)
class QuotaUsage:
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
    def of(cls, quota: Quota) -> "QuotaUsage":
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


T = TypeVar("T", bound=HasMetadata)

_Mark = tuple[str, str | None]
"""A label, or a label whatever its value."""
_ANY: _Mark = ("", None)
"""What every object has."""
_Name = tuple[str, str, str]
"""An order or a ticket: its kind, its namespace and its name."""


_Entered = tuple[tuple[QuotaUsage, tuple[int, ...]], ...]


class QuotaCache:
    """The use of all quotas."""

    def __init__(self) -> None:
        self._changes = 0
        self._books: dict[str, QuotaUsage] = {}
        self._labels: dict[str, Labels] = {}
        self._labels_of_orders: dict[str, Labels] = {}
        self._items: dict[_Name, Item] = {}
        self._entered: dict[_Name, _Entered] = {}
        self._inhabitants: dict[str, dict[_Name, None]] = {}
        self._by_place: dict[str, list[QuotaUsage]] = {}
        self._by_mark: dict[_Mark, list[QuotaUsage]] = {}

    def book(self, name: str) -> QuotaUsage | None:
        """The book of a quota."""
        return self._books.get(name)

    def quotas(self) -> list[Quota]:
        """All quotas."""
        return [book.quota for book in self._books.values()]

    def use(self, quota: Quota) -> Use:
        """What there is uses of a quota."""
        book = self._books.get(quota.metadata.name)
        return book.use if book is not None else Use()

    def remembered(self, quota: Quota, work_out: Callable[[], Use]) -> Use:
        """The use of a quota with what is charged ahead, worked out anew only after a change."""
        book = self._books.get(quota.metadata.name)
        if book is None:
            return work_out()
        known = book.remembered
        if known is None or known.quota is not quota or known.changes != self._changes:
            known = book.remembered = Remembered(quota, self._changes, work_out())
        return known.use

    def elders(self, quota: Quota, order: Order) -> list[int]:
        """How many older orders there are in a quota, and in each of its allocations."""
        book = self._books.get(quota.metadata.name)
        if book is None:
            return [0] * (1 + len(quota.spec.allocation))
        return book.elders(order)

    def limits(self, quota: Quota, instant: datetime) -> InForce:
        """The limits of a quota at an instant."""
        return self._calendar(quota).at(instant)

    def next_change(self, quota: Quota, instant: datetime) -> datetime | None:
        """When other limits of a quota will be in force."""
        return self._calendar(quota).next_change(instant)

    def surely_until(self, quota: Quota, instant: datetime) -> datetime | None:
        """Until when the same windows of a quota are surely open; None if it has none."""
        return self._calendar(quota).surely_until(instant)

    def _calendar(self, quota: Quota) -> Memory:
        book = self._books.get(quota.metadata.name)
        known = book is not None and book.quota.spec == quota.spec
        return book.limits if known and book else Memory(quota.spec)

    def place(self, namespace: str) -> Place:
        """A namespace as it is labelled now."""
        return Place(namespace, self._labels.get(namespace, {}))

    def is_placed(self, namespace: str) -> bool:
        """Says whether it is known which quotas mean a namespace: its labels are to be seen, or no quota asks for any."""
        return namespace in self._labels or not any(
            verdict.asks_for_labels(book.quota.spec) for book in self._books.values()
        )

    def labels_of_order(self, uid: str) -> Labels | None:
        """The labels of an order that is there."""
        return self._labels_of_orders.get(uid)

    def version_of(self, ticket: Key) -> int | None:
        """The version of a ticket that is there."""
        item = self._items.get(("Ticket", *ticket))
        return None if item is None else item.version

    def charge_of(self, ticket: Key) -> Resources:
        """What a ticket counts for that is there."""
        item = self._items.get(("Ticket", *ticket))
        return {} if item is None else item.charge

    def applying(self, namespace: str, *labelled: Labels) -> list[Quota]:
        """The quotas that mean objects with any of these labels in a namespace, by name."""
        found = {
            id(book): book.quota
            for labels in labelled
            for book in self._meaning(self.place(namespace), labels)
        }
        return sorted(found.values(), key=lambda quota: quota.metadata.name)

    def quota_changed(self, old: Quota | None, new: Quota | None) -> None:
        """Takes in that a quota came, changed or went; a new status changes nothing that is counted.

        One that is being deleted limits nobody any more, however long others keep it.
        """
        name = _either(old, new).metadata.name
        book = self._books.get(name)
        if new is not None and new.metadata.deletion_timestamp is not None:
            new = None
        if new is not None and book is not None and new.spec == book.quota.spec:
            book.quota = new
            return
        if book is not None:
            del self._books[name]
            self._take_out(book)
            for each in self._within(book):
                left = tuple(pair for pair in self._entered[each] if pair[0] is not book)
                self._entered[each] = left
        if new is not None:
            book = self._books[name] = QuotaUsage.of(new)
            self._file(book)
            for each in self._within(book):
                self._enter_into(book, each)

    def namespace_changed(self, name: str, labels: Labels | None) -> None:
        """Takes in the labels of a namespace; what is in it may now mean other quotas."""
        if self._labels.get(name) == labels:
            return
        if labels is None:
            self._labels.pop(name, None)
        else:
            self._labels[name] = dict(labels)
        self._changes += 1
        self._by_place.pop(name, None)
        for each in tuple(self._inhabitants.get(name, ())):
            self._enter(each, self._items.get(each))

    def ticket_changed(self, old: Ticket | None, new: Ticket | None) -> None:
        """Takes in that a ticket came, changed or went."""
        item = None if new is None else of_ticket(new)
        self._enter(("Ticket", *key_of(_either(old, new))), item)

    def order_changed(self, old: Order | None, new: Order | None) -> None:
        """Takes in that an order came, changed or went."""
        if old is not None:
            self._labels_of_orders.pop(old.metadata.uid, None)
        if new is not None:
            self._labels_of_orders[new.metadata.uid] = new.metadata.labels
        item = None if new is None else of_order(new)
        self._enter(("Order", *key_of(_either(old, new))), item)

    def _enter(self, name: _Name, item: Item | None) -> None:
        """Puts an item in the place of what was counted under its name."""
        self._changes += 1
        before = self._items.get(name)
        for book, inside in self._entered.pop(name, ()):
            if before is not None:
                book.count(before, inside, -1)
        namespace = name[1]
        if item is None:
            self._items.pop(name, None)
            self._inhabitants.get(namespace, {}).pop(name, None)
            return
        self._items[name] = item
        self._entered[name] = ()
        self._inhabitants.setdefault(namespace, {})[name] = None
        for book in self._meaning(self.place(namespace), item.labels):
            self._enter_into(book, name)

    def _enter_into(self, book: QuotaUsage, name: _Name) -> None:
        inside = verdict.allocations(book.quota.spec, self.place(name[1]))
        book.count(self._items[name], inside, 1)
        self._entered[name] = (*self._entered[name], (book, inside))

    def _within(self, book: QuotaUsage) -> Iterator[_Name]:
        """All there is that a quota means."""
        scope = book.quota.spec.scope
        by_object = scope.type is ScopeType.OBJECT_SELECTOR
        for namespace, names in self._inhabitants.items():
            place = self.place(namespace)
            if by_object or verdict.covers(scope, place, {}):
                for name in names:
                    if verdict.covers(scope, place, self._items[name].labels):
                        yield name

    def _meaning(self, place: Place, labels: Labels) -> Iterator[QuotaUsage]:
        """The books of the quotas that mean an object."""
        if place.namespace not in self._by_place:
            self._by_place[place.namespace] = [
                book
                for book in self._books.values()
                if book.quota.spec.scope.type is not ScopeType.OBJECT_SELECTOR
                and verdict.covers(book.quota.spec.scope, place, {})
            ]
        yield from self._by_place[place.namespace]
        marks = (_ANY, *labels.items(), *((key, None) for key in labels))
        for mark in marks:
            for book in self._by_mark.get(mark, ()):
                if verdict.covers(book.quota.spec.scope, place, labels):
                    yield book

    def _file(self, book: QuotaUsage) -> None:
        """Files a quota by what finds it fast: the namespace, or a label that an object must have."""
        scope = book.quota.spec.scope
        if scope.type is ScopeType.OBJECT_SELECTOR:
            for mark in _marks(verdict.selecting(scope.object_selector).requirements):
                self._by_mark.setdefault(mark, []).append(book)
        self._by_place.clear()

    def _take_out(self, book: QuotaUsage) -> None:
        scope = book.quota.spec.scope
        if scope.type is ScopeType.OBJECT_SELECTOR:
            for mark in _marks(verdict.selecting(scope.object_selector).requirements):
                self._by_mark[mark].remove(book)
        self._by_place.clear()


def _marks(requirements: Iterable[Requirement]) -> Iterable[_Mark]:
    """Labels of which every object that is meant has exactly one; where no label is demanded, the mark of all objects."""
    found: Iterable[_Mark] = (_ANY,)
    for each in requirements:
        if each.operator in (Operator.EQUALS, Operator.IN):
            return tuple((each.key, value) for value in each.values)
        if each.operator is Operator.EXISTS:
            found = ((each.key, None),)
    return found


def _either(old: T | None, new: T | None) -> T:
    found = new if new is not None else old
    if found is None:
        raise AssertionError("a change has an old or a new side")
    return found
