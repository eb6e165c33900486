"""A history written by hand: objects that come, change and go, as the server would commit them."""

from datetime import UTC, datetime, timedelta
from typing import Self

from kubeloop.objects import codec, core, meta, workloads
from kubeloop.objects.meta import JSON, HasMetadata, Kind
from kubeloop.testing.builders import Builder, a_node, a_pod
from pocketkube.simulation.changes import Change
from pocketkube.simulation.report.extension import Extension
from pocketkube.simulation.report.report import Report, Run
from pocketkube.simulation.report.timeline import Timeline
from pocketkube.simulation.report.timeline_builder import Chronicle
from pocketkube.simulation.report.workload_rows import Name

START = datetime(2026, 1, 5, tzinfo=UTC)
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu"
KINDS: dict[str, Kind[HasMetadata]] = {
    "Deployment": workloads.DEPLOYMENTS,
    "ReplicaSet": workloads.REPLICA_SETS,
    "StatefulSet": workloads.STATEFUL_SETS,
    "DaemonSet": workloads.DAEMON_SETS,
    "Job": workloads.JOBS,
}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class History:
    """What a chronicle is told, second by second."""

    extensions: tuple[Extension, ...] = ()

    def __init__(self, *promised: Name, seconds: float = 3600) -> None:
        self.end = at(seconds)
        self.chronicle = Chronicle(START, self.end, promised, self.extensions)
        self.now = 0.0
        self._there: dict[tuple[str, str, str], dict[str, JSON]] = {}
        self._version = 0

    def after(self, seconds: float) -> Self:
        self.now += seconds
        return self

    def put(self, built: Builder[HasMetadata], *, by: str = "user") -> None:
        """Creates or replaces an object."""
        self._version += 1
        found = built.build().metadata
        key = (str(built.kind), found.namespace, found.name)
        before = self._there.get(key)
        uid = f"{built.kind}/{found.namespace}/{found.name}"
        after = self._there[key] = built.stored(found.uid or uid, self._version).json
        self.chronicle.see(Change(at(self.now), self._version, *key, before, after, by))

    def drop(self, resource: str, name: str, namespace: str = "default", by: str = "user") -> None:
        """Deletes an object."""
        self._version += 1
        key = (resource, namespace, name)
        before = self._there.pop(key)
        self.chronicle.see(Change(at(self.now), self._version, *key, before, None, by))

    def node(self, name: str, *, ready: bool = True, cordoned: bool = False) -> None:
        built = a_node(name)
        built = built if ready else built.not_ready()
        self.put(built.cordoned() if cordoned else built, by="nodes")

    def namespace(self, name: str, *, ending: bool) -> None:
        built: Builder[HasMetadata] = Builder(core.NAMESPACES, {"metadata": {"name": name}})
        self.put(built.deleted_at(at(self.now)) if ending else built)

    def workload(self, kind: str, name: str, spec: JSON, status: JSON = None) -> None:
        content: dict[str, JSON] = {"metadata": {"name": name, "namespace": "default"}}
        self.put(Builder(KINDS[kind], {**content, "spec": spec, "status": status or {}}))

    def deployment(self, name: str, replicas: int) -> None:
        """A Deployment and the ReplicaSet below it."""
        self.workload("Deployment", name, {"replicas": replicas})
        below: Builder[HasMetadata] = Builder(
            KINDS["ReplicaSet"], {"metadata": {"name": f"{name}-1", "namespace": "default"}}
        )
        self.put(below.but(_owned("Deployment", name)), by="controllers")

    def pod(
        self,
        name: str,
        owner: tuple[str, str] | None = None,
        node: str = "",
        phase: str = "",
        why: str = "",
        *,
        deleted: bool = False,
        by: str = "controllers",
    ) -> None:
        """A pod: it waits unless it has a node, and runs there unless another phase is said."""
        built = a_pod(name).requesting(cpu="1", memory="1Gi")
        if owner is not None:
            built = built.but(_owned(*owner))
        if node:
            built = built.on(node).in_phase(phase or "Running")
        conditions: list[JSON] = []
        if why:
            conditions += [{"type": "PodScheduled", "status": "False", "message": why}]
        if node and phase in ("", "Running"):
            conditions += [{"type": "Ready", "status": "True"}]
        status: JSON = {"phase": phase or ("Running" if node else "Pending")}
        built = built.but({"status": {"conditions": conditions}}).but({"status": status})
        self.put(built.deleted_at(at(self.now)) if deleted else built, by=by)

    def web(self, number: int, node: str = "", why: str = "") -> None:
        """A pod of the Deployment `web`."""
        self.pod(f"web-{number}", ("ReplicaSet", "web-1"), node, why=why)

    def stated(self) -> Timeline:
        return self.chronicle.tell(self.end)


def a_report(stated: Timeline) -> Report:
    """The report of a run of which only its timeline matters."""
    run = Run(
        seed=1,
        faults=0.0,
        nodes=2,
        manifests=1,
        workload=0,
        strikes=0,
        writes=10,
        digest="d1" * 32,
        command="korder simulate --nodes 2",
    )
    return Report(run=run, timeline=stated)


def _owned(kind: str, name: str) -> dict[str, JSON]:
    of = KINDS[kind]
    owner = Builder(of, {"metadata": {"name": name, "uid": f"{of}/default/{name}"}}).build()
    return {"metadata": {"ownerReferences": [codec.plain(meta.owner_reference(of, owner))]}}
