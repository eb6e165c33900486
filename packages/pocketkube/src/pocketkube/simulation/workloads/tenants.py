"""Tenants: users who run something for a while, change their minds about it, and delete it.

`traffic` decides who comes when and how big they are; a sort of tenant here turns that into steps. `SORTS` names the sorts, each with the
number of pods that one of its tenants runs on average.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from pocketkube.nodes.lifetimes import FAILS_AFTER, RUNS_FOR
from pocketkube.simulation.script import (
    Action,
    Apply,
    Create,
    Delete,
    DeletePods,
    Manifest,
    Patch,
    Step,
    scale,
)
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.objects import APP, Pods

URGENT = "urgent"
"""The priority class of tenants who push others aside."""
POOL = "pool"
"""The label of a node that says to which part of the fleet it belongs."""
_APPS = "apps/v1"
_PAUSED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who runs something: its name and namespace, since when and until when, and what one of its pods asks for."""

    name: str
    where: str
    begins: float
    ends: float
    edits: float
    """Changes of mind in a second, on average."""
    cpu: int
    pools: tuple[str, ...] = ()

    @property
    def lasts(self) -> float:
        return self.ends - self.begins

    def moments(self, rng: Random) -> Iterator[float]:
        """When the tenant has a new idea."""
        if self.edits <= 0:
            return iter(())
        return moments(rng, 1 / self.edits, self.begins, self.ends)


Make = Callable[[Random, Tenant], Iterator[Step]]


class Sort(NamedTuple):
    """How tenants of a sort behave, and how many pods one of them runs on average."""

    make: Make
    pods: float


def _plain(_: Random, tenant: Tenant) -> Iterator[Step]:
    """A pod, and nothing else happens."""
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu)
    yield Step(tenant.begins, Create(objects.pod(tenant.name, tenant.where, pods)))
    yield Step(tenant.ends, Delete("v1", "Pod", tenant.name, tenant.where))


def _bare(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """A pod without a controller, now and then one that ends by itself before it is deleted."""
    ends = _fate(rng, tenant.lasts) if rng.random() < 0.3 else {}
    restarts = rng.choice(("Always", "OnFailure", "Never"))
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu, ends=ends, restarts=restarts)
    yield Step(tenant.begins, Apply(objects.pod(tenant.name, tenant.where, pods)))
    for at in tenant.moments(rng):
        label = {"metadata": {"labels": {"mood": rng.choice(("good", "bad"))}}}
        yield Step(at, Patch("v1", "Pod", tenant.name, label, tenant.where))
    yield Step(tenant.ends, Delete("v1", "Pod", tenant.name, tenant.where))


def _burst(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """Many pods at once, each with a life of its own."""
    for index in range(rng.randint(4, 12)):
        name = f"{tenant.name}-{index}"
        pods = Pods(cpu=tenant.cpu, memory=tenant.cpu, grace=rng.choice((0, 1, 30)))
        yield Step(tenant.begins, Apply(objects.pod(name, tenant.where, pods)))
        ends = tenant.begins + rng.expovariate(1 / max(tenant.lasts, 1.0))
        yield Step(ends, Delete("v1", "Pod", name, tenant.where))


def _urgent(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """A pod that matters more than others and is large enough to need their room."""
    cpu = tenant.cpu * rng.randint(2, 5)
    pods = Pods(cpu=cpu, memory=tenant.cpu, priority=URGENT, grace=1)
    yield Step(tenant.begins, Apply(objects.pod(tenant.name, tenant.where, pods)))
    yield Step(tenant.ends, Delete("v1", "Pod", tenant.name, tenant.where))


def _deployment(rng: Random, tenant: Tenant) -> Iterator[Step]:
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu)
    manifest = objects.deployment(tenant.name, tenant.where, pods, rng.randint(1, 7))
    yield Step(tenant.begins, Apply(manifest))
    for at in tenant.moments(rng):
        match rng.choice(("scale", "scale", "roll", "roll", "pause", "kick", "again")):
            case "pause":
                yield Step(at, _spec("Deployment", tenant, {"paused": True}))
                yield Step(at + 1, _roll("Deployment", tenant, rng))
                resumed = min(at + _PAUSED_SECONDS, tenant.ends)
                yield Step(resumed, _spec("Deployment", tenant, {"paused": False}))
            case "again":
                yield Step(at, Apply(manifest))
            case idea:
                yield Step(at, _idea(idea, "Deployment", tenant, rng))
    yield Step(tenant.ends, Delete(_APPS, "Deployment", tenant.name, tenant.where))


def _stateful_set(rng: Random, tenant: Tenant) -> Iterator[Step]:
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu)
    policy = rng.choice(("OrderedReady", "Parallel"))
    manifest = objects.stateful_set(tenant.name, tenant.where, pods, rng.randint(1, 5), policy)
    yield Step(tenant.begins, Apply(manifest))
    for at in tenant.moments(rng):
        idea = rng.choice(("scale", "scale", "roll", "kick"))
        yield Step(at, _idea(idea, "StatefulSet", tenant, rng))
    yield Step(tenant.ends, Delete(_APPS, "StatefulSet", tenant.name, tenant.where))


