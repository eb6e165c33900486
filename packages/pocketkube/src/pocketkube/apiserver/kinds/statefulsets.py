"""StatefulSets and DaemonSets: pods that are told apart by a number, or by the node they run on."""

from collections.abc import Iterator
from typing import Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming, rollouts, templates
from pocketkube.apiserver.kinds.podspec import defaults, handlers, internal, updates, volumes
from pocketkube.apiserver.kinds.strategy import Causes, Object
from pocketkube.apiserver.kinds.templates import Workload

_POLICIES: Final = "OrderedReady", "Parallel"
_KEEPING: Final = "Retain", "Delete"
_GENERATION: Final = "deprecated.daemonset.template.generation"
_CHANGEABLE: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


class StatefulSets(Workload):
    """The strategy of StatefulSets."""

    names_pods = False

    name_rule: names.NameRule = staticmethod(names.label)

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        if not spec.get("podManagementPolicy"):
            spec["podManagementPolicy"] = "OrderedReady"
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
            strategy["rollingUpdate"].setdefault("partition", 0)
            strategy["rollingUpdate"].pop("maxUnavailable", None)
        keeping = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for member in ("whenDeleted", "whenScaled"):
            keeping[member] = keeping.get(member) or "Retain"
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates") or ():
            claim.setdefault("status", {}).setdefault("phase", "Pending")
            claim.setdefault("apiVersion", "v1")
            claim.setdefault("kind", "PersistentVolumeClaim")
            defaults.of_claim_spec(claim.setdefault("spec", {}))
        templates.complete(spec)

    def check(self, obj: Object) -> Iterator[Cause]:
        yield from _check_stateful(obj["spec"], fresh=True)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        spec, before = obj["spec"], old["spec"]
        yield from _check_stateful(spec, fresh=False)
        fixed = ({*spec} | {*before}) - {*_CHANGEABLE}
        if any(not updates.same(spec.get(member), before.get(member)) for member in fixed):
            stated = ", ".join(f"'{member}'" for member in _CHANGEABLE[:-1])
            said = f"updates to statefulset spec for fields other than {stated} and 'minReadySeconds' are forbidden"
            yield fielderrors.forbidden("spec", said)

    def check_status(self, obj: Object, old: Object) -> Causes:
        status, before = obj.get("status") or {}, old.get("status") or {}
        parts = "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"
        return [
            *super().check_status(obj, old),
            *templates.check_counts(
                status,
                ("replicas", *parts, "observedGeneration", "collisionCount"),
                most=parts,
                ready="status.readyReplicas",
            ),
            *templates.check_collisions(status, before),
        ]


class DaemonSets(Workload):
    """The strategy of DaemonSets; they count changes of their template in an annotation."""

    names_pods = False

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)
        templates.complete(spec)

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        _count_template(obj, max(_template_count(obj), 1))

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        changed = not updates.same(obj["spec"].get("template"), old["spec"].get("template"))
        _count_template(obj, _template_count(old) + changed)

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj["spec"]
        given, template = spec.get("selector"), spec.get("template") or {}
        yield from naming.selector("spec.selector", given)
        chosen = templates.selector(given)
        if chosen is not None:
            yield from templates.check_match("spec.template", chosen, template)
        if given is not None and not given.get("matchLabels") and not given.get("matchExpressions"):
            said = "empty selector is invalid for daemonset"
            yield fielderrors.written("spec.selector", internal.selector(given), said)
        yield from templates.check("spec.template", template)
        yield from templates.check_lasting("spec.template", template, "DaemonSet")
        yield from handlers.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
        yield from rollouts.check_daemons("spec.updateStrategy", spec.get("updateStrategy") or {})
        limit = spec.get("revisionHistoryLimit")
        yield from handlers.not_negative("spec.revisionHistoryLimit", limit)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from templates.check_fixed_selector(obj["spec"], old["spec"])
        yield from self.check(obj)

    def check_status(self, obj: Object, old: Object) -> Causes:
        status, before = obj.get("status") or {}, old.get("status") or {}
        counts = (
            "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
            "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
            "collisionCount",
        )  # fmt: skip
        return [
            *super().check_status(obj, old),
            *templates.check_counts(status, counts),
            *templates.check_collisions(status, before),
        ]


def _template_count(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _count_template(obj: Object, count: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _GENERATION: str(count)}


def _check_stateful(spec: Object, *, fresh: bool) -> Iterator[Cause]:
    policy = spec.get("podManagementPolicy", "")
    if policy not in _POLICIES:
        said = "must be 'OrderedReady' or 'Parallel'"
        yield fielderrors.invalid("spec.podManagementPolicy", policy, said)
    yield from _check_strategy("spec.updateStrategy", spec.get("updateStrategy") or {})
    keeping = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for member in ("whenDeleted", "whenScaled"):
        if keeping.get(member) not in _KEEPING:
            where = f"spec.persistentVolumeClaimRetentionPolicy.{member}"
            yield fielderrors.not_supported(where, keeping.get(member, ""), _KEEPING)
    if fresh:
        for at, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            where = f"spec.volumeClaimTemplates[{at}].spec"
            yield from volumes.check_claim_spec(where, claim.get("spec") or {})
    for member in ("replicas", "minReadySeconds"):
        yield from handlers.not_negative(f"spec.{member}", spec.get(member))
    start = (spec.get("ordinals") or {}).get("start")
    yield from handlers.not_negative("spec.ordinals.start", start)
    if fresh and spec.get("serviceName"):
        yield from naming.named("spec.serviceName", spec["serviceName"], naming.dns_label)
    yield from _check_numbered_pods(spec)


def _check_strategy(field: str, strategy: Object) -> Iterator[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            stated = internal.text("RollingUpdateStatefulSetStrategy", rolling)
            said = "only allowed for updateStrategy 'RollingUpdate'"
            yield fielderrors.written(f"{field}.rollingUpdate", stated, said)
    elif kind == "RollingUpdate":
        where = f"{field}.rollingUpdate"
        yield from handlers.not_negative(f"{where}.partition", (rolling or {}).get("partition"))
    else:
        stated = internal.text("StatefulSetUpdateStrategy", strategy)
        yield fielderrors.written(field, stated, "must be 'RollingUpdate' or 'OnDelete'")


def _check_numbered_pods(spec: Object) -> Iterator[Cause]:
    """Selector and template; each claim counts as a volume of the pods, host names are the set's own affair."""
    given, template = spec.get("selector"), spec.get("template") or {}
    yield from templates.check_selector("spec.selector", given, "statefulset")
    chosen = templates.selector(given)
    if chosen is None:
        stated = internal.selector(given)
        yield Cause(
            field="spec.selector", reason=fielderrors.INVALID, message=f"Invalid value: {stated}"
        )
    else:
        yield from templates.check_match("spec.template", chosen, template)
        yield from templates.check("spec.template", _numbered(spec, template))
        meta = template.get("metadata") or {}
        yield from naming.labels("spec.template.labels", meta.get("labels"))
        yield from naming.annotations("spec.template.annotations", meta.get("annotations"))
    yield from templates.check_lasting("spec.template", template, "StatefulSet")


def _numbered(spec: Object, template: Object) -> Object:
    claims = [
        (claim.get("metadata") or {}).get("name", "")
        for claim in spec.get("volumeClaimTemplates") or ()
    ]
    pod = {
        member: value
        for member, value in (template.get("spec") or {}).items()
        if member not in ("hostname", "subdomain")
    }
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    others = [one for one in pod.get("volumes") or () if one.get("name") not in claims]
    return {**template, "spec": {**pod, "volumes": [*made, *others]}}
