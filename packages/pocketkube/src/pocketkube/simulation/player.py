"""Plays a script: does each deed at its time, as a user with kubectl, as a data centre, or as fate would.

`world` runs it. A deed that the server refuses is noted in the journal and the script goes on: users make mistakes, and an object that a
shrunk script does not create any more cannot be deleted.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

import msgspec

from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError, NotFound
from kubeloop.objects import selector
from kubeloop.objects.core import NODES, PODS, Pod
from kubeloop.objects.meta import Key, Kind, Object, controller_of, key_of
from kubeloop.objects.plan import PatchType
from kubeloop.objects.workloads import DAEMON_SETS
from pocketkube.nodes.machines import Machines, Manners, Shape
from pocketkube.simulation.journal import Journal
from pocketkube.simulation.processes import Process
from pocketkube.simulation.script import (
    Action,
    AddNode,
    Apply,
    Crash,
    Create,
    Delete,
    DeletePods,
    JumpClock,
    LoseNode,
    Manifest,
    Patch,
    ProcessAction,
    RemoveNode,
    ReturnNode,
    SlowNode,
    Step,
    Stop,
    UserAction,
)

_DEFAULT_NAMESPACE = "default"


class Player:
    """Does what scripts say."""

    def __init__(
        self,
        client: Client,
        machines: Machines,
        processes: Mapping[str, Process],
        group: asyncio.TaskGroup,
        journal: Journal,
    ) -> None:
        self._client = client
        self._machines = machines
        self._processes = processes
        self._group = group
        self._journal = journal
        self._catalog = rest_mapper.Catalog(())

    async def play(self, steps: Sequence[Step]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for step in steps:
            await asyncio.sleep(began + step.at - loop.time())
            self._journal.note("script", "!", msgspec.json.encode(step.action).decode())
            try:
                await self._do(step.action)
            except KubeError as error:
                self._journal.note("script", "!", f"refused: {error}")

    async def _do(self, action: Action) -> None:
        match action:
            case Apply() | Create() | Patch() | Delete() | DeletePods():
                await self._as_user(action)
            case Crash() | Stop() | JumpClock():
                self._to_process(self._process(action.process), action)
            case RemoveNode():
                self._machines.remove(action.name)
                await self._client.delete(NODES, Key("", action.name))
            case _:
                self._to_machine(action)

    async def _as_user(self, action: UserAction) -> None:
        match action:
            case Apply():
                await self._apply(action)
            case Create():
                await self._create(action)
            case Patch():
                kind = await self._kind(action.api_version, action.kind)
                key = _key(kind, action.namespace, action.name)
                await self._client.patch(kind, key, action.patch, PatchType.MERGE)
            case Delete():
                kind = await self._kind(action.api_version, action.kind)
                key = _key(kind, action.namespace, action.name)
                await self._client.delete(kind, key, grace_seconds=action.grace)
            case _:
                await self._delete_pods(action)

    def _to_machine(self, action: AddNode | LoseNode | ReturnNode | SlowNode) -> None:
        if not isinstance(action, AddNode) and self._machines.get(action.name) is None:
            raise KubeError(f"there is no machine {action.name!r}")
        match action:
            case AddNode():
                self._machines.add(action.name, _shape(action))
            case LoseNode():
                self._machines.lose(action.name)
            case ReturnNode():
                self._machines.recover(action.name)
            case _:
                self._machines.slow(action.name, Manners(action.start, action.stop))

    def _to_process(self, process: Process, action: ProcessAction) -> None:
        match action:
            case Crash():
                process.crash(action.down)
            case Stop():
                process.stop(action.seconds)
            case _:
                process.jump(timedelta(seconds=action.seconds))

    async def _apply(self, action: Apply) -> None:
        kind, key = await self._place(action.manifest)
        await self._client.patch(kind, key, action.manifest, PatchType.APPLY, force=True)

    async def _create(self, action: Create) -> None:
        kind, key = await self._place(action.manifest)
        meta = {**action.manifest.get("metadata", {})}
        if key.namespace:
            meta["namespace"] = key.namespace
        await self._client.create(kind, {**action.manifest, "metadata": meta})

    async def _place(self, manifest: Manifest) -> tuple[Kind[Object], Key]:
        kind = await self._kind(manifest.get("apiVersion", ""), manifest.get("kind", ""))
        meta = manifest.get("metadata", {})
        return kind, _key(kind, meta.get("namespace", ""), meta.get("name", ""))

    async def _delete_pods(self, action: DeletePods) -> None:
        fields = f"spec.nodeName={action.node}" if action.node else ""
        labels = str(selector.from_labels(action.labels))
        found = await self._client.list(PODS, action.namespace, labels=labels, fields=fields)
        pods = [pod for pod in found.items if not (action.node and _stays(pod))]
        for pod in pods[: action.most]:
            with suppress(NotFound):
                uid = pod.metadata.uid
                await self._client.delete(PODS, key_of(pod), uid=uid, grace_seconds=action.grace)

    def _process(self, name: str) -> Process:
        found = self._processes.get(name)
        if found is None:
            known = ", ".join(self._processes)
            raise KubeError(f"there is no process {name!r}; there are {known}")
        return found

    async def _kind(self, api_version: str, kind: str) -> Kind[Object]:
        """Finds a kind; what was defined a moment ago is asked for again."""
        found = self._catalog.of(api_version, kind)
        if found is None:
            self._catalog = await rest_mapper.discover(self._client)
            found = self._catalog.of(api_version, kind)
        if found is None:
            raise KubeError(f"the server has no kind {kind!r} in {api_version!r}")
        return found.kind


def _key(kind: Kind[Object], namespace: str, name: str) -> Key:
    return Key((namespace or _DEFAULT_NAMESPACE) if kind.namespaced else "", name)


def _stays(pod: Pod) -> bool:
    """Whether draining leaves a pod where it is: a new one would come at once."""
    owner = controller_of(pod)
    return owner is not None and owner.kind == DAEMON_SETS.kind


def _shape(action: AddNode) -> Shape:
    rest = dict(action.capacity)
    usual = Shape()
    return Shape(
        cpu=rest.pop("cpu", usual.cpu),
        memory=rest.pop("memory", usual.memory),
        pods=int(rest.pop("pods", usual.pods)),
        extended=rest,
        labels=action.labels,
        taints=tuple(action.taints),
    )