def _daemon_set(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """One small pod on each node of a pool."""
    selector = {POOL: rng.choice(tenant.pools)} if tenant.pools else {}
    pods = Pods(cpu=max(1, tenant.cpu // 10), memory=16, selector=selector)
    yield Step(tenant.begins, Apply(objects.daemon_set(tenant.name, tenant.where, pods)))
    for at in tenant.moments(rng):
        yield Step(at, _idea(rng.choice(("roll", "kick")), "DaemonSet", tenant, rng))
    yield Step(tenant.ends, Delete(_APPS, "DaemonSet", tenant.name, tenant.where))


def _job(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """Work that is done in about the tenant's time; who tires of it stops it for a while, or deletes it before it is done."""
    parallelism = rng.randint(1, 5)
    completions = parallelism * rng.randint(1, 3)
    ends = _fate(rng, tenant.lasts * parallelism / completions)
    restarts = rng.choice(("Never", "OnFailure"))
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu, ends=ends, restarts=restarts)
    manifest = objects.job(tenant.name, tenant.where, pods, completions, parallelism)
    yield Step(tenant.begins, Apply(manifest))
    for at in tenant.moments(rng):
        change = rng.choice(({"suspend": True}, {"parallelism": rng.randint(1, 5)}))
        yield Step(at, _spec("Job", tenant, change, "batch/v1"))
        if "suspend" in change:
            resumed = min(at + _PAUSED_SECONDS, tenant.ends)
            yield Step(resumed, _spec("Job", tenant, {"suspend": False}, "batch/v1"))
    yield Step(tenant.ends, Delete("batch/v1", "Job", tenant.name, tenant.where))


def _team(rng: Random, tenant: Tenant) -> Iterator[Step]:
    """A namespace with a few things in it, which all go with it."""
    where = f"{tenant.where}-{tenant.name}"
    yield Step(tenant.begins, Apply(objects.namespace(where)))
    pods = Pods(cpu=tenant.cpu, memory=tenant.cpu)
    first, second = f"{tenant.name}-web", f"{tenant.name}-tool"
    replicas = rng.randint(1, 3)
    yield Step(tenant.begins + 5, Apply(objects.deployment(first, where, pods, replicas)))
    yield Step(tenant.begins + 5, Apply(objects.pod(second, where, pods)))
    yield Step(tenant.ends, Delete("v1", "Namespace", where))


SORTS: dict[str, Sort] = {
    "plain": Sort(_plain, 1),
    "pod": Sort(_bare, 1),
    "burst": Sort(_burst, 8),
    "urgent": Sort(_urgent, 1),
    "deployment": Sort(_deployment, 4),
    "stateful-set": Sort(_stateful_set, 3),
    "daemon-set": Sort(_daemon_set, 3),
    "job": Sort(_job, 3),
    "team": Sort(_team, 3),
}


def _idea(idea: str, kind: str, tenant: Tenant, rng: Random) -> Action:
    match idea:
        case "scale":
            return scale(kind, tenant.where, tenant.name, rng.randint(0, 7))
        case "roll":
            return _roll(kind, tenant, rng)
        case _:
            return DeletePods(tenant.where, labels={APP: tenant.name}, most=rng.randint(1, 2))


def _roll(kind: str, tenant: Tenant, rng: Random) -> Patch:
    """Another version of the program: all pods are to be replaced."""
    mark = {"metadata": {"annotations": {"version": str(rng.randrange(10_000))}}}
    return _spec(kind, tenant, {"template": mark})


def _spec(kind: str, tenant: Tenant, change: Manifest, version: str = _APPS) -> Patch:
    return Patch(version, kind, tenant.name, {"spec": change}, tenant.where)


def _fate(rng: Random, mean: float) -> dict[str, str]:
    """When containers end, and how."""
    seconds = max(1, round(rng.uniform(0.5, 1.5) * mean))
    name = FAILS_AFTER if rng.random() < 0.2 else RUNS_FOR
    return {name: f"{seconds}s"}
