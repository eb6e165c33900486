"""What is used of every quota, kept up as orders, tickets, namespaces and quotas come, change and go.

Controllers and admission tell it of each change and ask it for the use that `verdict` judges by; it asks `scopes` and `charges`. A change
costs as much as quotas mean the object, a question nothing but the answer, however many tickets and quotas there are. The
orders that have tickets count apart from the orders that there are: the ledger serves no more orders than are allowed, whatever
admission has let in.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from korder.api import quantity
from korder.api.meta import HasMetadata, Key, controller_of, key_of
from korder.api.quantity import Quantity
from korder.api.quota import Quota, ScopeType
from korder.api.reserve import Order, Ticket
from korder.api.resources import Resources
from korder.api.selector import Operator, Requirement
from korder.reserve.rules.quotas import charges, scopes
from korder.reserve.rules.quotas.limits import InForce, Memory
from korder.reserve.rules.quotas.scopes import Labels, Place
from korder.reserve.rules.quotas.verdict import Use

T = TypeVar("T", bound=HasMetadata)

_Pair = tuple[str, str]
_Owner = tuple[str, str]
"""An order: its namespace and its UID."""
_Name = tuple[str, str, str]
"""An order or a ticket: its kind, its namespace and its name."""


@dataclass(frozen=True, slots=True)
class _Item:
    """An order or a ticket as far as it counts."""

    labels: Labels
    charge: Resources
    owner: _Owner | None = None
    version: int = 0


@dataclass(slots=True, eq=False)
class Book:
    """One quota and what is used of it by what there is."""

    quota: Quota
    limits: Memory
    totals: list[dict[str, Quantity]]
    """The quota's own, and then those of its allocations."""
    served: Counter[_Owner] = field(default_factory=Counter)
    """How many tickets that count each order has."""

    def count(self, item: _Item, inside: Iterable[int], sign: int) -> None:
        for number in (-1, *inside):
            total = self.totals[number + 1]
            for key, amount in item.charge.items():
                total[key] = total.get(key, quantity.ZERO) + amount * sign
        if item.owner is not None and item.charge:
            self.served[item.owner] += sign
            if not self.served[item.owner]:
                del self.served[item.owner]

    @property
    def use(self) -> Use:
        total, *inside = self.totals
        return Use(total, tuple(inside))


_Entered = tuple[tuple[Book, tuple[int, ...]], ...]


