"""Vectors of resources: what a pod asks for, a node has, or a quota allows.

Called by everything that counts capacity; calls `quantity`. On the wire such a list maps names to texts; here it maps
them to quantities. A name that is missing counts as zero, and no function changes what it is given.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from kubeloop.objects import quantity
from kubeloop.objects.quantity import Quantity

Resources = Mapping[str, Quantity]


class Shortage(NamedTuple):
    """One resource of which less is free than was asked for."""

    name: str
    requested: Quantity
    free: Quantity


def parse_list(wire: Mapping[str, object]) -> dict[str, Quantity]:
    """Reads a resource list as it comes from JSON or YAML; an error names the resource."""
    return {name: _read(name, value) for name, value in wire.items()}


def render(resources: Resources) -> dict[str, str]:
    """Writes a resource list for the wire."""
    return {name: str(amount) for name, amount in resources.items()}


def add(left: Resources, right: Resources) -> dict[str, Quantity]:
    """Sums name by name."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def subtract(left: Resources, right: Resources) -> dict[str, Quantity]:
    """Takes `right` away name by name; what was not there goes below zero."""
    rest = dict(left)
    for name, amount in right.items():
        rest[name] = rest.get(name, quantity.ZERO) - amount
    return rest


def scale(resources: Resources, factor: int | Decimal | Fraction) -> dict[str, Quantity]:
    """Multiplies every amount."""
    return {name: amount * factor for name, amount in resources.items()}


def maximum(left: Resources, right: Resources) -> dict[str, Quantity]:
    """Keeps the larger amount name by name."""
    most = dict(left)
    for name, amount in right.items():
        most[name] = max(most.get(name, amount), amount)
    return most


def fits(request: Resources, free: Resources) -> tuple[Shortage, ...]:
    """Lists what is short; nothing means that it fits. Asking for zero fits even where less than nothing is free."""
    return tuple(
        Shortage(name, amount, free.get(name, quantity.ZERO))
        for name, amount in request.items()
        if amount > quantity.ZERO and amount > free.get(name, quantity.ZERO)
    )


def _read(name: str, value: object) -> Quantity:
    if not isinstance(value, (str, int, float)):
        raise quantity.InvalidQuantity(f"{name}: {value!r} is not a quantity")
    try:
        return quantity.parse(value)
    except quantity.InvalidQuantity as error:
        raise quantity.InvalidQuantity(f"{name}: {error}") from None
