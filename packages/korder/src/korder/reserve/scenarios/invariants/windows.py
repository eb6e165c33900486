"""Time windows of quotas: which are open is told in time, and the limits that they make are exact.

The judge reads the forms of windows that can be read at a glance: hours of days, hours in the hour field of an expression, and minutes of every
hour with a duration. Quotas with other forms are judged only by what they say themselves. What a window makes of the limits is
worked out anew, in fractions.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from korder.api.quota import MAX_DURATION_KEY, QUOTAS, Quota, TimeWindow, Weekday
from korder.reserve.scenarios.invariants import facts
from kubeloop.objects import duration, quantity
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Later,
    Tolerance,
)
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
_WEEK = tuple(Weekday)
_NANO = 10**9


class LimitsAreExact(Invariant):
    """Which windows are open is taken from the status itself; whether that is true is another promise."""

    name = "limits-are-exact"
    promise = "The limits that a quota tells are those of its spec, multiplied and replaced by the open windows without rounding."
    resources = (QUOTAS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(QUOTAS)
        if new is None or not facts.is_ours(change) or not _is_counted(new):
            return
        if old is not None and old.spec == new.spec and old.status.hard == new.status.hard:
            return
        right, stated = _right(new), _amounts(new.status.hard)
        for key in sorted({*right, *stated}):
            if right.get(key) != stated.get(key):
                said = f"{key} is told as {stated.get(key)} and is {right.get(key)}"
                yield Broken(said, (subject_of(change),))


def _is_counted(quota: Quota) -> bool:
    return bool(quota.spec.hard) and quota.status.observed_generation == quota.metadata.generation


def _amounts(written: Mapping[str, str | int]) -> dict[str, Fraction]:
    return {
        key: Fraction(quantity.parse(said).nano, _NANO)
        for key, said in written.items()
        if key != MAX_DURATION_KEY
    }


def _right(quota: Quota) -> dict[str, Fraction]:
    names = quota.status.active_time_window.split(",")
    opened = [window for window in quota.spec.time_windows if window.name in names]
    plain = _amounts(quota.spec.hard)
    spoken = [
        {key: amount * window.factor for key, amount in plain.items()}
        if window.factor is not None
        else _amounts(window.hard)
        for window in opened
    ]
    least: dict[str, Fraction] = {}
    for amounts in spoken:
        for key, amount in amounts.items():
            least[key] = min(amount, least.get(key, amount))
    return {**plain, **least}


class WindowsAreKept(Invariant):
    """Whoever writes may have a clock that is wrong, and whoever is down writes later."""

    name = "windows-are-kept"
    promise = "A quota tells that a window opens or closes when it does: never early, and at most a second late."
    resources = (QUOTAS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(QUOTAS)
        if new is None or not new.spec.time_windows:
            return
        if facts.is_ours(change) and _is_reported(new):
            yield from self._judged(new, change.at)
        if old is None or old.spec != new.spec:
            yield Later(self._tolerance.latest(_next_edge(new, change.at)), subject_of(change))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        quota = view.of(QUOTAS).get(Key("", subject.name))
        if quota is None or not quota.spec.time_windows or facts.is_going(quota):
            return
        if _is_reported(quota):
            yield from self._judged(quota, view.now)
        yield Later(self._tolerance.latest(_next_edge(quota, view.now)), subject)

    def _judged(self, quota: Quota, now: datetime) -> Iterator[Broken]:
        """What is told must have been right at an instant that whoever wrote it may have taken for now."""
        stated = quota.status.active_time_window
        back = self._tolerance.latest(now) - now
        rights = list(_opened(quota, now - back, now + self._tolerance.skew))
        if None not in rights and stated not in rights:
            said = f"it tells that {stated or 'none'} is open, and {rights[-1] or 'none'} is"
            yield Broken(said, (Subject(str(QUOTAS), "", quota.metadata.name),))


def _is_reported(quota: Quota) -> bool:
    return quota.status.observed_generation == quota.metadata.generation


def _opened(quota: Quota, begin: datetime, end: datetime) -> Iterator[str | None]:
    """What is right to tell at the beginning of a span and after each edge in it; None where the judge cannot say."""
    at = begin
    while at <= end:
        yield _open_at(quota, at)
        at = at.replace(second=0, microsecond=0) + _MINUTE
    yield _open_at(quota, end)


def _next_edge(quota: Quota, after: datetime) -> datetime:
    """The next full minute at which something else is open, within a day."""
    now, at = _open_at(quota, after), after.replace(second=0, microsecond=0)
    for _ in range(_DAY // _MINUTE):
        at += _MINUTE
        if _open_at(quota, at) != now:
            break
    return at


def _open_at(quota: Quota, at: datetime) -> str | None:
    found = [(window, _is_open(window, at)) for window in quota.spec.time_windows]
    if any(opened is None for _, opened in found):
        return None
    opened = [window for window, is_open in found if is_open]
    highest = max((window.priority for window in opened), default=0)
    return ",".join(window.name for window in opened if window.priority == highest)


def _is_open(window: TimeWindow, at: datetime) -> bool | None:
    try:
        local = at.astimezone(ZoneInfo(window.time_zone))
    except (ZoneInfoNotFoundError, ValueError):
        return None
    if not window.schedule:
        return _in_hours(window, local)
    minute, hour, *rest = (*window.schedule.split(), "")
    if rest != ["*", "*", "*", ""]:
        return None
    if window.duration is None:
        hours = _numbers(hour, 24)
        return None if hours is None else local.hour in hours
    minutes = _numbers(minute, 60)
    if minutes is None or hour != "*":
        return None
    length = duration.parse(window.duration).timedelta
    since = (local.minute - each for each in minutes)
    passed = timedelta(seconds=local.second, microseconds=local.microsecond)
    return any(passed + timedelta(minutes=each % 60) < length for each in since)


def _in_hours(window: TimeWindow, local: datetime) -> bool:
    days = window.weekdays or _WEEK
    begin, end = (_minute(each) for each in (window.hours or "00:00-00:00").split("-"))
    end = end if begin < end else end + 24 * 60
    now = local.hour * 60 + local.minute
    today, before = _WEEK[local.weekday()], _WEEK[(local - _DAY).weekday()]
    return (begin <= now < end and today in days) or (
        begin <= now + 24 * 60 < end and before in days
    )


def _minute(clock: str) -> int:
    hour, _, minute = clock.partition(":")
    return int(hour) * 60 + int(minute)


def _numbers(field: str, many: int) -> frozenset[int] | None:
    """What a field of an expression names: a number, a range that may wrap around, or every so many."""
    if field == "*":
        return frozenset(range(many))
    if field.startswith("*/") and field[2:].isdecimal():
        return frozenset(range(0, many, int(field[2:])))
    first, dash, last = field.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return None
    begin, end = int(first), int(last or first)
    return frozenset(
        each % many for each in range(begin, end + 1 if begin <= end else end + many + 1)
    )
