"""The auditor within a run: shown each commit, woken when something is due, asked at rest; what it finds ends the run with a report.

`world` makes one for a run that has invariants.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from kubeloop.runtime.clock import Clock, Timer
from pocketkube.simulation.auditing import violation as violation_text
from pocketkube.simulation.auditing.auditor import Auditor, Violation
from pocketkube.simulation.auditing.invariant import Invariant
from pocketkube.simulation.changes import Change
from pocketkube.simulation.journal import Journal


class Audit:
    """Judges one run; `report_violation` is told what was broken, in short and as a report."""

    def __init__(
        self,
        invariants: Iterable[Invariant],
        clock: Clock,
        journal: Journal,
        report_violation: Callable[[str, str], None],
        *,
        seed: int,
        replay: str,
    ) -> None:
        self._auditor = Auditor(invariants, clock.now())
        self._clock = clock
        self._journal = journal
        self._report_violation = report_violation
        self._seed = seed
        self._replay = replay
        self._armed: datetime | None = None
        self._timer: Timer | None = None

    def note(self, change: Change) -> None:
        """Judges a commit."""
        self._tell(self._auditor.note(change))
        self._arm()

    def rest(self) -> None:
        """Judges the end of the run."""
        self._tell(self._auditor.rest(self._clock.now()))

    def _arm(self) -> None:
        due = self._auditor.due()
        if due is None or (self._armed is not None and self._armed <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._armed = due
        self._timer = self._clock.call_at(due, self._look)

    def _look(self) -> None:
        self._armed = self._timer = None
        self._tell(self._auditor.look(self._clock.now()))
        self._arm()

    def _tell(self, violations: Iterable[Violation]) -> None:
        for violation in violations:
            names = tuple(_line_of(*subject) for subject in violation.subjects)
            writes = self._journal.about(names)
            report = violation_text.render(
                violation, seed=self._seed, writes=writes, replay=self._replay
            )
            self._report_violation(f"{violation.invariant}: {violation.sentence}", report)


def _line_of(resource: str, namespace: str, name: str) -> str:
    """How the journal tells of commits of an object."""
    return f"= {resource} {namespace}/{name} " if namespace else f"= {resource} {name} "
