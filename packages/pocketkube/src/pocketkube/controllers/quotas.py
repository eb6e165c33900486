"""ResourceQuotas: the status says what is enforced and how much of it is really used.

Admission charges what is made; this controller gives back what has ended, shrunk or gone, and counts for a new quota what is
already there, by the same rules (`quota_usage`). A cache may not yet show a pod that was charged, and counting by it would let
one too many in. So a difference that the cache shows is believed only after the server was asked, and written only if the
quota is still the one that was read: whoever was charged in between makes the write fail.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial

from kubeloop.client.client import Client
from kubeloop.objects import resources
from kubeloop.objects.core import PODS
from kubeloop.objects.limits import RESOURCE_QUOTAS, ResourceQuota
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, key_of
from kubeloop.objects.plan import NOTHING, AnyKind, Patch, Plan
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change, by_namespace
from pocketkube.objects import quota_usage
from pocketkube.objects.provisions import PERSISTENT_VOLUME_CLAIMS, SERVICES
from pocketkube.objects.quota_usage import Usage

RESYNC = timedelta(minutes=5)
LOOK_AGAIN = timedelta(seconds=30)
"""How often kinds are counted that nobody watches for us."""

_BY_NAMESPACE = "namespace"
_EARLY = datetime(1, 1, 1, tzinfo=UTC)


class Quotas:
    """Keeps the status of all ResourceQuotas."""

    def __init__(
        self,
        manager: Manager,
        client: Client,
        watched: Iterable[AnyKind],
        present: Callable[[], Awaitable[Iterable[AnyKind]]],
    ) -> None:
        self._client = client
        self._present = present
        self._quotas = manager.informers.of(RESOURCE_QUOTAS)
        self._quotas.add_index(_BY_NAMESPACE, by_namespace)
        self._counted: dict[str, Informer[HasMetadata]] = {}
        self._controller = manager.controller("quotas", self._reconcile, workers=4)
        self._quotas.on_change(self._redefined)
        weighed: tuple[AnyKind, ...] = (PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS)
        for kind in (*weighed, *watched):
            if kind.namespaced and str(kind) not in {*self._counted, *quota_usage.IGNORED}:
                self._count(manager.informers.of(kind))

    def _count(self, informer: Informer[HasMetadata]) -> None:
        resource = str(informer.kind)
        informer.add_index(_BY_NAMESPACE, by_namespace)
        informer.on_change(partial(self._changed, resource))
        self._counted[resource] = informer

    def _redefined(self, change: Change[ResourceQuota]) -> None:
        old, new = change
        if new is None:
            return
        if old is None or old.spec != new.spec or old.status.hard != new.status.hard:
            self._controller.queue.add(key_of(new))

    def _changed(self, resource: str, change: Change[HasMetadata]) -> None:
        """What is new was charged when it was made."""
        old, new = change
        if old is None:
            return
        quotas = tuple(self._quotas.reader.where(_BY_NAMESPACE, old.metadata.namespace))
        if not quotas or (new is not None and _counts_alike(resource, old, new)):
            return
        for quota in quotas:
            if quota_usage.matching(resource, quota.spec.hard):
                self._controller.queue.add(key_of(quota))

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        quota = self._quotas.reader.get(key)
        if quota is None:
            return NOTHING
        unwatched = self._unwatched(quota)
        if not unwatched and not _news(quota, self._cached(quota, now)):
            return Plan().requeue(now + RESYNC)
        stated = _news(quota, await self._asked(quota, now))
        return Plan().then(*stated).requeue(now + (LOOK_AGAIN if unwatched else RESYNC))

    def _unwatched(self, quota: ResourceQuota) -> set[str]:
        known = (quota_usage.matching(each, quota.spec.hard) for each in self._counted)
        return set(quota.spec.hard).difference(*known)

    def _cached(self, quota: ResourceQuota, now: datetime) -> Usage:
        namespace = quota.metadata.namespace

        def objects(resource: str) -> Iterable[HasMetadata]:
            return self._counted[resource].reader.where(_BY_NAMESPACE, namespace)

        return quota_usage.counted(quota.spec, objects, self._counted, now)

    async def _asked(self, quota: ResourceQuota, now: datetime) -> Usage:
        kinds: dict[str, AnyKind] = {each: seen.kind for each, seen in self._counted.items()}
        if self._unwatched(quota):
            others = [kind for kind in await self._present() if kind.namespaced]
            kinds = {str(kind): kind for kind in others} | kinds
        listed = {
            resource: await self._listed(kind, quota.metadata.namespace)
            for resource, kind in kinds.items()
            if quota_usage.matching(resource, quota.spec.hard)
        }
        return quota_usage.counted(quota.spec, listed.__getitem__, listed, now)

    async def _listed(self, kind: Kind[HasMetadata], namespace: str) -> tuple[HasMetadata, ...]:
        return (await self._client.list(kind, namespace)).items


def _counts_alike(resource: str, old: HasMetadata, new: HasMetadata) -> bool:
    if old.metadata.generation != new.metadata.generation:
        return False
    return quota_usage.usage(resource, old, _EARLY) == quota_usage.usage(resource, new, _EARLY)


def _news(quota: ResourceQuota, counted: Usage) -> tuple[Patch, ...]:
    """The step that tells what is enforced and used, if the status says otherwise; what nobody can count stays."""
    hard, stated = resources.parse_list(quota.spec.hard), resources.parse_list(quota.status.used)
    used = {name: amount for name, amount in (stated | counted).items() if name in hard}
    if used == stated and hard == resources.parse_list(quota.status.hard):
        return ()
    reported_of = (*quota.status.hard, *quota.status.used)
    gone: dict[str, JSON] = dict.fromkeys(name for name in reported_of if name not in hard)
    return (
        Patch(
            RESOURCE_QUOTAS,
            key_of(quota),
            {
                "status": {
                    "hard": {**gone, **resources.render(hard)},
                    "used": {**gone, **resources.render(used)},
                }
            },
            subresource="status",
            uid=quota.metadata.uid,
            resource_version=quota.metadata.resource_version,
        ),
    )
