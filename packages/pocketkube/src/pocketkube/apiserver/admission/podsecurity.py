"""PodSecurity: pods keep to the standard that their namespace's labels name.

Pods are refused, templates of workloads are only warned about, and when a namespace becomes stricter its pods are looked at
again. The audit level is read and checked, but nothing is written: there is no audit log.
"""

from collections.abc import Sequence
import re
from typing import NamedTuple

from pocketkube.apiserver import fielderrors, refusal
from pocketkube.apiserver.admission import podstandards
from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.podcontrols import Violation
from pocketkube.apiserver.admission.verdicts import CREATE, UPDATE, items, part, written
from pocketkube.apiserver.view import View

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = "privileged", "baseline", "restricted"
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]{0,17})")
_MOST_PODS = 3000
_TEMPLATES = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_PARTS = frozenset({"", "ephemeralcontainers", "resize"})


class Standard(NamedTuple):
    """A level as of a version; None is the newest."""

    level: str = "privileged"
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    def violations(self, meta: Object, spec: Object) -> list[Violation]:
        return podstandards.violations(self.level, self.minor, meta, spec)


class Policy(NamedTuple):
    """What the labels of a namespace ask for, and what is wrong with them."""

    enforce: Standard
    warn: Standard
    causes: tuple[fielderrors.Cause, ...] = ()


_OPEN = Policy(Standard(), Standard())


class PodSecurity(Plugin):
    """Holds pods against the labels of their namespace."""

    resources = frozenset({"pods", "namespaces", *_TEMPLATES})
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def validate(self, attributes: Attributes) -> None:
        stored = attributes.resource.stored
        if stored == "pods":
            self._judge_pod(attributes)
        elif stored == "namespaces":
            self._judge_namespace(attributes)
        elif stored in _TEMPLATES and not attributes.subresource:
            self._judge_template(attributes, _TEMPLATES[stored])

    def _judge_pod(self, attributes: Attributes) -> None:
        pod = written(attributes)
        if attributes.subresource not in _PARTS:
            return
        if attributes.operation is UPDATE and not _is_significant(pod, attributes.old or {}):
            return
        policy = self._policy(attributes.namespace)
        meta, spec = part(pod, "metadata"), part(pod, "spec")
        found = policy.enforce.violations(meta, spec)
        if found:
            why = f'violates PodSecurity "{policy.enforce}": {_reported(found)}'
            raise refusal.forbidden("pods", "", attributes.name, why)
        _warn(attributes, policy.warn, meta, spec)

    def _judge_template(self, attributes: Attributes, path: tuple[str, ...]) -> None:
        template = written(attributes)
        for step in path:
            template = part(template, step)
        if template:
            policy = self._policy(attributes.namespace)
            _warn(attributes, policy.warn, part(template, "metadata"), part(template, "spec"))

    def _judge_namespace(self, attributes: Attributes) -> None:
        if attributes.subresource:
            return
        new = policy_of(written(attributes))
        old = None if attributes.operation is CREATE else policy_of(attributes.old or {})
        if new.causes and (old is None or new.causes != old.causes):
            raise refusal.invalid("Namespace", "", attributes.name, new.causes)
        if old is not None and _is_stricter(new.enforce, old.enforce):
            attributes.warnings += self._warnings(attributes.name, new.enforce)

    def _warnings(self, namespace: str, standard: Standard) -> list[str]:
        pods = _one_of_each_first(self._view.all("pods", namespace))
        offenders: dict[str, list[str]] = {}
        for pod in pods[:_MOST_PODS]:
            found = standard.violations(part(pod, "metadata"), part(pod, "spec"))
            if found:
                reasons = ", ".join(each.reason for each in found)
                offenders.setdefault(reasons, []).append(pod["metadata"]["name"])
        warnings = []
        if len(pods) > _MOST_PODS:
            warnings.append(
                f"new PodSecurity enforce level only checked against the first {_MOST_PODS} of {len(pods)} existing pods"
            )
        if offenders:
            warnings.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
            )
        return warnings + sorted(f"{_some(names)}: {what}" for what, names in offenders.items())

    def _policy(self, namespace: str) -> Policy:
        found = self._view.get("namespaces", "", namespace)
        return policy_of(found or {})


def policy_of(namespace: Object) -> Policy:
    """Reads the labels; where they cannot be read the strictest is enforced and nothing else is done."""
    labels: Object = part(part(namespace, "metadata"), "labels")
    if not any(label.startswith(_PREFIX) for label in labels):
        return _OPEN
    causes: list[fielderrors.Cause] = []
    read = {mode: _standard(labels, mode, causes) for mode in ("enforce", "audit", "warn")}
    enforce, warn = read["enforce"], read["warn"]
    if _PREFIX + "warn" not in labels and labels.get(_PREFIX + "enforce") in _LEVELS[1:]:
        has_version = _PREFIX + "warn-version" in labels
        warn = Standard(enforce.level, warn.minor if has_version else enforce.minor)
    return Policy(enforce, warn, tuple(causes))


def _standard(labels: Object, mode: str, causes: list[fielderrors.Cause]) -> Standard:
    level = labels.get(_PREFIX + mode, "privileged")
    if level not in _LEVELS:
        causes.append(_wrong(_PREFIX + mode, level, f"must be one of {', '.join(_LEVELS)}"))
        level = "restricted" if mode == "enforce" else "privileged"
    version = labels.get(f"{_PREFIX}{mode}-version", "latest")
    number = _VERSION.fullmatch(version)
    if number is None and version != "latest":
        causes.append(_wrong(f"{_PREFIX}{mode}-version", version, 'must be "latest" or "v1.x"'))
    return Standard(level, None if number is None else int(number[1]))


def _wrong(label: str, value: str, why: str) -> fielderrors.Cause:
    return fielderrors.invalid(f"metadata.labels[{label}]", value, why)


def _is_stricter(new: Standard, old: Standard) -> bool:
    """Whether pods that were allowed may no longer be."""
    if new == old or new.level == "privileged":
        return False
    return new.minor != old.minor or _LEVELS.index(new.level) > _LEVELS.index(old.level)


def _is_significant(pod: Object, old: Object) -> bool:
    """Only new containers and new images are looked at again."""
    new_spec, old_spec = part(pod, "spec"), part(old, "spec")
    for member in ("containers", "initContainers"):
        new_ones, old_ones = items(new_spec, member), items(old_spec, member)
        if [each.get("image") for each in new_ones] != [each.get("image") for each in old_ones]:
            return True
    known = {each.get("name"): each.get("image") for each in items(old_spec, "ephemeralContainers")}
    return any(
        each.get("name") not in known or each.get("image") != known[each.get("name")]
        for each in items(new_spec, "ephemeralContainers")
    )


def _one_of_each_first(pods: Sequence[Object]) -> list[Object]:
    """Pods of one owner resemble each other, so one of them speaks for all if not all can be looked at."""
    first: list[Object] = []
    others: list[Object] = []
    seen: set[str] = set()
    for pod in pods:
        owners = items(pod["metadata"], "ownerReferences")
        owner = next((each.get("uid", "") for each in owners if each.get("controller")), None)
        (others if owner in seen else first).append(pod)
        if owner is not None:
            seen.add(owner)
    return first + others


def _warn(attributes: Attributes, standard: Standard, meta: Object, spec: Object) -> None:
    found = standard.violations(meta, spec)
    if found:
        attributes.warnings.append(f'would violate PodSecurity "{standard}": {_reported(found)}')


def _reported(found: list[Violation]) -> str:
    return ", ".join(map(str, found))


def _some(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"
