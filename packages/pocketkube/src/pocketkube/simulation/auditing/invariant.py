"""What an invariant is: a promise in one sentence, and how to see that it is broken.

Each domain writes its own and hands them to an `Auditor`. There are three moments at which a promise can be judged, and an invariant
implements those it needs: after a commit (`check`), at an instant it asked for (`look`), and when the run is over, nothing is faulty
any more and nothing moves (`at_rest`). It sees API objects only, never the memory of a process.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from kubeloop.objects.plan import AnyKind
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject

Kinds = tuple[AnyKind, ...]


class Broken(NamedTuple):
    """A promise was not kept: what is wrong, with names and numbers, and on which objects."""

    sentence: str
    subjects: tuple[Subject, ...]


class Later(NamedTuple):
    """A wish to look at an object again at an instant; it replaces the former wish about the same object."""

    at: datetime
    subject: Subject


Finding = Broken | Later


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a run allows to those it audits, because of the faults it plays.

    Attributes:
        stale: How old the data may be by which a controller decides: the longest delay of a watch or of a request on its way.
        late: How much later than by a second a timer may decide: the longest time a process is down, stopped or kept from writing.
        skew: How wrong the wall clock of a process may be, to either side.
        pauses: Where nothing else goes wrong: the spans in which the scheduler is away or catches up, in seconds since the audit began.
    """

    stale: timedelta = timedelta(seconds=5)
    late: timedelta = timedelta()
    skew: timedelta = timedelta()
    pauses: tuple[tuple[float, float], ...] = ()

    def latest(self, due: datetime) -> datetime:
        """The first instant at which what was due is too late."""
        return due + timedelta(seconds=1, microseconds=1) + self.late + self.skew


CALM = Tolerance()


class Invariant:
    """The base: a promise that nobody looks after. Say name, promise and kinds as class attributes."""

    @property
    def name(self) -> str:
        """A short name, with dashes."""
        raise NotImplementedError

    @property
    def promise(self) -> str:
        """What never happens, or always holds, in one sentence."""
        raise NotImplementedError

    @property
    def resources(self) -> Kinds | None:
        """The kinds whose changes are shown to `check`; None is all of them."""
        return ()

    @property
    def reads(self) -> Kinds:
        """Further kinds whose objects are looked up in the view."""
        return ()

    @property
    def figures(self) -> Mapping[str, int]:
        """What was counted in the run besides, each with its name; of several runs the sums count."""
        return {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        """Judges a commit; the view is as it is after it."""
        del change, view
        return ()

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        """Judges an object at the instant that a `Later` named; `view.now` is that instant or after."""
        del subject, view
        return ()

    def at_rest(self, view: View) -> Iterable[Broken]:
        """Judges the end of a run, when everything has had the time to come to rest."""
        del view
        return ()
