"""What validation of an object takes and returns: the question, what is wrong in which field, and warnings.

Admission asks the same functions about pods, orders, tickets and quotas; the quota controller asks those about quotas for its conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubeloop.objects.meta import JSON


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong, and in which field."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong, what is only odd, and whether a pod gets the gate."""

    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What is written, what was there before, and when.

    Attributes:
        spec: The spec as it was sent, for fields that must stay as they are.
        before: The spec that is there; None for a new object.
        system_classes: Whether guardians may have a priority class of the system.
        noted: The annotations that are there.
    """

    now: datetime
    spec: Mapping[str, JSON]
    before: Mapping[str, JSON] | None = None
    system_classes: bool = False
    noted: Mapping[str, str] = field(default_factory=dict)
