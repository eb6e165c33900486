"""What to do about a quota: strike out what need not be charged ahead any more, and say what is used and allowed now.

`controllers.quotas` calls it. Nothing is ever taken away from anybody here: a limit that falls below what is used only stops what is
yet to come (spec 1.9).
"""

from collections.abc import Collection
from datetime import datetime

from korder.api import conditions
from korder.api.meta import Key
from korder.api.plan import EventType, Notice, Plan
from korder.api.quota import QUOTAS, Quota, QuotaCondition, QuotaReason, QuotaStatus
from korder.reserve.rules.quotas import ledger, quotastatus
from korder.reserve.rules.quotas.charging import View
from korder.reserve.rules.quotas.tally import Tally


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
    return (
        Plan()
        .then(*quotastatus.report(quota, status))
        .tell(*_told(quota, status))
        .wake(view.tally.surely_until(quota, now))
        .wake(None if wake is None else max(wake, now))
    )


def _told(quota: Quota, status: QuotaStatus) -> list[Notice]:
    """Tells of limits that other windows have changed, and of use that has come to be too much or is no longer."""
    told = []
    before = quota.status
    if before.hard and before.active_time_window != status.active_time_window:
        now = f"window {status.active_time_window}" if status.active_time_window else "no window"
        listed = ", ".join(f"{key} {limit}" for key, limit in status.hard.items())
        told.append(_notice(quota, QuotaReason.LIMITS_CHANGED, f"{now} is open: {listed}"))
    exceeds = conditions.find(status.conditions, QuotaCondition.EXCEEDED)
    was = conditions.is_true(before.conditions, QuotaCondition.EXCEEDED)
    if exceeds is not None and conditions.is_true((exceeds,), QuotaCondition.EXCEEDED) is not was:
        if was:
            told.append(_notice(quota, QuotaReason.WITHIN_LIMITS, "no limit is exceeded any more"))
        else:
            told.append(_notice(quota, QuotaReason.EXCEEDED, exceeds.message, EventType.WARNING))
    return told


def _notice(
    quota: Quota, reason: QuotaReason, note: str, kind: EventType = EventType.NORMAL
) -> Notice:
    return Notice(QUOTAS, quota, reason.value, note, kind)
