"""Names of tickets and guardians that stay legal however long their parts are, and sets of ticket numbers as short texts (`0-2,5`)."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
import hashlib
from itertools import count


def render(numbers: Iterable[int]) -> str:
    """Writes numbers in order, neighbours as ranges."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def parse(text: str) -> frozenset[int]:
    """Reads what `render` has written."""
    found: set[int] = set()
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


LONGEST_NAME = 253
LONGEST_LABEL = 63
_HASH = 8


def legal_name(text: str, limit: int = LONGEST_NAME) -> str:
    """The text itself if it is short enough, else its beginning and a hash of all of it."""
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
    return f"{text[: limit - _HASH - 1].rstrip('-._')}-{digest}"


def legal_label(text: str) -> str:
    """A name as the value of a label."""
    return legal_name(text, LONGEST_LABEL)


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
    plain = legal_name(f"{order}{window}-{node}")
    if not taken(plain):
        return plain
    for attempt in count():
        digest = hashlib.sha256(f"{uid}/{node}/{attempt}".encode()).hexdigest()[:8]
        name = _ending(f"{order}{window}-{node}", f"-{digest}")
        if not taken(name):
            return name
    raise AssertionError("a series without an end has ended")


def _ending(text: str, suffix: str) -> str:
    return legal_name(text, LONGEST_NAME - len(suffix)) + suffix
