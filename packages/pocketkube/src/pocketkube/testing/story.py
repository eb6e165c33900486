"""A made-up history for tests of invariants: objects come, change and go, and an auditor is told as a run would tell it.

    story = Story(BoundOnce())
    story.tell(a_pod("web").on("node-1"))
    story.tell(a_pod("web").on("node-2"))
    assert story.broken == ["it was on node node-1 and is now on node-2"]

What is told is the whole object as it is from then on. UID and version are given as a server gives them, unless the object
brings its own; nothing else is filled in or checked, so a story can be as untrue as a test needs it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder
from pocketkube.simulation.auditing.auditor import Auditor
from pocketkube.simulation.auditing.invariant import Invariant
from pocketkube.simulation.changes import Change, Subject

START = datetime(2026, 1, 1, tzinfo=UTC)

Summary = Builder[Any]


class Story:
    """A history that some invariants listen to."""

    def __init__(self, *invariants: Invariant) -> None:
        self.now = START
        self.auditor = Auditor(invariants, START)
        self._version = 0
        self._objects: dict[Subject, dict[str, JSON]] = {}

    @property
    def broken(self) -> list[str]:
        """What is wrong so far, in the words of the invariants."""
        return [violation.sentence for violation in self.auditor.violations]

    def tell(self, *objects: Summary, by: str = "user") -> None:
        """Stores objects as they are given, new ones and changed ones."""
        for obj in objects:
            subject = _subject(obj)
            before = self._objects.get(subject)
            self._version += 1
            after = self._stamped(obj, before)
            self._objects[subject] = after
            self._note(subject, before, after, by)

    def lose(self, *objects: Summary, by: str = "user") -> None:
        """Removes objects; all that counts of them is their name."""
        for obj in objects:
            self._version += 1
            subject = _subject(obj)
            self._note(subject, self._objects.pop(subject), None, by)

    def wait(self, seconds: float) -> None:
        """Lets time pass, with a look at every instant that an invariant asked for."""
        end = self.now + timedelta(seconds=seconds)
        while (due := self.auditor.due()) is not None and due <= end:
            self.auditor.look(due)
        self.now = end
        self.auditor.look(end)

    def rest(self) -> None:
        """Ends the story."""
        self.auditor.rest(self.now)

    def note(self, change: Change) -> None:
        """Tells a commit that no server would make."""
        self.auditor.note(change)

    def _stamped(self, obj: Summary, before: Mapping[str, JSON] | None) -> dict[str, JSON]:
        uid = _meta(before).get("uid") or f"uid-{self._version}"
        given: JSON = {"uid": uid, "resourceVersion": str(self._version), **_meta(obj.json)}
        return {**obj.json, "metadata": given}

    def _note(
        self,
        subject: Subject,
        before: Mapping[str, JSON] | None,
        after: Mapping[str, JSON] | None,
        by: str,
    ) -> None:
        self.note(Change(self.now, self._version, *subject, before, after, by))


def _subject(obj: Summary) -> Subject:
    meta = _meta(obj.json)
    return Subject(str(obj.kind), str(meta.get("namespace", "")), str(meta["name"]))


def _meta(obj: Mapping[str, JSON] | None) -> dict[str, JSON]:
    meta = (obj or {}).get("metadata")
    return dict(meta) if isinstance(meta, dict) else {}
