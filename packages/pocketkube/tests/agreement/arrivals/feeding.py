"""Plays a history to a scheduler through the API, and waits after each burst until the scheduler is at rest.

The same code feeds every scheduler on every server. Pods have nobody who cares for them but the feeder: whoever was pushed aside or
lost its machine is made again at once, as a controller would, so that the pods of a history are the same for all schedulers.

A scheduler is at rest when nothing is under way (no pod ends, none is nominated, every bound one runs, every other one has been
told that there is no room) and nothing would come of trying again: by the rules of `pocketkube.scheduler`, none of those
who wait fits anywhere or could push others aside. In the end a last pod that fits nowhere is sent after them: when the scheduler
has spoken about it, it has also seen all that came before, and still nothing must have changed.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.agreement.arrivals.applications import PRIORITIES
from tests.agreement.arrivals.histories import (
    NAMESPACE,
    Action,
    Arrive,
    Cordon,
    History,
    Join,
    Leave,
    Lift,
    Retire,
)
from tests.agreement.arrivals.observer import Observer, Snapshot

from kubeloop.client.client import Client
from kubeloop.client.errors import AlreadyExists, NotFound
from kubeloop.client.request import Deletion
from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, SERVICE_ACCOUNTS, Pod
from kubeloop.objects.limits import PRIORITY_CLASSES
from kubeloop.objects.meta import JSON, Key
from kubeloop.testing.builders import PodBuilder, a_pod
from pocketkube.nodes.conditions import NOT_READY
from pocketkube.nodes.machines import Machines

PATIENCE = 180.0
"""Seconds within which a scheduler must come to rest, even on a machine that has other things to do."""


@dataclass(frozen=True, slots=True)
class Rest:
    """How many pods there are when the scheduler has come to rest, and how many of them wait for a place."""

    pods: int
    waiting: int


async def prepare(client: Client) -> None:
    """Makes what all histories need, where there are no controllers to make it."""
    account: dict[str, JSON] = {"metadata": {"name": "default", "namespace": NAMESPACE}}
    with suppress(AlreadyExists):
        await client.create(SERVICE_ACCOUNTS, account)
    for name, value in PRIORITIES.items():
        with suppress(AlreadyExists):
            await client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})


@dataclass(slots=True)
class Feeder:
    """One history on one server; the names of its nodes, which begin with its seed, must not have been used there before."""

    client: Client
    observer: Observer
    machines: Machines
    history: History
    _wanted: dict[str, PodBuilder] = field(default_factory=dict)
    _nodes: set[str] = field(default_factory=set)

    async def play(self) -> Rest:
        """Plays all bursts and says how things stand in the end; leaves an empty cluster."""
        for burst in self.history.bursts:
            for action in burst:
                await self._do(action)
            async with self._patience():
                await self._rest()
        async with self._patience():
            while not await self._holds(snapshot := await self._rest()):
                pass
        await self._clear()
        return Rest(len(snapshot.pods), len(snapshot.waiting))

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(PATIENCE):
                yield
        except TimeoutError as error:
            error.add_note(f"The scheduler does not come to rest in history {self.history.seed}.")
            for line in self._unrest(await self.observer.look()):
                error.add_note(line)
            raise

    def _unrest(self, snapshot: Snapshot) -> Iterator[str]:
        """What keeps the scheduler from being called at rest."""
        for pod in snapshot.pods:
            if not _is_settled(pod):
                yield f"{pod.metadata.name} is not settled: {pod.spec.node_name=} {pod.status}"
        for pod in snapshot.hopeful:
            yield f"{pod.metadata.name} has hope, and was told: {pod.status.conditions}"
        for name in self._wanted.keys() - {pod.metadata.name for pod in snapshot.pods}:
            yield f"{name} is missing"

    async def _do(self, action: Action) -> None:
        match action:
            case Arrive(pod):
                await self._make(pod)
            case Leave(pod=name):
                del self._wanted[name]
                await self._delete(name)
            case Lift(pod=name):
                ungated: dict[str, JSON] = {"spec": {"schedulingGates": None}}
                self._wanted[name] = self._wanted[name].but(ungated)
                await self.client.patch(PODS, Key(NAMESPACE, name), ungated)
            case Join(node, shape):
                self._nodes.add(self._full(node))
                self.machines.add(self._full(node), shape)
            case Cordon(node, closed):
                await self._cordon(self._full(node), closed=closed)
            case Retire(node):
                await self._retire(self._full(node))

    def _full(self, node: str) -> str:
        return f"h{self.history.seed}-{node}"

    async def _make(self, pod: PodBuilder) -> None:
        made = await self.client.create(PODS, pod.json)
        self._wanted[made.metadata.name] = pod

    async def _delete(self, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(PODS, Key(NAMESPACE, name))

    async def _cordon(self, node: str, *, closed: bool) -> None:
        await self.client.patch(NODES, Key("", node), {"spec": {"unschedulable": closed}})

    async def _retire(self, node: str) -> None:
        """Drains a machine and takes it away."""
        await self._cordon(node, closed=True)
        async with self._patience():
            while seated := [p for p in (await self.observer.look()).pods if _sits_on(node, p)]:
                for pod in seated:
                    if pod.metadata.deletion_timestamp is None:
                        await self._delete(pod.metadata.name)
                await self.observer.change()
        self._nodes.remove(node)
        await self.client.delete(NODES, Key("", node))

    async def _rest(self) -> Snapshot:
        """Waits until the scheduler seems to be at rest."""
        while not self._is_at_rest(self.observer.last_seen) or not self._is_at_rest(
            snapshot := await self.observer.look()
        ):
            await self._make_again(pod.metadata.name for pod in self.observer.last_seen.pods)
            await self.observer.change()
        return snapshot

    def _is_at_rest(self, snapshot: Snapshot) -> bool:
        return self._is_still(snapshot) and not any(snapshot.hopeful)

    async def _make_again(self, there: Iterable[str]) -> None:
        for name in sorted(self._wanted.keys() - set(there)):
            with suppress(AlreadyExists):
                await self.client.create(PODS, self._wanted[name].json)

    def _is_still(self, snapshot: Snapshot) -> bool:
        """Whether nothing is under way."""
        takes_pods = {
            node.metadata.name
            for node in snapshot.nodes
            if all(taint.key != NOT_READY for taint in node.spec.taints)
        }
        names = {pod.metadata.name for pod in snapshot.pods}
        return (
            takes_pods == self._nodes
            and names == self._wanted.keys()
            and all(_is_settled(pod) for pod in snapshot.pods)
        )

    async def _holds(self, snapshot: Snapshot) -> bool:
        """Whether nothing has changed when the scheduler has spoken about one last pod, which fits nowhere."""
        lowest = min(PRIORITIES, key=lambda name: PRIORITIES[name])
        nowhere: JSON = {"nodeSelector": {"there": "is-none"}, "priorityClassName": lowest}
        await self.client.create(PODS, a_pod("last").but({"spec": nowhere}).json)
        while not _is_refused(await self.client.get(PODS, Key(NAMESPACE, "last"))):
            await self.observer.change()
        await self.client.delete(PODS, Key(NAMESPACE, "last"))
        return _seats(await self.observer.look()) == _seats(snapshot)

    async def _clear(self) -> None:
        await self.client.delete_collection(PODS, NAMESPACE, deletion=Deletion(grace_seconds=0))
        await self.client.delete_collection(NODES)


def _sits_on(node: str, pod: Pod) -> bool:
    return pod.spec.node_name == node


def _seats(snapshot: Snapshot) -> Collection[tuple[str, str]]:
    return {(pod.metadata.uid, pod.spec.node_name) for pod in snapshot.pods}


def _is_settled(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    if pod.spec.node_name:
        return pod.status.phase == "Running"
    if pod.spec.scheduling_gates:
        return True
    return _is_refused(pod) and not pod.status.nominated_node_name


def _is_refused(pod: Pod) -> bool:
    stated = core.reported(pod.status.conditions, "PodScheduled")
    return stated is not None and stated.reason == "Unschedulable"
