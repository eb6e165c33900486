"""Leases: one leader at a time.

A candidate may take a lease when it has seen the same record for a whole lease duration. It cannot have seen it before it was committed,
and it takes exactly the version it saw: so between the last renewal and the change of hands the duration has passed in true time
too, however wrong the wall clocks are. Only clocks that run at another rate could break this.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from kubeloop.objects.core import LEASES
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


class OneHolder(Invariant):
    """A lease whose object was deleted is free, whoever held it."""

    name = "one-holder"
    promise = "A lease changes hands only when it was given back, or was not renewed for its whole duration."
    resources = (LEASES,)

    def __init__(self) -> None:
        self._renewed: dict[Subject, datetime] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(LEASES)
        about = subject_of(change)
        if new is None:
            self._renewed.pop(about, None)
            return
        renewed = self._renewed.get(about, change.at)
        if old is None or old.spec != new.spec:
            self._renewed[about] = change.at
        holder = old.spec.holder_identity if old is not None else None
        if old is None or not holder or new.spec.holder_identity in (None, "", holder):
            return
        duration = timedelta(seconds=old.spec.lease_duration_seconds or 0)
        passed = change.at - renewed
        if passed < duration:
            stated = (
                f"{new.spec.holder_identity} took it from {holder} {passed.total_seconds():g} s after its "
                f"renewal, of {duration.total_seconds():g}"
            )
            yield Broken(stated, (about,))
