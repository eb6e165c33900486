"""Histories of a cluster, from a seed: which machines there are, and who arrives, leaves and changes in which order.

`feeding` plays them to a scheduler. Pods come as they do in life, as copies of a few applications with wishes of their own, and ask
for somewhat more than the machines have, so that some must wait. Nothing in a history depends on where a scheduler puts a pod.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import random

from tests.agreement.arrivals.applications import PRIORITIES, ZONES, a_machine, an_application

from kubeloop.objects import quantity
from kubeloop.testing.builders import PodBuilder
from pocketkube.nodes.machines import Shape

ARRIVALS = 96
"""How many pods arrive; about a fifth of them leave again."""
ROUNDS = 2
NAMESPACE = "default"
GATE = "example.com/later"


@dataclass(frozen=True, slots=True)
class Arrive:
    """A pod is made."""

    pod: PodBuilder


@dataclass(frozen=True, slots=True)
class Leave:
    """A pod is deleted, wherever it is."""

    pod: str


@dataclass(frozen=True, slots=True)
class Lift:
    """A pod that was held back may be scheduled."""

    pod: str


@dataclass(frozen=True, slots=True)
class Join:
    """A machine comes."""

    node: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Cordon:
    """A machine takes no more pods, or does so again."""

    node: str
    closed: bool


@dataclass(frozen=True, slots=True)
class Retire:
    """A machine is drained and goes; its pods are made again."""

    node: str


Action = Arrive | Leave | Lift | Join | Cordon | Retire


@dataclass(frozen=True, slots=True)
class History:
    """Bursts of deeds; the scheduler comes to rest after each."""

    seed: int
    bursts: tuple[tuple[Action, ...], ...]


def a_history(seed: int) -> History:
    """The same history for the same seed, of about a hundred pods on about ten machines."""
    return History(seed, tuple(_Author(random.Random(seed)).bursts()))


class _Author:
    """Writes one history and knows what there is at each moment."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._applications = [an_application(rng, f"app{i}") for i in range(rng.randint(6, 9))]
        self._numbers: dict[int, int] = {}
        self._pods: list[str] = []
        self._gated: list[str] = []
        self._nodes: list[str] = []
        self._closed: list[str] = []
        self._machines = 0

    def bursts(self) -> Iterator[tuple[Action, ...]]:
        yield tuple(self._first_machines())
        for number in range(ROUNDS):
            yield tuple(self._arrivals())
            yield (*self._machinery(last=number == ROUNDS - 1), *self._departures())
        lifted = [Lift(self._gated.pop()) for _ in range(len(self._gated))]
        yield (*lifted, *self._arrivals())

    def _first_machines(self) -> Iterator[Action]:
        """As many as leave somewhat too little room for the pods that will come."""
        mean = sum(map(_cpu, self._applications)) / len(self._applications)
        wanted = ARRIVALS * mean / self._rng.uniform(1.1, 1.4)
        while wanted > 0:
            yield (machine := self._join())
            wanted -= int(machine.shape.cpu)

    def _arrivals(self) -> list[Arrive]:
        """The important first, so that it does not depend on a scheduler's speed who comes before whom."""
        alive, arrivals = len(self._pods), []
        while len(self._pods) < alive + ARRIVALS // (ROUNDS + 1):
            which = self._rng.randrange(len(self._applications)) if self._pods else 0
            for _ in range(self._rng.randint(2, 6) if which else 6):
                number = self._numbers[which] = self._numbers.get(which, 0) + 1
                pod = self._applications[which].but({"metadata": {"name": f"app{which}-{number}"}})
                if self._rng.random() < 0.06:
                    pod = pod.gated_by(GATE)
                    self._gated.append(f"app{which}-{number}")
                self._pods.append(f"app{which}-{number}")
                arrivals.append(Arrive(pod))
        return sorted(arrivals, key=_rank)

    def _departures(self) -> Iterator[Action]:
        for name in [name for name in self._gated if self._rng.random() < 0.3]:
            self._gated.remove(name)
            yield Lift(name)
        for name in [name for name in self._pods if self._rng.random() < 0.2]:
            self._pods.remove(name)
            if name in self._gated:
                self._gated.remove(name)
            yield Leave(name)

    def _machinery(self, *, last: bool) -> Iterator[Action]:
        """Changes a machine; none stays closed to the end."""
        if self._closed:
            closed = self._closed.pop()
            if self._rng.random() < 0.5:
                yield Retire(closed)
            else:
                self._nodes.append(closed)
                yield Cordon(closed, closed=False)
        happens = self._rng.random()
        if happens < 0.25:
            yield self._join()
        elif happens < 0.5:
            yield Retire(self._any_node())
        elif happens < 0.75 and not last:
            self._closed.append(self._any_node())
            yield Cordon(self._closed[-1], closed=True)

    def _any_node(self) -> str:
        return self._nodes.pop(self._rng.randrange(len(self._nodes)))

    def _join(self) -> Join:
        self._machines += 1
        name = f"n{self._machines}"
        self._nodes.append(name)
        return Join(name, a_machine(self._rng, ZONES[self._machines % len(ZONES)]))


def _cpu(pod: PodBuilder) -> float:
    (container,) = pod.build().spec.containers
    return quantity.parse(container.resources.requests.get("cpu", "0")).milli() / 1000


def _rank(arrival: Arrive) -> int:
    return -PRIORITIES.get(arrival.pod.build().spec.priority_class_name, 0)
