"""How objects change and go: generations, deletions that have begun, finalizers."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from kubeloop.objects.meta import JSON
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, subject_of

_UNCOUNTED: Final = frozenset({"priorityclasses.scheduling.k8s.io"})
"""Kinds that have a generation and never count it."""


class GenerationsCount(Invariant):
    """Who waits for `observedGeneration` relies on this.

    A binding does not count: it is nobody's wish. The annotations of a Deployment count unless they are written with its status.
    """

    name = "generations-count"
    promise = "A generation grows by one whenever what is wanted of the object changes or its deletion begins, and else never."
    resources = None

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both_bare()
        if old is None or new is None or change.resource in _UNCOUNTED:
            return
        was, now = old.metadata.generation, new.metadata.generation
        if not was:
            return
        begins = old.metadata.deletion_timestamp is None is not new.metadata.deletion_timestamp
        edited = _wanted(change.before, change.resource) != _wanted(change.after, change.resource)
        steps = int(begins) + int(edited)
        noted = (
            change.resource == "deployments.apps"
            and old.metadata.annotations != new.metadata.annotations
        )
        if now - was != steps and not (noted and now - was == 1):
            why = "what is wanted changed" if edited else "nothing that is wanted changed"
            why = "its deletion began" if begins else why
            stated = f"the generation went from {was} to {now} when {why}"
            yield Broken(stated, (subject_of(change),))


class DeletionIsFinal(Invariant):
    """A grace can be cut short, never lengthened; of one that is long over the timestamp may move up to now."""

    name = "deletion-is-final"
    promise = "A deletion that has begun is neither taken back nor put off."
    resources = None

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both_bare()
        if old is None or new is None or old.metadata.deletion_timestamp is None:
            return
        was, now = old.metadata.deletion_timestamp, new.metadata.deletion_timestamp
        if now is None:
            yield Broken("its deletionTimestamp is gone", (subject_of(change),))
        elif now > max(was, change.at):
            yield Broken(f"its deletionTimestamp moved from {was} to {now}", (subject_of(change),))


class FinalizersHold(Invariant):
    """What is left of an object does not say who took its last finalizer off; but that can only happen once its deletion has begun."""

    name = "finalizers-hold"
    promise = "An object with finalizers does not vanish before its deletion was announced."
    resources = None

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both_bare()
        if old is None or new is not None:
            return
        meta = old.metadata
        if meta.finalizers and meta.deletion_timestamp is None:
            stated = f"it is gone in spite of {', '.join(meta.finalizers)}"
            yield Broken(stated, (subject_of(change),))


def _wanted(obj: Mapping[str, JSON] | None, resource: str) -> dict[str, JSON]:
    """What a generation counts: all but metadata and status; a pod's node is decided, not wanted."""
    content = {
        name: value
        for name, value in (obj or {}).items()
        if name not in ("apiVersion", "kind", "metadata", "status")
    }
    if resource == "pods":
        spec = cast("Mapping[str, JSON]", content.get("spec") or {})
        content["spec"] = {name: value for name, value in spec.items() if name != "nodeName"}
    return content
