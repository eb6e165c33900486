"""Owners and their children: who belongs to whom, who is taken in and who is let go.

Deployments, ReplicaSets, StatefulSets and DaemonSets gather their children here. A child belongs to the owner whose UID its
controller reference names. One that no controller claims and that the selector matches is taken in, one that the selector no
longer matches is let go. Before anything is taken in the owner is read from the server itself: a cache that has not seen yet
that the owner is being deleted would hand the children of an orphaning deletion to the garbage collector.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kubeloop.client.client import Client
from kubeloop.objects import codec, selector
from kubeloop.objects.meta import (
    JSON,
    HasMetadata,
    Key,
    Kind,
    controller_of,
    key_of,
    owned_by,
    owner_reference,
)
from kubeloop.objects.plan import Patch
from kubeloop.objects.selector import LabelSelector, Selector
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import by_namespace, by_owner
from pocketkube.controllers import pod_control

O = TypeVar("O", bound=HasMetadata)  # noqa: E741  the owner
C = TypeVar("C", bound=HasMetadata)

BY_OWNER = "owner"
UNCLAIMED = "unclaimed"
_BY_NAMESPACE = "namespace"


def unclaimed(obj: HasMetadata) -> Iterable[Hashable]:
    """Index: the namespace of objects without a controller."""
    return () if controller_of(obj) is not None else (obj.metadata.namespace,)


@dataclass(frozen=True, slots=True)
class Children(Generic[C]):
    """The children of one owner and what makes them so."""

    mine: tuple[C, ...]
    claims: tuple[Patch, ...] = ()


class Family(Generic[O, C]):
    """All owners of one kind and their children of another."""

    def __init__(
        self,
        manager: Manager,
        client: Client,
        owners: Kind[O],
        children: Kind[C],
        wanted: Callable[[O], LabelSelector | None],
    ) -> None:
        self._client = client
        self._wanted = wanted
        self.owners = manager.informers.of(owners)
        self.owners.add_index(_BY_NAMESPACE, by_namespace)
        self.children = manager.informers.of(children)
        self.children.add_index(BY_OWNER, by_owner)
        self.children.add_index(UNCLAIMED, unclaimed)

    def parents(self, child: C) -> Iterable[Key]:
        """Who has to look when this child changes."""
        namespace = child.metadata.namespace
        controller = controller_of(child)
        if controller is not None:
            ours = controller.kind == self.owners.kind.kind
            return (Key(namespace, controller.name),) if ours else ()
        labels = child.metadata.labels
        return [
            key_of(owner)
            for owner in self.owners.reader.where(_BY_NAMESPACE, namespace)
            if self._selector(owner).matches(labels)
        ]

    async def of(self, owner: O) -> Children[C]:
        """Gathers the children of an owner that is not being deleted."""
        wanted = self._selector(owner)
        owned = [
            child
            for child in self.children.reader.where(BY_OWNER, owner.metadata.uid)
            if owned_by(child, owner.metadata.uid)
        ]
        mine = [child for child in owned if wanted.matches(child.metadata.labels)]
        strays = [child for child in owned if not wanted.matches(child.metadata.labels)]
        found = [
            child
            for child in self.children.reader.where(UNCLAIMED, owner.metadata.namespace)
            if child.metadata.deletion_timestamp is None and wanted.matches(child.metadata.labels)
        ]
        if found and not await self._stands(owner):
            found = []
        claims = [*(self._adoption(owner, child) for child in found), *map(self._release, strays)]
        return Children((*mine, *found), tuple(claims))

    def _selector(self, owner: O) -> Selector:
        return selector.from_struct(self._wanted(owner))

    async def _stands(self, owner: O) -> bool:
        meta = (await self._client.get(self.owners.kind, key_of(owner))).metadata
        return meta.uid == owner.metadata.uid and meta.deletion_timestamp is None

    def _adoption(self, owner: O, child: C) -> Patch:
        refs = (*child.metadata.owner_references, owner_reference(self.owners.kind, owner))
        written: list[JSON] = [codec.plain(ref) for ref in refs]
        body: JSON = {"metadata": {"ownerReferences": written}}
        return pod_control.change(self.children.kind, child, body)

    def _release(self, child: C) -> Patch:
        refs = child.metadata.owner_references
        kept: list[JSON] = [codec.plain(ref) for ref in refs if not ref.controller]
        return pod_control.change(
            self.children.kind, child, {"metadata": {"ownerReferences": kept}}
        )


def taken(names: Callable[[Key], object], namespace: str) -> Callable[[str], bool]:
    """Says of a name whether the cache knows an object of that name."""
    return lambda name: names(Key(namespace, name)) is not None
