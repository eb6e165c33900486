"""What to do about a quota: strike out what need not be charged ahead any more, and say what is used and allowed now.

`controllers.quotas` calls it. Nothing is ever taken away from anybody here: a limit that falls below what is used only stops what is
yet to come (spec 1.9).
"""

from collections.abc import Collection
from datetime import datetime

from korder.api.meta import JSON, Key, key_of
from korder.api.plan import NOTHING, Patch, Plan
from korder.api.quota import QUOTA_FINALIZER, QUOTAS, Quota
from korder.reserve.rules.quotas import ledger, quotastatus
from korder.reserve.rules.quotas.charging import View
from korder.reserve.rules.quotas.tally import Tally


def ending(quota: Quota) -> Plan:
    """What is left to do for a quota that is being deleted: nobody else takes off what the original korder put on."""
    meta = quota.metadata
    if QUOTA_FINALIZER not in meta.finalizers:
        return NOTHING
    kept: list[JSON] = [each for each in meta.finalizers if each != QUOTA_FINALIZER]
    body: JSON = {"metadata": {"finalizers": kept}}
    return Plan().then(
        Patch(QUOTAS, key_of(quota), body, uid=meta.uid, resource_version=meta.resource_version)
    )


def void(quota: Quota, tally: Tally, now: datetime) -> list[Key]:
    """Tickets one does not see, and that nobody may make any more on the strength of their entries."""
    return [
        ledger.key_of(entry)
        for entry in quota.status.pending
        if ledger.is_void(entry, now) and not ledger.is_made(entry, tally)
    ]


def plan(view: View, quota: Quota, now: datetime, never_made: Collection[Key] = ()) -> Plan:
    """Brings a quota up to date; `never_made` are void entries whose tickets the server does not know."""
    entries = [
        entry
        for entry in ledger.lasting(quota, view.tally, now)
        if ledger.key_of(entry) not in never_made
    ]
    status = quotastatus.status_of(quota, view.tally, entries, now, view.shown)
    wake = min((entry.until for entry in entries if entry.until is not None), default=None)
    written = quotastatus.report(quota, status)
    return (
        Plan()
        .then(*written)
        .tell(*quotastatus.news(quota, status, written))
        .wake(view.tally.surely_until(quota, now))
        .wake(None if wake is None else max(wake, now))
    )
