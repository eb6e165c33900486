"""What is to be said about a quota: what is used of each limit, which windows there are, and what stands in the way.

`korder quota` and `korder explain quota` show it; it asks the rules that the ledger asks. What is used is taken from the quota's status, so that it says the same
as everybody else reads.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction

from korder.api import conditions, duration, instant, quantity, selector
from korder.api.quota import MAX_DURATION_KEY, Enforcement, Quota, QuotaCondition, ScopeType
from korder.api.selector import InvalidSelector, LabelSelector
from korder.reserve.rules.quotas import ledger, limits, timeline
from korder.reserve.rules.quotas.soundness import wrongs
from korder.reserve.rules.telling.explaining import Explanation, shortened

Row = tuple[str, str, str, str, str]
"""The quota or its allocation, the limit, what is used, what is allowed, and how much of it that is."""


TITLES = ("QUOTA", "LIMIT", "USED", "HARD", "PART")
_BEYOND = {
    Enforcement.REFUSE: "refuses what goes beyond",
    Enforcement.WAIT: "lets what goes beyond wait",
}


def explain(quota: Quota, now: datetime) -> Explanation:
    """Says how it stands with a quota."""
    waiting = len(quota.status.pending)
    facts = [f"Tickets that are charged before they are made: {waiting}."] if waiting else []
    if not ledger.is_open(quota):
        facts.append("It does not count yet: does `korder manager` run?")
    facts += [f"Nobody can read {each.field}: {each.message}." for each in wrongs(quota.spec)]
    told = standing(quota, now)
    return Explanation(f"It {told}.", tuple(facts), TITLES, shortened(rows(quota, now)))


def rows(quota: Quota, now: datetime) -> Iterator[Row]:
    """A line for each limit that is in force, those of allocations after those of the quota."""
    force = limits.in_force(quota.spec, now)
    yield from _rows(quota.metadata.name, force.hard.render(), dict(quota.status.used))
    told = {each.name: dict(each.used) for each in quota.status.allocation}
    for allocation, allowed in zip(quota.spec.allocation, force.allocations, strict=True):
        name = f"{quota.metadata.name}/{allocation.key}"
        yield from _rows(name, allowed.render(), told.get(allocation.key, {}))


def _rows(name: str, hard: dict[str, str], used: dict[str, str | int]) -> Iterator[Row]:
    for key, limit in hard.items():
        if key == MAX_DURATION_KEY:
            yield name, key, "", limit, ""
        else:
            there = quantity.parse(used.get(key, 0))
            yield name, key, str(there), limit, _part(there, quantity.parse(limit))


def _part(used: quantity.Quantity, hard: quantity.Quantity) -> str:
    if hard.is_zero:
        return "full"
    return f"{Fraction(used.nano, hard.nano) * 100 // 1}%"


def standing(quota: Quota, now: datetime) -> str:
    """Whom a quota means, what it does, which windows are open, and what comes next."""
    spec = quota.spec
    force = limits.in_force(spec, now)
    told = [_scope(quota), _BEYOND[spec.enforcement]]
    if force.windows:
        told.append(f"window {', '.join(force.windows)} is open")
    following = limits.next_change(spec, now)
    if following is not None:
        away = duration.human(int((following - now).total_seconds()))
        told.append(f"limits change in {away}, at {instant.render(following)}")
    exceeded = conditions.find(quota.status.conditions, QuotaCondition.EXCEEDED)
    if exceeded is not None and conditions.is_true((exceeded,), QuotaCondition.EXCEEDED):
        since = exceeded.last_transition_time
        when = f" since {instant.render(since)}" if since is not None else ""
        told.append(f"exceeded{when}: {exceeded.message}")
    return "; ".join(told)


def _scope(quota: Quota) -> str:
    match quota.spec.scope.type:
        case ScopeType.CLUSTER:
            return "means the whole cluster"
        case ScopeType.NAMESPACE_LIST:
            return f"means namespaces {', '.join(quota.spec.scope.namespaces)}"
        case ScopeType.NAMESPACE_SELECTOR:
            return f"means namespaces {_labelled(quota.spec.scope.namespace_selector)}"
        case ScopeType.OBJECT_SELECTOR:
            return f"means orders and tickets {_labelled(quota.spec.scope.object_selector)}"


def _labelled(chosen: LabelSelector | None) -> str:
    try:
        return f"labelled {selector.from_struct(chosen)}"
    except InvalidSelector:
        return "by labels that nobody can read"


def week(quota: Quota, now: datetime, days: int = 7) -> Iterator[tuple[str, str, str]]:
    """The spans of the days to come: from, until, and what holds then."""
    if not quota.spec.time_windows:
        return
    end = now + timedelta(days=days)
    spans = timeline.spans(quota.spec, now, end)
    for span in spans:
        named = ", ".join(span.force.windows) or "no window"
        told = ", ".join(f"{key} {limit}" for key, limit in span.force.hard.render().items())
        yield instant.render(span.begin), instant.render(span.end), f"{named}: {told}"
    if (told_until := spans[-1].end) < end:
        told = "not told: the limits change too often"
        yield instant.render(told_until), instant.render(end), told
