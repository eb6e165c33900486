"""Promises about time, once for all: what is due at an instant is done then, never early and at most a second late.

A domain says when something is due on an object and how it shows that it was done; the rest is here. The instant is read off the object,
so it can move while it is waited for. A due date that comes into the past counts from the commit that made it so.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from kubeloop.objects.meta import HasMetadata, Key, Kind
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Kinds,
    Later,
    Tolerance,
)
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

T = TypeVar("T", bound=HasMetadata)


class Punctual(Invariant, Generic[T]):
    """A promise that something happens to objects of a kind in time."""

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance

    @property
    def kind(self) -> Kind[T]:
        raise NotImplementedError

    @property
    def action(self) -> str:
        """What happens to an object: deleted, expired."""
        raise NotImplementedError

    @property
    def resources(self) -> Kinds:
        return (self.kind,)

    def due(self, obj: T) -> datetime | None:
        """When it is to happen, as things stand; None is never."""
        raise NotImplementedError

    def done(self, obj: T) -> bool:
        """Whether it has happened."""
        raise NotImplementedError

    def settled(self, obj: T) -> bool:
        """Whether it need not happen any more, because it has or because something else came before it."""
        return self.done(obj)

    def may_be_early(self, obj: T, change: Change, view: View) -> bool:
        """Whether somebody was free to do it at any time."""
        del obj, change, view
        return False

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(self.kind)
        if new is None:
            return
        about, due = subject_of(change), self.due(new)
        happened = self.done(new) and (old is None or not self.done(old))
        if happened and not self.may_be_early(new, change, view):
            early = due - self._tolerance.skew - change.at if due is not None else None
            if early is None:
                yield Broken(f"it was {self.action}, which was not due at all", (about,))
            elif early > timedelta():
                yield Broken(f"it was {self.action} {early.total_seconds():g} s early", (about,))
        if due is not None and (old is None or self.due(old) != due):
            yield Later(self._tolerance.latest(max(due, change.at)), about)

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        obj = view.of(self.kind).get(Key(subject.namespace, subject.name))
        due = self.due(obj) if obj is not None else None
        if obj is None or due is None or self._tolerance.latest(due) > view.now:
            return
        if not self.settled(obj):
            late = (view.now - due).total_seconds()
            yield Broken(f"it was not {self.action} {late:.3g} s after that was due", (subject,))
