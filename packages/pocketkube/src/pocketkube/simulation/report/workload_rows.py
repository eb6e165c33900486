"""One workload while a run goes on: what it wants, what it has, and since when something is missing.

`timeline_builder` tells a line of goals and pods and is told in turn what people want to hear. Something missing is told once, when it is
over, with its length and the scheduler's reason. What the manifests do not promise is told only if it lasted or went wrong.
"""

from datetime import datetime
from typing import ClassVar, NamedTuple, Protocol

from pocketkube.simulation.report.averages import Division
from pocketkube.simulation.report.bars import Bar
from pocketkube.simulation.report.gaps import Gap
from pocketkube.simulation.report.goals import Goal
from pocketkube.simulation.report.pod_tracker import Member, Phase, PodTracker
from pocketkube.simulation.report.timeline import Promise, State, Workload, clock, lasting

EMIT = 10.0
"""Seconds for which pods may be missing, while others take their place, without being talked about."""

POD = "Pod"
"""The kind of a line of pods that nobody owns."""


class Name(NamedTuple):
    """What a workload is called."""

    kind: str
    namespace: str
    name: str


WANTED = "wanted"
"""The cause of a gap with which a workload began."""
_MISSING = (State.WAITING, State.SHORT)
_CONTENT = (State.RUNNING, State.IDLE)


class Tell(Protocol):
    """Somebody who hears of something: when, of whom, what, and whether it is bad."""

    def __call__(self, at: datetime, line: "Line", text: str, *, bad: bool) -> None: ...


