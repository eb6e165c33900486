"""Deployments, ReplicaSets and ReplicationControllers: a number of pods that are all alike."""

from collections.abc import Iterator
from typing import Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import rollouts, templates
from pocketkube.apiserver.kinds.podspec import handlers, internal
from pocketkube.apiserver.kinds.strategy import Causes, Object
from pocketkube.apiserver.kinds.templates import Workload

_REPLICAS: Final = "fullyLabeledReplicas", "readyReplicas", "availableReplicas"


class Deployments(Workload):
    """The strategy of Deployments."""

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        strategy = spec.setdefault("strategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        templates.complete(spec)

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        meta, before = obj["metadata"], old["metadata"]
        if (meta.get("annotations") or {}) != (before.get("annotations") or {}):
            meta["generation"] = before.get("generation", 0) + 1

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj["spec"]
        yield from handlers.not_negative("spec.replicas", spec.get("replicas"))
        yield from _check_pods(spec)
        yield from rollouts.check_deployment("spec.strategy", spec.get("strategy") or {})
        for member in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
            yield from handlers.not_negative(f"spec.{member}", spec.get(member))
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
            said = "must be greater than minReadySeconds"
            yield fielderrors.invalid("spec.progressDeadlineSeconds", deadline, said)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from self.check(obj)
        yield from templates.check_fixed_selector(obj["spec"], old["spec"])

    def before_status(self, obj: Object, old: Object) -> None:
        super().before_status(obj, old)
        if "labels" in old["metadata"]:
            obj["metadata"]["labels"] = old["metadata"]["labels"]
        else:
            obj["metadata"].pop("labels", None)

    def check_status(self, obj: Object, old: Object) -> Causes:
        status, before = obj.get("status") or {}, old.get("status") or {}
        return [
            *super().check_status(obj, old),
            *templates.check_counts(
                status,
                (
                    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                    "availableReplicas", "unavailableReplicas", "terminatingReplicas", "collisionCount",
                ),
                most=("updatedReplicas", "readyReplicas", "availableReplicas"),
                ready="readyReplicas",
            ),
            *templates.check_collisions(status, before),
        ]  # fmt: skip


class ReplicaSets(Workload):
    """The strategy of ReplicaSets."""

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        templates.complete(spec)

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj["spec"]
        yield from handlers.not_negative("spec.replicas", spec.get("replicas"))
        yield from handlers.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
        yield from _check_pods(spec)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from self.check(obj)
        yield from templates.check_fixed_selector(obj["spec"], old["spec"])

    def check_status(self, obj: Object, old: Object) -> Causes:
        return [*super().check_status(obj, old), *_check_replicas(obj)]


class ReplicationControllers(Workload):
    """The strategy of ReplicationControllers, whose selector is a plain map."""

    more_selectable: tuple[str, ...] = ("status.replicas",)
    orphans = "orphan"

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        spec.setdefault("replicas", 1)
        if spec.get("template") is not None:
            templates.complete(spec)

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj["spec"]
        yield from handlers.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
        if not spec.get("selector"):
            yield fielderrors.required("spec.selector")
        yield from handlers.not_negative("spec.replicas", spec.get("replicas"))
        template = spec.get("template")
        if template is None:
            yield fielderrors.required("spec.template")
            return
        chosen = templates.selector({"matchLabels": spec.get("selector") or {}})
        if chosen is not None:
            yield from templates.check_match("spec.template", chosen, template)
        yield from templates.check("spec.template", template)
        yield from templates.check_lasting("spec.template", template, "ReplicationController")

    def check_status(self, obj: Object, old: Object) -> Causes:
        return [*super().check_status(obj, old), *_check_replicas(obj)]


def _check_pods(spec: Object) -> Iterator[Cause]:
    """Selector and template of a Deployment or ReplicaSet; a server calls both by one name here."""
    given, template = spec.get("selector"), spec.get("template") or {}
    yield from templates.check_selector("spec.selector", given, "deployment")
    chosen = templates.selector(given)
    if chosen is None:
        stated = internal.selector(given)
        yield fielderrors.written("spec.selector", stated, "invalid label selector")
        return
    yield from templates.check_match("spec.template", chosen, template)
    yield from templates.check("spec.template", template)
    yield from templates.check_lasting("spec.template", template, "ReplicaSet")


def _check_replicas(obj: Object) -> Iterator[Cause]:
    counts = ("replicas", *_REPLICAS, "observedGeneration", "terminatingReplicas")
    return templates.check_counts(
        obj.get("status") or {}, counts, most=_REPLICAS, ready="readyReplicas"
    )
