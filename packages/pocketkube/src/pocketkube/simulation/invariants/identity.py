"""Versions and UIDs: what every reader of the API builds on."""

from collections.abc import Iterable, Mapping
from typing import cast

from kubeloop.objects.meta import JSON
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

_REMEMBERED = 10_000


def _stamps(obj: Mapping[str, JSON] | None) -> tuple[str, str]:
    """The UID and version that an object carries."""
    meta = cast("Mapping[str, str]", (obj or {}).get("metadata") or {})
    return meta.get("uid", ""), meta.get("resourceVersion", "")


class VersionsGrow(Invariant):
    """One history for everybody: each commit has a version of its own and replaces what was committed last."""

    name = "versions-grow"
    promise = "Every commit has a higher version than all before it, carries it, and replaces exactly what was there."
    resources = None

    def __init__(self) -> None:
        self._highest = 0

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        if change.version <= self._highest:
            stated = f"version {change.version} came after {self._highest}"
            yield Broken(stated, (subject_of(change),))
        self._highest = max(self._highest, change.version)
        _, carried = _stamps(change.after)
        if change.after is not None and carried != str(change.version):
            stated = f"version {change.version} was stored with {carried or 'none'}"
            yield Broken(stated, (subject_of(change),))
        held, _ = view.both_bare()
        was = held.metadata.resource_version if held is not None else ""
        _, said = _stamps(change.before)
        if change.after is not None and was != said:
            stated = f"version {change.version} replaced {said or 'nothing'}, but {was or 'nothing'} was there"
            yield Broken(stated, (subject_of(change),))


class UidsAreForever(Invariant):
    """A UID is one life of one object. Of the dead only the last ten thousand are remembered."""

    name = "uids-are-forever"
    promise = "An object keeps its UID as long as it lives, and nothing else ever gets it."
    resources = None

    def __init__(self) -> None:
        self._living: dict[str, Subject] = {}
        self._dead: dict[str, None] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        about = subject_of(change)
        old, new = view.both_bare()
        if new is not None and not new.metadata.uid:
            yield Broken("it has no UID", (about,))
        if old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            stated = f"UID {old.metadata.uid} became {new.metadata.uid}"
            yield Broken(stated, (about,))
        if old is None and new is not None:
            yield from self._born(new.metadata.uid, about)
        if old is not None and new is None:
            self._bury(old.metadata.uid)

    def _born(self, uid: str, about: Subject) -> Iterable[Broken]:
        twin = self._living.setdefault(uid, about)
        if uid in self._dead:
            yield Broken(f"UID {uid} belonged to an object that is gone", (about,))
        elif twin != about:
            yield Broken(f"UID {uid} is that of {twin}", (about, twin))

    def _bury(self, uid: str) -> None:
        self._living.pop(uid, None)
        self._dead[uid] = None
        if len(self._dead) > _REMEMBERED:
            del self._dead[next(iter(self._dead))]