class Line:
    """The story of one workload; rows of a domain are subclasses.

    Attributes:
        noun: What one of its members is called.
        well: How a member is that has what it needs.
        alone: How a workload with one member is that has what it needs.
        makes_more: It may always make more members: it is not over when all have ended.
    """

    noun: ClassVar[str] = "pod"
    well: ClassVar[str] = "running"
    alone: ClassVar[str] = "runs"
    makes_more: ClassVar[bool] = False

    def __init__(self, name: Name, at: datetime, division: Division, tell: Tell) -> None:
        self.name = name
        self.promised = False
        self.deleted_at: datetime | None = None
        self.tracker = PodTracker()
        self._division = division
        self._tell = tell
        self._wanted_at = at
        self._complete_at: datetime | None = None
        self._ended_at: datetime | None = None
        self._goal = Goal()
        self._lost: list[str] = []
        self._lapses: list[str] = []
        """Each gap in which members were missing that it wants at all times: its length, its beginning and its reason."""
        self._goes_without = False
        """What it has is not all it wanted: the rest was given up."""
        self._pods: tuple[str, ...] = ()
        """The first two names of pods that nobody owns."""
        self._trouble = ""
        self._gap: Gap | None = None
        self._bar = Bar(division, at)
        self._last = State.IDLE
        """How it was when it was deleted."""

    @property
    def shown(self) -> Name:
        """What people call it: pods that nobody owns by their own name while there is but one."""
        if self.name.kind != POD or not self._pods:
            return self.name
        first, *others = self._pods
        return self.name._replace(name=f"{self.name.name}-*" if others else first)

    @property
    def wanted(self) -> int:
        """How many pods are to run; where nobody says, those that are there, that were lost, and that are yet to come."""
        if self._goal.pods is not None:
            return self._goal.pods
        return self.tracker.unfinished + len(self._lost) + self._expected

    @property
    def _expected(self) -> int:
        """How many members are wanted besides those that are there and those that were lost."""
        return 0

    @property
    def _lapsed(self) -> int:
        """How many members that are wanted at all times have ended and are not replaced."""
        return 0

    @property
    def state(self) -> State:
        wanted = self.wanted
        if self._goal.failed:
            return State.FAILED
        if self._goal.done or (not wanted and self._is_over):
            return State.DONE
        if not wanted:
            return State.IDLE
        if self.tracker.running >= wanted and not self.tracker.waiting:
            return State.RUNNING
        return State.SHORT if self.tracker.running else State.WAITING

    @property
    def _is_over(self) -> bool:
        """Whether all there was has ended, and no more is made."""
        return self._goal.pods is None and bool(self.tracker.members) and not self.makes_more

    def aim(self, at: datetime, goal: Goal) -> None:
        """The object says what it wants, maybe the same as before."""
        before, again = self._goal, self.deleted_at is not None
        if goal == before and not again:
            return
        self._pass(at)
        self.deleted_at, self._goal, self._trouble = None, goal, goal.trouble
        self._expect_of(before, again=again)
        if goal.failed and not before.failed:
            self._end(at, f"failed: {goal.failed}", bad=True)
        elif goal.done and not before.done:
            took = (at - self._wanted_at).total_seconds()
            self._end(at, f"complete after {lasting(took)}", bad=False)
        elif goal.pods is not None:
            self._aimed(at, None if again else before.pods, goal.pods)
        self._judge(at)

    def make(self, at: datetime, uid: str, name: str) -> Member:
        """A pod was made, or another member is there to be counted."""
        self._pass(at)
        self._arrive(uid, name)
        member = self.tracker.make(at, uid, name)
        if self.name.kind == POD:
            self.deleted_at = None
            self._pods = tuple(dict.fromkeys((*self._pods, name)))[:2]
        self._judge(at)
        return member

    def move(self, at: datetime, uid: str, phase: Phase, why: str) -> None:
        """A pod has gone a step, or has another reason to wait."""
        if why:
            self.tracker.explain(uid, why)
        if phase is not self.tracker.members[uid].phase:
            self._pass(at)
            self.tracker.move(at, uid, phase)
        self._judge(at)

    def remove(self, at: datetime, uid: str, *, meant: bool) -> None:
        """A pod is gone. One that nobody owns and nobody meant to go is lost."""
        self._pass(at)
        member = self.tracker.remove(at, uid)
        if self.name.kind == POD:
            if not meant and member.phase is not Phase.SUCCEEDED:
                self._lost += [member.name] if self.promised else []
                self._say(at, f"{member.name} was lost", bad=True)
            if not self.wanted and not self.tracker.members:
                self.deleted_at, self._gap = at, None
        self._judge(at)

    def delete(self, at: datetime) -> None:
        """The object itself is gone."""
        self._pass(at)
        if self.promised and not self._goal.done:
            self._say(at, "deleted")
        self.deleted_at, self._gap, self._last = at, None, self.state

    def hinder(self, text: str) -> None:
        """Somebody below it says why no pods can be made."""
        self._trouble = text

    def _aimed(self, at: datetime, old: int | None, new: int) -> None:
        if old is None:
            self._open(at, f"{self._counted(new)} {WANTED}")
        elif old != new and not self._goal.ends:
            self._open(at, f"scaled from {old} to {new}")

    def _open(self, at: datetime, cause: str) -> None:
        if self._gap is not None and self._gap.cause and self.promised:
            self._say(self._gap.since, f"{self._gap.cause}, not complete before the next change")
        self._gap = Gap(at, cause)

    def _end(self, at: datetime, text: str, *, bad: bool) -> None:
        self._fill(at)
        self._ended_at = at
        if self.promised or bad:
            self._say(at, text, bad=bad)

    def _pass(self, at: datetime) -> None:
        self._bar.hold(at, None if self.deleted_at is not None else self.state)

    def _judge(self, at: datetime) -> None:
        """Opens or closes the gap, after anything has changed."""
        self._advance(at)
        if self.deleted_at is not None:
            return
        if self.state not in _MISSING:
            self._fill(at)
            return
        if self._gap is None:
            self._gap = Gap(at, "" if self._complete_at else WANTED)
            self._goes_without = False
        self._gap.lapsed |= bool(self._lapsed)
        self._gap.hold(at, self._missing, self.wanted)
        self._gap.why = self._why or self._gap.why

    def _fill(self, at: datetime) -> None:
        """Nothing is missing any more."""
        runs = self.state is State.RUNNING
        gap, self._gap = self._gap, None
        self._goes_without = runs and (self._goes_without or (gap is not None and gap.in_vain))
        if runs and not self._goes_without:
            self._complete_at = self._complete_at or at
        if gap is None:
            return
        seconds = (at - gap.since).total_seconds()
        ends = runs or gap.in_vain or not self.makes_more
        if seconds < EMIT and not (gap.cause and self.promised and ends):
            return
        reason = f": {gap.why}" if gap.why and seconds >= EMIT else ""
        gap.hold(at, 0, 0)
        missing, wanted = gap.mostly()
        after = f"all {self.well} after {lasting(seconds)}"
        missed = not gap.cause or gap.in_vain
        if missed or gap.lapsed:
            after = f"{missing} of {wanted} {self.noun}s missing for {lasting(seconds)}"
        if gap.lapsed:
            self._lapses.append(f"{after} since {self._clock(gap.since)}{reason}")
        cause = self._caused(gap, wanted if missed else self.wanted)
        stated = [cause, after] if runs or missed else [cause]
        self._say(
            gap.since, f"{', '.join(filter(None, stated))}{reason}", bad=gap.in_vain or gap.lapsed
        )

    def conclude(self, end: datetime) -> None:
        """The run ends, and tells of what is still missing."""
        gap = self._gap
        if gap is None or not (self.promised or (end - gap.since).total_seconds() >= EMIT):
            return
        still = f"{self._missing} of {self.wanted} still missing at the end"
        reason = f": {self._why}" if self._why else ""
        stated = ", ".join(filter(None, [self._caused(gap, self.wanted), still]))
        self._say(gap.since, f"{stated}{reason}", bad=self.promised)

    def _caused(self, gap: Gap, wanted: int) -> str:
        """Why something was missing; with the number, if that was not known when the gap began."""
        late = gap.cause == WANTED and self._counts_late
        return f"{self._counted(wanted)} {WANTED}" if late else gap.cause

    @property
    def _counts_late(self) -> bool:
        """Whether the number it wants is not known when it begins."""
        return False

    def _expect_of(self, before: Goal, *, again: bool) -> None:
        """The goal has changed from another, or the object is there again: a place for subclasses."""

    def _arrive(self, uid: str, name: str) -> None:
        """A member is about to be counted: a place for subclasses."""

    def _advance(self, at: datetime) -> None:
        """Time has passed: a place for subclasses."""

    def _counted(self, number: int) -> str:
        return f"{number} {self.noun}{'' if number == 1 else 's'}"

    @property
    def _missing(self) -> int:
        return max(self.wanted - self.tracker.running, self.tracker.waiting)

    @property
    def _why(self) -> str:
        return self.tracker.why or self._trouble

    def _say(self, at: datetime, text: str, *, bad: bool = False) -> None:
        self._tell(at, self, text, bad=bad)

    def stated(self, end: datetime) -> Workload:
        """The whole story, at the end of the run."""
        self._pass(end)
        kind, namespace, name = self.shown
        return Workload(
            kind=kind,
            namespace=namespace,
            name=name,
            promised=self.promised,
            state=self.state if self.deleted_at is None else self._last,
            wanted_at=self._wanted_at,
            started_at=self.tracker.started_at,
            complete_at=self._complete_at,
            ended_at=self._ended_at,
            deleted_at=self.deleted_at,
            wanted=self.wanted,
            running=self.tracker.running,
            waiting=self.tracker.waiting,
            pods=self.tracker.counts,
            longest_wait=self.tracker.longest_of_all(end),
            current_wait=self.tracker.current_wait(end),
            spans=self._bar.spans(self.deleted_at or end),
        )

    def promise(self) -> Promise:
        """Whether it has what it wants, at the end of the run."""
        kept, text = self._verdict()
        kind, namespace, name = self.shown
        return Promise(kind=kind, namespace=namespace, name=name, kept=kept, text=text)

    def _verdict(self) -> tuple[bool, str]:
        state, tracker = self.state, self.tracker
        if self._lapses:
            again = len(self._lapses) - 1
            more = f", and {again} more time{'s' if again > 1 else ''}" if again else ""
            return False, f"had {self._lapses[0]}{more}"
        settled = state is State.DONE or (state in _CONTENT and not self._goal.ends)
        if settled or self._goal.held or self.deleted_at is not None:
            return True, self._kept()
        if state is State.FAILED:
            return False, f"failed: {self._goal.failed}"
        since = f" since {self._clock(self._gap.since)}" if self._gap is not None else ""
        has = f"wants {self.wanted}, has {tracker.running}{since}"
        waits = (
            f"{tracker.waiting} wait{'s' if tracker.waiting == 1 else ''}"
            if tracker.waiting
            else ""
        )
        far = f"is not complete, {self._goal.progress}" if self._goal.ends else ""
        stated = [far, has, waits, self._why]
        return False, ": ".join(filter(None, stated))

    def _kept(self) -> str:
        if self.deleted_at is not None:
            return f"was deleted at {self._clock(self.deleted_at)}"
        if self._goal.held:
            return "is not meant to run"
        many = f"has all {self.wanted} {self.noun}s {self.well}" if self.wanted > 1 else self.alone
        idle = f"wants no {self.noun}s"
        return {State.DONE: "is complete", State.IDLE: idle}.get(self.state, many)

    def _clock(self, at: datetime) -> str:
        return clock(at, self._division.start, self._division.end)
