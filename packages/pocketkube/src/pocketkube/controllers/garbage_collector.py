"""The garbage collector: what belonged to something that is gone goes too.

It watches the metadata of all kinds it is given; who adds it to a manager adds it last, because the first to ask for a kind decides
how its objects are decoded. Ownership is by UID. A missing owner is believed only when the server itself says so: a cache may be
late. Deletion in the foreground waits for the children that block it; orphaning first cuts the children loose. Both are told by
the finalizers that Kubernetes uses, and the collector asks for a foreground deletion by setting that finalizer itself.

Owners that wait for each other in a circle would wait forever. The member that is reconciled last sees the whole circle and stops
waiting: it sets `blockOwnerDeletion` of its dependent in the circle to false.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import partial
from typing import NamedTuple

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON, HasMetadata, Key, OwnerReference, key_of
from kubeloop.objects.plan import NOTHING, AnyKind, Patch, Plan
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change, by_owner
from pocketkube.controllers import pod_control
from pocketkube.controllers.adoption import BY_OWNER

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_ORPHANED_BY_DEFAULT = frozenset({("batch", "jobs"), ("", "replicationcontrollers")})
_WORKERS = 2
_MOST_GONE = 512


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where the objects of one kind are looked after."""

    informer: Informer[HasMetadata]
    controller: Controller

    @property
    def kind(self) -> AnyKind:
        return self.informer.kind


class _Child(NamedTuple):
    desk: _Desk
    obj: HasMetadata


class _Owner(Enum):
    """What is known of an owner."""

    STANDS = "there"
    WAITS = "goes once its children are gone"
    GONE = "gone"


class GarbageCollector:
    """Collects the children of what is gone, over all kinds it is given."""

    def __init__(self, manager: Manager, client: Client, kinds: Iterable[AnyKind]) -> None:
        self._client = client
        self._desks: dict[tuple[str, str], _Desk] = {}
        self._gone: dict[tuple[str, Key, str], None] = {}
        """Owners, by kind, name and UID, that the server has said are not there."""
        self._owners: Counter[str] = Counter()
        """How many objects name each UID as an owner; most objects are nobody's, and need not be looked for among all kinds."""
        for kind in kinds:
            informer = manager.informers.of(kind)
            informer.add_index(BY_OWNER, by_owner)
            reconcile = partial(self._reconcile, (kind.group, kind.kind))
            controller = manager.controller(f"garbage-{kind}", reconcile, workers=_WORKERS)
            self._desks[kind.group, kind.kind] = _Desk(informer, controller)
        for desk in self._desks.values():
            desk.informer.on_change(partial(self._noticed, desk))

    def _noticed(self, desk: _Desk, change: Change[HasMetadata]) -> None:
        old, new = change
        self._count(change)
        if new is not None and _concerns_us(old, new):
            desk.controller.queue.add(key_of(new))
        if new is None and old is not None:
            for child in self._children(old.metadata.uid):
                child.desk.controller.queue.add(key_of(child.obj))
        for obj in change.objects:
            for ref in obj.metadata.owner_references:
                self._remind(obj, ref)

    def _count(self, change: Change[HasMetadata]) -> None:
        for obj, times in zip(change, (-1, 1), strict=True):
            for ref in obj.metadata.owner_references if obj is not None else ():
                self._owners[ref.uid] += times
                if not self._owners[ref.uid]:
                    del self._owners[ref.uid]

    def _remind(self, child: HasMetadata, ref: OwnerReference) -> None:
        """Lets an owner that waits for its children look again."""
        desk = self._desk_of(ref)
        if desk is not None:
            key = _owner_key(desk, child, ref)
            owner = desk.informer.reader.get(key)
            if owner is not None and _gc_finalizers(owner):
                desk.controller.queue.add(key)

    async def _reconcile(self, which: tuple[str, str], key: Key, _: datetime) -> Plan:
        desk = self._desks[which]
        obj = desk.informer.reader.get(key)
        if obj is None:
            return NOTHING
        if ORPHAN in _gc_finalizers(obj):
            return self._orphan(desk, obj)
        if FOREGROUND in _gc_finalizers(obj):
            return self._foreground(desk, obj)
        if obj.metadata.deletion_timestamp is not None or not obj.metadata.owner_references:
            return NOTHING
        return await self._judge(desk, obj)

    def _orphan(self, desk: _Desk, owner: HasMetadata) -> Plan:
        freed = (
            _without_owners(child, {owner.metadata.uid})
            for child in self._children(owner.metadata.uid)
        )
        return Plan().then(*freed).then(_without_finalizer(desk, owner, ORPHAN))

    def _foreground(self, desk: _Desk, owner: HasMetadata) -> Plan:
        uid = owner.metadata.uid
        children = list(self._children(uid))
        for child in children:
            # A child that is being deleted is reconciled when it changes; asking it again would go round a circle forever.
            if child.obj.metadata.deletion_timestamp is None:
                child.desk.controller.queue.add(key_of(child.obj))
        blocking = [child for child in children if _blocks(child.obj, uid)]
        if blocking:
            circular = (child for child in blocking if self._waits_for(child.obj, uid))
            return Plan().then(*(_unblocked(child, uid) for child in circular))
        return Plan().then(_without_finalizer(desk, owner, FOREGROUND))

    def _waits_for(self, obj: HasMetadata, uid: str) -> bool:
        """Whether the foreground deletion of `obj` waits, over any number of others, for the object `uid`."""
        seen, pending = set[str](), [obj]
        while pending:
            each = pending.pop()
            if FOREGROUND not in _gc_finalizers(each) or each.metadata.uid in seen:
                continue
            if each.metadata.uid == uid:
                return True
            seen.add(each.metadata.uid)
            children = self._children(each.metadata.uid)
            pending += (child.obj for child in children if _blocks(child.obj, each.metadata.uid))
        return False

    async def _judge(self, desk: _Desk, obj: HasMetadata) -> Plan:
        refs = obj.metadata.owner_references
        owners = {ref.uid: await self._fate(obj, ref) for ref in refs}
        lost = {uid for uid, fate in owners.items() if fate is not _Owner.STANDS}
        if not lost:
            return NOTHING
        if len(lost) < len(owners):
            return Plan().then(_without_owners(_Child(desk, obj), lost))
        waits = _Owner.WAITS in owners.values()
        uid = obj.metadata.uid
        in_foreground = waits and any(_blocks(child.obj, uid) for child in self._children(uid))
        in_foreground |= (desk.kind.group, desk.kind.plural) in _ORPHANED_BY_DEFAULT
        if in_foreground and FOREGROUND not in obj.metadata.finalizers:
            mark: JSON = {"metadata": {"finalizers": [*obj.metadata.finalizers, FOREGROUND]}}
            return Plan().then(pod_control.change(desk.kind, obj, mark))
        return Plan().then(pod_control.end(desk.kind, obj))

    async def _fate(self, obj: HasMetadata, ref: OwnerReference) -> _Owner:
        """Asks for an owner; one of a kind, or in a place, where nobody can look counts as there."""
        desk = self._desk_of(ref)
        if desk is None or (desk.kind.namespaced and not obj.metadata.namespace):
            return _Owner.STANDS
        key = _owner_key(desk, obj, ref)
        owner = desk.informer.reader.get(key)
        if owner is None or owner.metadata.uid != ref.uid:
            owner = await self._asked(desk, key, ref)
        if owner is None:
            return _Owner.GONE
        return _Owner.WAITS if FOREGROUND in _gc_finalizers(owner) else _Owner.STANDS

    async def _asked(self, desk: _Desk, key: Key, ref: OwnerReference) -> HasMetadata | None:
        """Asks the server for an owner, once for all children of one that is gone: nothing comes back under its UID."""
        known = str(desk.kind), key, ref.uid
        if known in self._gone:
            return None
        with suppress(NotFound):
            owner = await self._client.get(desk.kind, key)
            if owner.metadata.uid == ref.uid:
                return owner
        self._gone[known] = None
        if len(self._gone) > _MOST_GONE:
            del self._gone[next(iter(self._gone))]
        return None

    def _desk_of(self, ref: OwnerReference) -> _Desk | None:
        return self._desks.get((ref.api_version.rpartition("/")[0], ref.kind))

    def _children(self, uid: str) -> Iterator[_Child]:
        for desk in self._desks.values() if uid in self._owners else ():
            for obj in tuple(desk.informer.reader.where(BY_OWNER, uid)):
                yield _Child(desk, obj)


