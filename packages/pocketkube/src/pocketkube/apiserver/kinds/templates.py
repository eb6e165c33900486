"""Templates of pods, alone (PodTemplate) and inside of workloads, and what workloads share.

The modules of single workloads call this. Which labels a selector finds is `kubeloop.objects.selector`'s.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubeloop.objects import selector as selectors
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.podspec import (
    checks,
    defaults,
    handlers,
    internal,
    security,
    warnings,
)
from pocketkube.apiserver.kinds.strategy import Object

Values = Mapping[str, Any]

IMMUTABLE: Final = "field is immutable"
_UNMATCHED: Final = "`selector` does not match template `labels`"


class Workload(Plain):
    """A kind that makes pods; its status begins with the numbers that Go writes even if they are zero."""

    template = "spec.template"
    """Where the template stands."""
    names_pods = True
    """Whether a server warns of names that do not fit into the names of hosts."""

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        blank: Object = {"metadata": {}}
        self.read(blank)
        obj["status"] = blank.get("status") or {}

    def warnings(self, obj: Object) -> list[str]:
        name = obj["metadata"].get("name", "")
        stated = warnings.about_name(name, "Pod names and hostnames") if self.names_pods else ()
        return [*stated, *_odd(self.template, obj)]

    def warnings_of_change(self, obj: Object, old: Object) -> list[str]:
        changed = obj["metadata"].get("generation") != old["metadata"].get("generation")
        return _odd(self.template, obj) if changed else []


class PodTemplates(Plain):
    """Templates that stand alone."""

    def default(self, obj: Object) -> None:
        super().default(obj)
        complete(obj)

    def check(self, obj: Object) -> Iterator[Cause]:
        return check("template", obj.get("template") or {})

    def warnings(self, obj: Object) -> list[str]:
        return _odd("template", obj)


def _odd(path: str, obj: Object) -> list[str]:
    """What is odd about the template that stands at a path."""
    holder: Values = obj
    for member in (*path.split("."), "spec"):
        holder = holder.get(member) or {}
    return list(warnings.about(f"{path}.spec", holder))


def complete(holder: Object) -> None:
    """Fills the template of whatever holds one."""
    template = holder.setdefault("template", {})
    template.setdefault("metadata", {})
    defaults.of_template(template.setdefault("spec", {}))


def check(field: str, template: Values) -> Iterator[Cause]:
    """What is wrong with a template."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = meta.get("annotations") or {}
    yield from naming.labels(f"{field}.labels", meta.get("labels"))
    yield from naming.annotations(f"{field}.annotations", annotations)
    yield from checks.check_annotations(f"{field}.annotations", annotations, spec)
    yield from checks.check(f"{field}.spec", spec)
    yield from security.check_twice(f"{field}.spec", annotations, spec)
    if spec.get("ephemeralContainers"):
        said = "ephemeral containers not allowed in pod template"
        yield fielderrors.forbidden(f"{field}.spec.ephemeralContainers", said)


def check_lasting(field: str, template: Values, stated: str) -> Iterator[Cause]:
    """What is wrong with a template whose pods are to run for ever; `stated` is the kind that a server names."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        yield fielderrors.not_supported(f"{field}.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        said = f"activeDeadlineSeconds in {stated} is not Supported"
        yield fielderrors.forbidden(f"{field}.spec.activeDeadlineSeconds", said)


def check_selector(field: str, given: Values | None, stated: str) -> Iterator[Cause]:
    """A selector that must be there and select something; `stated` is the kind that a server names."""
    if given is None:
        yield fielderrors.required(field)
        return
    yield from naming.selector(field, given)
    if not given.get("matchLabels") and not given.get("matchExpressions"):
        said = f"empty selector is invalid for {stated}"
        yield fielderrors.written(field, internal.selector(given), said)


def check_match(field: str, chosen: selectors.Selector, template: Values) -> Iterator[Cause]:
    """Whether a selector finds the pods that the template makes."""
    labels = (template.get("metadata") or {}).get("labels")
    if not chosen.matches(labels or {}):
        yield fielderrors.invalid(f"{field}.metadata.labels", labels or None, _UNMATCHED)


def selector(given: Values | None) -> selectors.Selector | None:
    """A structured selector that can be asked; nothing if it is malformed."""
    if given is None:
        return selectors.NOTHING
    try:
        expressions = tuple(
            selectors.LabelSelectorRequirement(
                key=one.get("key", ""),
                operator=selectors.Match(one.get("operator", "")),
                values=tuple(one.get("values") or ()),
            )
            for one in given.get("matchExpressions") or ()
        )
        return selectors.from_struct(
            selectors.LabelSelector(
                match_labels=given.get("matchLabels") or {}, match_expressions=expressions
            )
        )
    except ValueError:
        return None


def check_fixed_selector(spec: Values, old: Values) -> Iterator[Cause]:
    """A selector is chosen once."""
    if spec.get("selector") != old.get("selector"):
        stated = internal.selector(spec.get("selector"))
        yield fielderrors.written("spec.selector", stated, IMMUTABLE)


def check_counts(
    status: Values, counts: Sequence[str], *, most: Sequence[str] = (), ready: str = ""
) -> Iterator[Cause]:
    """Numbers of a status: none below zero, and no part larger than the whole.

    Args:
        status: The status.
        counts: All numbers, in the order in which a server looks at them.
        most: Those that cannot be more than `replicas`.
        ready: What those that are available cannot be more than, as a server names it.
    """
    for member in counts:
        yield from handlers.not_negative(f"status.{member}", status.get(member))
    for member in most:
        if status.get(member, 0) > status.get("replicas", 0):
            said = "cannot be greater than status.replicas"
            yield fielderrors.invalid(f"status.{member}", status[member], said)
    if ready and status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        said = f"cannot be greater than {ready}"
        yield fielderrors.invalid("status.availableReplicas", status["availableReplicas"], said)


def check_collisions(status: Values, old: Values) -> Iterator[Cause]:
    """The number of collisions only grows."""
    count, before = status.get("collisionCount"), old.get("collisionCount")
    if before is not None and (count is None or count < before):
        yield fielderrors.invalid("status.collisionCount", count or 0, "cannot be decremented")
