"""Histories of a cluster, from a seed: which machines there are, and who arrives, leaves and changes in which order.

`feeding` plays them to a scheduler. Pods come as they do in life, as copies of a few applications with wishes of their own, and ask
for somewhat more than the machines have, so that some must wait. Nothing in a history depends on where a scheduler puts a pod.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import random

from korder.api import quantity
from korder.api.meta import JSON
from korder.embedded.actors.machines import Shape
from korder.testing.builders import PodBuilder, a_pod

LOW, HIGH = "arrivals-low", "arrivals-high"
IMPORTANT: dict[str, JSON] = {"priorityClassName": HIGH}
PRIORITIES = {LOW: -10, HIGH: 1000}
"""Priority classes that must be there before a history is played."""
ARRIVALS = 96
"""How many pods arrive; about a fifth of them leave again."""
ROUNDS = 2
SOUGHT = "app0"
"""An application of which there is something everywhere, and which others seek."""
NAMESPACE = "default"
GATE = "example.com/later"
ZONES = ("a", "b", "c")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


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


Deed = Arrive | Leave | Lift | Join | Cordon | Retire


@dataclass(frozen=True, slots=True)
class History:
    """Bursts of deeds; the scheduler comes to rest after each."""

    seed: int
    bursts: tuple[tuple[Deed, ...], ...]


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

    def bursts(self) -> Iterator[tuple[Deed, ...]]:
        yield tuple(self._first_machines())
        for number in range(ROUNDS):
            yield tuple(self._arrivals())
            yield (*self._machinery(last=number == ROUNDS - 1), *self._departures())
        lifted = [Lift(self._gated.pop()) for _ in range(len(self._gated))]
        yield (*lifted, *self._arrivals())

    def _first_machines(self) -> Iterator[Deed]:
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

    def _departures(self) -> Iterator[Deed]:
        for name in [name for name in self._gated if self._rng.random() < 0.3]:
            self._gated.remove(name)
            yield Lift(name)
        for name in [name for name in self._pods if self._rng.random() < 0.2]:
            self._pods.remove(name)
            if name in self._gated:
                self._gated.remove(name)
            yield Leave(name)

    def _machinery(self, *, last: bool) -> Iterator[Deed]:
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


def a_machine(rng: random.Random, zone: str) -> Shape:
    """A machine of one of a few sizes."""
    cpu, memory = rng.choice((("4", "8Gi"), ("4", "16Gi"), ("8", "16Gi"), ("8", "32Gi")))
    labels = {"zone": zone, "disk": rng.choice(("ssd", "ssd", "hdd"))}
    effect = rng.choice(("NoSchedule", "PreferNoSchedule"))
    taint = {"key": "dedicated", "value": "batch", "effect": effect}
    return Shape(cpu, memory, labels=labels, taints=(taint,) if rng.random() < 0.25 else ())


def an_application(rng: random.Random, name: str) -> PodBuilder:
    """What every pod of an application is like.

    Who cannot be just anywhere is important, and so is who is large: they push others aside, and it does not depend on earlier
    choices how many of them find a place.
    """
    if name == SOUGHT:
        return _pod(rng, name, "500m").but({"spec": {**_spread(name, 1), **IMPORTANT}})
    pod = _pod(rng, name, "500m").but({"spec": _place(rng)})
    standing = rng.random()
    if standing < 0.3:
        return pod.but({"spec": {**_company(rng), **_inclination(rng, name)}})
    if standing < 0.6:
        low: JSON = {"priorityClassName": LOW}
        return pod.but({"spec": low}).but({"spec": _company(rng)})
    if standing < 0.75:
        return _pod(rng, name, rng.choice(("1", "2"))).but({"spec": {**_place(rng), **IMPORTANT}})
    return pod.but({"spec": {**_distance(rng, name), **IMPORTANT}})


def _pod(rng: random.Random, name: str, cpu: str) -> PodBuilder:
    memory: dict[str, JSON] = {"memory": rng.choice(("256Mi", "512Mi", "1Gi"))}
    requests = {"cpu": cpu, **(memory if rng.random() < 0.8 else {})}
    container: JSON = {"name": "app", "image": "app", "resources": {"requests": requests}}
    return a_pod(name).labelled({"app": name}).but({"spec": {"containers": [container]}})


def _cpu(pod: PodBuilder) -> float:
    (container,) = pod.build().spec.containers
    return quantity.parse(container.resources.requests.get("cpu", "0")).milli() / 1000


def _rank(arrival: Arrive) -> int:
    return -PRIORITIES.get(arrival.pod.build().spec.priority_class_name, 0)


def _place(rng: random.Random) -> dict[str, JSON]:
    """Which machines it wants."""
    zone: JSON = {"key": "zone", "operator": "In", "values": rng.sample(ZONES, 2)}
    expression: JSON = {"matchExpressions": [zone]}
    tolerated: JSON = {"key": "dedicated", "operator": "Exists"}
    spec: dict[str, JSON] = {"tolerations": [tolerated] if rng.random() < 0.3 else []}
    chance = rng.random()
    if chance < 0.15:
        spec["nodeSelector"] = {"disk": "ssd"}
    elif chance < 0.3:
        terms: JSON = {"nodeSelectorTerms": [expression]}
        spec["affinity"] = {"nodeAffinity": {REQUIRED: terms}}
    elif chance < 0.5:
        wish: JSON = {"weight": rng.randint(1, 100), "preference": expression}
        spec["affinity"] = {"nodeAffinity": {PREFERRED: [wish]}}
    return spec


def _company(rng: random.Random) -> dict[str, JSON]:
    """Which pods it wants near it, and which rather far."""
    key = rng.choice(("zone", "kubernetes.io/hostname"))
    wish: JSON = {"weight": rng.randint(1, 100), "podAffinityTerm": _term("app1", key)}
    return rng.choice(
        [
            {},
            {"affinity": {"podAffinity": {REQUIRED: [_term(SOUGHT, "zone")]}}},
            {"affinity": {"podAffinity": {PREFERRED: [wish]}}},
            {"affinity": {"podAntiAffinity": {PREFERRED: [wish]}}},
        ]
    )


def _inclination(rng: random.Random, name: str) -> dict[str, JSON]:
    """How evenly it would like to be spread."""
    return _spread(name, rng.randint(1, 3), "ScheduleAnyway") if rng.random() < 0.5 else {}


def _distance(rng: random.Random, name: str) -> dict[str, JSON]:
    """How its pods keep away from each other."""
    port: JSON = {"containerPort": 80, "hostPort": 8080, "name": "http"}
    kind = rng.randrange(3)
    if kind == 0:
        own: JSON = _term(name, "kubernetes.io/hostname")
        return {"affinity": {"podAntiAffinity": {REQUIRED: [own]}}}
    if kind == 1:
        return _spread(name, rng.randint(1, 3))
    return {"containers": [{"name": "app", "image": "app", "ports": [port]}]}


def _spread(name: str, skew: int, action: str = "DoNotSchedule") -> dict[str, JSON]:
    constraint: JSON = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"app": name}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _term(application: str, key: str) -> JSON:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": application}}}
