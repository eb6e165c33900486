"""Conditions: what is true of an object, since when and why.

Called by every rule that writes a status; calls nothing. There is one setter, so that reason, message and generation
are always fresh and the transition time moves only when the status does. `metav1.Time` has whole seconds, so they are
what is stored: otherwise a status read back would differ from the one that was written.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from kubeloop.objects.meta import Base


class Status(StrEnum):
    """The three answers a condition can give."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Base):
    """One thing that is, is not, or may be true of an object."""

    type: str
    status: Status
    observed_generation: int = 0
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


def find(conditions: Iterable[Condition], name: str) -> Condition | None:
    """Finds the condition of this type."""
    return next((condition for condition in conditions if condition.type == name), None)


def is_true(conditions: Iterable[Condition], name: str) -> bool:
    """Says whether the condition of this type is there and true."""
    condition = find(conditions, name)
    return condition is not None and condition.status is Status.TRUE


def set_condition(
    conditions: tuple[Condition, ...], new: Condition, now: datetime
) -> tuple[Condition, ...]:
    """Puts `new` in the place of the condition of its type, or at the end.

    Its transition time is decided here: that of the old condition while the status stays, else `now`.
    """
    old = find(conditions, new.type)
    since = old.last_transition_time if old is not None and old.status is new.status else None
    fresh = msgspec.structs.replace(new, last_transition_time=since or now.replace(microsecond=0))
    if old is None:
        return (*conditions, fresh)
    return tuple(fresh if condition.type == new.type else condition for condition in conditions)
