"""Parts of a pod with paths of their own: its place on a node, amounts changed in place, containers for debugging.

`pods` asks for the rules of `resize` and `ephemeralcontainers`, `serving.podpaths` binds. All of it is pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import copy
from typing import Any, Final

from pocketkube.apiserver import fielderrors, refusal
from pocketkube.apiserver.fielderrors import Cause, quote
from pocketkube.apiserver.kinds import podstatus
from pocketkube.apiserver.kinds.podspec import checks, internal, resources, updates

Object = dict[str, Any]
Values = Mapping[str, Any]

_RESIZABLE: Final = frozenset({"cpu", "memory"})
_KINDS: Final = "containers", "initContainers"
_ONLY: Final = "only cpu and memory resources are mutable"


def check_binding(name: str, binding: Values) -> None:
    """Refuses a binding that makes no sense.

    Raises:
        Refused: 400; a real server answers some of these with 500.
    """
    target = binding.get("target") or {}
    if (binding.get("metadata") or {}).get("name") != name:
        raise refusal.bad_request("name in URL does not match name in Binding object")
    if target.get("kind") not in (None, "", "Node"):
        known = 'supported values: "Node", "<empty>"'
        raise refusal.bad_request(
            f"target.kind: Unsupported value: {fielderrors.shown(target['kind'])}: {known}"
        )
    if not target.get("name"):
        raise refusal.bad_request("target.name: Required value")


def bind(pod: Object, binding: Values, now: str) -> None:
    """Puts a pod on a node.

    Raises:
        Refused: 409, the pod is not what the scheduler thinks it is.
    """
    meta, spec, asked = pod["metadata"], pod["spec"], binding.get("metadata") or {}
    name = meta["name"]
    _check_identity(meta, asked)
    if meta.get("deletionTimestamp"):
        raise _unbound(name, "is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _unbound(name, f"is already assigned to node {quote(spec['nodeName'])}")
    if spec.get("schedulingGates"):
        raise _unbound(name, "has non-empty .spec.schedulingGates")
    spec["nodeName"] = binding["target"]["name"]
    pod.setdefault("status", {}).pop("nominatedNodeName", None)
    for member in ("annotations", "labels"):
        if asked.get(member):
            meta[member] = {**(meta.get(member) or {}), **asked[member]}
    podstatus.condition(pod, {"type": "PodScheduled", "status": "True"}, now)


def _unbound(name: str, why: str) -> refusal.Refused:
    return refusal.conflict("pods/binding", "", name, f"pod {name} {why}")


def _check_identity(meta: Values, asked: Values) -> None:
    for member, stated in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, found = asked.get(member), meta.get(member, "")
        if wanted and wanted != found:
            key = f"/registry/pods/{meta.get('namespace', '')}/{meta['name']}"
            why = (
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: {stated} in precondition: {wanted}, {stated} in object meta: {found}"
            )
            raise refusal.conflict("pods", "", meta["name"], why)


def keep_all_but_amounts(pod: Object, old: Object) -> None:
    """Puts back what a resize cannot change; a pod with other containers is left for the checks to refuse."""
    spec, before = pod["spec"], old["spec"]
    if any(len(spec.get(kind) or ()) != len(before.get(kind) or ()) for kind in _KINDS):
        return
    kept = copy.deepcopy(before)
    for kind in _KINDS:
        if spec.get(kind):
            kept[kind] = _resized(spec[kind], kept[kind])
    _take(kept, "resources", spec)
    pod["spec"] = kept
    _keep_rest(pod, old)


def _resized(new: list[Object], old: list[Object]) -> list[Object]:
    if any(one.get("name") != other.get("name") for one, other in zip(new, old, strict=True)):
        return new
    for one, other in zip(new, old, strict=True):
        for member in ("resources", "resizePolicy"):
            _take(other, member, one)
    return old


def keep_all_but_debugging(pod: Object, old: Object) -> None:
    """Puts back everything but the containers for debugging."""
    kept = copy.deepcopy(old["spec"])
    _take(kept, "ephemeralContainers", pod["spec"])
    pod["spec"] = kept
    _keep_rest(pod, old)


def _take(target: Object, member: str, source: Values) -> None:
    if source.get(member) is None:
        target.pop(member, None)
    else:
        target[member] = source[member]


def _keep_rest(pod: Object, old: Object) -> None:
    _take(pod, "status", old)
    for member in ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"):
        _take(pod["metadata"], member, old["metadata"])


def check_debugging(pod: Object, old: Object) -> Iterator[Cause]:
    """Containers for debugging come, and never change or go."""
    if checks.MIRROR in (old["metadata"].get("annotations") or {}):
        said = "static pods do not support ephemeral containers"
        yield fielderrors.forbidden("", said)
        return
    field = "spec.ephemeralContainers"
    now = {one.get("name", ""): one for one in pod["spec"].get("ephemeralContainers") or ()}
    for one in old["spec"].get("ephemeralContainers") or ():
        name = one.get("name", "")
        stated = f"existing ephemeral containers {quote(name)} may not be"
        if name not in now:
            yield fielderrors.forbidden(field, f"{stated} removed\n")
        elif not updates.same(now[name], one):
            changes = internal.difference("EphemeralContainer", one, now[name])
            yield fielderrors.forbidden(field, f"{stated} changed\n{changes}")


def check_resize(pod: Object, old: Object) -> Iterator[Cause]:
    """Which amounts may change while a pod runs."""
    spec, before = pod["spec"], old["spec"]
    if checks.MIRROR in (old["metadata"].get("annotations") or {}):
        yield fielderrors.forbidden("", "static pods cannot be resized")
        return
    if (before.get("os") or {}).get("name") == "windows":
        yield fielderrors.forbidden("", "windows pods cannot be resized")
        return
    service = (old.get("status") or {}).get("qosClass") or resources.service_class(before)
    if service != resources.service_class(spec):
        said = "Pod QOS Class may not change as a result of resizing"
        yield fielderrors.invalid("spec", (pod.get("status") or {}).get("qosClass", ""), said)
    if not _node_can(old.get("status") or {}):
        yield fielderrors.forbidden("spec", "Pod running on node without support for resize")
    yield from _check_whole(spec.get("resources"), before.get("resources"))
    wrong = [cause for kind in _KINDS for cause in _check_order(kind, spec, before)]
    yield from wrong
    if not wrong:
        yield from _check_amounts(spec, before)


def _node_can(status: Values) -> bool:
    for one in status.get("containerStatuses") or ():
        if (one.get("state") or {}).get("running") is not None:
            return one.get("resources") is not None
    return True


def _check_whole(new: Values | None, old: Values | None) -> Iterator[Cause]:
    if old is not None and new is None:
        said = "pod-level resources cannot be removed"
        yield fielderrors.forbidden("spec.resources", said)
        return
    for kind in ("requests", "limits"):
        if (old or {}).get(kind, {}).keys() - ((new or {}).get(kind) or {}).keys():
            said = f"pod-level resource {kind} cannot be removed"
            yield fielderrors.forbidden(f"spec.resources.{kind}", said)
    if _rest(new) != _rest(old):
        yield fielderrors.forbidden("spec", f"{_ONLY} at pod-level")


def _check_order(kind: str, spec: Values, before: Values) -> Iterator[Cause]:
    new: Sequence[Values] = spec.get(kind) or ()
    old: Sequence[Values] = before.get(kind) or ()
    if len(new) != len(old):
        yield fielderrors.forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize")
        return
    for at, (one, other) in enumerate(zip(new, old, strict=True)):
        if one.get("name") != other.get("name"):
            said = f"{kind} may not be renamed or reordered on resize"
            yield fielderrors.forbidden(f"spec.{kind}[{at}].name", said)


def _check_amounts(spec: Values, before: Values) -> Iterator[Cause]:
    for kind in reversed(_KINDS):
        for at, (one, other) in enumerate(
            zip(spec.get(kind) or (), before.get(kind) or (), strict=True)
        ):
            for member in ("requests", "limits"):
                gone = resources.of(other, member).keys() - resources.of(one, member).keys()
                if gone:
                    said = f"resource {member} cannot be removed"
                    yield fielderrors.forbidden(f"spec.{kind}[{at}].resources.{member}", said)
    for kind in _KINDS:
        for at, (one, other) in enumerate(
            zip(spec.get(kind) or (), before.get(kind) or (), strict=True)
        ):
            if not updates.same(_without_amounts(one), _without_amounts(other)):
                if kind == "containers":
                    yield fielderrors.forbidden("spec", _ONLY)
                else:
                    said = (
                        "only cpu and memory resources for init or sidecar containers are mutable"
                    )
                    yield fielderrors.forbidden(f"spec.{kind}[{at}]", said)


def _without_amounts(container: Values) -> Object:
    return {**container, "resources": _rest(container.get("resources"))}


def _rest(given: Values | None) -> Object:
    """What of requests and limits may not change."""
    return {
        kind: {name: text for name, text in amounts.items() if name not in _RESIZABLE}
        for kind, amounts in (given or {}).items()
        if isinstance(amounts, dict) and any(name not in _RESIZABLE for name in amounts)
    }


Keep = Callable[[Object, Object], None]
Check = Callable[[Object, Object], Iterator[Cause]]

PARTS: Final[Mapping[str, tuple[Keep, Check]]] = {
    "resize": (keep_all_but_amounts, check_resize),
    "ephemeralcontainers": (keep_all_but_debugging, check_debugging),
}
