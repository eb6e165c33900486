"""Jobs: pods that end. `cronjobs` checks the jobs it will make with the same rules."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import jobpolicies, jobstatus, naming, templates
from pocketkube.apiserver.kinds.podspec import handlers, internal, updates
from pocketkube.apiserver.kinds.strategy import Causes, Object
from pocketkube.apiserver.kinds.templates import Workload

Values = Mapping[str, Any]

_NAMES: Final = "job-name", "batch.kubernetes.io/job-name"
_UIDS: Final = "controller-uid", "batch.kubernetes.io/controller-uid"
_MODES: Final = "NonIndexed", "Indexed"
_MANY: Final = 100_000
_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_DIRECTIVES: Final = "nodeSelector", "tolerations", "schedulingGates"


class Jobs(Workload):
    """The strategy of Jobs."""

    more_selectable: tuple[str, ...] = ("status.successful",)
    orphans = "orphan"

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        complete(spec)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        failing = spec.get("podFailurePolicy") is not None
        spec.setdefault("podReplacementPolicy", "Failed" if failing else "TerminatingOrFailed")
        labels = (spec["template"].get("metadata") or {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = labels

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        uid = meta.get("uid", "")
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        # A server holds both in one map unless the job has labels of its own.
        inherited = not meta.get("labels") or meta["labels"] is labels
        for key in _NAMES:
            labels.setdefault(key, meta.get("name", ""))
        for key in _UIDS:
            labels.setdefault(key, uid)
        if inherited:
            meta["labels"] = dict(labels)
        chosen = spec.setdefault("selector", {}).setdefault("matchLabels", {})
        chosen.setdefault(_UIDS[1], uid)

    def check(self, obj: Object) -> Iterator[Cause]:
        spec, meta = obj["spec"], obj["metadata"]
        yield from _check_generated(spec, meta)
        yield from _check_with_selector(spec)
        completions = spec.get("completions")
        if spec.get("completionMode") == "Indexed" and completions:
            last = f"{meta.get('name', '')}-{completions - 1}"
            if naming.dns_label(last):
                said = f"will not able to create pod with invalid DNS label: {last}"
                yield fielderrors.invalid("metadata.name", meta.get("name", ""), said)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        spec, before = obj["spec"], old["spec"]
        yield from self.check(obj)
        yield from _check_completions(spec, before)
        yield from templates.check_fixed_selector(spec, before)
        yield from _check_template(spec, before, _may_change(old))
        yield from _check_fixed(spec, before)

    def check_status(self, obj: Object, old: Object) -> Causes:
        return [*super().check_status(obj, old), *jobstatus.check(obj, old)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        succeeded = (obj.get("status") or {}).get("succeeded", 0)
        return {**super().fields(obj), "status.successful": str(succeeded)}

    def unselectable(self, field: str) -> str:
        return f'field label "{field}" not supported for Job'


def complete(spec: Object) -> None:
    """What the spec of a job gets wherever it stands; the one of a CronJob gets no more than this."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", 2**31 - 1 if per_index else 6)
    complete_policy(spec)


