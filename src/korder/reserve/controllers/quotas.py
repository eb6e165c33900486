"""The quota controller: says what is used and allowed, and strikes out of the ledger what has been made.

`setup` puts it on a manager; `rules.quotas.quotaplan` decides. A change of a ticket is looked at a breath later, together with what follows
it: a thousand tickets that come are struck out in a few writes. Edges of windows are timers. A ticket that is not to be seen may
only be late: before an entry is dropped as never made, the server itself is asked, and it is asked for the newest ticket
before a quota that is new or has changed begins to count.
"""

import asyncio
from datetime import datetime, timedelta

from korder.api.core import NAMESPACES
from korder.api.meta import HasMetadata, Key, key_of
from korder.api.plan import NOTHING, Plan
from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, Order, Ticket
from korder.kube.errors import NotFound
from korder.reserve.controllers.counting import Counting
from korder.reserve.rules.quotas import charges, ledger, quotaplan
from korder.runtime.manager import Manager
from korder.runtime.store import Change, version_of

BREATH = 0.25
"""Seconds between a change of what is used and the look at the quotas that count it."""
_CATCH_UP = timedelta(seconds=1)
"""How long to wait for a cache that is behind."""


class Quotas:
    """Looks after all quotas."""

    def __init__(self, manager: Manager, counting: Counting) -> None:
        self._client = manager.client
        self._counting = counting
        self._quotas = manager.informers.of(QUOTAS)
        self._soon: set[Key] = set()
        self._controller = manager.controller("quotas", self._turn, workers=4)
        self._quotas.on_change(self._quota_changed)
        manager.informers.of(TICKETS).on_change(self._ticket_changed)
        manager.informers.of(ORDERS).on_change(self._order_changed)
        manager.informers.of(NAMESPACES).on_change(lambda _: self._look_at_all())

    async def _turn(self, key: Key, now: datetime) -> Plan:
        quota = self._quotas.reader.get(key)
        if quota is None:
            return NOTHING
        if quota.metadata.deletion_timestamp is not None:
            return quotaplan.ending(quota)
        version = 0 if ledger.is_open(quota) else await self._newest_ticket()
        never_made = await self._never_made(quota, now)
        view = self._counting.view
        if ledger.is_behind(quota, view.seen) or view.seen < version:
            return Plan().wake(now + _CATCH_UP)
        if self._quotas.reader.get(key) is not quota:
            return Plan().wake(now)
        return quotaplan.plan(view, quota, now, never_made)

    async def _newest_ticket(self) -> int:
        """The version of the ticket that was written last."""
        listed = await self._client.list(TICKETS)
        return max(map(version_of, listed.items), default=0)

    async def _never_made(self, quota: Quota, now: datetime) -> set[Key]:
        missing = set()
        for key in quotaplan.void(quota, self._counting.tally, now):
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
        for quota in self._counting.tally.applying(meta.namespace, *labelled):
            self._look_soon(key_of(quota))

    def _look_at_all(self) -> None:
        for quota in self._quotas.reader.all():
            self._look_soon(key_of(quota))

    def _look_soon(self, key: Key) -> None:
        if key not in self._soon:
            self._soon.add(key)
            asyncio.get_running_loop().call_later(BREATH, self._look, key)

    def _look(self, key: Key) -> None:
        self._soon.discard(key)
        self._controller.queue.add(key)


def _counts_otherwise(old: Ticket, new: Ticket) -> bool:
    return old.metadata.labels != new.metadata.labels or charges.of_ticket(
        old
    ) != charges.of_ticket(new)
