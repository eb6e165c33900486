"""Gaps of a standing pool: times in which its tickets have ended and no firing has replaced them yet (rule 5).

`findings` tells of them when an order is acted on, admission when it is written; it asks `schedule`. A ticket is renewed in place if a firing, or
its lead time, comes before its end.
"""

from datetime import datetime, timedelta

from korder.api import duration, instant
from korder.api.reserve import Strategy
from korder.reserve.rules.orders import strategies
from korder.reserve.rules.schedules import schedule

_FIRINGS_LOOKED_AT = 30
"""Of those to come: some weeks of a daily schedule, a day of an hourly one."""


def told(strategy: Strategy, held: timedelta, firing: datetime) -> str:
    """Tells of the first gap that begins with this firing or one of those that follow; empty if there is none."""
    times = schedule.parse(strategy.schedule, strategy.time_zone)
    for _ in range(_FIRINGS_LOOKED_AT):
        following = times.next_after(firing)
        if following - strategies.lead_time(strategy) > firing + held:
            return (
                f"tickets are held for {_human(held)}, but those of {instant.render(firing)}"
                f" are replaced only after {_human(following - firing)}"
            )
        firing = following
    return ""


def _human(length: timedelta) -> str:
    return duration.human(int(length.total_seconds()))
