"""PodDisruptionBudgets: how many pods may be evicted now.

Evictions are decided by the status alone, so it errs to the safe side: while it cannot be known how many pods there should
be, none may go. A pod whose eviction was allowed no longer counts as healthy; if it is still there after two minutes it
counts again. Budgets over pods of custom controllers, whose scale would have to be asked for, are such an unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from kubeloop.objects import conditions, selector
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import HasMetadata, Key, controller_of, key_of
from kubeloop.objects.plan import NOTHING, Plan
from kubeloop.objects.workloads import (
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Deployment,
    IntOrString,
    ReplicaSet,
    StatefulSet,
)
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import by_namespace
from pocketkube.controllers import pod_control, rollout
from pocketkube.objects.policy import (
    POD_DISRUPTION_BUDGETS,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
)

DELETION_TIMEOUT = timedelta(minutes=2)
ALLOWED = "DisruptionAllowed"
_BY_NAMESPACE = "namespace"
Scaled = Deployment | ReplicaSet | StatefulSet


class Unknown(Exception):
    """It cannot be told how many pods there should be."""


class Disruptions:
    """Keeps the status of all budgets."""

    def __init__(self, manager: Manager) -> None:
        self._budgets = manager.informers.of(POD_DISRUPTION_BUDGETS)
        self._pods = manager.informers.of(PODS)
        self._deployments = manager.informers.of(DEPLOYMENTS)
        self._replica_sets = manager.informers.of(REPLICA_SETS)
        self._stateful_sets = manager.informers.of(STATEFUL_SETS)
        for informer in (self._budgets, self._pods):
            informer.add_index(_BY_NAMESPACE, by_namespace)
        controller = manager.controller("disruptions", self._reconcile)
        controller.follow(self._budgets)
        controller.follow(self._pods, self._selecting)
        controller.follow(self._deployments, self._beside)
        controller.follow(self._replica_sets, self._beside)
        controller.follow(self._stateful_sets, self._beside)

    def _beside(self, obj: HasMetadata) -> Iterable[Key]:
        return map(key_of, self._budgets.reader.where(_BY_NAMESPACE, obj.metadata.namespace))

    def _selecting(self, pod: Pod) -> Iterable[Key]:
        return [
            key_of(budget)
            for budget in self._budgets.reader.where(_BY_NAMESPACE, pod.metadata.namespace)
            if selector.from_struct(budget.spec.selector).matches(pod.metadata.labels)
        ]

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        budget = self._budgets.reader.get(key)
        if budget is None:
            return NOTHING
        wanted = selector.from_struct(budget.spec.selector)
        pods = [
            pod
            for pod in self._pods.reader.where(_BY_NAMESPACE, key.namespace)
            if wanted.matches(pod.metadata.labels)
        ]
        going = on_their_way(budget.status.disrupted_pods, pods, now)
        try:
            status = status_of(budget, pods, going, self._scales(pods), now)
        except Unknown as why:
            status = _closed(budget, str(why), now)
        stated = pod_control.report(POD_DISRUPTION_BUDGETS, budget, budget.status, status)
        ends = min((since + DELETION_TIMEOUT for since in going.values()), default=None)
        return Plan().then(*stated).requeue(ends)

    def _scales(self, pods: Iterable[Pod]) -> Mapping[str, "int | Unknown"]:
        """How many pods each controller wants, by its UID; one of which that cannot be told, by the reason."""
        found: dict[str, int | Unknown] = {}
        for pod in pods:
            ref = controller_of(pod)
            if ref is None:
                continue
            owner = self._owner(pod.metadata.namespace, ref.kind, ref.name)
            if owner is None or ref.uid not in (owner.uid, owner.member):
                found[ref.uid] = Unknown(f'found no controllers for pod "{pod.metadata.name}"')
            else:
                found[owner.uid] = owner.scale
        return found

    def _owner(self, namespace: str, kind: str, name: str) -> "_Owner | None":
        key = Key(namespace, name)
        if kind == STATEFUL_SETS.kind:
            return _owned(self._stateful_sets.reader.get(key))
        owner = self._replica_sets.reader.get(key) if kind == REPLICA_SETS.kind else None
        ref = controller_of(owner) if owner is not None else None
        if owner is None or ref is None or ref.kind != DEPLOYMENTS.kind:
            return _owned(owner)
        deployment = self._deployments.reader.get(Key(namespace, ref.name))
        if deployment is None or deployment.metadata.uid != ref.uid:
            return _owned(owner)
        return _Owner(ref.uid, deployment.spec.replicas, owner.metadata.uid)


class _Owner(NamedTuple):
    uid: str
    scale: int
    member: str
    """The UID that pods name, which is that of a Deployment's ReplicaSet."""


