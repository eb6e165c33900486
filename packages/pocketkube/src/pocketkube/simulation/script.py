"""What is done to a simulated cluster, and when: a list of timed deeds, written down before the run.

Generators make scripts from a seed, `korder simulate` from manifests, the shrinker makes shorter ones; `player` plays them. Scripts can
be saved as JSON and played again.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kubeloop.objects.meta import JSON

Manifest = dict[str, Any]


class _Action(msgspec.Struct, frozen=True, tag_field="deed", omit_defaults=True):
    """Something that happens."""


class Apply(_Action, frozen=True, tag="apply"):
    """A user applies a manifest."""

    manifest: Manifest


class Create(_Action, frozen=True, tag="create"):
    """A user, or a program of theirs, creates an object."""

    manifest: Manifest


class Patch(_Action, frozen=True, tag="patch"):
    """A user edits an object, by a merge patch."""

    api_version: str
    kind: str
    name: str
    patch: Manifest
    namespace: str = ""


class Delete(_Action, frozen=True, tag="delete"):
    """A user deletes an object; a grace of 0 seconds is a forced deletion, None leaves the object's own."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    grace: int | None = None


class DeletePods(_Action, frozen=True, tag="delete-pods"):
    """A user deletes pods: those with such labels, or those on a node as `kubectl drain` does; at most so many."""

    namespace: str = ""
    labels: dict[str, str] = {}
    node: str = ""
    most: int | None = None
    grace: int | None = None


class AddNode(_Action, frozen=True, tag="add-node"):
    """A machine joins: what it offers, and how it is marked."""

    name: str
    capacity: dict[str, str] = {}
    labels: dict[str, str] = {}
    taints: list[dict[str, str]] = []


class LoseNode(_Action, frozen=True, tag="lose-node"):
    """A machine loses its power."""

    name: str


class ReturnNode(_Action, frozen=True, tag="return-node"):
    """A lost machine is there again."""

    name: str


class RemoveNode(_Action, frozen=True, tag="remove-node"):
    """A machine leaves the cluster for good."""

    name: str


class SlowNode(_Action, frozen=True, tag="slow-node"):
    """From now on, pods take so many seconds to start and to stop on a machine."""

    name: str
    start: float
    stop: float


class Crash(_Action, frozen=True, tag="crash"):
    """A process ends at once, and is started again after some seconds."""

    process: str
    down: float = 5.0


class Stop(_Action, frozen=True, tag="stop"):
    """A process does not run for some seconds, without noticing."""

    process: str
    seconds: float


class JumpClock(_Action, frozen=True, tag="jump-clock"):
    """The wall clock of a process is set, forward or back."""

    process: str
    seconds: float


UserAction = Apply | Create | Patch | Delete | DeletePods
MachineAction = AddNode | LoseNode | ReturnNode | RemoveNode | SlowNode
ProcessAction = Crash | Stop | JumpClock
Action = UserAction | MachineAction | ProcessAction


class Step(msgspec.Struct, frozen=True):
    """A deed, and how many seconds after the beginning it is done."""

    at: float
    action: Action


def in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Sorts by time; deeds of one instant stay in the order given."""
    return tuple(sorted(steps, key=lambda step: step.at))


def render(steps: Sequence[Step]) -> bytes:
    """Writes a script as JSON lines."""
    return b"".join(msgspec.json.encode(step) + b"\n" for step in steps)


def parse(text: bytes) -> tuple[Step, ...]:
    """Reads a script.

    Raises:
        msgspec.ValidationError: it is none.
    """
    return tuple(msgspec.json.decode(line, type=Step) for line in text.splitlines() if line)


def kinds(steps: Iterable[Step]) -> frozenset[tuple[str, str]]:
    """Finds of which kinds objects are made: API version and kind."""
    return frozenset(
        (step.action.manifest.get("apiVersion", ""), step.action.manifest.get("kind", ""))
        for step in steps
        if isinstance(step.action, Apply | Create)
    )


def scale(kind: str, namespace: str, name: str, replicas: JSON) -> Patch:
    """A user scales a workload of the group apps."""
    return Patch("apps/v1", kind, name, {"spec": {"replicas": replicas}}, namespace)
