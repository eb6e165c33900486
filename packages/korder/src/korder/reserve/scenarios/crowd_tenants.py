"""Tenants of a full cluster: what each orders, when its pods claim, and how they end.

`crowded` draws them by their sort; `crowd_troubles` has those that stand in the way of others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from korder.api.reserve import ORDER_ANNOTATION, REQUIRED_ANNOTATION, SCHEDULING_GATE
from korder.reserve.scenarios import orders
from korder.reserve.scenarios.orders import API_VERSION, Form
from pocketkube.nodes.lifetimes import RUNS_FOR
from pocketkube.simulation.script import Apply, Delete, DeletePods, Manifest, Step
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.objects import APP, Pods

UNIT = 500
"""The size of almost all pods and tickets, in thousandths of a core and in mebibytes."""
HELD = 20.0
"""Seconds after the beginning of an act when the tickets are held and competitors come."""
NO_SCHEDULER = "no-such-scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One order of an act: its name and namespace, its tickets, the times between which its pods claim, and the nodes there are."""

    name: str
    where: str
    tickets: int
    begins: float
    ends: float
    nodes: tuple[str, ...] = ()


def _default(rng: Random, who: Tenant) -> Iterator[Step]:
    """An order as the documentation writes it: OneTime, refilled on claim; claimed one by one and in bursts.

    Some tolerate every taint: their guardians must not pass a barrier.
    """
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30, tolerates=rng.random() < 0.3), {})
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _full(rng: Random, who: Tenant) -> Iterator[Step]:
    """Nothing is refilled, and all tickets are claimed in one instant."""
    strategy = {"type": "OneTime", "refreshPolicy": "Never"}
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), strategy)
    at = rng.uniform(who.begins + HELD + 20, who.ends - 90)
    for index in range(who.tickets):
        yield from claim(rng, who, f"{who.name}-c{index}", at)