def _owner_key(desk: _Desk, child: HasMetadata, ref: OwnerReference) -> Key:
    return Key(child.metadata.namespace if desk.kind.namespaced else "", ref.name)


def _concerns_us(old: HasMetadata | None, new: HasMetadata) -> bool:
    """Whether an object that stays has owners, or one that goes waits for the collector, and that is news."""
    owned = new.metadata.owner_references and new.metadata.deletion_timestamp is None
    return bool(owned or _gc_finalizers(new)) and (old is None or _bonds(old) != _bonds(new))


def _bonds(obj: HasMetadata) -> object:
    """What of an object decides about its fate, apart from its owners'."""
    meta = obj.metadata
    return meta.uid, meta.owner_references, meta.finalizers, meta.deletion_timestamp


def _gc_finalizers(obj: HasMetadata) -> frozenset[str]:
    """What a deletion that has begun asks of the collector."""
    if obj.metadata.deletion_timestamp is None:
        return frozenset()
    return frozenset(obj.metadata.finalizers) & {FOREGROUND, ORPHAN}


def _blocks(child: HasMetadata, uid: str) -> bool:
    refs = child.metadata.owner_references
    return any(ref.uid == uid and ref.block_owner_deletion for ref in refs)


def _unblocked(child: _Child, uid: str) -> Patch:
    """Lets the owner `uid` go before this child."""
    refs = [codec.plain(ref) for ref in child.obj.metadata.owner_references]
    kept: list[JSON] = [
        {**ref, "blockOwnerDeletion": False} if ref["uid"] == uid else ref for ref in refs
    ]
    return pod_control.change(child.desk.kind, child.obj, {"metadata": {"ownerReferences": kept}})


def _without_owners(child: _Child, uids: set[str]) -> Patch:
    refs = child.obj.metadata.owner_references
    kept: list[JSON] = [codec.plain(ref) for ref in refs if ref.uid not in uids]
    return pod_control.change(child.desk.kind, child.obj, {"metadata": {"ownerReferences": kept}})


def _without_finalizer(desk: _Desk, obj: HasMetadata, finalizer: str) -> Patch:
    kept: list[JSON] = [each for each in obj.metadata.finalizers if each != finalizer]
    return pod_control.change(desk.kind, obj, {"metadata": {"finalizers": kept}})
