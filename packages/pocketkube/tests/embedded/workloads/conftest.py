"""A world of workloads on virtual time: a server in memory that knows finalizers and graceful deletion, and kubelets of chance."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
import json
import random
from typing import cast

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import Fault, FaultyTransport, Rule, writes
from kubeloop.objects import codec, instant, patch, workloads
from kubeloop.objects.core import CONFIG_MAPS, NODES, PODS, Pod
from kubeloop.objects.meta import JSON, Kind, T
from kubeloop.objects.plan import AnyKind
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.memory import MemoryServer, Stored
from pocketkube.controllers import daemonsets, pod_control
from pocketkube.controllers.workloads import add_workloads

NAMESPACE = "ns"
KINDS: tuple[AnyKind, ...] = (
    PODS,
    NODES,
    CONFIG_MAPS,
    workloads.DEPLOYMENTS,
    workloads.REPLICA_SETS,
    workloads.STATEFUL_SETS,
    workloads.DAEMON_SETS,
    workloads.JOBS,
)
FAULTS = (Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.CONFLICT, Fault.BROKEN, Fault.SLOW)


class Server(MemoryServer):
    """Adds to a server in memory what workloads need of a real one."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self.clock = clock
        self.checks: list[Callable[[], None]] = []
        """Called after every change; what they raise is kept in `broken`."""
        self.broken: list[AssertionError] = []

    def create(self, path: str, obj: Stored) -> Stored:
        meta = cast("Stored", obj["metadata"])
        meta |= {"creationTimestamp": instant.render(self.clock.now()), "generation": 1}
        return super().create(path, obj)

    def merge(self, path: str, body: Stored) -> Stored:
        current = self._current(path)
        said = dict(cast("Stored", body.get("metadata") or {}))
        self._check(current, {n: said.pop(n) for n in ("uid", "resourceVersion") if n in said})
        changed = cast("Stored", patch.apply_merge(current, {**body, "metadata": said}))
        if changed == current:
            return current
        changed = cast("Stored", json.loads(json.dumps(changed)))
        meta = cast("Stored", changed["metadata"])
        if changed.get("spec") != current.get("spec"):
            meta["generation"] = cast("int", meta["generation"]) + 1
        if meta.get("deletionTimestamp") and not _is_held(meta):
            return super().delete(path, {})
        return self._store(path, "MODIFIED", changed)

    def delete(self, path: str, preconditions: Stored) -> Stored:
        current = self._current(path)
        self._check(current, preconditions)
        meta = cast("Stored", current["metadata"])
        grace = 30 if "/pods/" in path and cast("Stored", current["spec"]).get("nodeName") else 0
        if meta.get("deletionTimestamp"):
            return current
        if not grace and not meta.get("finalizers"):
            return super().delete(path, {})
        ends: Stored = {
            "deletionTimestamp": instant.render(self.clock.now()),
            "deletionGracePeriodSeconds": grace,
        }
        return self.merge(path, {"metadata": ends})

    def _note(self, path: str, kind: str, obj: Stored) -> None:
        super()._note(path, kind, obj)
        asyncio.get_running_loop().call_soon(self._judge)

    def _judge(self) -> None:
        try:
            for check in self.checks:
                check()
        except AssertionError as error:
            self.broken.append(error)


def _is_held(meta: Stored) -> bool:
    return bool(meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"))


class World:
    """Workload actors on a server in memory, with kubelets that take their time and a wire that may misbehave."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = random.Random(seed)
        self.clock = VirtualClock()
        self.server = Server(self.clock)
        self.wire = FaultyTransport(self.server.connect(), self.rng, slowness=0.5)
        self.client = Client(self.wire, rng=self.rng)
        self.kubelets_work = True
        self.unwatched: tuple[AnyKind, ...] = ()
        """Kinds that the server has and nobody watches."""

    def misbehave(self, chance: float = 0.1) -> None:
        self.wire.rules += [Rule(fault, writes, chance=chance) for fault in FAULTS]
        self.server.lag = 0.7

    def path(self, kind: Kind[T], name: str = "") -> str:
        root = "/apis" if kind.group else "/api"
        place = f"/namespaces/{NAMESPACE}" if kind.namespaced else ""
        return f"{root}/{kind.api_version}{place}/{kind.plural}" + (f"/{name}" if name else "")

    def create(self, kind: Kind[T], name: str, **members: JSON) -> T:
        meta: Stored = {"name": name, **cast("Stored", members.pop("metadata", {}))}
        if kind.namespaced:
            meta["namespace"] = NAMESPACE
        head: Stored = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        stored = self.server.create(self.path(kind), {**head, **members})
        return codec.convert(stored, kind.model)

    def workload(self, kind: Kind[T], **spec: JSON) -> T:
        """A workload named web, whose pods are labelled app=web."""
        said: JSON = {
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("app:1"),
            **spec,
        }
        return self.create(kind, "web", spec=said)

    def change(self, kind: Kind[T], name: str, body: JSON) -> None:
        self.server.merge(self.path(kind, name), cast("Stored", body))

    def get(self, kind: Kind[T], name: str = "web") -> T:
        return codec.convert(self.server.objects[self.path(kind, name)], kind.model)

    def all(self, kind: Kind[T]) -> list[T]:
        prefix = self.path(kind) + "/"
        found = [obj for path, obj in self.server.objects.items() if path.startswith(prefix)]
        return [codec.convert(obj, kind.model) for obj in found]

    def live(self) -> list[Pod]:
        return [pod for pod in self.all(PODS) if pod_control.is_active(pod)]

    def finish(self, pod: Pod, phase: str) -> None:
        self.change(PODS, pod.metadata.name, {"status": {"phase": phase, "conditions": []}})

    async def until(self, check: Callable[[], object], seconds: float = 600) -> None:
        async with asyncio.timeout(seconds):
            while not check():
                await asyncio.sleep(0.3)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Plays until the block ends, and then says what was broken meanwhile."""
        settings = Settings(identity="actors", drain_seconds=5)
        manager = Manager(self.client, settings, clock=self.clock, rng=self.rng)

        async def kinds() -> tuple[AnyKind, ...]:
            return (*KINDS, *self.unwatched)

        add_workloads(manager, self.client, KINDS, kinds, root_certificate="certificate")
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run(stop))
            kubelets = group.create_task(self._kubelets())
            try:
                yield
            finally:
                kubelets.cancel()
                stop.set()
        assert not self.server.broken, self.server.broken[0]

    async def _kubelets(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            for pod in self.all(PODS) if self.kubelets_work else ():
                if self.rng.random() < 0.5:
                    self._attend(pod)

    def _attend(self, pod: Pod) -> None:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp is not None:
            if pod.metadata.deletion_grace_period_seconds:
                self.change(PODS, name, {"metadata": {"deletionGracePeriodSeconds": 0}})
        elif not pod.spec.node_name:
            node = daemonsets.node_of(pod) or self._machine()
            self.change(PODS, name, {"spec": {"nodeName": node}, "status": {"phase": "Pending"}})
        elif pod.status.phase == "Pending":
            at = instant.render(self.clock.now())
            ready: JSON = {"type": "Ready", "status": "True", "lastTransitionTime": at}
            self.change(PODS, name, {"status": {"phase": "Running", "conditions": [ready]}})

    def _machine(self) -> str:
        """A node for pods that may run anywhere; without one they would be collected."""
        if self.path(NODES, "n1") not in self.server.objects:
            self.create(NODES, "n1")
        return "n1"


def template(image: str) -> JSON:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def a_world() -> type[World]:
    """Makes worlds of other seeds."""
    return World
