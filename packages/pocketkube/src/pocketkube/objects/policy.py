"""PodDisruptionBudget: how many pods of a set may be taken away at once.

`pocketkube.controllers.disruption` keeps the status, the embedded server's evictions are decided by it.
"""

from collections.abc import Mapping
from datetime import datetime

from kubeloop.objects.conditions import Condition
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.objects.workloads import IntOrString


class PodDisruptionBudgetSpec(Base):
    """Which pods, and how many of them must stay or may go."""

    selector: LabelSelector | None = None
    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class PodDisruptionBudgetStatus(Base):
    """What is there, what must be, and how many may go now; `disrupted_pods` are on their way."""

    observed_generation: int = 0
    disrupted_pods: Mapping[str, datetime] = {}
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Object):
    """The limit of voluntary disruptions."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


POD_DISRUPTION_BUDGETS: Kind[PodDisruptionBudget] = Kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", PodDisruptionBudget
)
