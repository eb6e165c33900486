"""What a domain adds to the report: kinds of workloads, what they want, and how members that are not pods are read.

The timeline builder takes extensions. Without any it knows the workloads of Kubernetes and pods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pocketkube.simulation.changes import Change
from pocketkube.simulation.report.fields import Body
from pocketkube.simulation.report.goals import GoalReader
from pocketkube.simulation.report.usage import Occupancy
from pocketkube.simulation.report.workload_rows import Line, Name


class Rows(Protocol):
    """The rows of a report, as readers of members use them."""

    @property
    def occupancy(self) -> Occupancy:
        """What takes room on the nodes."""

    def row_of_owner(self, body: Body) -> Line | None:
        """The row of what is at the top of the owners of an object."""

    def row(self, name: Name, at: datetime) -> Line:
        """The row of this name; a new one, if there is none."""

    def leave(self, name: Name) -> None:
        """The workload is gone: its row may be folded."""


class MemberReader(Protocol):
    """Reads the members of one kind in one run."""

    def see(self, change: Change) -> None:
        """A member has changed."""

    def see_pod(self, change: Change) -> None:
        """A pod has changed whose controller is a member."""


@dataclass(frozen=True, slots=True)
class Members:
    """Objects that are counted as members of a row, as pods are.

    Attributes:
        resource: Their resource, such as `tickets.core.korder.dev`.
        kind: Their kind. Pods that such an object controls are not members themselves.
        reader: Makes the reader of a run.
    """

    resource: str
    kind: str
    reader: Callable[[Rows], MemberReader]


def _unstated(_: Body) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What a domain adds.

    Attributes:
        goals: By resource: its kind, and what reads the goal of an object.
        rows: By kind: the class of its rows, if it is another than `Line`.
        members: Kinds whose objects are members of rows.
        pod_reason: Says of a pod why it waits, as far as the domain knows; None if it does not say.
    """

    goals: Mapping[str, tuple[str, GoalReader]] = field(default_factory=dict)
    rows: Mapping[str, type[Line]] = field(default_factory=dict)
    members: tuple[Members, ...] = ()
    pod_reason: Callable[[Body], str | None] = _unstated
