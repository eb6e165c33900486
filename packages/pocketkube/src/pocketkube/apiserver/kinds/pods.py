"""Pods: how they are completed, begun, checked and changed.

`catalogue` registers the strategy; the rules about the spec are `podspec`'s, those of special paths (`binding`,
`eviction`, `resize`) stand in `podparts` and `evictions`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import podparts, podstatus
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.podspec import (
    checks,
    containers,
    defaults,
    placement,
    resources,
    security,
    updates,
    warnings,
)
from pocketkube.apiserver.kinds.strategy import Causes, Object

_DONE: Final = "Succeeded", "Failed"


class Pods(Plain):
    """The strategy of pods."""

    more_selectable: tuple[str, ...] = (
        "spec.host",
        "spec.hostNetwork",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.nominatedNodeName",
        "status.phase",
        "status.podIP",
        "status.podIPs",
    )

    def default(self, obj: Object) -> None:
        super().default(obj)
        defaults.of_pod(obj.setdefault("spec", {}))
        podstatus.default(obj)

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        spec = obj["spec"]
        status: Object = {"phase": "Pending", "qosClass": resources.service_class(spec)}
        if spec.get("schedulingGates"):
            since = obj["metadata"].get("creationTimestamp")
            times = {"lastProbeTime": None, "lastTransitionTime": since}
            status["conditions"] = [podstatus.GATED | times]
        obj["status"] = status
        placement.add_own_labels(spec, obj["metadata"].get("labels") or {})

    def check_create(self, obj: Object) -> Causes:
        spec = obj["spec"]
        causes = super().check_create(obj)
        if spec.get("ephemeralContainers"):
            causes.append(
                fielderrors.forbidden("spec.ephemeralContainers", "cannot be set on create")
            )
        if spec.get("nodeName") and spec.get("schedulingGates"):
            said = "cannot be set until all schedulingGates have been cleared"
            causes.append(fielderrors.forbidden("spec.nodeName", said))
        annotations = obj["metadata"].get("annotations") or {}
        return causes + list(security.check_twice("spec", annotations, spec))

    def check(self, obj: Object) -> Iterator[Cause]:
        return _check(obj)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from _check(obj)
        yield from check_annotations(obj, old)
        yield from updates.check(obj["spec"], old["spec"])

    def before_status(self, obj: Object, old: Object) -> None:
        super().before_status(obj, old)
        podstatus.keep(obj, old)

    def check_status(self, obj: Object, old: Object) -> Causes:
        causes = super().check_status(obj, old) + check_annotations(obj, old)
        return causes + list(podstatus.check(obj, old))

    def warnings(self, obj: Object) -> list[str]:
        name = obj["metadata"].get("name", "")
        stated = list(warnings.about_name(name, "the Pod's hostname"))
        return stated + list(warnings.about("spec", obj["spec"]))

    def warnings_of_change(self, obj: Object, old: Object) -> list[str]:
        del obj, old
        return []

    def before_part(self, part: str, obj: Object, old: Object) -> None:
        if part in podparts.PARTS:
            podparts.PARTS[part][0](obj, old)
            super().before_update(obj, old)

    def check_part(self, part: str, obj: Object, old: Object) -> Causes:
        causes = list(_check(obj)) + check_annotations(obj, old)
        return causes + list(podparts.PARTS[part][1](obj, old))

    def fields(self, obj: Object) -> Mapping[str, str]:
        addresses = (obj.get("status") or {}).get("podIPs") or [{}]
        address = addresses[0].get("ip", "")
        network = "true" if obj["spec"].get("hostNetwork") else "false"
        found = {
            "spec.host": obj["spec"].get("nodeName", ""),
            "spec.hostNetwork": network,
            "status.podIP": address,
            "status.podIPs": address,
        }
        return {**super().fields(obj), **found}

    def grace(self, obj: Object, asked: int | None) -> int:
        spec, status = obj["spec"], obj.get("status") or {}
        if not spec.get("nodeName") or status.get("phase") in _DONE:
            return 0
        seconds = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
        return 1 if seconds < 0 else int(seconds)


def _check(obj: Object) -> Iterator[Cause]:
    """What holds for new and changed pods alike."""
    spec, meta = obj["spec"], obj["metadata"]
    yield from checks.check_annotations("metadata.annotations", meta.get("annotations") or {}, spec)
    yield from checks.check("spec", spec, pod=meta.get("name", ""), of_pod=True)
    if not spec.get("serviceAccountName"):
        yield from _check_tokens(spec)
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(kind) or ()):
            yield from containers.check_image(f"spec.{kind}[{at}]", container)


def _check_tokens(spec: Object) -> Iterator[Cause]:
    for at, volume in enumerate(spec.get("volumes") or ()):
        sources = (volume.get("projected") or {}).get("sources") or ()
        for number, source in enumerate(sources):
            if source.get("serviceAccountToken") is not None:
                field = f"spec.volumes[{at}].projected.sources[{number}].serviceAccountToken"
                said = "must not be specified when serviceAccountName is not set"
                yield fielderrors.forbidden(field, said)


def check_annotations(obj: Object, old: Object) -> list[Cause]:
    """Annotations that belong to the kubelet."""
    new: Mapping[str, Any] = obj["metadata"].get("annotations") or {}
    before: Mapping[str, Any] = old["metadata"].get("annotations") or {}
    field = f"metadata.annotations[{checks.MIRROR}]"
    if checks.MIRROR in before and new.get(checks.MIRROR) != before[checks.MIRROR]:
        return [fielderrors.forbidden(field, "may not remove or update mirror pod annotation")]
    if checks.MIRROR in new and checks.MIRROR not in before:
        return [fielderrors.forbidden(field, "may not add mirror pod annotation")]
    return []
