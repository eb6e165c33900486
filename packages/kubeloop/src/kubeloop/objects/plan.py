"""Intentions as data: what a rule wants done, in which order, and when it wants to be asked again.

Rules return a `Plan`; `kubeloop.runtime.controller` applies it. A plan is a value: tests compare it, `korder explain` shows it,
and nothing has happened until it is applied. Stages run one after the other, the steps of one stage side by side; the
first failing stage ends the plan, and because every step is idempotent or carries a precondition the whole turn can be
taken again. Lanes are plans that follow the stages side by side and do not depend on each other: a failure ends only its own lane.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, Object

AnyKind = Kind[HasMetadata]
Body = Object | Mapping[str, JSON]


class PatchType(StrEnum):
    """The patch dialects of an API server, by their media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class EventType(StrEnum):
    """How loud an Event is."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object under a deterministic name, so that a repeated create finds the first one."""

    kind: AnyKind
    body: Body


@dataclass(frozen=True, slots=True)
class Patch:
    """Change an object, or one of its subresources, that still is what was read.

    `uid` and `resource_version` are preconditions: leave the version out only where the patch does not depend on
    what was read.
    """

    kind: AnyKind
    key: Key
    body: JSON
    type: PatchType = PatchType.MERGE
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove exactly the object that was read, never its successor of the same name."""

    kind: AnyKind
    key: Key
    uid: str
    resource_version: str = ""
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """Ask for an action through a subresource (binding, eviction) of exactly the object that was read.

    The answer is not the object, so readers see the effect only when the watch shows it; who must know it earlier has to
    assume it. The action must be one that the server refuses to take twice.
    """

    kind: AnyKind
    key: Key
    subresource: str
    body: Mapping[str, JSON]
    uid: str


Step = Create | Patch | Delete | Post


@dataclass(frozen=True, slots=True)
class Emit:
    """An Event to tell people about, sent off the critical path.

    One that belongs to a step is told when that step was done, even if others of its plan were not: the next turn finds it done and has
    nothing to tell. All others are told when the whole plan was carried out.
    """

    kind: AnyKind
    about: HasMetadata
    reason: str
    note: str
    type: EventType = EventType.NORMAL
    action: str = ""
    after: Step | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages of steps, notices that follow them, the instant of the next look (None: only when something changes), and lanes."""

    stages: tuple[tuple[Step, ...], ...] = ()
    emits: tuple[Emit, ...] = ()
    requeue_at: datetime | None = field(default=None)
    lanes: tuple["Plan", ...] = ()

    @property
    def steps(self) -> Iterator[Step]:
        """All steps, those of the lanes last."""
        for stage in self.stages:
            yield from stage
        for lane in self.lanes:
            yield from lane.steps

    def then(self, *steps: Step) -> "Plan":
        """Adds a stage that begins when all earlier ones have succeeded."""
        return replace(self, stages=(*self.stages, steps)) if steps else self

    def one_by_one(self, *steps: Step) -> "Plan":
        """Adds a stage for each step, in this order."""
        return replace(self, stages=(*self.stages, *((step,) for step in steps)))

    def beside(self, *lanes: "Plan") -> "Plan":
        """Adds lanes, which begin when all stages have succeeded."""
        return replace(self, lanes=(*self.lanes, *lanes))

    def tell(self, *emits: Emit) -> "Plan":
        """Adds notices."""
        return replace(self, emits=(*self.emits, *emits))

    def requeue(self, at: datetime | None) -> "Plan":
        """Asks for another look at `at`, keeping an earlier wish."""
        if at is None or (self.requeue_at is not None and self.requeue_at <= at):
            return self
        return replace(self, requeue_at=at)


NOTHING = Plan()
"""The plan of a world that is as it should be."""
