"""Whether an object on the server is the one we meant to write.

`kube.recovery` asks after a lost answer. A server fills in defaults, adds to lists, drops what is empty and prints quantities
its own way, so equality would never hold; what was sent must be contained in what is found.
"""

from itertools import chain

from korder.api import quantity
from korder.api.meta import JSON


def contains(found: JSON, sent: JSON) -> bool:
    """Says whether `found` has everything that `sent` says; an empty or null member may be absent."""
    match sent:
        case dict():
            return isinstance(found, dict) and all(
                contains(found[name], value) if name in found else not value
                for name, value in sent.items()
            )
        case list():
            return isinstance(found, list) and _in_order(found, sent)
        case None:
            return not found
        case _:
            return found == sent or _same_quantity(found, sent)


def _in_order(found: list[JSON], sent: list[JSON]) -> bool:
    rest = chain(found)
    return all(any(contains(candidate, item) for candidate in rest) for item in sent)


def _same_quantity(found: JSON, sent: JSON) -> bool:
    if not isinstance(found, str) or not isinstance(sent, str | int | float):
        return False
    try:
        return quantity.parse(found) == quantity.parse(str(sent))
    except ValueError:
        return False
