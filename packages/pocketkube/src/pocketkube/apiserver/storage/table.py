"""The objects of one resource in key order, and their past.

Filled by `Storage` with what was committed; pages and watches read it. A page of an older version is the present with the
changes since then undone, so a snapshot costs nothing to keep and little to read: pages follow each other quickly.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple

from pocketkube.apiserver.storage.records import Change, Event, Record

_LAST = "\U0010ffff"
"""Comes after every path."""


class Page(NamedTuple):
    """A part of a list: records in key order, all as they were at `version`.

    `next` is what the following page is asked to begin after, empty if there is none; `remaining` is how many will follow.
    """

    records: Sequence[Record]
    version: int
    next: str
    remaining: int


class History:
    """The changes of one resource that are still known, in order; `dropped` is the version of the newest that is not."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)
        self._versions = [event.version for event in self._events]
        self.dropped = 0

    def after(self, version: int, limit: int | None = None) -> Sequence[Event]:
        """The changes after a version."""
        first = bisect_right(self._versions, version)
        return self._events[first : None if limit is None else first + limit]

    def add(self, event: Event) -> None:
        self._events.append(event)
        self._versions.append(event.version)

    def drop(self, floor: int) -> None:
        """Forgets the changes up to a version."""
        if not self._versions or self._versions[0] > floor:
            return
        count = bisect_right(self._versions, floor)
        self.dropped = self._versions[count - 1]
        del self._events[:count], self._versions[:count]


class Table:
    """What there is of one resource."""

    def __init__(self, records: Iterable[Record] = (), events: Iterable[Event] = ()) -> None:
        self._records = {record.key.path: record for record in records}
        self._paths = sorted(self._records)
        self.history = History(events)
        self.changes = 0
        """How often it was changed: whoever derived something from it may compare."""

    def get(self, path: str) -> Record | None:
        return self._records.get(path)

    def apply(self, event: Event) -> None:
        """Takes the next committed change."""
        path = event.record.key.path
        if event.change is Change.DELETED:
            del self._records[path]
            del self._paths[bisect_left(self._paths, path)]
        else:
            if event.change is Change.ADDED:
                insort(self._paths, path)
            self._records[path] = event.record
        self.history.add(event)
        self.changes += 1

    def page(self, namespace: str, after: str, limit: int | None, version: int) -> Page:
        """Reads from behind `after`, or from the beginning, as it was at a version that history still reaches."""
        start = after or (f"{namespace}/" if namespace else "")
        # "0" is the character that follows "/": every path of the namespace is smaller, every later namespace larger.
        stop = f"{namespace}0" if namespace else _LAST
        first, last = bisect_right(self._paths, start), bisect_left(self._paths, stop)
        past = self._past(start, stop, version)
        if not past:
            end = last if limit is None else min(last, first + limit)
            paths, remaining = self._paths[first:end], max(0, last - max(end, first))
        else:
            gone = sorted(p for p, r in past.items() if r is not None and p not in self._records)
            newer = {p for p, r in past.items() if r is None}
            there = (p for p in merge(self._paths[first:last], gone) if p not in newer)
            paths = list(islice(there, limit))
            count = last - first + len(gone) - sum(p in self._records for p in newer)
            remaining = count - len(paths)
        records = [past.get(path) or self._records[path] for path in paths]
        return Page(records, version, paths[-1] if paths and remaining else "", remaining)

    def _past(self, start: str, stop: str, version: int) -> dict[str, Record | None]:
        """How the objects that were changed since a version were at that version."""
        past: dict[str, Record | None] = {}
        for event in self.history.after(version):
            path = event.record.key.path
            if start < path < stop:
                past.setdefault(path, event.previous)
        return past
