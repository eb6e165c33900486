"""What happened when: the result of a run as a small value that can be printed, stored and compared.

`timeline_builder` distils it from the changes of a run; `report`, `page` and the command line show it. Its size depends on how many workloads
there are and on `BUCKETS`, not on how many pods came and went or how long the run was.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from kubeloop.objects import duration
from kubeloop.objects.meta import Base

_TICK = timedelta(microseconds=1)

BUCKETS = 300
"""Into how many parts the time of a run is divided for pictures."""


class State(StrEnum):
    """How a workload is."""

    WAITING = "waiting"
    """It wants pods and none of them runs."""
    SHORT = "short"
    """Some of its pods run, some do not."""
    RUNNING = "running"
    """All pods that are wanted run."""
    IDLE = "idle"
    """It wants no pods."""
    DONE = "done"
    FAILED = "failed"


class Summary(Base, omit_defaults=False):
    """A part of a timeline: in JSON every field is there, whatever its value."""


class Span(Summary):
    """A part of the run in which a workload was, mostly, in one state."""

    start: datetime
    end: datetime
    state: State


class PodCounts(Summary):
    """How many pods of a workload have gone this far."""

    made: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    gone: int = 0


class Wait(Summary):
    """How long one pod waited from its creation until it ran, or until the end of the run, and why."""

    pod: str
    since: datetime
    seconds: float
    why: str = ""


class Workload(Summary):
    """One top-level workload, from when it was wanted to its end."""

    kind: str
    namespace: str
    name: str
    promised: bool
    """It is part of the manifests that were played."""
    state: State
    """How it is at the end of the run, or was when it was deleted."""
    wanted_at: datetime
    started_at: datetime | None = None
    """When its first pod ran."""
    complete_at: datetime | None = None
    """When all its pods ran for the first time."""
    ended_at: datetime | None = None
    """When a Job, or the last pod of a group, ended."""
    deleted_at: datetime | None = None
    wanted: int = 0
    running: int = 0
    waiting: int = 0
    pods: PodCounts = PodCounts()
    longest_wait: Wait | None = None
    current_wait: Wait | None = None
    """That of the pod that waits longest at the end."""
    spans: tuple[Span, ...] = ()

    @property
    def title(self) -> str:
        """Where it is and what it is called."""
        return f"{self.namespace}/{self.name}"


class Folded(Summary):
    """Workloads that are told together, because there are too many that ended well."""

    kind: str
    count: int
    pods: int
    longest_wait_seconds: float


class Happening(Summary):
    """Something that somebody would want to know, in one line."""

    at: datetime
    kind: str
    """`Node`, or the kind of the workload."""
    name: str
    text: str
    bad: bool = False


class Series(Summary):
    """The use of one resource, bucket by bucket; cpu in cores, everything else in units."""

    resource: str
    requested: tuple[float, ...]
    """The mean over the bucket of what pods on nodes that work ask for."""
    peak: tuple[float, ...]
    """The most that was requested at once."""
    allocatable: tuple[float, ...]
    """The mean over the bucket of what these nodes have."""


class Use(Summary):
    """How full the cluster was."""

    bucket_seconds: float
    series: tuple[Series, ...]
    waiting: tuple[int, ...]
    """The most pods that waited at once; guardians are not among them."""
    waiting_tickets: tuple[int, ...] = ()
    """The most tickets that waited for room at once."""


class Promise(Summary):
    """Something the manifests ask for: kept, or not and why."""

    kind: str
    namespace: str
    name: str
    kept: bool
    text: str


class Violation(Summary):
    """An invariant that the auditor saw broken."""

    at: datetime
    invariant: str
    text: str


class Timeline(Summary):
    """The whole story of a run."""

    start: datetime
    end: datetime
    """How far the run came: what was asked for, or the instant of a violation."""
    kept: bool
    """Whether everything promised was kept and no invariant was broken."""
    verdict: str
    """The same in one sentence."""
    promises: tuple[Promise, ...]
    violations: tuple[Violation, ...]
    happenings: tuple[Happening, ...]
    happenings_left_out: int
    workloads: tuple[Workload, ...]
    folded: tuple[Folded, ...]
    use: Use


def clock(at: datetime, start: datetime, end: datetime) -> str:
    """An instant of a run as people read it: the time of day, with the day if the run has several."""
    several = end - start > timedelta(days=1) or start.date() != (end - _TICK).date()
    return f"{at:%b %d %H:%M:%S}" if several else f"{at:%H:%M:%S}"


def lasting(seconds: float) -> str:
    """A length of time as people read it."""
    return "less than a second" if seconds < 1 else duration.human(round(seconds))
