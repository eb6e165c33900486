"""What the tickets of an order are called.

Order rules call it. A ticket is named after its order, the firing it was made for, and a number that the order never uses twice; in
DaemonSet mode after its node. Two orders can still come to the same name (`a` with node `b-0`, `a-b` with number 0): a number that
somebody else's ticket has is passed over, and a node's ticket then gets a hash of its order's UID besides.
"""

from collections.abc import Callable
from datetime import UTC, datetime
import hashlib
from itertools import count

from korder.reserve.rules.tickets import naming

Taken = Callable[[str], bool]
"""Says whether a ticket that is not the order's has a name."""


def numbered(order: str, number: int, firing: datetime | None = None) -> str:
    """The name of an order's ticket with this number."""
    window = f"-{firing.astimezone(UTC):%Y%m%d%H%M}" if firing is not None else ""
    return _ending(order, f"{window}-{number}")


def number_of(name: str) -> int | None:
    """The number of a ticket of that name, if it was numbered."""
    last = name.rpartition("-")[2]
    return int(last) if last.isascii() and last.isdigit() else None


def on_node(order: str, uid: str, node: str, firing: datetime | None, taken: Taken) -> str:
    """The name of the ticket for a node: the first of a series that nobody else has."""
    window = f"-{firing.astimezone(UTC):%Y%m%d%H%M}" if firing is not None else ""
    plain = naming.legal_name(f"{order}{window}-{node}")
    if not taken(plain):
        return plain
    for attempt in count():
        digest = hashlib.sha256(f"{uid}/{node}/{attempt}".encode()).hexdigest()[:8]
        name = _ending(f"{order}{window}-{node}", f"-{digest}")
        if not taken(name):
            return name
    raise AssertionError("a series without an end has ended")


def _ending(text: str, suffix: str) -> str:
    return naming.legal_name(text, naming.LONGEST_NAME - len(suffix)) + suffix
