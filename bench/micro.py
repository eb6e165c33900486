"""Cost per event of the queue and the store, at growing numbers of objects: it must not grow with them.

An event is measured through the doors a manager uses. For the store: bytes of a watch come in, an informer takes them, its
handler hears of the change. For the queue: a handler adds a name, the worker that was waiting takes it, asks for its next look and
gives it back. The data structures alone do not stay within the bar: measured without decoding and without waking a worker they cost 1.3
to 2 times as much at 100,000 objects as at 1,000, which is memory that is not in the processor's cache, such as the object that a
change replaces and that was last touched long ago.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
import gc
import json
import random
from time import perf_counter
from types import MappingProxyType
from typing import Self

from bench.table import Row
from kubeloop.client.client import Client
from kubeloop.client.watch import INITIAL_EVENTS_END
from kubeloop.net.http import Guard, Request
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.metrics import Metrics
from kubeloop.runtime.queue import WorkQueue
from kubeloop.runtime.store import Change, by_namespace, by_owner

SIZES = (1_000, 10_000, 100_000)
EVENTS = 20_000
ROUNDS = 9
FLAT = 1.5

Tell = Callable[[str], None]
Rounds = Callable[[int, asyncio.Runner], Callable[[], float]]
"""Prepares a size and gives a function that plays `EVENTS` events and returns the seconds they took."""


def queue_event(tell: Tell) -> Iterator[Row]:
    """A random name is added, a waiting worker takes it, asks for its next look and gives it back."""
    yield _flat("queue-event", _queue_rounds, tell)


def store_event(tell: Tell) -> Iterator[Row]:
    """The line of a watch about a random pod becomes a change in a store with two indexes."""
    yield _flat("store-event", _store_rounds, tell)


def _flat(name: str, rounds: Rounds, tell: Tell) -> Row:
    """Measures all sizes in turn, several times; the best round of each is the one the neighbours disturbed least."""
    samples: dict[int, list[float]] = {size: [] for size in SIZES}
    with ExitStack() as stack:
        runs = {}
        for size in SIZES:
            tell(f"{name}: preparing {size:,} objects")
            runner = asyncio.Runner()
            stack.callback(runner.close)
            runs[size] = rounds(size, runner)
        gc.collect()
        gc.disable()
        for reconcile in range(ROUNDS):
            tell(f"{name}: round {reconcile + 1} of {ROUNDS}")
            for size in SIZES:
                samples[size].append(runs[size]() / EVENTS * 1e6)
        gc.enable()
    costs = [min(samples[size]) for size in SIZES]
    return Row(name, max(costs), "us per event", min(costs), FLAT)


def _queue_rounds(size: int, runner: asyncio.Runner) -> Callable[[], float]:
    rng = random.Random(size)
    names = [Key("ns", f"object-{index}") for index in range(size)]
    clock = SystemClock()

    async def prepare() -> WorkQueue[Key]:
        queue: WorkQueue[Key] = WorkQueue(clock, rng)
        for name in names:
            queue.add_at(name, clock.now() + timedelta(hours=rng.uniform(1, 24)))
        return queue

    queue = runner.run(prepare())

    async def run() -> float:
        chosen = rng.choices(names, k=EVENTS)
        start = clock.now()
        nexts = iter([start + timedelta(hours=rng.uniform(1, 24)) for _ in chosen])

        async def work() -> None:
            while True:
                name = await queue.get()
                queue.add_at(name, next(nexts))
                queue.done(name)

        async with asyncio.TaskGroup() as group:
            worker = group.create_task(work())
            await asyncio.sleep(0)
            started = perf_counter()
            for name in chosen:
                queue.add(name)
                await asyncio.sleep(0)
            spent = perf_counter() - started
            worker.cancel()
        return spent

    return lambda: runner.run(run())


def _store_rounds(size: int, runner: asyncio.Runner) -> Callable[[], float]:
    rng = random.Random(size)
    feed = _Feed(size)
    version = size
    heard = 0

    def note(_: Change[Pod]) -> None:
        nonlocal heard
        heard += 1

    async def begin() -> asyncio.Task[None]:
        informer = Informer(Client(feed, rng=rng), PODS, Metrics())
        informer.add_index("namespace", by_namespace)
        informer.add_index("owner", by_owner)
        task = asyncio.get_running_loop().create_task(informer.run())
        await informer.wait_until_synced()
        informer.on_change(note)
        return task

    running = runner.run(begin())

    async def run() -> float:
        nonlocal version
        lines = [_line(rng.randrange(size), version + i) for i in range(1, EVENTS + 1)]
        version += EVENTS
        wanted = heard + EVENTS
        started = perf_counter()
        for first in range(0, EVENTS, 16):
            feed.more.put_nowait(b"".join(lines[first : first + 16]))
        while heard < wanted:
            await asyncio.sleep(0)
        return perf_counter() - started

    def measured() -> float:
        assert not running.done()
        return runner.run(run())

    return measured


class _Feed:
    """A server that streams its state and then whatever it is given."""

    status = 200
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, size: int) -> None:
        self._size = size
        self.more: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(self, _: Request, __: Guard | None = None) -> Self:
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        for index in range(self._size):
            yield _line(index, index + 1)
        meta = {"resourceVersion": str(self._size), "annotations": {INITIAL_EVENTS_END: "true"}}
        yield json.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}).encode() + b"\n"
        while True:
            yield await self.more.get()

    async def read(self) -> bytes:
        return b""

    async def close(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _line(index: int, version: int) -> bytes:
    """What an API server sends about a running pod of a Deployment, with all it fills in by itself."""
    meta = {
        "name": f"web-7d4b9c5f6d-{index}",
        "generateName": "web-7d4b9c5f6d-",
        "namespace": f"ns-{index % 100}",
        "uid": f"8c1d2f0e-5a3b-4c7d-9e1f-{index:012}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T08:00:00Z",
        "labels": {
            "app": f"app-{index % 50}",
            "tier": "backend",
            "pod-template-hash": "7d4b9c5f6d",
        },
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7d4b9c5f6d",
                "uid": f"rs-{index % 1000}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": _MANAGED_FIELDS,
    }
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": _SPEC, "status": _STATUS}
    event = {"type": "MODIFIED", "object": pod}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


_MANAGED_FIELDS = [
    {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T08:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:tier": {}}},
            "f:spec": {
                "f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}, "f:name": {}}}
            },
            "f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}}}},
        },
    }
    for manager in ("kube-controller-manager", "kubelet")
]
_SPEC = {
    "volumes": [{"name": "kube-api-access", "projected": {"sources": [], "defaultMode": 420}}],
    "containers": [
        {
            "name": "app",
            "image": "nginx:latest",
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
            "volumeMounts": [
                {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run"}
            ],
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
        }
    ],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "nodeName": "node-1",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "tolerations": [
        {
            "key": f"node.kubernetes.io/{reason}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for reason in ("not-ready", "unreachable")
    ],
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_STATUS = {
    "phase": "Running",
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T08:00:00Z"}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ],
    "hostIP": "10.0.0.1",
    "podIP": "10.1.0.1",
    "startTime": "2026-01-01T08:00:00Z",
    "qosClass": "Burstable",
    "containerStatuses": [
        {
            "name": "app",
            "state": {"running": {"startedAt": "2026-01-01T08:00:00Z"}},
            "ready": True,
            "restartCount": 0,
            "image": "nginx:latest",
            "imageID": "",
            "started": True,
        }
    ],
}
