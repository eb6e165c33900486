"""What is said about a quota: what is used, what is allowed now, and whether that is too much.

`charging` and `quotaplan` write it; both write all of it and tell its news, so that whoever reads a quota reads one consistent count. Exceeded says since when
and by how much; falling limits take nothing away from anybody.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from korder.api import codec, conditions, quantity, resources
from korder.api.conditions import Condition, Status
from korder.api.meta import JSON, key_of
from korder.api.plan import EventType, Notice, Patch
from korder.api.quota import (
    QUOTAS,
    AllocationStatus,
    Enforcement,
    PendingTicket,
    Quota,
    QuotaCondition,
    QuotaReason,
    QuotaStatus,
)
from korder.api.resources import Resources
from korder.reserve.rules.quotas import ledger, soundness
from korder.reserve.rules.quotas.limits import InForce
from korder.reserve.rules.quotas.tally import Tally
from korder.reserve.rules.quotas.verdict import Use

_ENFORCED = {
    Enforcement.REFUSE: (QuotaReason.REFUSES, "what goes beyond the limits is refused"),
    Enforcement.WAIT: (QuotaReason.MAKES_WAIT, "what goes beyond the limits waits for room"),
}


def status_of(
    quota: Quota, tally: Tally, entries: Sequence[PendingTicket], now: datetime, shown: int
) -> QuotaStatus:
    """The status of a quota with these entries in its ledger, by one to whom tickets up to a version are shown."""
    force = tally.limits(quota, now)
    use = ledger.use(quota, tally, entries)
    before = quota.status
    status = msgspec.structs.replace(
        before,
        observed_generation=quota.metadata.generation,
        hard=force.hard.render(),
        used=_shown(use.total, force.hard.amounts),
        pending=tuple(entries),
        tickets_version=max(
            before.tickets_version, shown, ledger.version_after(quota, tally, entries)
        ),
        allocation=tuple(_allocations(quota, force, use)),
        active_time_window=",".join(force.windows),
        next_transition_time=tally.next_change(quota, now),
    )
    return _judged(quota, status, list(exceeded(force, use, quota)), now)


def exceeded(force: InForce, use: Use, quota: Quota) -> Iterator[str]:
    """What is used beyond a limit, and by how much."""
    yield from _beyond("", use.total, force.hard.amounts)
    for number, allocation in enumerate(quota.spec.allocation):
        if not allocation.borrow:
            allowed = force.allocations[number].amounts
            yield from _beyond(f"allocation {allocation.key}: ", use.of(number), allowed)


def _beyond(who: str, used: Resources, hard: Resources) -> Iterator[str]:
    for key, allowed in hard.items():
        there = used.get(key, quantity.ZERO)
        if there > allowed:
            yield f"{who}{key} {there} of {allowed}, {there - allowed} too much"


def _shown(used: Resources, hard: Resources) -> dict[str, str]:
    """Use of all that is limited, be it nothing, and of whatever else is used."""
    shown = {**dict.fromkeys(hard, quantity.ZERO), **used}
    told = {k: a for k, a in shown.items() if k in hard or not a.is_zero}
    return resources.render(dict(sorted(told.items())))


def _allocations(quota: Quota, force: InForce, use: Use) -> Iterator[AllocationStatus]:
    for number, allocation in enumerate(quota.spec.allocation):
        allowed = force.allocations[number]
        shown = _shown(use.of(number), allowed.amounts)
        yield AllocationStatus(name=allocation.key, hard=allowed.render(), used=shown)


def _judged(quota: Quota, status: QuotaStatus, beyond: Sequence[str], now: datetime) -> QuotaStatus:
    wrong = [f"{each.field}: {each.message}" for each in soundness.wrongs(quota.spec)]
    verdicts = (
        (
            QuotaCondition.READY,
            not wrong,
            QuotaReason.INVALID if wrong else QuotaReason.COUNTED,
            "; ".join(wrong),
        ),
        (QuotaCondition.ENFORCED, True, *_ENFORCED[quota.spec.enforcement]),
        (
            QuotaCondition.EXCEEDED,
            bool(beyond),
            QuotaReason.EXCEEDED if beyond else QuotaReason.WITHIN_LIMITS,
            "; ".join(beyond),
        ),
    )
    said = status.conditions
    for name, holds, reason, message in verdicts:
        condition = Condition(
            type=name.value,
            status=Status.TRUE if holds else Status.FALSE,
            observed_generation=quota.metadata.generation,
            reason=reason.value,
            message=message,
        )
        said = conditions.set_condition(said, condition, now)
    return msgspec.structs.replace(status, conditions=said)


def report(quota: Quota, status: QuotaStatus) -> tuple[Patch, ...]:
    """The step that writes a status, if it says something new, provided that nobody has written since."""
    if status == quota.status:
        return ()
    said = msgspec.to_builtins(status)
    body: dict[str, JSON] = {wire: said.get(wire) for _, wire in codec.names(status)}
    for name, before in (("used", quota.status.used), ("hard", quota.status.hard)):
        body[name] = _replacing(before, said.get(name) or {})
    meta = quota.metadata
    return (
        Patch(
            QUOTAS,
            key_of(quota),
            {"status": body},
            subresource="status",
            uid=meta.uid,
            resource_version=meta.resource_version,
        ),
    )


def _replacing(before: Iterable[str], after: Mapping[str, JSON]) -> dict[str, JSON]:
    """A map in the place of another: a merge keeps what is not taken away by name."""
    return {**dict.fromkeys(before, None), **after}


def news(quota: Quota, status: QuotaStatus, written: Sequence[Patch]) -> list[Notice]:
    """Tells of limits that other windows have changed, and of use that has come to be too much or is no longer, once it is written."""
    (step,) = written or (None,)
    return [replace(notice, after=step) for notice in _told(quota, status)]


def _told(quota: Quota, status: QuotaStatus) -> list[Notice]:
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
