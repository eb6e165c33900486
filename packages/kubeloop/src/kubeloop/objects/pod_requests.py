"""How much of a node a pod takes: its effective requests and limits.

`scheduling` charges nodes with it, claims compare pods with tickets by it, quotas add it up. The rules are those of the
scheduler of Kubernetes 1.36:

* ordinary containers run side by side, sidecars beside everything that starts after them, other init containers one
  after the other: the pod needs the largest sum that is ever needed at once;
* amounts on the pod as a whole replace that sum for cpu, memory and huge pages; overhead comes on top;
* while a pod is resized in place it is charged with the most of what is wanted, promised and in force. A wish that its
  node can never fulfil counts for nothing.

What a limit implies for a missing request is not decided here: the API server fills that in before it stores a pod.
"""

from collections.abc import Callable, Mapping

from kubeloop.objects import core, quantity, resources
from kubeloop.objects.core import (
    Amount,
    Container,
    ContainerStatus,
    Pod,
    PodStatus,
    ResourceRequirements,
)
from kubeloop.objects.quantity import Quantity

Amounts = dict[str, Quantity]
_Measure = Callable[[Container, ContainerStatus | None], Amounts]

_ONE = quantity.parse(1)
_NOTHING: Mapping[str, Quantity] = {}


def requests(pod: Pod, *, unsaid: Mapping[str, Quantity] = _NOTHING) -> Amounts:
    """What the pod is charged with, including the place in the node's pod count that every pod takes.

    `unsaid` is what each container is taken to request where it says nothing.
    """
    hopeless = _resize_is_hopeless(pod.status)

    def measure(container: Container, status: ContainerStatus | None) -> Amounts:
        if status is None:
            asked = resources.parse_list(container.resources.requests)
        else:
            asked = _charged(
                container.resources, status.resources, status.allocated_resources, hopeless=hopeless
            )
        return {**unsaid, **asked}

    total = _most_at_once(pod, measure)
    whole = pod.spec.resources
    if whole is not None:
        status = pod.status
        charged = _charged(whole, status.resources, status.allocated_resources, hopeless=hopeless)
        total |= _on_pod_level(whole.requests, charged)
    if pod.spec.overhead:
        total = resources.add(total, resources.parse_list(pod.spec.overhead))
    total["pods"] = _ONE
    return total


def limits(pod: Pod) -> Amounts:
    """What the pod may use at most; a resource that is not named has no limit."""
    hopeless = _resize_is_hopeless(pod.status)

    def measure(container: Container, status: ContainerStatus | None) -> Amounts:
        in_force = status.resources if status is not None else None
        return _bounded(container.resources, in_force, hopeless=hopeless)

    total = _most_at_once(pod, measure)
    whole = pod.spec.resources
    if whole is not None:
        in_force = pod.status.resources
        stated = in_force if in_force is not None and in_force.limits else None
        total |= _on_pod_level(whole.limits, _bounded(whole, stated, hopeless=hopeless))
    for name, amount in resources.parse_list(pod.spec.overhead).items():
        if name in total and not total[name].is_zero:
            total[name] += amount
    return total


def _most_at_once(pod: Pod, measure: _Measure) -> Amounts:
    """The largest amounts in use at the same time, over the whole life of the pod."""
    status = pod.status
    known = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}
    running: Amounts = {}
    for container in pod.spec.containers:
        running = resources.add(running, measure(container, known.get(container.name)))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in pod.spec.init_containers:
        if core.is_sidecar(container):
            sidecars = resources.add(sidecars, measure(container, known.get(container.name)))
        else:
            own = resources.add(measure(container, None), sidecars)
            starting = resources.maximum(starting, own)
    return resources.maximum(resources.add(running, sidecars), starting)


def _charged(
    wanted: ResourceRequirements,
    in_force: ResourceRequirements | None,
    promised: Mapping[str, Amount],
    *,
    hopeless: bool,
) -> Amounts:
    asked = resources.parse_list(wanted.requests)
    if in_force is None:
        return asked
    held = resources.maximum(
        resources.parse_list(in_force.requests), resources.parse_list(promised)
    )
    return held if hopeless else resources.maximum(asked, held)


def _bounded(
    wanted: ResourceRequirements, in_force: ResourceRequirements | None, *, hopeless: bool
) -> Amounts:
    asked = resources.parse_list(wanted.limits)
    if in_force is None:
        return asked
    held = resources.parse_list(in_force.limits)
    return held if hopeless else resources.maximum(asked, held)


def _on_pod_level(named: Mapping[str, Amount], amounts: Amounts) -> Amounts:
    """What replaces the sum over containers; only these resources can be set for a whole pod."""
    return {
        name: amounts.get(name, quantity.ZERO)
        for name in named
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _resize_is_hopeless(status: PodStatus) -> bool:
    """Says whether the node can never give what the spec wants; servers before 1.33 said so in `resize`."""
    pending = core.reported(status.conditions, "PodResizePending")
    return (pending.reason if pending is not None else status.resize) == "Infeasible"
