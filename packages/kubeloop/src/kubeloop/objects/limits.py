"""What Kubernetes itself allows: quotas and bounds of a namespace, and priorities.

Guardians are charged and bounded by these like any pod; rules read them to explain a refusal before it happens, the
embedded server enforces them.
"""

from collections.abc import Mapping

from kubeloop.objects.core import Amount
from kubeloop.objects.meta import Base, Kind, Object


class ScopeRequirement(Base):
    """One demand on the objects that a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Base):
    """Demands that must all be met."""

    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(Base):
    """What a namespace may use in all."""

    hard: Mapping[str, Amount] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None

    @property
    def requirements(self) -> tuple[ScopeRequirement, ...]:
        """All demands on objects; a scope that is only named has to be there."""
        named = (ScopeRequirement(scope_name=each, operator="Exists") for each in self.scopes)
        selected = self.scope_selector.match_expressions if self.scope_selector is not None else ()
        return (*named, *selected)


class ResourceQuotaStatus(Base):
    """What is enforced and what is used."""

    hard: Mapping[str, Amount] = {}
    used: Mapping[str, Amount] = {}


class ResourceQuota(Object):
    """The limit Kubernetes itself sets to a namespace, guardians included."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class LimitRangeItem(Base):
    """Bounds and defaults for one type of thing (`Container`, `Pod`, `PersistentVolumeClaim`)."""

    type: str = ""
    max: Mapping[str, Amount] = {}
    min: Mapping[str, Amount] = {}
    default: Mapping[str, Amount] = {}
    default_request: Mapping[str, Amount] = {}
    max_limit_request_ratio: Mapping[str, Amount] = {}


class LimitRangeSpec(Base):
    """All bounds of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object):
    """Bounds for the single pods and containers of a namespace."""

    spec: LimitRangeSpec = LimitRangeSpec()


class PriorityClass(Object):
    """A named priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


RESOURCE_QUOTAS: Kind[ResourceQuota] = Kind(
    "", "v1", "ResourceQuota", "resourcequotas", ResourceQuota
)
LIMIT_RANGES: Kind[LimitRange] = Kind("", "v1", "LimitRange", "limitranges", LimitRange)
PRIORITY_CLASSES: Kind[PriorityClass] = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", PriorityClass, namespaced=False
)
