"""Pods that nobody looks after any more: those of nodes that are gone, and those that were deleted before they had a node.

No kubelet will ever end them, so they are failed and removed here. A node counts as gone when it has been missing for a
while and the server itself says so. Finished pods are kept, however many there are.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.objects import core, instant
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import NOTHING, Delete, Patch, PatchType, Plan
from kubeloop.runtime.manager import Manager
from pocketkube.nodes.kubelet import BY_NODE, by_node

QUARANTINE = timedelta(seconds=40)
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodCollector:
    """Removes pods that no kubelet will end."""

    def __init__(self, manager: Manager, client: Client) -> None:
        self._client = client
        self._nodes = manager.informers.of(NODES)
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(BY_NODE, by_node)
        controller = manager.controller("pod-collector", self._reconcile, workers=4)
        controller.follow(self._pods, self._forsaken)
        controller.follow(self._nodes, self._on)
        self._missing: dict[str, datetime] = {}
        """Since when nodes with pods are not to be seen."""

    def _forsaken(self, pod: Pod) -> Iterable[Key]:
        """A pod that may be for us: almost none is, and all change often."""
        name, ends = pod.spec.node_name, pod.metadata.deletion_timestamp is not None
        node = self._nodes.reader.get(Key("", name)) if name else None
        ours = bool(name) or ends if node is None else ends and _is_out_of_service(node)
        return (key_of(pod),) if ours else ()

    def _on(self, node: Node) -> Iterable[Key]:
        self._missing.pop(node.metadata.name, None)
        return map(key_of, self._pods.reader.where(BY_NODE, node.metadata.name))

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        if pod is None:
            return NOTHING
        name, ends = pod.spec.node_name, pod.metadata.deletion_timestamp is not None
        node = self._nodes.reader.get(Key("", name)) if name else None
        if node is not None:
            return _removal(pod, now) if ends and _is_out_of_service(node) else NOTHING
        if not name:
            return _removal(pod, now) if ends else NOTHING
        due = self._missing.setdefault(name, now) + QUARANTINE
        if now < due:
            return Plan().requeue(due)
        if await self._stands(name):
            return Plan().requeue(now + QUARANTINE)
        return _removal(pod, now, "PodGC: node no longer exists")

    async def _stands(self, name: str) -> bool:
        try:
            await self._client.get(NODES, Key("", name))
        except NotFound:
            return False
        return True


def _is_out_of_service(node: Node) -> bool:
    marked = any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
    return marked and not core.is_ready(node)


def _removal(pod: Pod, now: datetime, why: str = "") -> Plan:
    gone = Delete(PODS, key_of(pod), pod.metadata.uid, grace_seconds=0)
    if core.is_finished(pod):
        return Plan().then(gone)
    status: dict[str, JSON] = {"phase": "Failed"}
    if why:
        target: JSON = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": why,
            "lastTransitionTime": instant.render(now),
        }
        status["conditions"] = [target]
    failed = Patch(
        PODS,
        key_of(pod),
        {"status": status},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )
    return Plan().then(failed).then(gone)
