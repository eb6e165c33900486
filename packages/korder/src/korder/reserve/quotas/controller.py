"""The quota controller: reports what is used and allowed, removes ledger entries whose tickets exist, and keeps the usage cache current."""

from datetime import datetime, timedelta

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, Order, Ticket
from korder.reserve.quotas import charging, delta, ledger, verdict
from korder.reserve.quotas.charging import View
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.client.errors import NotFound
from kubeloop.objects.core import NAMESPACES, Namespace
from kubeloop.objects.meta import HasMetadata, Key, key_of
from kubeloop.objects.plan import NOTHING, Plan
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change, version_of


class QuotaCounter:
    """The tally of one process."""

    def __init__(self, manager: Manager) -> None:
        self.quota_cache = QuotaCache()
        self._tickets = manager.informers.of(TICKETS)
        manager.informers.of(QUOTAS).on_change(
            lambda change: self.quota_cache.quota_changed(*change)
        )
        manager.informers.of(NAMESPACES).on_change(self._namespace_changed)
        self._tickets.on_change(lambda change: self.quota_cache.ticket_changed(*change))
        manager.informers.of(ORDERS).on_change(
            lambda change: self.quota_cache.order_changed(*change)
        )

    @property
    def view(self) -> View:
        """What is to be seen now."""
        reader = self._tickets.reader
        return View(self.quota_cache, reader.seen, reader.shown, reader.newest)

    def _namespace_changed(self, change: Change[Namespace]) -> None:
        new = change.new
        name = change.objects[0].metadata.name
        self.quota_cache.namespace_changed(name, None if new is None else new.metadata.labels)


DEBOUNCE_SECONDS = 0.25
"""Seconds between a change of what is used and the look at the quotas that count it."""
_CATCH_UP = timedelta(seconds=1)
"""How long to wait for a cache that is behind."""


class Quotas:
    """Looks after all quotas."""

    def __init__(self, manager: Manager, quota_counter: QuotaCounter) -> None:
        self._client = manager.client
        self._quota_counter = quota_counter
        self._quotas = manager.informers.of(QUOTAS)
        self._controller = manager.controller("quotas", self._reconcile, workers=4)
        self._quotas.on_change(self._quota_changed)
        manager.informers.of(TICKETS).on_change(self._ticket_changed)
        manager.informers.of(ORDERS).on_change(self._order_changed)
        manager.informers.of(NAMESPACES).on_change(lambda _: self._look_at_all())

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        quota = self._quotas.reader.get(key)
        if quota is None:
            return NOTHING
        if quota.metadata.deletion_timestamp is not None:
            return charging.ending(quota)
        version = 0 if ledger.is_open(quota) else await self._newest_ticket()
        never_made = await self._never_made(quota, now)
        view = self._quota_counter.view
        if ledger.is_behind(quota, view.seen) or view.seen < version:
            return Plan().requeue(now + _CATCH_UP)
        if self._quotas.reader.get(key) is not quota:
            return Plan().requeue(now)
        return charging.plan(view, quota, now, never_made)

    async def _newest_ticket(self) -> int:
        """The version of the ticket that was written last."""
        listed = await self._client.list(TICKETS)
        return max(map(version_of, listed.items), default=0)

    async def _never_made(self, quota: Quota, now: datetime) -> set[Key]:
        missing = set()
        for key in charging.void(quota, self._quota_counter.quota_cache, now):
            try:
                await self._client.get(TICKETS, key)
            except NotFound:
                missing.add(key)
        return missing

    def _quota_changed(self, change: Change[Quota]) -> None:
        old, new = change
        if new is None:
            return
        if old is None or old.metadata.generation != new.metadata.generation:
            self._controller.queue.add(key_of(new))
        else:
            self._look_soon(key_of(new))

    def _ticket_changed(self, change: Change[Ticket]) -> None:
        old, new = change
        if old is None or new is None or _counts_otherwise(old, new):
            self._look_at_those_of(*change.objects)

    def _order_changed(self, change: Change[Order]) -> None:
        old, new = change
        if old is None or new is None or old.metadata.labels != new.metadata.labels:
            self._look_at_those_of(*change.objects)

    def _look_at_those_of(self, *objects: HasMetadata) -> None:
        meta = objects[0].metadata
        labelled = [obj.metadata.labels for obj in objects]
        for quota in self._quota_counter.quota_cache.applying(meta.namespace, *labelled):
            self._look_soon(key_of(quota))

    def _look_at_all(self) -> None:
        for quota in self._quotas.reader.all():
            self._look_soon(key_of(quota))

    def _look_soon(self, key: Key) -> None:
        self._controller.queue.add_after(key, DEBOUNCE_SECONDS)


def _counts_otherwise(old: Ticket, new: Ticket) -> bool:
    return old.metadata.labels != new.metadata.labels or verdict.of_ticket(
        old
    ) != verdict.of_ticket(new)


class Renewing:
    """Judges renewals one after the other."""

    def __init__(self, quota_cache: QuotaCache) -> None:
        self._quota_cache = quota_cache
        self._refused: dict[Key, Ticket] = {}

    def barred(self, ticket: Ticket, now: datetime) -> str:
        """Why a ticket may not be held for another term; empty if it may."""
        self._refused = {key: each for key, each in self._refused.items() if self._stands(each)}
        self._refused.pop(key_of(ticket), None)
        short = delta.refused(self._quota_cache, ticket, self._refused.values(), now)
        ends = ticket.status.expiration_time
        if short and ends is not None and ends <= now:
            self._refused[key_of(ticket)] = ticket
        return "; ".join(map(str, short))

    def _stands(self, ticket: Ticket) -> bool:
        """Says whether nothing has happened to a ticket yet that was refused."""
        return self._quota_cache.version_of(key_of(ticket)) == int(
            ticket.metadata.resource_version or 0
        )
