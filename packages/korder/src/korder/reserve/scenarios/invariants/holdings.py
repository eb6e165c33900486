"""Which tickets a pod has, by its UID; kept up to date change by change."""

from collections.abc import Collection, Iterable

from korder.api.reserve import TICKETS
from korder.reserve.scenarios.invariants import facts
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import controller_of
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


class Holdings:
    """Must be told of every change of a ticket."""

    def __init__(self) -> None:
        self._tickets: dict[str, set[Subject]] = {}

    def of(self, uid: str) -> Collection[Subject]:
        return self._tickets.get(uid, ())

    def note(self, change: Change, view: View) -> frozenset[str]:
        """Takes in a change; returns the UIDs of the pods that have just got the ticket."""
        old, new = view.both(TICKETS)
        here = subject_of(change)
        for uid in facts.holders(old) - facts.holders(new):
            self._tickets[uid].discard(here)
            if not self._tickets[uid]:
                del self._tickets[uid]
        fresh = facts.holders(new) - facts.holders(old)
        for uid in fresh:
            self._tickets.setdefault(uid, set()).add(here)
        return fresh

    def touched(self, change: Change, view: View) -> Iterable[Subject]:
        """The tickets for which a change matters: of themselves, of their guardians, of the pods that have them."""
        self.note(change, view)
        if change.resource == str(TICKETS):
            return [subject_of(change)]
        was, pod = view.both(PODS)
        present = pod if pod is not None else was
        if present is None:
            return []
        ref = controller_of(present) if facts.is_guardian(present) else None
        guarded = view.bearer(ref.uid) if ref is not None else None
        return [*self.of(present.metadata.uid), *([guarded] if guarded is not None else [])]
