"""Held capacity under competition on a real control plane: claims, pods that wait for the same capacity, and what is left behind.

    async with an_installation("policy", folder) as site, a_stage(site.world) as stage:
        figures = Figures()
        await compete(stage, 1_000, 20)
        await claim(stage, figures, *(stage.asking(f"web-{n}") for n in range(20)))
        figures.check()

Every test runs one round; `KORDER_ROUNDS=5` runs five, in both forms of admission and with all competitors.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
import os
from pathlib import Path
from random import Random
from statistics import median
from typing import TypeVar

import structlog
from tests.e2e.installation import managed
from tests.e2e.stage import LOOK, Stage, World, a_world
from tests.e2e.waiting import accepted

from korder.api.reserve import (
    GUARDIAN_LABEL,
    ORDERS,
    REQUIRED_ANNOTATION,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import patches as claim_patches
from korder.testing.builders import an_order
from kubeloop.client.errors import Forbidden, InternalError
from kubeloop.net.ports import LOOPBACK, free_ports
from kubeloop.objects import core
from kubeloop.objects.core import EVENTS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Pod
from kubeloop.objects.limits import PRIORITY_CLASSES
from kubeloop.objects.meta import JSON, HasMetadata, Key
from kubeloop.testing.builders import Builder
from kubeloop.testing.processes import Process

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=HasMetadata)
V = TypeVar("V")
FULL_RUN = "KORDER_ROUNDS" in os.environ
ROUNDS = int(os.environ.get("KORDER_ROUNDS", "1"))
PRIORITIES = (0, 1_000, 2_000_000)
BOUND_WITHIN_SECONDS = 30.0
"""A claimant that is not bound on the node of its ticket by then has lost its capacity."""
CLEAN_WITHIN_SECONDS = 10.0
"""Taints, pins and guardians that are left after that time stay for good."""
OUR_TAINTS = "korder.dev/"
HOLDING = (TicketPhase.PENDING, TicketPhase.RESERVED, TicketPhase.CLAIMING)


def seconds_now() -> float:
    return asyncio.get_running_loop().time()


def cases(normal: Iterable[V], everything: Iterable[V]) -> list[V]:
    """The values of a parameter in this run."""
    return list(everything if FULL_RUN else normal)


@dataclass(frozen=True)
class Installation:
    """korder in a world, with one manager."""

    world: World
    manager: Process

    @asynccontextmanager
    async def flagged(self, *flags: str) -> AsyncIterator[None]:
        """Restarts the manager with more flags, and without them when the block ends."""
        usual = self.manager.command
        self.manager.command = (*usual, *flags)
        try:
            if flags:
                await self.manager.restart()
            yield
        finally:
            self.manager.command = usual
            if flags:
                await self.manager.restart()

    async def crash(self, rng: Random) -> None:
        """Kills scheduler and manager, one after the other, and starts each again."""
        for victim in rng.sample([self.manager, self.world.plane.scheduler], 2):
            await kill_and_start(victim, rng)


async def kill_and_start(victim: Process, rng: Random) -> None:
    await asyncio.sleep(rng.uniform(0, 0.5))
    victim.kill()
    await asyncio.sleep(rng.uniform(0, 0.5))
    await victim.start()


@asynccontextmanager
async def an_installation(form: str, folder: Path, *flags: str) -> AsyncIterator[Installation]:
    """Installs korder with this form of admission and runs its manager."""
    (port,) = free_ports(1)
    address = f"{LOOPBACK}:{port}"
    place = (f"--webhook-url=https://{address}",) if form == "webhook" else ()
    serving = (f"--webhook-bind-address={address}",) if form == "webhook" else ()
    async with (
        a_world(f"--admission={form}", *place) as world,
        managed(world.plane, folder, *serving, *flags, elect=False) as manager,
    ):
        probe = an_order("probe", 0).in_namespace("default").json
        await accepted(
            lambda: world.client.create(ORDERS, probe, dry_run=True), (Forbidden, InternalError)
        )
        yield Installation(world, manager)


@dataclass
class Figures:
    """What went wrong in all rounds; everything is named, with what was seen of it."""

    claims: int = 0
    lost: list[str] = field(default_factory=list)
    """Claimants that are not bound on the node of their ticket."""
    stolen: list[str] = field(default_factory=list)
    """Competitors that were bound where capacity was held or was to be returned."""
    pinned: list[str] = field(default_factory=list)
    """Pods that are tied to a node and have no ticket."""
    tainted: list[str] = field(default_factory=list)
    """Nodes with a taint of korder."""
    orphans: list[str] = field(default_factory=list)
    """Guardians without a ticket that holds capacity."""
    seconds: list[float] = field(default_factory=list)
    """From the first pod of a round until each claimant was seen bound."""

    @property
    def is_clean(self) -> bool:
        return not any(names for _, names in self._named())

    def _named(self) -> Iterable[tuple[str, list[str]]]:
        counted = ("claims", "seconds")
        return [(f.name, getattr(self, f.name)) for f in fields(self) if f.name not in counted]

    def __str__(self) -> str:
        counts = ", ".join(f"{len(names)} {name}" for name, names in self._named())
        times = f"; p50 {median(self.seconds):.2f} s" if self.seconds else ""
        return f"{self.claims} claims: {counts}{times}"

    def check(self) -> None:
        """Fails with everything that was seen."""
        log.info("figures", seen=str(self))
        details = [f"  {name}: {each}" for name, names in self._named() for each in names]
        assert self.is_clean, "\n".join((str(self), *details))


async def compete(
    stage: Stage, priority: int, number: int, name: str = "rival", **place: JSON
) -> list[Pod]:
    """Brings pods that wait for any capacity, of a priority that never preempts; returns when the scheduler has tried all."""
    rank = f"{stage.name}-{name}"
    await stage.client.create(
        PRIORITY_CLASSES,
        {"metadata": {"name": rank}, "value": priority, "preemptionPolicy": "Never"},
    )
    spec: JSON = {"priorityClassName": rank, **place}
    rivals = [stage.pod(f"{name}-{n}").but({"spec": spec}) for n in range(number)]
    await accepted(lambda: stage.client.create(PODS, rivals[0].json, dry_run=True), Forbidden)
    made = await stage.put(*rivals)
    return [await stage.until(PODS, pod.metadata.name, was_tried) for pod in made]


def was_tried(pod: Pod) -> bool:
    """Whether the scheduler has bound the pod or found no node for it."""
    reported = core.reported(pod.status.conditions, "PodScheduled")
    waits = reported is not None and reported.reason == "Unschedulable"
    return bool(pod.spec.node_name) or waits


async def bound_rivals(stage: Stage, name: str = "rival") -> list[str]:
    pods = await stage.all(PODS)
    return [p.metadata.name for p in pods if p.metadata.name.startswith(name) and p.spec.node_name]


async def claim(
    stage: Stage, figures: Figures, *claimants: Builder[T], number: int | None = None
) -> None:
    """Creates claimants, or a workload of a number of them, and counts what becomes of them."""
    began = seconds_now()
    await stage.put(*claimants)
    await count_claims(stage, figures, number or len(claimants), began)


async def count_claims(
    stage: Stage,
    figures: Figures,
    number: int,
    began: float,
    within: float = BOUND_WITHIN_SECONDS,
) -> None:
    """Waits until a number of claimants are bound on the nodes of their tickets, and counts those that are not.

    A claimant that was deleted in the meantime has lost its capacity too: its controller made another one.
    """
    seen = dict[str, str]()
    bound = dict[str, float]()
    while seconds_now() < began + within and len(bound) < number:
        tickets, pods = await stage.all(TICKETS), await stage.all(PODS)
        owned = _owners(tickets)
        for pod in filter(_claims, pods):
            uid = pod.metadata.uid
            seen[uid] = pod.metadata.name
            if pod.spec.node_name and owned.get(uid) == pod.spec.node_name:
                bound.setdefault(uid, seconds_now() - began)
        await asyncio.sleep(LOOK)
    figures.claims += number
    figures.seconds += bound.values()
    there = {pod.metadata.uid: pod for pod in await stage.all(PODS)}
    for uid, name in seen.items():
        if uid not in there:
            figures.lost.append(f"{stage.name}/{name} was deleted")
        elif uid not in bound:
            figures.lost.append(await _described(stage, there[uid]))
    figures.lost += [f"{stage.name}: a claimant was never made"] * (number - len(seen))
    await count_leftovers(stage, figures)


def _claims(pod: Pod) -> bool:
    return REQUIRED_ANNOTATION in pod.metadata.annotations


def _owners(tickets: Iterable[Ticket]) -> dict[str, str]:
    """The nodes of tickets by the UIDs of the pods that have them."""
    owned = dict[str, str]()
    for ticket in tickets:
        status = ticket.status
        if status.phase in (TicketPhase.CLAIMED, TicketPhase.CLAIMING) and status.claimed_by:
            owned[status.claimed_by.uid] = status.node_name
        owned.update((share.uid, status.node_name) for share in status.shared_by)
    return owned


async def count_leftovers(stage: Stage, figures: Figures) -> None:
    """Waits until nothing is left behind on this stage, and counts what is."""
    until = seconds_now() + CLEAN_WITHIN_SECONDS
    while not (found := await _leftovers(stage)).is_clean and seconds_now() < until:
        await asyncio.sleep(LOOK)
    figures.pinned += found.pinned
    figures.tainted += found.tainted
    figures.orphans += found.orphans


async def _leftovers(stage: Stage) -> Figures:
    nodes = [n for n in (await stage.client.list(NODES)).items if n.metadata.name in stage.nodes]
    pods, tickets = await stage.all(PODS), await stage.all(TICKETS)
    owned = _owners(tickets)
    holding = {t.metadata.uid for t in tickets if t.status.phase in HOLDING}
    taints = [
        f"{node.metadata.name} {taint.key}={taint.value}:{taint.effect}"
        for node in nodes
        for taint in node.spec.taints
        if taint.key.startswith(OUR_TAINTS)
    ]
    pinned = [
        await _described(stage, pod)
        for pod in pods
        if not pod.spec.node_name
        and not claim_patches.is_gated(pod)
        and TICKET_CLAIMED_ANNOTATION in pod.metadata.annotations
        and pod.metadata.uid not in owned
    ]
    orphans = [
        f"{stage.name}/{pod.metadata.name} on {pod.spec.node_name or 'no node'}"
        for pod in pods
        if GUARDIAN_LABEL in pod.metadata.labels
        and not any(owner.uid in holding for owner in pod.metadata.owner_references)
    ]
    return Figures(pinned=pinned, tainted=taints, orphans=orphans)


async def _described(stage: Stage, pod: Pod) -> str:
    """What is to be seen of a pod and its ticket."""
    said = [f"{c.type}={c.status} {c.reason}: {c.message}" for c in pod.status.conditions]
    events = [
        f"{event.reason}: {event.note}"
        for event in await stage.all(EVENTS)
        if event.regarding.name == pod.metadata.name
    ]
    gated = "gated" if claim_patches.is_gated(pod) else "not gated"
    ticket = pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION, "none")
    where = pod.spec.node_name or "no node"
    head = f"{stage.name}/{pod.metadata.name} on {where}, {gated}, ticket annotation {ticket}"
    return f"{head}; conditions {said}; events {events}"


class Tenant(Stage):
    """Another namespace on the nodes of a stage."""

    def __init__(self, host: Stage, name: str) -> None:
        super().__init__(host.world, name)
        self._host = host

    @property
    def place(self) -> dict[str, JSON]:
        return self._host.place


@asynccontextmanager
async def a_tenant(host: Stage, suffix: str) -> AsyncIterator[Tenant]:
    """A namespace on the nodes of a stage, deleted when the block ends."""
    tenant = Tenant(host, f"{host.name}-{suffix}")
    await host.client.create(NAMESPACES, {"metadata": {"name": tenant.name}})
    await tenant.until(SERVICE_ACCOUNTS, "default", lambda _: True)
    try:
        yield tenant
    finally:
        await host.client.delete(NAMESPACES, Key("", tenant.name))
