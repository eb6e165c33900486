"""The ledger of a quota: tickets are charged in its status before they are created (decision 0020).

`charging` enters tickets, `status` removes them. Used is what the visible tickets use plus what entries hold
whose tickets are not visible yet. Before every attempt to create a ticket its entry is written. An entry is removed by a replica that sees its ticket; the version it had
seen is recorded, and no replica that has seen less may write. So two replicas that count at the same time never both count on the same capacity. An attempt whose ticket
has come and gone while another attempt may still be under way keeps its entry for `LIFETIME`, as does an attempt of which no ticket came.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from korder.api.quota import PendingTicket, Quota
from korder.reserve.quotas import verdict
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.quotas.verdict import Use, Using
from kubeloop.objects import quantity, resources
from kubeloop.objects.meta import Key
from kubeloop.objects.quantity import Quantity
from kubeloop.objects.resources import Resources

LIFETIME = timedelta(seconds=120)
"""How long an entry counts after an attempt: longer than any request is under way, and by more than clocks differ."""


def ledger_key(entry: PendingTicket) -> Key:
    """The ticket of an entry."""
    return Key(entry.namespace, entry.name)


def is_open(quota: Quota) -> bool:
    """Says whether the ledger counts for the quota as it is now: what was there before has been looked at."""
    return quota.status.observed_generation == quota.metadata.generation > 0


def is_behind(quota: Quota, seen: int) -> bool:
    """Says whether one who has seen so much knows less than the one who wrote last."""
    return seen < quota.status.tickets_version


def is_made(entry: PendingTicket, quota_cache: QuotaCache) -> bool:
    """Says whether one sees the ticket of an entry; one of the same name that is older is another."""
    return (quota_cache.version_of(ledger_key(entry)) or 0) > entry.version


def lasting(quota: Quota, quota_cache: QuotaCache, now: datetime) -> list[PendingTicket]:
    """The entries that must stay: of tickets one does not see, and of such as may be made once more."""
    return [
        entry
        for entry in quota.status.pending
        if not is_made(entry, quota_cache) or (entry.attempts > 1 and not is_void(entry, now))
    ]


def use_of(quota: Quota, quota_cache: QuotaCache, entries: Iterable[PendingTicket]) -> Use:
    """What is used of a quota by what one sees and by these entries."""
    seen = quota_cache.use(quota)
    total = dict(seen.total)
    inside = [dict(each) for each in seen.allocations]
    sums: dict[str, list[dict[str, Quantity]]] = {}
    for entry in entries:
        namespace = entry.namespace
        if namespace not in sums:
            numbers = verdict.allocations(quota.spec, quota_cache.place(namespace))
            sums[namespace] = [total, *(inside[number] for number in numbers)]
        for key, amount in _beyond_what_is_seen(entry, quota_cache).items():
            for each in sums[namespace]:
                each[key] = each.get(key, quantity.ZERO) + amount
    return Use(total, tuple(inside))


def _beyond_what_is_seen(entry: PendingTicket, quota_cache: QuotaCache) -> Resources:
    """What an entry counts for besides its ticket: if that is there, what another attempt could bring back."""
    charged = resources.parse_list(entry.charge)
    if not is_made(entry, quota_cache):
        return charged
    if entry.attempts <= 1:
        return {}
    there = quota_cache.charge_of(ledger_key(entry))
    return {
        key: amount - there.get(key, quantity.ZERO)
        for key, amount in charged.items()
        if amount > there.get(key, quantity.ZERO)
    }


def using(quota_cache: QuotaCache) -> Using:
    """What is used of any quota, for whoever only asks."""
    return lambda quota: quota_cache.remembered(
        quota, lambda: use_of(quota, quota_cache, quota.status.pending)
    )


def entered(entry: PendingTicket, now: datetime) -> PendingTicket:
    """An entry for one more attempt, now."""
    return msgspec.structs.replace(
        entry, since=entry.since or now, until=now + LIFETIME, attempts=entry.attempts + 1
    )


def is_void(entry: PendingTicket, now: datetime) -> bool:
    """Says whether no attempt to make the ticket can be under way any more."""
    return entry.until is None or entry.until <= now


def gives_more(old: Quota, new: Quota) -> bool:
    """Says whether there may be more room in a quota than before, or it has come to count at last."""
    before, after = old.status, new.status
    if old.metadata.generation != new.metadata.generation or is_open(old) != is_open(new):
        return True
    inside = {each.name: each.used for each in after.allocation}
    less_used = _is_less(before.used, after.used) or any(
        _is_less(each.used, inside.get(each.name, {})) for each in before.allocation
    )
    return less_used or before.hard != after.hard or len(after.pending) < len(before.pending)


def _is_less(before: Mapping[str, str | int], after: Mapping[str, str | int]) -> bool:
    return any(
        quantity.parse(amount) > quantity.parse(after.get(key, 0)) for key, amount in before.items()
    )


def version_after(quota: Quota, quota_cache: QuotaCache, kept: Iterable[PendingTicket]) -> int:
    """The version that must have been seen by whoever charges once only these entries are kept."""
    staying = set(map(ledger_key, kept))
    struck = (key for key in map(ledger_key, quota.status.pending) if key not in staying)
    return max((quota_cache.version_of(key) or 0 for key in struck), default=0)
