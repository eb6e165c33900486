"""What the auditor and the timeline are fed with: the commits of a run, one object at a time.

The engine makes a `Change` of every event in the server's log, right after its commit and before anybody else hears of it. Objects are
as they were stored. A deleted object's last state is what watches show: one that went because its last finalizer was taken off
still carries it there.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from kubeloop.objects.meta import JSON


class Change(msgspec.Struct, frozen=True):
    """One commit of one object.

    Attributes:
        at: True time: the server's.
        resource: How storage calls it: `pods`, `deployments.apps`.
        before: None if the object was created.
        after: None if it was deleted; then `before` is its last state.
        by: The caller whose request caused it: a process, or `user`.
    """

    at: datetime
    version: int
    resource: str
    namespace: str
    name: str
    before: Mapping[str, JSON] | None
    after: Mapping[str, JSON] | None
    by: str


class Subject(NamedTuple):
    """Which object something is about."""

    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource} {where}{self.name}"


def subject_of(change: Change) -> Subject:
    """Names the object that a change is about."""
    return Subject(change.resource, change.namespace, change.name)
