"""The pods of one workload: which are there, how far each is, and how long they waited.

`lines` keeps one for every workload. Only living pods are remembered; of those that went, their number and the longest wait.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from pocketkube.simulation.report.timeline import PodCounts, Wait


class Phase(Enum):
    """How far a pod is."""

    WAITS = "waits"
    RUNS = "runs"
    STOPPED = "stopped"
    """It is there, but does not serve: its node is lost, or it is about to go."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(slots=True)
class Member:
    """A pod that is there."""

    name: str
    since: datetime
    """When it was made, or began to wait again."""
    phase: Phase = Phase.WAITS
    why: str = ""
    started: bool = False

    def wait(self, at: datetime) -> Wait:
        seconds = round((at - self.since).total_seconds(), 3)
        return Wait(pod=self.name, since=self.since, seconds=seconds, why=self.why)


class PodTracker:
    """All pods of a workload."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._waiting: dict[str, Member] = {}
        self._counts = dict.fromkeys(("made", "started", "succeeded", "failed", "gone"), 0)
        self.running = 0
        self.unfinished = 0
        """How many have not reached a good end."""
        self.started_at: datetime | None = None
        self.longest: Wait | None = None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def counts(self) -> PodCounts:
        return PodCounts(**self._counts)

    @property
    def why(self) -> str:
        """Why pods wait: what is said of the one that has waited longest."""
        return next((each.why for each in self._waiting.values() if each.why), "")

    def current_wait(self, at: datetime) -> Wait | None:
        """That of the pod that has waited longest."""
        return next((each.wait(at) for each in self._waiting.values()), None)

    def longest_of_all(self, at: datetime) -> Wait | None:
        """The longest wait, of those that are over and those that are not."""
        waits = filter(None, (self.longest, self.current_wait(at)))
        return max(waits, key=lambda wait: wait.seconds, default=None)

    def make(self, at: datetime, uid: str, name: str) -> Member:
        """A pod comes."""
        member = self.members[uid] = self._waiting[uid] = Member(name, at)
        self.unfinished += 1
        self._counts["made"] += 1
        return member

    def explain(self, uid: str, why: str) -> None:
        """A pod has a reason to wait."""
        self.members[uid].why = why

    def move(self, at: datetime, uid: str, phase: Phase) -> None:
        """A pod goes a step."""
        member = self.members[uid]
        self.running += (phase is Phase.RUNS) - (member.phase is Phase.RUNS)
        self.unfinished += (member.phase is Phase.SUCCEEDED) - (phase is Phase.SUCCEEDED)
        member.phase = phase
        if phase is not Phase.WAITS:
            self._stop_waiting(at, uid)
        elif uid not in self._waiting:
            member.since = at
            self._waiting[uid] = member
        if phase is Phase.RUNS and not member.started:
            member.started = True
            self._counts["started"] += 1
            self.started_at = self.started_at or at
        if phase in (Phase.SUCCEEDED, Phase.FAILED):
            self._counts[phase.value] += 1

    def remove(self, at: datetime, uid: str) -> Member:
        """A pod goes."""
        self._stop_waiting(at, uid)
        member = self.members.pop(uid)
        self.running -= member.phase is Phase.RUNS
        self.unfinished -= member.phase is not Phase.SUCCEEDED
        self._counts["gone"] += 1
        return member

    def _stop_waiting(self, at: datetime, uid: str) -> None:
        member = self._waiting.pop(uid, None)
        if member is None:
            return
        wait = member.wait(at)
        if self.longest is None or wait.seconds > self.longest.seconds:
            self.longest = wait