def _owned(owner: Scaled | None) -> _Owner | None:
    if owner is None:
        return None
    return _Owner(owner.metadata.uid, owner.spec.replicas, owner.metadata.uid)


def on_their_way(
    disrupted: Mapping[str, datetime], pods: Iterable[Pod], now: datetime
) -> dict[str, datetime]:
    """The pods whose eviction was allowed and that may still be about to go."""
    return {
        pod.metadata.name: disrupted[pod.metadata.name]
        for pod in pods
        if pod.metadata.name in disrupted
        and pod.metadata.deletion_timestamp is None
        and disrupted[pod.metadata.name] + DELETION_TIMEOUT > now
    }


def status_of(
    budget: PodDisruptionBudget,
    pods: Sequence[Pod],
    going: Mapping[str, datetime],
    scales: Mapping[str, "int | Unknown"],
    now: datetime,
) -> PodDisruptionBudgetStatus:
    """Counts the pods of a budget.

    Raises:
        Unknown: the budget depends on a scale that cannot be told.
    """
    expected, desired = _wanted(budget, pods, scales)
    healthy = sum(
        pod_control.is_ready(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.metadata.name not in going
        for pod in pods
    )
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    condition = Condition(
        type=ALLOWED,
        status=Status.TRUE if allowed else Status.FALSE,
        reason="SufficientPods" if allowed else "InsufficientPods",
        observed_generation=budget.metadata.generation,
    )
    return PodDisruptionBudgetStatus(
        observed_generation=budget.metadata.generation,
        disrupted_pods=going,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        conditions=conditions.set_condition(budget.status.conditions, condition, now),
    )


def _wanted(
    budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Mapping[str, "int | Unknown"]
) -> tuple[int, int]:
    """How many pods there should be, and how many of them have to be healthy."""
    most, least = budget.spec.max_unavailable, budget.spec.min_available
    if most is not None:
        expected = _expected(scales)
        return expected, max(expected - _share(most, expected), 0)
    if isinstance(least, str):
        expected = _expected(scales)
        return expected, _share(least, expected)
    return len(pods) if least is not None else 0, least or 0


def _expected(scales: Mapping[str, "int | Unknown"]) -> int:
    for scale in scales.values():
        if isinstance(scale, Unknown):
            raise scale
    return sum(scale for scale in scales.values() if isinstance(scale, int))


def _share(amount: IntOrString, of: int) -> int:
    try:
        return rollout.amount(amount, 0, of, up=True)
    except ValueError:
        raise Unknown(f"invalid value for IntOrString: {amount}") from None


def _closed(budget: PodDisruptionBudget, why: str, now: datetime) -> PodDisruptionBudgetStatus:
    """The status of a budget that cannot be worked out: nothing may go."""
    had = budget.status
    condition = Condition(
        type=ALLOWED,
        status=Status.FALSE,
        reason="SyncFailed",
        message=why,
        observed_generation=had.observed_generation,
    )
    return PodDisruptionBudgetStatus(
        observed_generation=had.observed_generation,
        disrupted_pods=had.disrupted_pods,
        current_healthy=had.current_healthy,
        desired_healthy=had.desired_healthy,
        expected_pods=had.expected_pods,
        conditions=conditions.set_condition(had.conditions, condition, now),
    )
