"""Objects for tests, written as sentences: `a_pod("web").requesting(cpu="500m").on("node-1")`.

Each builder is a value: every word returns a new one, so a common beginning can be shared. `.json` is what one sends to a
server, `.build()` what one gets back from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, Self, TypeVar

from kubeloop.objects import codec, core, instant, patch
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON, HasMetadata, Kind, T, owner_reference

O = TypeVar("O", bound=HasMetadata)  # noqa: E741  the object that is built


@dataclass(frozen=True)
class Builder(Generic[T]):
    """An object of a kind, as far as it has been described."""

    kind: Kind[T]
    content: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def json(self) -> dict[str, JSON]:
        """The object as it is sent."""
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **self.content}

    def build(self) -> T:
        """The object as it is read."""
        return codec.convert(self.json, self.kind.model)

    def but(self, change: Mapping[str, JSON]) -> Self:
        """Changes anything, by a merge patch."""
        merged = patch.apply_merge(dict(self.content), dict(change))
        assert isinstance(merged, dict)  # noqa: S101  a patch of an object is an object
        return replace(self, content=merged)

    def in_namespace(self, namespace: str) -> Self:
        return self.but({"metadata": {"namespace": namespace}})

    def labelled(self, labels: Mapping[str, str]) -> Self:
        return self.but({"metadata": {"labels": dict(labels)}})

    def annotated(self, annotations: Mapping[str, str]) -> Self:
        return self.but({"metadata": {"annotations": dict(annotations)}})

    def stored(self, uid: str, version: int = 1) -> Self:
        """Gives what a server gives."""
        return self.but({"metadata": {"uid": uid, "resourceVersion": str(version)}})

    def deleted_at(self, at: datetime, grace_seconds: int = 0) -> Self:
        stamp = instant.render(at)
        return self.but(
            {"metadata": {"deletionTimestamp": stamp, "deletionGracePeriodSeconds": grace_seconds}}
        )

    def owned_by(self, kind: Kind[O], owner: O) -> Self:
        controller = codec.plain(owner_reference(kind, owner))
        return self.but({"metadata": {"ownerReferences": [controller]}})


class PodBuilder(Builder[Pod]):
    """A pod with one container."""

    def requesting(self, **amounts: str) -> "PodBuilder":
        container: JSON = {"name": "app", "image": "app", "resources": {"requests": dict(amounts)}}
        return self.but({"spec": {"containers": [container]}})

    def on(self, node: str) -> "PodBuilder":
        return self.but({"spec": {"nodeName": node}})

    def gated_by(self, gate: str) -> "PodBuilder":
        return self.but({"spec": {"schedulingGates": [{"name": gate}]}})

    def tolerating(self, key: str, effect: str = "") -> "PodBuilder":
        toleration: JSON = {"key": key, "operator": "Exists", "effect": effect}
        return self.but({"spec": {"tolerations": [toleration]}})

    def in_phase(self, phase: str) -> "PodBuilder":
        return self.but({"status": {"phase": phase}})


class NodeBuilder(Builder[Node]):
    """A node that is ready."""

    def offering(self, **amounts: str) -> "NodeBuilder":
        return self.but({"status": {"capacity": dict(amounts), "allocatable": dict(amounts)}})

    def tainted(self, key: str, effect: str = "NoSchedule", value: str = "") -> "NodeBuilder":
        return self.but({"spec": {"taints": [{"key": key, "value": value, "effect": effect}]}})

    def cordoned(self) -> "NodeBuilder":
        return self.but({"spec": {"unschedulable": True}})

    def not_ready(self) -> "NodeBuilder":
        return self.but({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})


def a_pod(name: str) -> PodBuilder:
    """A pod that asks for nothing, in the namespace default."""
    container: JSON = {"name": "app", "image": "app"}
    return PodBuilder(
        core.PODS,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
        },
    )


def a_node(name: str) -> NodeBuilder:
    """A ready node of 4 cpu and 8Gi."""
    empty = NodeBuilder(
        core.NODES,
        {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        },
    )
    return empty.offering(cpu="4", memory="8Gi", pods="110")