class Tally:
    """The use of all quotas."""

    def __init__(self) -> None:
        self._books: dict[str, Book] = {}
        self._labels: dict[str, Labels] = {}
        self._items: dict[_Name, _Item] = {}
        self._entered: dict[_Name, _Entered] = {}
        self._inhabitants: dict[str, set[_Name]] = {}
        self._by_place: dict[str, list[Book]] = {}
        self._by_pair: dict[_Pair, list[Book]] = {}
        self._by_object: list[Book] = []

    def book(self, name: str) -> Book | None:
        """The book of a quota."""
        return self._books.get(name)

    def quotas(self) -> list[Quota]:
        """All quotas."""
        return [book.quota for book in self._books.values()]

    def use(self, quota: Quota) -> Use:
        """What there is uses of a quota."""
        book = self._books.get(quota.metadata.name)
        return book.use if book is not None else Use()

    def limits(self, quota: Quota, instant: datetime) -> InForce:
        """The limits of a quota at an instant."""
        return self._remembered(quota).at(instant)

    def next_change(self, quota: Quota, instant: datetime) -> datetime | None:
        """When other limits of a quota will be in force."""
        return self._remembered(quota).next_change(instant)

    def surely_until(self, quota: Quota, instant: datetime) -> datetime | None:
        """Until when the same windows of a quota are surely open; None if it has none."""
        return self._remembered(quota).surely_until(instant)

    def _remembered(self, quota: Quota) -> Memory:
        book = self._books.get(quota.metadata.name)
        known = book is not None and book.quota.spec == quota.spec
        return book.limits if known and book else Memory(quota.spec)

    def place(self, namespace: str) -> Place:
        """A namespace as it is labelled now."""
        return Place(namespace, self._labels.get(namespace, {}))

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
        """Takes in that a quota came, changed or went; a new status changes nothing that is counted."""
        name = _either(old, new).metadata.name
        book = self._books.get(name)
        if new is not None and book is not None and new.spec == book.quota.spec:
            book.quota = new
            return
        if book is not None:
            del self._books[name]
            for each in self._within(book):
                left = tuple(pair for pair in self._entered[each] if pair[0] is not book)
                self._entered[each] = left
        if new is not None:
            sums: list[dict[str, Quantity]] = [{} for _ in range(1 + len(new.spec.allocation))]
            book = self._books[name] = Book(new, Memory(new.spec), sums)
            for each in self._within(book):
                self._enter_into(book, each)
        self._sort_books()

    def namespace_changed(self, name: str, labels: Labels | None) -> None:
        """Takes in the labels of a namespace; what is in it may now mean other quotas."""
        if self._labels.get(name) == labels:
            return
        if labels is None:
            self._labels.pop(name, None)
        else:
            self._labels[name] = dict(labels)
        self._by_place.pop(name, None)
        for each in tuple(self._inhabitants.get(name, ())):
            self._enter(each, self._items.get(each))

    def ticket_changed(self, old: Ticket | None, new: Ticket | None) -> None:
        """Takes in that a ticket came, changed or went."""
        item = None
        if new is not None:
            owner = controller_of(new)
            meta = new.metadata
            item = _Item(
                meta.labels,
                charges.of_ticket(new),
                (meta.namespace, owner.uid) if owner is not None else None,
                int(meta.resource_version or 0),
            )
        self._enter(("Ticket", *key_of(_either(old, new))), item)

    def order_changed(self, old: Order | None, new: Order | None) -> None:
        """Takes in that an order came, changed or went."""
        item = None if new is None else _Item(new.metadata.labels, charges.ORDER)
        self._enter(("Order", *key_of(_either(old, new))), item)

    def _enter(self, name: _Name, item: _Item | None) -> None:
        """Puts an item in the place of what was counted under its name."""
        before = self._items.get(name)
        for book, inside in self._entered.pop(name, ()):
            if before is not None:
                book.count(before, inside, -1)
        namespace = name[1]
        if item is None:
            self._items.pop(name, None)
            self._inhabitants.get(namespace, set()).discard(name)
            return
        self._items[name] = item
        self._entered[name] = ()
        self._inhabitants.setdefault(namespace, set()).add(name)
        for book in self._meaning(self.place(namespace), item.labels):
            self._enter_into(book, name)

    def _enter_into(self, book: Book, name: _Name) -> None:
        inside = scopes.allocations(book.quota.spec, self.place(name[1]))
        book.count(self._items[name], inside, 1)
        self._entered[name] = (*self._entered[name], (book, inside))

    def _within(self, book: Book) -> Iterator[_Name]:
        """All there is that a quota means."""
        scope = book.quota.spec.scope
        by_object = scope.type is ScopeType.OBJECT_SELECTOR
        for namespace, names in self._inhabitants.items():
            place = self.place(namespace)
            if by_object or scopes.covers(scope, place, {}):
                for name in names:
                    if scopes.covers(scope, place, self._items[name].labels):
                        yield name

    def _meaning(self, place: Place, labels: Labels) -> Iterator[Book]:
        """The books of the quotas that mean an object."""
        if place.namespace not in self._by_place:
            self._by_place[place.namespace] = [
                book
                for book in self._books.values()
                if book.quota.spec.scope.type is not ScopeType.OBJECT_SELECTOR
                and scopes.covers(book.quota.spec.scope, place, {})
            ]
        yield from self._by_place[place.namespace]
        for pair in labels.items():
            for book in self._by_pair.get(pair, ()):
                if scopes.covers(book.quota.spec.scope, place, labels):
                    yield book
        for book in self._by_object:
            if scopes.covers(book.quota.spec.scope, place, labels):
                yield book

    def _sort_books(self) -> None:
        """Files quotas by what finds them fast: the namespace, or one label that an object must have."""
        self._by_place.clear()
        self._by_pair.clear()
        self._by_object.clear()
        for book in self._books.values():
            scope = book.quota.spec.scope
            if scope.type is ScopeType.OBJECT_SELECTOR:
                pair = _demanded(scopes.selecting(scope.object_selector).requirements)
                filed = self._by_object if pair is None else self._by_pair.setdefault(pair, [])
                filed.append(book)


def _demanded(requirements: Iterable[Requirement]) -> _Pair | None:
    """A label that every object which is meant has."""
    for each in requirements:
        if each.operator in (Operator.EQUALS, Operator.IN) and len(each.values) == 1:
            (value,) = each.values
            return each.key, value
    return None


def _either(old: T | None, new: T | None) -> T:
    found = new if new is not None else old
    if found is None:
        raise AssertionError("a change has an old or a new side")
    return found
