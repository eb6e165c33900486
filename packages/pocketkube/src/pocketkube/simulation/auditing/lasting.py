"""Promises about states that must pass, once for all: what is wrong with an object is put right within a while.

A domain says which objects a change concerns and what is wrong with one of them; the rest is here. Caches lag and processes rest, so
almost nothing about two objects is true at every instant; it is a fault if it stays untrue.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Later,
    Tolerance,
)
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject


class Lasting(Invariant):
    """A promise that something wrong does not last."""

    patience = timedelta(seconds=10)
    """How long it may last when nobody is down; say another as a class attribute."""

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._limit = self.patience + tolerance.late
        self._pauses = tolerance.pauses
        self._since: dict[Subject, datetime] = {}

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        """The objects for which a change may make a difference."""
        raise NotImplementedError

    def wrong(self, subject: Subject, view: View) -> str:
        """What is wrong with an object now; nothing if it is gone."""
        raise NotImplementedError

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        for subject in self.concerned(change, view):
            if not self.wrong(subject, view):
                self._since.pop(subject, None)
            elif subject not in self._since:
                self._since[subject] = change.at
                yield Later(change.at + self._limit, subject)

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        since = self._since.get(subject)
        stated = self.wrong(subject, view)
        if since is None or not stated or since + self._limit > view.now:
            return
        until = paused_until(self._pauses, since, view)
        if until is not None and until + self._limit > view.now:
            yield Later(until + self._limit, subject)
            return
        yield Broken(f"since {since:%X} {stated}", (subject,))


def paused_until(
    pauses: Iterable[tuple[float, float]], since: datetime, view: View
) -> datetime | None:
    """When the last of the pauses was or will be over that have touched the time since an instant."""
    spans = (
        (view.began + timedelta(seconds=a), view.began + timedelta(seconds=b)) for a, b in pauses
    )
    return max((end for begin, end in spans if begin <= view.now and end >= since), default=None)