def complete_policy(spec: Object) -> None:
    """Patterns of conditions mean true ones unless they say otherwise."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    templates.complete(spec)


def check_spec(field: str, spec: Values) -> Iterator[Cause]:
    """What is wrong with the spec of a job, apart from its selector."""
    for member in _COUNTS:
        yield from handlers.not_negative(f"{field}.{member}", spec.get(member))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        said = "when maxFailedIndexes is specified"
        yield fielderrors.required(f"{field}.backoffLimitPerIndex", said)
    if spec.get("managedBy") is not None:
        yield from jobpolicies.check_manager(f"{field}.managedBy", spec["managedBy"])
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        yield fielderrors.not_supported(f"{field}.completionMode", mode, _MODES)
    if mode == "Indexed":
        yield from _check_indexed(field, spec)
    elif mode in (None, "NonIndexed"):
        for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(member) is not None:
                said = "requires indexed completion mode"
                yield fielderrors.invalid(f"{field}.{member}", spec[member], said)
    yield from jobpolicies.check(field, spec)
    yield from templates.check(f"{field}.template", spec.get("template") or {})
    yield from _check_ending(f"{field}.template.spec.restartPolicy", spec)


def _check_ending(field: str, spec: Values) -> Iterator[Cause]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        yield fielderrors.required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield fielderrors.not_supported(field, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        said = 'only "Never" is supported when podFailurePolicy is specified'
        yield fielderrors.invalid(field, policy, said)


def _check_indexed(field: str, spec: Values) -> Iterator[Cause]:
    completions, parallel = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield fielderrors.required(f"{field}.completions", "when completion mode is Indexed")
    if parallel > _MANY:
        said = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        yield fielderrors.invalid(f"{field}.parallelism", parallel, said)
    if completions is not None and failed is not None and failed > completions:
        said = "must be less than or equal to completions"
        yield fielderrors.invalid(f"{field}.maxFailedIndexes", failed, said)
    if failed is not None and failed > _MANY:
        said = f"must be less than or equal to {_MANY}"
        yield fielderrors.invalid(f"{field}.maxFailedIndexes", failed, said)
    if (completions or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            said = f"must be specified when completions is above {_MANY}"
            yield fielderrors.required(f"{field}.maxFailedIndexes", said)
        for member, number in (("parallelism", parallel), ("maxFailedIndexes", failed or 0)):
            if number > _MANY // 10:
                said = f"must be less than or equal to {_MANY // 10} when completions are above {_MANY} and used with backoff limit per index"
                yield fielderrors.invalid(f"{field}.{member}", number, said)


def _check_with_selector(spec: Values) -> Iterator[Cause]:
    yield from check_spec("spec", spec)
    given = spec.get("selector")
    if given is None:
        yield fielderrors.required("spec.selector")
    yield from naming.selector("spec.selector", given)
    chosen = templates.selector(given)
    if chosen is not None:
        yield from templates.check_match("spec.template", chosen, spec.get("template") or {})


def _check_generated(spec: Values, meta: Values) -> Iterator[Cause]:
    given = spec.get("selector")
    if spec.get("manualSelector") or given is None:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    name, uid = meta.get("name", ""), meta.get("uid", "")
    wanted = {_UIDS[0]: uid, _NAMES[0]: name, _UIDS[1]: uid, _NAMES[1]: name}
    for key, value in wanted.items():
        field = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield fielderrors.required(field, f"must be '{value}'")
        elif labels[key] != value:
            yield fielderrors.invalid(field, labels, f"must be '{value}'")
    chosen = templates.selector(given)
    if chosen is not None and not chosen.matches(wanted):
        said = "`selector` not auto-generated"
        yield fielderrors.written("spec.selector", internal.selector(given), said)


def _check_completions(spec: Values, old: Values) -> Iterator[Cause]:
    new, before = spec.get("completions"), old.get("completions")
    if new == before:
        return
    if spec.get("completionMode") != "Indexed":
        yield fielderrors.written("spec.completions", fielderrors.shown(new), templates.IMMUTABLE)
    elif new != spec.get("parallelism"):
        said = "can only be modified in tandem with spec.parallelism"
        yield fielderrors.invalid("spec.completions", new, said)


def _check_fixed(spec: Values, old: Values) -> Iterator[Cause]:
    for member, kind in (
        ("completionMode", ""),
        ("podFailurePolicy", "PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "SuccessPolicy"),
    ):
        if not updates.same(spec.get(member), old.get(member)):
            value = spec.get(member)
            stated = internal.text(kind, value) if kind else fielderrors.shown(value)
            yield fielderrors.written(f"spec.{member}", stated, templates.IMMUTABLE)


def _may_change(old: Values) -> bool:
    """Whether a job stands still, so that its pods may still be described anew."""
    spec, status = old["spec"], old.get("status") or {}
    if not spec.get("suspend") or status.get("active"):
        return False
    return not status.get("startTime") or jobstatus.is_true(status, "Suspended")


def _check_template(spec: Values, old: Values, may_change: bool) -> Iterator[Cause]:  # noqa: FBT001
    template, before = spec.get("template") or {}, old.get("template") or {}
    if not may_change:
        if not updates.same(template, before):
            stated = internal.text("PodTemplateSpec", template)
            yield fielderrors.written("spec.template", stated, templates.IMMUTABLE)
        return
    pod, was = template.get("spec") or {}, dict(before.get("spec") or {})
    for member in _DIRECTIVES:
        was[member] = pod.get(member)
    was["affinity"] = _with_nodes(was.get("affinity"), pod.get("affinity"))
    for kind in ("containers", "initContainers"):
        was[kind] = _with_resources(was.get(kind) or [], pod.get(kind) or [])
    if not updates.same(pod, was):
        stated = internal.text("PodSpec", pod)
        yield fielderrors.written("spec.template.spec", stated, templates.IMMUTABLE)


def _with_nodes(old: Values | None, new: Values | None) -> Object | None:
    kept = {**(old or {}), "nodeAffinity": (new or {}).get("nodeAffinity")}
    return {member: value for member, value in kept.items() if value is not None}


def _with_resources(old: list[Object], new: list[Object]) -> list[Object]:
    if len(old) != len(new):
        return old
    return [
        {**one, "resources": other.get("resources")}
        if one.get("name") == other.get("name")
        else one
        for one, other in zip(old, new, strict=True)
    ]
