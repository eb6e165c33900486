"""A full cluster: every ticket that is handed over, renewed or returned has competitors that wait for its room.

    crowded(Random(seed), Crowded(nodes=2, hours=1)) -> steps

The run consists of acts of five minutes, with quiet time in between. In each, orders of several namespaces take the whole cluster, then competitors of several
priorities come that never preempt and wait, and then pods claim, one by one and in bursts. Competitors run for a while and go, so that
refills find room again. Each act ends with nothing left. `Crowded.mix` names the sorts of tenants; each is a row of what was
seen to fail on a real cluster.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random

from korder.api.reserve import ORDER_ANNOTATION, REQUIRED_ANNOTATION, SCHEDULING_GATE
from korder.reserve.scenarios import orders
from korder.reserve.scenarios.orders import API_VERSION, Form
from pocketkube.nodes.lifetimes import RUNS_FOR
from pocketkube.simulation.script import (
    AddNode,
    Apply,
    Delete,
    DeletePods,
    Manifest,
    Patch,
    Step,
    in_order,
)
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.objects import APP, Pods
from pocketkube.simulation.workloads.troubles import HOUR, troubles

UNIT = 500
"""The size of almost all pods and tickets, in thousandths of a core and in mebibytes."""
UNITS_PER_NODE = 6
ACT = 300.0
"""Seconds of one act."""
SETTING_UP = 5.0
HELD = 20.0
"""Seconds after the beginning of an act when the tickets are held and competitors come."""
CLEARED = 30.0
"""Seconds before the end of an act when everything is deleted."""
NAMESPACES = ("red", "blue", "green")
COMPETITORS = "crowd"
"""The namespace of pods that compete."""
PRIORITIES: Mapping[str, int] = {
    "": 0,
    "crowd-normal": 1_000,
    "crowd-equal": 1_000_000,
    "crowd-high": 2_000_000,
}
"""The priority classes of competitors: that of most claimants, above it, that of guardians, above that."""
NO_SCHEDULER = "no-such-scheduler"
MIX: Mapping[str, float] = {
    "default": 4,
    "full": 2,
    "stuck": 2,
    "returning": 3,
    "renewing": 2,
    "recurring": 2,
    "daemons": 1,
}
"""Sorts of tenants, in proportion."""
RENEWED: Mapping[str, float] = {"default": 1, "renewing": 3, "recurring": 3}
"""The same with tickets that are mostly renewed at firings and at their expiry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """What the cluster is like.

    Attributes:
        nodes: How many machines there are.
        hours: How long all this goes on.
        acts: How many acts there are in an hour, at most twelve.
        mix: Sorts of tenants, in proportion.
        tenants: The most tenants of an act.
        competitors: How many competitors of each priority wait at any time, on average.
        cordons: How often in an hour a node is cordoned for a while.
        troubles: How often in an hour a process crashes, stops or loses the time.
        processes: The processes to which that happens.
    """

    nodes: int = 2
    hours: float = 1.0
    acts: float = 3.0
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    tenants: int = 3
    competitors: float = 2.0
    cordons: float = 0.0
    troubles: float = 0.0
    processes: tuple[str, ...] = ()

    @property
    def length(self) -> float:
        return self.hours * HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One order of an act: its name and namespace, its tickets, and the times between which its pods claim."""

    name: str
    where: str
    tickets: int
    begins: float
    ends: float


def crowded(rng: Random, wanted: Crowded) -> tuple[Step, ...]:
    """Writes the script of a run."""
    names = [f"node-{index}" for index in range(wanted.nodes)]
    steps = chain(
        _cluster(names),
        *(_act(rng, wanted, number, at) for number, at in enumerate(_beginnings(wanted))),
        _cordons(rng, wanted, names),
        troubles(rng, wanted.processes, wanted.length, wanted.troubles),
    )
    return in_order(
        Step(round(each.at, 3), each.action) for each in steps if each.at <= wanted.length
    )


def _cluster(names: list[str]) -> Iterator[Step]:
    cpu = UNIT * UNITS_PER_NODE // 1_000
    for name in names:
        yield Step(0.0, AddNode(name, {"cpu": str(cpu), "memory": f"{2 * cpu}Gi"}))
    for name in (*NAMESPACES, COMPETITORS):
        yield Step(1.0, Apply(objects.namespace(name)))
    for name, value in PRIORITIES.items():
        if name:
            yield Step(1.0, Apply(objects.priority_class(name, value, preempts=False)))


def _beginnings(wanted: Crowded) -> Iterator[float]:
    """When acts begin; a run that is too short for one has a shorter act."""
    gap = max(ACT, HOUR / wanted.acts)
    for number in range(max(1, round(wanted.length / gap))):
        yield SETTING_UP + number * gap


def _act(rng: Random, wanted: Crowded, number: int, begins: float) -> Iterator[Step]:
    ends = min(begins + ACT, wanted.length) - CLEARED
    units = wanted.nodes * UNITS_PER_NODE
    sorts = rng.choices(
        [*wanted.mix], [*wanted.mix.values()], k=rng.randint(min(2, wanted.tenants), wanted.tenants)
    )
    held = max(len(sorts), round(units * rng.choice((0.6, 0.9, 1.0, 1.0, 1.3))))
    for index, (sort, tickets) in enumerate(zip(sorts, _parts(rng, held, len(sorts)), strict=True)):
        tenant = Tenant(
            name=f"a{number}-{index}",
            where=rng.choice(NAMESPACES),
            tickets=tickets,
            begins=begins + rng.uniform(0, 2),
            ends=ends,
        )
        yield from SORTS[sort](rng, tenant)
    yield from _competitors(rng, wanted, number, begins + HELD, ends)


def _parts(rng: Random, whole: int, many: int) -> list[int]:
    """Splits a number of tickets between tenants; each gets at least one."""
    cuts = sorted(rng.sample(range(1, whole), many - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, whole], strict=True)]


def _competitors(
    rng: Random, wanted: Crowded, number: int, begins: float, ends: float
) -> Iterator[Step]:
    """Pods that wait for any room and never preempt; there are always some, and those that got room go after a while."""
    classes = rng.sample([*PRIORITIES], rng.randint(1, len(PRIORITIES)))
    for rank in classes:
        lasts = rng.uniform(60, 180)
        first = [begins + rng.uniform(0, 5) for _ in range(round(wanted.competitors))]
        later = moments(rng, lasts / max(wanted.competitors, 0.1), begins, ends)
        for index, at in enumerate((*first, *later)):
            pods = Pods(
                cpu=rng.choice((UNIT, UNIT, UNIT, UNIT // 2)),
                memory=UNIT,
                priority=rank,
                grace=rng.choice((0, 1, 2)),
                ends={RUNS_FOR: f"{max(5, round(rng.expovariate(1 / 60)))}s"},
                restarts="Never",
            )
            name = f"a{number}-{rank or 'crowd-low'}-{index}"
            yield Step(at, Apply(objects.pod(name, COMPETITORS, pods)))
            yield Step(ends, Delete("v1", "Pod", name, COMPETITORS))


def _cordons(rng: Random, wanted: Crowded, names: list[str]) -> Iterator[Step]:
    if wanted.cordons <= 0:
        return
    for at in moments(rng, HOUR / wanted.cordons, SETTING_UP, wanted.length):
        name = rng.choice(names)
        until = min(at + rng.uniform(10, 90), wanted.length)
        yield Step(at, Patch("v1", "Node", name, {"spec": {"unschedulable": True}}))
        yield Step(until, Patch("v1", "Node", name, {"spec": {"unschedulable": False}}))


# Sorts of tenants


def _default(rng: Random, who: Tenant) -> Iterator[Step]:
    """An order as the documentation writes it: OneTime, refilled on claim; claimed one by one and in bursts.

    Some tolerate every taint: their guardians must not pass a barrier.
    """
    yield from _order(who, Form(cpu=UNIT, memory=UNIT, ttl=30, tolerates=rng.random() < 0.3), {})
    for number, at in enumerate(_bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from _claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _full(rng: Random, who: Tenant) -> Iterator[Step]:
    """Nothing is refilled, and all tickets are claimed in one instant."""
    strategy = {"type": "OneTime", "refreshPolicy": "Never"}
    yield from _order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), strategy)
    at = rng.uniform(who.begins + HELD + 20, who.ends - 90)
    for index in range(who.tickets):
        yield from _claim(rng, who, f"{who.name}-c{index}", at)


def _stuck(rng: Random, who: Tenant) -> Iterator[Step]:
    """Pods that claim and can never be bound, beside others."""
    yield from _order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), {})
    for number, at in enumerate(_bursts(rng, who)):
        if rng.random() < 0.5:
            scheduler, beside = rng.choice(((NO_SCHEDULER, ""), ("", "no-such-app")))
            unbindable = replace(_pods(rng, who), scheduler=scheduler, beside=beside)
            yield from _claim(rng, who, f"{who.name}-bad{number}", at, unbindable)
        later = at + rng.uniform(0, 5)
        for index in range(rng.randint(1, who.tickets)):
            yield from _claim(rng, who, f"{who.name}-c{number}-{index}", later)


def _returning(rng: Random, who: Tenant) -> Iterator[Step]:
    """The room is taken back after use; the pods are deleted, deleted by force, or end by themselves."""
    form = Form(cpu=UNIT, memory=UNIT, ttl=30, after_use="Reserve")
    yield from _order(who, form, {"type": "OneTime", "refreshPolicy": "Never"})
    for number, at in enumerate(_bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from _claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _renewing(rng: Random, who: Tenant) -> Iterator[Step]:
    """Short tickets that are replaced when they expire."""
    length = rng.choice(("40s", "60s", "90s"))
    form = Form(cpu=UNIT, memory=UNIT, ttl=rng.choice((0, 30)), duration=length)
    yield from _order(who, form, {"type": "OneTime", "refreshPolicy": "Always"})
    for number, at in enumerate(_bursts(rng, who)):
        if rng.random() < 0.3:
            yield from _claim(rng, who, f"{who.name}-c{number}", at)


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
    yield from _order(who, form, strategy)
    for number, at in enumerate(_bursts(rng, who)):
        for index in range(rng.randint(0, who.tickets // 2)):
            yield from _claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _daemons(rng: Random, who: Tenant) -> Iterator[Step]:
    """Standing tickets on every node that tolerate everything, a DaemonSet that claims them and is deleted, and made again."""
    form = Form(cpu=UNIT, memory=UNIT, tolerates=True)
    manifest = orders.daemon_order(who.name, who.where, rng, form)
    manifest["spec"]["strategy"] = {"type": "OneTime"}
    yield Step(who.begins, Apply(manifest))
    pods = replace(_pods(rng, who), tolerates=True, grace=rng.choice((0, 1, 2)))
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


def _order(who: Tenant, form: Form, strategy: Manifest) -> Iterator[Step]:
    template = orders.template(who.name, form)
    spec: Manifest = {"replicas": who.tickets, "template": template}
    if strategy:
        spec["strategy"] = strategy
    head = {"apiVersion": API_VERSION, "kind": "Order"}
    meta = {"name": who.name, "namespace": who.where}
    yield Step(who.begins, Apply({**head, "metadata": meta, "spec": spec}))
    yield Step(who.ends, Delete(API_VERSION, "Order", who.name, who.where))


def _bursts(rng: Random, who: Tenant) -> Iterator[float]:
    return moments(rng, rng.uniform(30, 120), who.begins + HELD + 10, who.ends - 60)


def _claim(
    rng: Random, who: Tenant, name: str, at: float, pods: Pods | None = None
) -> Iterator[Step]:
    """A pod of some kind that claims a ticket of the order, and how it ends."""
    pods = pods or _pods(rng, who)
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


def _pods(rng: Random, who: Tenant) -> Pods:
    return Pods(
        cpu=UNIT,
        memory=UNIT,
        grace=rng.choice((0, 1, 2, 30)),
        asks={REQUIRED_ANNOTATION: "true", ORDER_ANNOTATION: who.name},
        gates=(SCHEDULING_GATE,),
    )


def _lasts(rng: Random) -> dict[str, str]:
    return {RUNS_FOR: f"{rng.randint(5, 60)}s"}
