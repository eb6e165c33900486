"""Wherever the manager crashes, before or after any write: the same tickets in the end, and none made twice (design 6, number 9)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
import random
from typing import Any

import pytest

from korder.api import reserve
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import an_order
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.schema import crd
from pocketkube.simulation.changes import Change
from pocketkube.simulation.processes import Program
from pocketkube.simulation.script import AddNode, Apply, Delete, Patch, Step
from pocketkube.simulation.world import CrashPoint, Setup, simulate

KINDS = (("core.korder.dev/v1alpha1", "Order"), ("core.korder.dev/v1alpha1", "Ticket"))
CLASS: dict[str, JSON] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": reserve.GUARDIAN_PRIORITY_CLASS},
    "value": 1_000_000,
    "preemptionPolicy": "Never",
}


async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
    manager = Manager(
        client,
        Settings(identity="korder", component="korder", metric_prefix="korder"),
        clock=clock,
        rng=rng,
    )
    Orders(manager)
    Tickets(manager)
    return manager


class Ledger:
    """Tickets as they were last written, and how often each name was made."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.tickets: dict[str, Mapping[str, Any]] = {}
        self.orders: dict[str, Mapping[str, Any]] = {}

    def note(self, change: Change) -> None:
        kept = {"tickets.core.korder.dev": self.tickets, "orders.core.korder.dev": self.orders}
        if change.resource not in kept:
            return
        if change.after is None:
            kept[change.resource].pop(change.name, None)
        else:
            kept[change.resource][change.name] = change.after
        if change.before is None and change.resource == "tickets.core.korder.dev":
            self.made[change.name] += 1

    def rest(self) -> tuple[object, ...]:
        """What is left, but for the numbers in names, which a crash may skip."""
        left = Counter(
            (each["metadata"]["ownerReferences"][0]["name"], each["status"]["phase"])
            for each in self.tickets.values()
        )
        counted = {
            name: {each: order["status"].get(each, 0) for each in ("replicas", "availableReplicas")}
            for name, order in self.orders.items()
        }
        return left, counted


def an_order_of(name: str, spec: dict[str, JSON], replicas: int = 2) -> Apply:
    return Apply(an_order(name, replicas).but({"spec": spec}).json)


def edited(name: str, spec: dict[str, JSON]) -> Patch:
    return Patch(*KINDS[0], name, {"spec": spec}, "default")


SCRIPT = (
    *(Step(0.0, Apply(crd.build(each))) for each in reserve.DEFINITIONS),
    Step(0.0, Apply(CLASS)),
    Step(0.0, AddNode("n1")),
    Step(0.0, AddNode("n2")),
    Step(10.0, an_order_of("pool", {"strategy": {"type": "OneTime", "refreshPolicy": "Always"}})),
    Step(10.0, an_order_of("once", {"strategy": {"type": "OneTime", "refreshPolicy": "Never"}})),
    Step(10.0, an_order_of("daemon", {"daemonSet": True})),
    Step(
        10.0,
        an_order_of(
            "window",
            {
                "strategy": {"type": "Scheduled", "schedule": "* * * * *"},
                "template": {"spec": {"duration": "40s"}},
            },
        ),
    ),
    Step(25.0, Delete(*KINDS[1], "pool-0", "default")),
    Step(25.0, Delete(*KINDS[1], "once-0", "default")),
    Step(
        25.0,
        edited("daemon", {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}),
    ),
    Step(80.0, edited("pool", {"replicas": 3})),
    Step(80.0, edited("once", {"replicas": 1})),
    Step(80.0, Delete(*KINDS[0], "window", "default")),
)


class Runs:
    """Makes the same run again and again; knows the ledger of the last one."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def make(self) -> Setup:
        self.ledger = Ledger()
        return Setup(
            seed=1,
            script=SCRIPT,
            length=110.0,
            settle=30.0,
            programs=(Program("korder", build),),
            kinds=KINDS,
            observers=(self.ledger.note,),
        )


@cache
def undisturbed() -> tuple[Mapping[str, int], tuple[object, ...]]:
    """The crash points of a run without a crash, and what it leaves."""
    runs = Runs()
    outcome = simulate(runs.make())
    assert outcome.violation == ""
    return outcome.places, runs.ledger.rest()


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        "PATCH orders after",
        "PATCH orders/status before",
        "PATCH orders/status after",
        "POST tickets after",
        "DELETE tickets after",
    ],
)
def test_wherever_the_manager_crashes_the_same_tickets_are_there_in_the_end(place: str) -> None:
    places, rest = undisturbed()
    middle = CrashPoint(f"korder {place}", places[f"korder {place}"] // 2)
    runs = Runs()
    outcome = simulate(replace(runs.make(), crashes=(middle,)))
    assert outcome.violation == ""
    assert runs.ledger.rest() == rest
    numbered = {name: times for name, times in runs.ledger.made.items() if "daemon" not in name}
    assert set(numbered.values()) == {1}
