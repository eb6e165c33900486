"""Which limits are in force over the days to come, as spans of time.

`korder quota` draws it. Edges behind which the same windows count are no edges here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from korder.api.quota import QuotaSpec
from korder.reserve.rules.quotas import limits
from korder.reserve.rules.quotas.limits import InForce

_MOST_EDGES = 2_000
"""Edges that are looked at; a window that opens every minute is told only so far."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which the same limits are in force."""

    begin: datetime
    end: datetime
    force: InForce


def spans(spec: QuotaSpec, begin: datetime, end: datetime) -> list[Span]:
    """All spans between two instants, one after the other without a gap."""
    found: list[Span] = []
    for since, until in _edges(spec, begin, end):
        force = limits.in_force(spec, since)
        if found and found[-1].force == force:
            found[-1] = Span(found[-1].begin, until, force)
        else:
            found.append(Span(since, until, force))
    return found


def _edges(spec: QuotaSpec, begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    at = begin
    for _ in range(_MOST_EDGES):
        following = limits.surely_until(spec, at)
        until = end if following is None else min(following, end)
        yield at, until
        if until >= end:
            return
        at = until
