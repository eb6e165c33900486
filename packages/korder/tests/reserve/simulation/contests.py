"""Short runs in which tickets are claimed on a full node while other pods wait for the same room.

Each is a row of what was lost on a real cluster, drawn small: one node, one or two orders, one burst of claims.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from korder.api.reserve import ORDER_ANNOTATION, REQUIRED_ANNOTATION, SCHEDULING_GATE
from korder.reserve.scenarios import orders as random_orders, setup as scenario_setup
from korder.reserve.scenarios.crowd_tenants import NO_SCHEDULER
from korder.reserve.scenarios.crowd_troubles import SURROUNDINGS
from korder.reserve.scenarios.crowded import PRIORITIES
from korder.reserve.scenarios.orders import API_VERSION, Form
from pocketkube.simulation.auditing.refusals import POLICY, REFUSES, WEBHOOK
from pocketkube.simulation.programs import SCHEDULER
from pocketkube.simulation.script import (
    AddNode,
    Apply,
    Crash,
    Delete,
    Manifest,
    Patch,
    SlowNode,
    Step,
    in_order,
)
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.world import Setup

LENGTH = 90.0
SETTLE = 60.0
CLAIMED = 40.0
"""Seconds after the beginning when all pods claim."""
OTHER = "kube-public"
"""The namespace of a neighbour."""
PLAIN = Pods(cpu=1_000, memory=1_000, grace=0)
ROOM = Form(cpu=1_000, memory=1_000)


def competitors(seed: int) -> Setup:
    """A full node whose tickets are claimed in one instant while pods of every priority wait."""
    rng = Random(seed)
    many = rng.randint(3, 6)
    steps = [*_waiting(20.0)]
    steps += [Step(CLAIMED, _claimant("o", number)) for number in range(many)]
    return _played(seed, many, [_order("o", many, refresh="Never")], steps)


def refills(seed: int) -> Setup:
    """Two thirds of a node: claimants find room beside their guardians, which refills of the order want as well."""
    rng = Random(seed)
    many = rng.randint(4, 6)
    steps = [Step(CLAIMED, _claimant("o", number)) for number in range(many)]
    return _played(seed, many + many // 2, [_order("o", many, refresh="OnClaim")], steps)


def tolerant(seed: int) -> Setup:
    """A full node, and an order of another namespace that waits for capacity and tolerates every taint."""
    rng = Random(seed)
    many = rng.randint(3, 6)
    waiting = _order("wide", many, refresh="Never", form=replace(ROOM, tolerates=True))
    waiting["metadata"]["namespace"] = "kube-public"
    steps = [Step(20.0, Apply(waiting))]
    steps += [Step(CLAIMED, _claimant("o", number)) for number in range(many)]
    return _played(seed, many, [_order("o", many, refresh="Never")], steps)


def unbindable(seed: int) -> Setup:
    """A full node, and one of the pods that claim names a scheduler that does not exist."""
    rng = Random(seed)
    many = rng.randint(3, 6)
    steps = [Step(CLAIMED, _claimant("o", number)) for number in range(1, many)]
    steps.append(Step(CLAIMED, _claimant("o", 0, scheduler=NO_SCHEDULER)))
    return _played(seed, many, [_order("o", many, refresh="Never")], steps)


def deleted(seed: int) -> Setup:
    """A full node whose claimants cannot be bound and are deleted within seconds while pods of every priority wait."""
    rng = Random(seed)
    many = rng.randint(3, 6)
    steps = [*_waiting(20.0)]
    for number in range(many):
        steps.append(Step(CLAIMED, _claimant("o", number, scheduler=NO_SCHEDULER)))
        at = CLAIMED + rng.uniform(0.5, 4)
        steps.append(Step(at, Delete("v1", "Pod", f"claim-{number}", "default")))
    return _played(seed, many, [_order("o", many, refresh="Never")], steps)


def slow_neighbour(seed: int) -> Setup:
    """A full node on which a pod of one namespace terminates for minutes when those of another claim."""
    rng = Random(seed)
    many = rng.randint(2, 4)
    steps = [*_returns(rng, 1), *_waiting(20.0)]
    steps += [Step(rng.uniform(CLAIMED, 140), _claimant("o", n)) for n in range(10, 10 + many)]
    orders = [_order("o", many, refresh="Never"), _slow_order(1)]
    return _played(seed, many + 1, orders, steps, 150.0)


def slow_returns(seed: int) -> Setup:
    """A full node on which several tickets take their room back from pods that terminate for minutes."""
    rng = Random(seed)
    many = rng.randint(2, 4)
    steps = [*_returns(rng, many), *_waiting(20.0)]
    return _played(seed, many, [_slow_order(many)], steps, 150.0)


def _slow_order(many: int) -> Manifest:
    order = _order("slow", many, refresh="Never", form=replace(ROOM, after_use="Reserve"))
    order["metadata"]["namespace"] = OTHER
    return order


def _returns(rng: Random, many: int) -> Iterator[Step]:
    """Pods of that order claim and are deleted, and need more than a minute to stop."""
    yield Step(10.0, SlowNode("node-0", 0.0, rng.uniform(90, 150)))
    for number in range(many):
        yield Step(15.0, _claimant("slow", number, where=OTHER, grace=600))
        at = rng.uniform(25, 35)
        yield Step(at, Delete("v1", "Pod", f"claim-{number}", OTHER))


def refused_neighbour(seed: int) -> Setup:
    """A full node; from some moment on no pod of one namespace can be changed when its pods and those of another claim."""
    rng = Random(seed)
    many, refused = rng.randint(2, 4), rng.randint(1, 2)
    other = _order("refused", refused, refresh="Never")
    other["metadata"]["namespace"] = OTHER
    how: Manifest = {"metadata": {"labels": {REFUSES: rng.choice((WEBHOOK, POLICY))}}}
    steps = [Step(1.0, Apply(each)) for each in SURROUNDINGS]
    steps.append(Step(CLAIMED - 5, Patch("v1", "Namespace", OTHER, how)))
    steps += [Step(CLAIMED, _claimant("refused", n, where=OTHER)) for n in range(refused)]
    steps += [Step(rng.uniform(CLAIMED, 120), _claimant("o", n)) for n in range(many)]
    orders = [_order("o", many, refresh="Never"), other]
    return _played(seed, many + refused, orders, [*_waiting(20.0), *steps], 130.0)


def silent(seed: int) -> Setup:
    """A pod is let go beside its guardian just when the scheduler ends; other pods take that room first when it is back."""
    rng = Random(seed)
    many = rng.randint(1, 4)
    steps = [Step(CLAIMED, _claimant("o", 0)), *_waiting(CLAIMED + 2)]
    steps.append(Step(CLAIMED + rng.uniform(0, 0.005), Crash(SCHEDULER, rng.uniform(6, 25))))
    return _played(seed, many + 1, [_order("o", many, refresh="Never")], steps)


def renewals(seed: int) -> Setup:
    """A full node whose tickets end again and again while pods of every priority wait: by their expiry, or by a firing."""
    rng = Random(seed)
    many = rng.randint(3, 6)
    strategy: Manifest = {"type": "OneTime", "refreshPolicy": "Always"}
    if rng.random() < 0.5:
        strategy = {"type": "Recurring", "schedule": "*/1 * * * *"}
        strategy["refreshPolicy"] = rng.choice(("OnClaim", "Always"))
    length = "1m" if "schedule" in strategy else "30s"
    order = _order("o", many, refresh="Always", form=replace(ROOM, duration=length))
    order["spec"]["strategy"] = strategy
    return _played(seed, many, [order], [*_waiting(20.0)])


def _waiting(at: float) -> Iterator[Step]:
    """Pods of every priority that wait for room of one core."""
    for number, rank in enumerate(PRIORITIES):
        pods = replace(PLAIN, priority=rank)
        yield Step(at, Apply(objects.pod(f"low-{number}", "default", pods)))


def _played(
    seed: int, units: int, orders: list[Manifest], steps: list[Step], length: float = LENGTH
) -> Setup:
    node = AddNode("node-0", {"cpu": str(units), "memory": f"{2 * units}Gi"})
    classes = [
        Step(1.0, Apply(objects.priority_class(name, value, preempts=False)))
        for name, value in PRIORITIES.items()
        if name
    ]
    begun = [Step(0.0, node), *classes, *(Step(5.0, Apply(order)) for order in orders)]
    script = in_order([*begun, *steps])
    return replace(scenario_setup.contested(seed, script, length), settle=SETTLE)


def _order(name: str, replicas: int, *, refresh: str, form: Form = ROOM) -> Manifest:
    strategy = {"type": "OneTime", "refreshPolicy": refresh}
    return {
        "apiVersion": API_VERSION,
        "kind": "Order",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "template": random_orders.template(name, form),
            "strategy": strategy,
        },
    }


def _claimant(
    order: str, number: int, scheduler: str = "", where: str = "default", grace: int = 0
) -> Apply:
    asks = {REQUIRED_ANNOTATION: "true", ORDER_ANNOTATION: order}
    pods = replace(PLAIN, asks=asks, gates=(SCHEDULING_GATE,), scheduler=scheduler, grace=grace)
    return Apply(objects.pod(f"claim-{number}", where, pods))
