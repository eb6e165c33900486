"""How pods end: for good."""

from collections.abc import Iterable

from kubeloop.objects import core
from kubeloop.objects.core import PODS
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, subject_of


class FinishedForGood(Invariant):
    """Owners count a finished pod once, and its room is given away."""

    name = "finished-for-good"
    promise = "A pod that has succeeded or failed stays so."
    resources = (PODS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(PODS)
        if old is None or new is None or not core.is_finished(old):
            return
        if new.status.phase != old.status.phase:
            stated = f"its phase was {old.status.phase} and is now {new.status.phase or 'none'}"
            yield Broken(stated, (subject_of(change),))
