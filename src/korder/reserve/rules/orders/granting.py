"""Which of the tickets that an order wants to make it may make now.

`orderplan` and `daemonplan` ask, whoever gathers hands in who answers: `rules.quotas.charging`, or `freely` where nobody counts. The steps of a
grant come before the tickets are made: what is charged ahead cannot be promised to another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from korder.api.plan import Create, Notice, Patch


@dataclass(frozen=True, slots=True)
class Grant:
    """What may be made.

    Attributes:
        made: The tickets that may be made.
        charges: What must be written before, one after the other.
        short: Which limit the others would break, if there are others.
        look_at: When to ask again, if nothing else happens before.
        told: What there is to be told of the quotas that were charged.
        unsure: Why nobody can say yet whether the others may.
    """

    made: tuple[Create, ...]
    charges: tuple[Patch, ...] = ()
    short: str = ""
    look_at: datetime | None = None
    told: tuple[Notice, ...] = ()
    unsure: str = ""


Granting = Callable[[Sequence[Create]], Grant]


def freely(wanted: Sequence[Create]) -> Grant:
    """Grants everything."""
    return Grant(tuple(wanted))
