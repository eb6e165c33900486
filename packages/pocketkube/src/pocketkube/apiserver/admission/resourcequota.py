"""ResourceQuota: a namespace holds no more than its quotas say.

What a write uses is added to the usage that each quota's status tells, in the same transaction as the write itself: a quota
that changed meanwhile makes the whole request begin again, so however many writers race, no limit is passed. kube-apiserver
writes the quota first and may lose the write after it; here neither happens without the other.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import msgspec

from kubeloop.objects import codec, quantity, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.limits import ResourceQuota as Quota
from kubeloop.objects.meta import HasMetadata
from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, UPDATE, amounts, denied, part, written
from pocketkube.apiserver.storage import Key, Update
from pocketkube.apiserver.view import View, draft
from pocketkube.objects import quota_usage
from pocketkube.objects.quota_usage import Usage

QUOTAS = "resourcequotas"
_UPDATED = frozenset({"services", "persistentvolumeclaims"})


class ResourceQuota(Plugin):
    """Charges what is written to the quotas of its namespace."""

    def __init__(self, view: View, now: Callable[[], datetime]) -> None:
        self._view = view
        self._now = now
        self._reconciling: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def validate(self, attributes: Attributes) -> None:
        resource = attributes.resource
        if not attributes.namespace or resource.virtual or resource.stored in quota_usage.IGNORED:
            return
        if resource.stored == "namespaces" or not _may_count(attributes):
            return
        if self._view.all(QUOTAS, attributes.namespace):
            await self._take_lock(attributes)
            self._charge(attributes, self._view.all(QUOTAS, attributes.namespace))

    async def _take_lock(self, attributes: Attributes) -> None:
        """Writers of one namespace go one after the other, or all but one would have to begin again."""
        reconcile = self._reconciling.setdefault(attributes.namespace, asyncio.Lock())
        await reconcile.acquire()
        attributes.afterwards.append(reconcile.release)

    def _charge(self, attributes: Attributes, stored: Sequence[Object]) -> None:
        resource = attributes.resource.stored
        new = _read(resource, written(attributes))
        old = None if attributes.old is None else _read(resource, attributes.old)
        if resource == "pods" and not _pod_counts(attributes, new, old):
            return
        used = quota_usage.usage(resource, new, self._now())
        before = quota_usage.usage(resource, old, self._now()) if old is not None else {}
        charges = []
        for raw in stored:
            quota = codec.convert(raw, Quota)
            if _is_concerned(attributes, quota, new):
                counted = old is not None and _is_concerned(attributes, quota, old, silently=True)
                more = _more(used, before if counted else {})
                charges.append((raw, more))
        for raw, more in charges:
            self._add(attributes, raw, more)

    def _add(self, attributes: Attributes, raw: Object, more: Usage) -> None:
        status = part(raw, "status")
        hard, used = amounts(part(status, "hard")), amounts(part(status, "used"))
        asked = {name: amount for name, amount in more.items() if name in hard}
        after = resources.add(used, asked)
        passed = [name for name in asked if after[name] > hard[name]]
        if passed and attributes.subresource != "status":
            raise denied(
                attributes,
                f"exceeded quota: {raw['metadata']['name']}, requested: {_reported(asked, passed)}, "
                f"used: {_reported(used, passed)}, limited: {_reported(hard, passed)}",
            )
        if asked and not attributes.dry_run:
            attributes.alongside.append(_written(raw, after))


def _may_count(attributes: Attributes) -> bool:
    """Whether a write of this sort is ever charged."""
    stored, part_of, operation = (
        attributes.resource.stored,
        attributes.subresource,
        attributes.operation,
    )
    if operation is CREATE:
        return not part_of
    if operation is not UPDATE:
        return False
    if stored == "pods":
        return part_of in ("", "resize")
    return stored in _UPDATED and (
        not part_of or (stored == "persistentvolumeclaims" and part_of == "status")
    )


def _pod_counts(attributes: Attributes, new: HasMetadata, old: HasMetadata | None) -> bool:
    """An update counts if it resizes the pod or moves it to another scope."""
    if attributes.operation is CREATE or attributes.subresource == "resize":
        return True
    both = isinstance(new, Pod) and isinstance(old, Pod)
    return both and quota_usage.is_terminating(new) != quota_usage.is_terminating(old)  # type: ignore[arg-type]


def _is_concerned(
    attributes: Attributes, quota: Quota, obj: HasMetadata, *, silently: bool = False
) -> bool:
    """Whether a quota counts an object; unless `silently`, one that it counts must say what it uses."""
    names = quota_usage.matching(attributes.resource.stored, quota.status.hard)
    if not names or not quota_usage.is_meant(obj, quota.spec.requirements):
        return False
    if silently:
        return True
    missing = quota_usage.unspecified(names, obj) if isinstance(obj, Pod) else ""
    if missing:
        raise denied(attributes, f"failed quota: {quota.metadata.name}: {missing}")
    if any(name not in quota.status.used for name in names):
        listed = ",".join(names)
        why = f"status unknown for quota: {quota.metadata.name}, resources: {listed}"
        raise denied(attributes, why)
    return True


def _more(used: Usage, before: Usage) -> Usage:
    """What has to be added; what is given back is found by the recount."""
    grown = {name: amount - before.get(name, quantity.ZERO) for name, amount in used.items()}
    return {name: amount for name, amount in grown.items() if amount > quantity.ZERO}


def _read(resource: str, obj: Object) -> HasMetadata:
    try:
        return codec.convert(obj, quota_usage.model_of(resource))
    except msgspec.ValidationError as error:
        raise refusal.bad_request(str(error)) from None


def _written(raw: Object, used: Mapping[str, quantity.Quantity]) -> Update:
    meta = raw["metadata"]
    changed = {**raw, "status": {**part(raw, "status"), "used": resources.render(used)}}
    key = Key(QUOTAS, meta["namespace"], meta["name"])
    return Update(key, draft(changed), int(meta["resourceVersion"]))


def _reported(amount: Mapping[str, quantity.Quantity], names: list[str]) -> str:
    return ",".join(f"{name}={amount[name]}" for name in sorted(names) if name in amount)
