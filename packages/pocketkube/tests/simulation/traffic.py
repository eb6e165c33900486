"""Scripts for the sample operator: what users do to orders and what happens to the replicas, from one seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
import random

from tests.simulation.orders import NAMESPACE, PART, REPLICAS, TERMS

from kubeloop.objects import instant
from pocketkube.simulation.auditing.invariant import Tolerance
from pocketkube.simulation.script import (
    Apply,
    Crash,
    Delete,
    JumpClock,
    Patch,
    Step,
    Stop,
    in_order,
)
from pocketkube.simulation.world import START

ORDERS = tuple(f"order-{number}" for number in range(1, 7))
EDIT_EVERY = 150.0
TROUBLE_EVERY = 240.0
HASTE = (0.006, 3.0)
"""How soon users ask again: while an answer is on its way, or while somebody may not know yet of the first question."""
LONGEST_DOWN = 20.0
LONGEST_STOP = 150.0
WIDEST_JUMP = 20.0


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad a run is: the share of requests that are struck, whether replicas crash and stop, and what that allows."""

    rate: float
    trouble: bool
    tolerance: Tolerance


CALM = Weather(0.0, trouble=False, tolerance=Tolerance())
STORM = Weather(
    0.05,
    trouble=True,
    tolerance=Tolerance(late=timedelta(seconds=300), skew=timedelta(seconds=WIDEST_JUMP)),
)
"""Both replicas may be stopped, and after that a lease has to end and a few requests to fail."""


def script(seed: int, length: float, weather: Weather) -> tuple[Step, ...]:
    """Everything that is done in one run."""
    rng = random.Random(f"{seed} orders")
    steps = [step for name in ORDERS for step in _Life(name, rng, length).steps()]
    if weather.trouble:
        steps += _troubles(rng, length)
    return in_order(steps)


class _Life:
    """One order and what its users do to it."""

    def __init__(self, name: str, rng: random.Random, length: float) -> None:
        self._name = name
        self._rng = rng
        self._length = length
        self._asked = 0

    def steps(self) -> Iterator[Step]:
        at = self._rng.uniform(15, self._length / 2)
        yield self._create(at)
        while (at := at + self._rng.expovariate(1 / EDIT_EVERY)) < self._length:
            chosen = self._rng.choices(
                (self._ask, self._insist, self._resize, self._put_off, self._take_line, self._redo),
                (30, 20, 20, 15, 8, 7),
            )[0]
            yield from chosen(at)

    def _create(self, at: float) -> Step:
        meta = {"name": self._name, "namespace": NAMESPACE, "labels": {PART: "order"}}
        data = {"lines": self._lines(), "deadline": self._deadline(at)}
        return Step(
            at, Apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        )

    def _ask(self, at: float) -> Iterator[Step]:
        self._asked += 1
        yield self._edit(at, {"request": f"{self._name}/{self._asked}"})

    def _insist(self, at: float) -> Iterator[Step]:
        yield from self._ask(at)
        yield from self._ask(at + self._rng.uniform(0, self._rng.choice(HASTE)))

    def _resize(self, at: float) -> Iterator[Step]:
        yield self._edit(at, {"lines": self._lines()})

    def _put_off(self, at: float) -> Iterator[Step]:
        yield self._edit(at, {"deadline": self._deadline(at)})

    def _take_line(self, at: float) -> Iterator[Step]:
        yield Step(at, Delete("v1", "ConfigMap", f"{self._name}-{self._rng.randint(0, 2)}"))

    def _redo(self, at: float) -> Iterator[Step]:
        yield Step(at, Delete("v1", "ConfigMap", self._name))
        yield self._create(at + self._rng.uniform(0, 5))

    def _edit(self, at: float, data: dict[str, str]) -> Step:
        return Step(at, Patch("v1", "ConfigMap", self._name, {"data": data}))

    def _lines(self) -> str:
        return str(self._rng.randint(0, 3))

    def _deadline(self, at: float) -> str:
        return instant.render(START + timedelta(seconds=round(at + self._rng.uniform(1, 400))))


def _troubles(rng: random.Random, length: float) -> Iterator[Step]:
    at = 30.0
    while (at := at + rng.expovariate(1 / TROUBLE_EVERY)) < length:
        replica = rng.choice(REPLICAS)
        match rng.choice(("crash", "stop", "stop", "jump")):
            case "crash":
                yield Step(
                    at, Crash(rng.choice((replica, "controllers")), rng.uniform(1, LONGEST_DOWN))
                )
            case "stop":
                seconds = rng.uniform(1, LONGEST_STOP)
                yield Step(at, Stop(replica, seconds))
                if seconds > TERMS.lease:
                    yield from _rush(rng, at + seconds)
            case _:
                jump = rng.uniform(-WIDEST_JUMP, WIDEST_JUMP)
                yield Step(at, JumpClock(replica, jump))
                at += rng.uniform(1, 100)
                yield Step(at, JumpClock(replica, -jump))


def _rush(rng: random.Random, wakes: float) -> Iterator[Step]:
    """Users ask just when a replica wakes up that may not know that it does not lead any more."""
    for name in rng.sample(ORDERS, 3):
        at = wakes + rng.uniform(-0.02, 0.01)
        request = {"request": f"{name}/when-{at:.3f}"}
        yield Step(at, Patch("v1", "ConfigMap", name, {"data": request}))
