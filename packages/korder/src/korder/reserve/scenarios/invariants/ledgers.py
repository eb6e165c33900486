"""Use of quotas as it is told: what is charged fits, what is told is what is there, and entries of a ledger end.

Counted anew by `counts`. Caches lag, so what is told may be wrong for a moment; what is charged may never be too much by the very words
that charge it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from korder.api.quota import QUOTAS, PendingTicket, Quota
from korder.reserve.scenarios.invariants import facts, usage
from korder.reserve.scenarios.invariants.usage import Amounts, Counts
from kubeloop.objects import quantity
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Later,
    Tolerance,
)
from pocketkube.simulation.auditing.lasting import Lasting
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

_ENDS_WITHIN = timedelta(seconds=10)
"""How long after its end an entry may stand when nobody is down: the server is asked for its ticket first."""


class ChargesFit(Invariant):
    """Limits that fall below what is used, tickets that return after use and tickets made by hand are nobody's charge."""

    name = "charges-fit"
    promise = (
        "Whoever charges a quota writes that no more is used than is allowed of what he charges."
    )
    resources = (QUOTAS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(QUOTAS)
        if old is None or new is None or not facts.is_ours(change):
            return
        added = _added(old, new)
        firm = {each.namespace for each in new.spec.allocation if not each.borrow}
        parts = [(new.status.used, new.status.hard, {key for _, key in added})]
        parts += [
            (part.used, part.hard, {key for where, key in added if where == part.name})
            for part in new.status.allocation
            if part.name in firm
        ]
        for used, hard, keys in parts:
            for key in sorted(keys & hard.keys()):
                if quantity.parse(used.get(key, 0)) > quantity.parse(hard[key]):
                    stated = f"{key} was charged: {used[key]} of {hard[key]} are used"
                    yield Broken(stated, (subject_of(change),))


def _added(old: Quota, new: Quota) -> set[tuple[str, str]]:
    """What new entries count for, and entries that have grown: the namespace and the key."""
    before = {_name(entry): usage.read(entry.charge) for entry in old.status.pending}
    return {
        (entry.namespace, key)
        for entry in new.status.pending
        for key, amount in usage.read(entry.charge).items()
        if amount > before.get(_name(entry), {}).get(key, 0)
    }


def _name(entry: PendingTicket) -> tuple[str, str]:
    return entry.namespace, entry.name


class UsedIsCounted(Lasting):
    """An entry may count besides its ticket, so between what there is and that with all entries everything is right."""

    name = "used-is-counted"
    promise = "What is used of a quota is, exactly, what its orders and tickets count for and what is charged ahead."
    resources = usage.KINDS

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._counts = Counts()

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        return map(usage.about, self._counts.note(change, view))

    def wrong(self, subject: Subject, view: View) -> str:
        quota = view.of(QUOTAS).get(Key("", subject.name))
        if quota is None or facts.is_going(quota):
            return ""
        there, *inside = self._counts.of(quota)
        stated = list(_differences(usage.read(quota.status.used), there, _pending(quota)))
        parts = quota.status.allocation
        if quota.status.observed_generation == quota.metadata.generation:
            for part, amounts in zip(parts, inside, strict=True):
                used = usage.read(part.used)
                stated += [
                    f"{part.name}: {said}" for said in _differences(used, amounts, _pending(quota))
                ]
        return "; ".join(stated)


def _pending(quota: Quota) -> Amounts:
    total: Amounts = {}
    for entry in quota.status.pending:
        for key, amount in usage.read(entry.charge).items():
            total[key] = total.get(key, 0) + amount
    return total


def _differences(used: Amounts, there: Amounts, pending: Amounts) -> Iterator[str]:
    for key in sorted({*used, *there}):
        stated, least = used.get(key, 0), there.get(key, 0)
        most = least + pending.get(key, 0)
        if not least <= stated <= most:
            yield f"{key} is told as {_plain(stated)} and is {_plain(least)}"


def _plain(nano: int) -> str:
    return f"{nano / usage.ONE:g}"


class EntriesEnd(Invariant):
    """An entry is renewed with every attempt to make its ticket."""

    name = "entries-end"
    promise = "Nothing stays charged ahead when its time is over."
    resources = (QUOTAS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._patience = _ENDS_WITHIN + tolerance.late + tolerance.skew

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        _, new = view.both(QUOTAS)
        due = self._due(new) if new is not None else None
        if due is not None:
            yield Later(max(due, change.at), subject_of(change))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        quota = view.of(QUOTAS).get(Key("", subject.name))
        due = self._due(quota) if quota is not None else None
        if quota is None or due is None or facts.is_going(quota):
            return
        if due > view.now:
            yield Later(due, subject)
            return
        void = [e for e in quota.status.pending if e.until and e.until + self._patience <= view.now]
        names = ", ".join(f"{each.namespace}/{each.name}" for each in void)
        yield Broken(f"{names} stands in its ledger, long after the end", (subject,))

    def _due(self, quota: Quota) -> datetime | None:
        ends = [entry.until for entry in quota.status.pending if entry.until is not None]
        return min(ends) + self._patience if ends else None