def _stuck(rng: Random, who: Tenant) -> Iterator[Step]:
    """Pods that claim and can never be bound, beside others."""
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), {})
    for number, at in enumerate(bursts(rng, who)):
        if rng.random() < 0.5:
            scheduler, beside = rng.choice(((NO_SCHEDULER, ""), ("", "no-such-app")))
            unbindable = replace(claiming_pods(rng, who), scheduler=scheduler, beside=beside)
            yield from claim(rng, who, f"{who.name}-bad{number}", at, unbindable)
        later = at + rng.uniform(0, 5)
        for index in range(rng.randint(1, who.tickets)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", later)


def _returning(rng: Random, who: Tenant) -> Iterator[Step]:
    """The room is taken back after use; the pods are deleted, deleted by force, or end by themselves."""
    form = Form(cpu=UNIT, memory=UNIT, ttl=30, after_use="Reserve")
    yield from order(who, form, {"type": "OneTime", "refreshPolicy": "Never"})
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _renewing(rng: Random, who: Tenant) -> Iterator[Step]:
    """Short tickets that are replaced when they expire."""
    length = rng.choice(("40s", "60s", "90s"))
    form = Form(cpu=UNIT, memory=UNIT, ttl=rng.choice((0, 30)), duration=length)
    yield from order(who, form, {"type": "OneTime", "refreshPolicy": "Always"})
    for number, at in enumerate(bursts(rng, who)):
        if rng.random() < 0.3:
            yield from claim(rng, who, f"{who.name}-c{number}", at)


def _recurring(rng: Random, who: Tenant) -> Iterator[Step]:
    """A pool whose tickets last as long as the time between two firings."""
    minutes = rng.choice((1, 2, 2))
    form = Form(cpu=UNIT, memory=UNIT, ttl=rng.choice((0, 30)), duration=f"{minutes}m")
    strategy: Manifest = {
        "type": "Recurring",
        "refreshPolicy": rng.choice(("OnClaim", "OnClaim", "Always")),
        "schedule": f"*/{minutes} * * * *",
    }
    if rng.random() < 0.4:
        strategy["leadTime"] = "20s"
    yield from order(who, form, strategy)
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(0, who.tickets // 2)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _daemons(rng: Random, who: Tenant) -> Iterator[Step]:
    """Standing tickets on every node that tolerate everything, a DaemonSet that claims them and is deleted, and made again."""
    form = Form(cpu=UNIT, memory=UNIT, tolerates=True)
    manifest = orders.daemon_order(who.name, who.where, rng, form)
    manifest["spec"]["strategy"] = {"type": "OneTime"}
    yield Step(who.begins, Apply(manifest))
    pods = replace(claiming_pods(rng, who), tolerates=True, grace=rng.choice((0, 1, 2)))
    name = f"{who.name}-ds"
    at = who.begins + HELD + 20
    while at + 60 < who.ends:
        until = at + rng.uniform(20, 60)
        yield Step(at, Apply(objects.daemon_set(name, who.where, pods)))
        yield Step(until, Delete("apps/v1", "DaemonSet", name, who.where))
        at = until + rng.uniform(20, 90)
    yield Step(who.ends, Delete(API_VERSION, "Order", who.name, who.where))


SORTS: Mapping[str, Callable[[Random, Tenant], Iterator[Step]]] = {
    "default": _default,
    "full": _full,
    "stuck": _stuck,
    "returning": _returning,
    "renewing": _renewing,
    "recurring": _recurring,
    "daemons": _daemons,
}


def order(who: Tenant, form: Form, strategy: Manifest) -> Iterator[Step]:
    """The order of a tenant, for as long as its act lasts; without a strategy it is that of the server."""
    template = orders.template(who.name, form)
    spec: Manifest = {"replicas": who.tickets, "template": template}
    if strategy:
        spec["strategy"] = strategy
    head = {"apiVersion": API_VERSION, "kind": "Order"}
    meta = {"name": who.name, "namespace": who.where}
    yield Step(who.begins, Apply({**head, "metadata": meta, "spec": spec}))
    yield Step(who.ends, Delete(API_VERSION, "Order", who.name, who.where))


def bursts(rng: Random, who: Tenant) -> Iterator[float]:
    """The moments at which pods of a tenant claim."""
    return moments(rng, rng.uniform(30, 120), who.begins + HELD + 10, who.ends - 60)


def claim(
    rng: Random, who: Tenant, name: str, at: float, pods: Pods | None = None
) -> Iterator[Step]:
    """A pod of some kind that claims a ticket of the order, and how it ends."""
    pods = pods or claiming_pods(rng, who)
    ends = min(at + rng.uniform(15, 90), who.ends)
    match rng.choices(("Pod", "Deployment", "StatefulSet", "Job"), (5, 2, 2, 2))[0]:
        case "Deployment":
            yield Step(at, Apply(objects.deployment(name, who.where, pods, 1)))
            yield from _kicks(rng, who, name, at, ends)
            yield Step(ends, Delete("apps/v1", "Deployment", name, who.where))
        case "StatefulSet":
            yield Step(at, Apply(objects.stateful_set(name, who.where, pods, 1, "Parallel")))
            yield from _kicks(rng, who, name, at, ends)
            yield Step(ends, Delete("apps/v1", "StatefulSet", name, who.where))
        case "Job":
            pods = replace(pods, ends=_lasts(rng), restarts="Never")
            yield Step(at, Apply(objects.job(name, who.where, pods, 1, 1)))
            yield Step(who.ends, Delete("batch/v1", "Job", name, who.where))
        case _:
            fate = rng.choice(("deleted", "forced", "ends"))
            lasts = _lasts(rng) if fate == "ends" else {}
            pods = replace(pods, ends=lasts, restarts="Never")
            yield Step(at, Apply(objects.pod(name, who.where, pods)))
            grace = 0 if fate == "forced" else None
            until = who.ends if fate == "ends" else ends
            yield Step(until, Delete("v1", "Pod", name, who.where, grace))


def _kicks(rng: Random, who: Tenant, name: str, at: float, ends: float) -> Iterator[Step]:
    """Now and then the pods of a workload are deleted, in part by force."""
    if rng.random() < 0.3:
        grace = 0 if rng.random() < 0.5 else None
        yield Step(rng.uniform(at, ends), DeletePods(who.where, {APP: name}, grace=grace))


def claiming_pods(rng: Random, who: Tenant) -> Pods:
    """Pods that wait for a ticket of the tenant's order."""
    return Pods(
        cpu=UNIT,
        memory=UNIT,
        grace=rng.choice((0, 1, 2, 30)),
        asks={REQUIRED_ANNOTATION: "true", ORDER_ANNOTATION: who.name},
        gates=(SCHEDULING_GATE,),
    )


def _lasts(rng: Random) -> dict[str, str]:
    return {RUNS_FOR: f"{rng.randint(5, 60)}s"}
