"""A stage for scenarios: a namespace and nodes of its own for each test, on a control plane that a whole module shares.

    async with a_world() as world, a_stage(world) as stage:
        await stage.add_nodes(2)
        await stage.reserve(stage.ticket("t"))

Nodes of a stage are labelled and tainted with its name, and whatever is put on it wants and tolerates only those: tests may come in any
order, and what one leaves behind is in nobody's way. A wait ends with the state that is asked for, or tells what is there instead.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
import random
import secrets
from typing import Any, TypeVar

from tests.e2e.installation import install
from tests.e2e.waiting import accepted

from korder.api.reserve import (
    GUARDIAN_LABEL,
    REQUIRED_ANNOTATION,
    TICKETS,
    Order,
    Ticket,
    TicketPhase,
)
from korder.testing.builders import a_ticket, an_order
from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import Forbidden, NotFound
from kubeloop.objects.core import EVENTS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Pod, is_ready
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.builders import Builder, PodBuilder, a_pod
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.nodes import simulated_nodes

T = TypeVar("T", bound=HasMetadata)
MARK = "stage"
PATIENCE = 60.0
"""Seconds after which a wish has not come true."""
LOOK = 0.1
"""Seconds between two looks."""
LANES = 16
"""How many objects are created side by side; more would only wait at the server."""


@dataclass(frozen=True)
class World:
    """What a module shares."""

    plane: ControlPlane
    client: Client
    machines: Machines


class Stage:
    """A namespace and its nodes."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.client = world.client
        self.name = name
        self._numbers = count(1)

    @property
    def place(self) -> dict[str, JSON]:
        """The part of a spec that says: only on nodes of this stage."""
        toleration: JSON = {"key": MARK, "operator": "Equal", "value": self.name}
        return {"nodeSelector": {MARK: self.name}, "tolerations": [toleration]}

    @property
    def nodes(self) -> list[str]:
        """The names of its nodes."""
        return [name for name in self.world.machines if name.startswith(f"{self.name}-")]

    async def add_nodes(self, number: int = 1, cpu: str = "4", **extended: str) -> list[str]:
        """Brings nodes and waits until pods can be placed on them."""
        names = [f"{self.name}-{next(self._numbers)}" for _ in range(number)]
        taint = {"key": MARK, "value": self.name, "effect": "NoSchedule"}
        shape = Shape(cpu=cpu, extended=extended, labels={MARK: self.name}, taints=(taint,))
        for name in names:
            self.world.machines.add(name, shape)
        for name in names:
            await self.until(NODES, name, lambda n: is_ready(n) and len(n.spec.taints) == 1)
        return names

    async def add_class(self, priority: int) -> None:
        """Makes a priority class with the name of the stage, and waits until pods can have it."""
        value = f"--value={priority}"
        await self.world.plane.kubectl("create", "priorityclass", self.name, value)
        probe = self.pod("probe").but({"spec": {"priorityClassName": self.name}})
        await accepted(lambda: self.client.create(PODS, probe.json, dry_run=True), Forbidden)

    def ticket(self, name: str, cpu: str = "1", **spec: JSON) -> Builder[Ticket]:
        """A ticket of this stage, made by hand."""
        resources: JSON = {"requests": {"cpu": cpu, "memory": "64Mi"}}
        wanted: JSON = {"resources": resources, **self.place, **spec}
        return a_ticket(name).in_namespace(self.name).but({"spec": wanted})

    def order(
        self, name: str, replicas: int, cpu: str = "1", template: JSON = None, **spec: JSON
    ) -> Builder[Order]:
        """An order of this stage; `template` says more about its tickets."""
        resources: JSON = {"requests": {"cpu": cpu, "memory": "64Mi"}}
        wanted: JSON = {"template": {"spec": {"resources": resources, **self.place}}, **spec}
        order = an_order(name, replicas).in_namespace(self.name).but({"spec": wanted})
        return order.but({"spec": {"template": template or {}}})

    def pod(self, name: str, cpu: str = "1", **annotations: str) -> PodBuilder:
        """A pod of this stage; annotations are named by what follows `korder.dev/`, with `_` for `-`."""
        pod = a_pod(name).requesting(cpu=cpu, memory="64Mi").but({"spec": self.place})
        said = {f"korder.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
        return pod.but({"metadata": {"namespace": self.name, "annotations": {**said}}})

    def asking(self, name: str, cpu: str = "1", **annotations: str) -> PodBuilder:
        """A pod that requires a ticket."""
        return self.pod(name, cpu, **annotations).but(
            {"metadata": {"annotations": {REQUIRED_ANNOTATION: "true"}}}
        )

    def workload(self, kind: Kind[T], pod: PodBuilder, **spec: JSON) -> Builder[T]:
        """A controller, named web, of pods like this one."""
        made = pod.labelled({"app": "web"}).but({"metadata": {"name": None}}).json
        selector: JSON = {} if kind.kind == "Job" else {"matchLabels": {"app": "web"}}
        template: JSON = {"metadata": made["metadata"], "spec": made["spec"]}
        wanted: JSON = {"selector": selector or None, **spec, "template": template}
        return Builder(kind, {"metadata": {"name": "web", "namespace": self.name}, "spec": wanted})

    async def put(self, *built: Builder[T]) -> list[T]:
        """Creates objects, some at a time."""
        lanes = asyncio.Semaphore(LANES)

        async def create(each: Builder[T]) -> T:
            async with lanes:
                return await self.client.create(each.kind, each.json)

        async with asyncio.TaskGroup() as group:
            made = [group.create_task(create(each)) for each in built]
        return [each.result() for each in made]

    async def get(self, kind: Kind[T], name: str) -> T | None:
        try:
            return await self.client.get(kind, self._key(kind, name))
        except NotFound:
            return None

    async def all(self, kind: Kind[T], labels: str = "") -> list[T]:
        return list((await self.client.list(kind, self.name, labels=labels)).items)

    async def guardians(self) -> list[Pod]:
        return await self.all(PODS, f"{GUARDIAN_LABEL}=true")

    async def guarded(self, number: int) -> None:
        """Waits until there are so many guardians; those that are not needed any more take a moment to go."""
        async with asyncio.timeout(PATIENCE):
            while len(await self.guardians()) != number:
                await asyncio.sleep(LOOK)

    async def edit(
        self, kind: Kind[T], name: str, change: Mapping[str, JSON], subresource: str = ""
    ) -> None:
        await self.client.patch(kind, self._key(kind, name), dict(change), subresource=subresource)

    async def delete(self, kind: Kind[T], name: str, grace_seconds: int | None = None) -> None:
        await self.client.delete(kind, self._key(kind, name), grace_seconds=grace_seconds)

    async def until(self, kind: Kind[T], name: str, holds: Callable[[T], Any]) -> T:
        """Waits until an object is as wished."""
        found: T | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await self.get(kind, name)) is None or not holds(found):
                    await asyncio.sleep(LOOK)
        except TimeoutError:
            raise AssertionError(f"{kind.kind} {name} has not become so: {found}") from None
        return found

    async def gone(self, kind: Kind[T], name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.get(kind, name) is not None:
                await asyncio.sleep(LOOK)

    async def phase(self, wanted: TicketPhase, *names: str) -> list[Ticket]:
        """Waits until all these tickets are in a phase."""
        return [
            await self.until(TICKETS, name, lambda ticket: ticket.status.phase is wanted)
            for name in names
        ]

    async def reserve(self, *tickets: Builder[Ticket]) -> list[Ticket]:
        """Makes tickets and waits until they hold their room."""
        names = [each.metadata.name for each in await self.put(*tickets)]
        return await self.phase(TicketPhase.RESERVED, *names)

    async def bound(self, name: str) -> Pod:
        return await self.until(PODS, name, lambda pod: pod.spec.node_name)

    async def event(self, about: str, reason: str) -> str:
        """Waits until somebody told of an object, and says how."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in await self.all(EVENTS):
                    if event.regarding.name == about and event.reason == reason:
                        return event.note
                await asyncio.sleep(LOOK)

    async def counted(self, **phases: int) -> list[Ticket]:
        """Waits until so many tickets, and no others, are in these phases."""
        there: list[str] = []
        wanted = sorted(phase for phase, number in phases.items() for _ in range(number))
        try:
            async with asyncio.timeout(PATIENCE):
                while (there := _phases(found := await self.all(TICKETS))) != wanted:
                    await asyncio.sleep(LOOK)
        except TimeoutError:
            raise AssertionError(f"there are {there}") from None
        return found

    def _key(self, kind: Kind[T], name: str) -> Key:
        return Key(self.name if kind.namespaced else "", name)


def _phases(tickets: Iterable[Ticket]) -> list[str]:
    return sorted(str(ticket.status.phase) for ticket in tickets)


@asynccontextmanager
async def a_world(*flags: str) -> AsyncIterator[World]:
    """A control plane that knows korder, installed with these flags; nodes come with the stages, and managers with whoever starts them."""
    clock = SystemClock()
    async with ControlPlane() as plane:
        await install(plane, *flags)
        async with (
            open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(0)) as client,
            simulated_nodes(client, {}, clock=clock) as machines,
        ):
            yield World(plane, client, machines)


@asynccontextmanager
async def a_stage(world: World) -> AsyncIterator[Stage]:
    """A stage that is cleared away when the block ends; nobody waits for that."""
    stage = Stage(world, f"{MARK}-{secrets.token_hex(4)}")
    await world.client.create(NAMESPACES, {"metadata": {"name": stage.name}})
    await stage.until(SERVICE_ACCOUNTS, "default", lambda _: True)
    try:
        yield stage
    finally:
        await world.client.delete(NAMESPACES, Key("", stage.name))
        for name in stage.nodes:
            await world.client.delete(NODES, Key("", name))
