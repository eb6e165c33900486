"""Pods that ask for a ticket: bare ones and those of every kind of workload, in every form in which a request can be written.

`booking` calls it. Where admission puts the gate on, `gated` is left out; without admission the templates carry it themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION,
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
)
from korder.reserve.scenarios.orders import TEAM
from pocketkube.nodes.lifetimes import FAILS_AFTER, RUNS_FOR
from pocketkube.simulation.script import Apply, Delete, DeletePods, Manifest, Patch, Step
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.objects import APP, Pods

_APPS = "apps/v1"
MIX: Mapping[str, float] = {"Pod": 5, "Deployment": 2, "StatefulSet": 1, "Job": 2}
"""Who claims, in proportion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who asks: a name and namespace, since when and until when, for how much room of which order or ticket."""

    name: str
    where: str
    begins: float
    ends: float
    cpu: int
    order: str = ""
    ticket: str = ""
    gated: bool = True


def asks(rng: Random, who: Claimant) -> dict[str, str]:
    """Draws the form of a request; most insist on a ticket."""
    notes: dict[str, str] = {}
    if who.ticket:
        forms = (
            f"name:{who.ticket}",
            who.ticket,
            f"selector:{TEAM}={who.ticket}",
            f"group:{who.ticket}",
        )
        notes[TICKET_REQUEST_ANNOTATION] = rng.choice(forms)
    else:
        match rng.choice(("order", "order", "order-request", "selector", "group", "any")):
            case "order":
                notes[ORDER_ANNOTATION] = who.order
            case "order-request":
                notes[ORDER_REQUEST_ANNOTATION] = who.order
            case "selector":
                notes[TICKET_REQUEST_ANNOTATION] = f"selector:{TEAM}={who.order}"
            case "group":
                notes[TICKET_REQUEST_ANNOTATION] = f"group:{who.order}"
            case _:
                notes[REQUIRED_ANNOTATION] = "true"
    match rng.choices(("required", "prefers", "patient"), (5, 2, 1))[0]:
        case "required":
            notes[REQUIRED_ANNOTATION] = "true"
        case "patient" if REQUIRED_ANNOTATION not in notes:
            notes[FALLBACK_AFTER_ANNOTATION] = rng.choice(("10s", "60s"))
        case _:
            pass
    if rng.random() < 0.03:
        notes[TICKET_CLAIMED_ANNOTATION] = f"{who.order or who.ticket}-0"
    return notes


def claims(rng: Random, who: Claimant) -> Iterator[Step]:
    """Somebody who asks for a while, and does to what is asked for what users do."""
    kinds, weights = [*MIX], [*MIX.values()]
    match rng.choices(kinds, weights)[0]:
        case "Deployment":
            yield from _deployment(rng, who)
        case "StatefulSet":
            yield from _stateful_set(rng, who)
        case "Job":
            yield from _job(rng, who)
        case _:
            yield from _bare(rng, who)


def daemons(rng: Random, who: Claimant) -> Iterator[Step]:
    """A DaemonSet whose pods ask for the tickets of their nodes."""
    notes = {REQUIRED_ANNOTATION: "true", ORDER_ANNOTATION: who.order}
    yield Step(who.begins, Apply(objects.daemon_set(who.name, who.where, _pods(rng, who, notes))))
    yield Step(rng.uniform(who.begins, who.ends), _roll("DaemonSet", who, rng))
    yield Step(who.ends, Delete(_APPS, "DaemonSet", who.name, who.where))


def _bare(rng: Random, who: Claimant) -> Iterator[Step]:
    """Now and then one that ends by itself, or is deleted within the seconds of its hand-over."""
    fate = _fate(rng, who) if rng.random() < 0.4 else {}
    ends = who.begins + rng.uniform(0.05, 2.0) if rng.random() < 0.15 else who.ends
    again = rng.random() < 0.2
    manifest = objects.pod(who.name, who.where, _pods(rng, who, asks(rng, who), fate, "Never"))
    yield Step(who.begins, Apply(manifest))
    yield Step(ends, Delete("v1", "Pod", who.name, who.where))
    if again:
        yield Step(ends + rng.uniform(0.5, 40), Apply(manifest))
        yield Step(max(who.ends, ends + 60), Delete("v1", "Pod", who.name, who.where))


def _deployment(rng: Random, who: Claimant) -> Iterator[Step]:
    pods = _pods(rng, who, asks(rng, who))
    yield Step(who.begins, Apply(objects.deployment(who.name, who.where, pods, rng.randint(1, 3))))
    yield from _ideas(rng, who, "Deployment")
    yield Step(who.ends, Delete(_APPS, "Deployment", who.name, who.where))


def _stateful_set(rng: Random, who: Claimant) -> Iterator[Step]:
    pods = _pods(rng, who, asks(rng, who))
    manifest = objects.stateful_set(who.name, who.where, pods, rng.randint(1, 2), "Parallel")
    yield Step(who.begins, Apply(manifest))
    yield from _ideas(rng, who, "StatefulSet")
    yield Step(who.ends, Delete(_APPS, "StatefulSet", who.name, who.where))


def _job(rng: Random, who: Claimant) -> Iterator[Step]:
    pods = _pods(rng, who, asks(rng, who), _fate(rng, who), "Never")
    many = rng.randint(1, 3)
    yield Step(who.begins, Apply(objects.job(who.name, who.where, pods, many, min(many, 2))))
    yield Step(who.ends, Delete("batch/v1", "Job", who.name, who.where))


def _ideas(rng: Random, who: Claimant, kind: str) -> Iterator[Step]:
    for _ in range(rng.randint(0, 2)):
        at = rng.uniform(who.begins, who.ends)
        match rng.choice(("roll", "scale", "kick")):
            case "roll":
                yield Step(at, _roll(kind, who, rng))
            case "scale":
                change = {"spec": {"replicas": rng.randint(0, 3)}}
                yield Step(at, Patch(_APPS, kind, who.name, change, who.where))
            case _:
                yield Step(at, DeletePods(who.where, {APP: who.name}, most=1))


def _roll(kind: str, who: Claimant, rng: Random) -> Patch:
    mark: Manifest = {"metadata": {"annotations": {"version": str(rng.randrange(10_000))}}}
    return Patch(_APPS, kind, who.name, {"spec": {"template": mark}}, who.where)


def _pods(
    rng: Random,
    who: Claimant,
    notes: Mapping[str, str],
    ends: Mapping[str, str] | None = None,
    restarts: str = "Always",
) -> Pods:
    size = who.cpu if rng.random() < 0.8 else who.cpu // 2
    return Pods(
        cpu=size,
        memory=size,
        grace=rng.choice((0, 1, 30)),
        asks=notes,
        ends=ends or {},
        restarts=restarts,
        gates=(SCHEDULING_GATE,) if who.gated else (),
    )


def _fate(rng: Random, who: Claimant) -> dict[str, str]:
    seconds = max(1, round(rng.uniform(0.05, 0.8) * (who.ends - who.begins)))
    return {rng.choice((RUNS_FOR, RUNS_FOR, FAILS_AFTER)): f"{seconds}s"}
