"""What may change about the spec of a pod that exists: little, and of some things only in one direction.

`pods` calls this for updates, `podparts` for in-place resizes and containers for debugging.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import containers, internal, placement

Object = dict[str, Any]
Values = Mapping[str, Any]

_MOST: Final = 2**31 - 1
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def check(spec: Values, old: Values) -> Iterator[Cause]:
    """What is wrong with a changed spec."""
    for kind in ("containers", "initContainers"):
        new = spec.get(kind) or ()
        if len(new) != len(old.get(kind) or ()):
            said = "pod updates may not add or remove containers"
            yield fielderrors.forbidden(f"spec.{kind}", said)
            return
        for at, container in enumerate(new):
            if not container.get("image"):
                yield fielderrors.required(f"spec.{kind}[{at}].image")
            yield from containers.check_image(f"spec.{kind}[{at}]", container)
    wrong, final = _check_deadline(
        spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    )
    yield from wrong
    if final:
        return
    yield from _check_tolerations(spec.get("tolerations") or (), old.get("tolerations") or ())
    yield from _check_gates(spec.get("schedulingGates") or (), old.get("schedulingGates") or ())
    if not same(spec, old):
        yield from _check_others(spec, old)


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same: empty is as good as missing."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = {*one, *other}
        return all(same(one.get(name), other.get(name)) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (not one and not other and _emptiness(one) == _emptiness(other))


def _emptiness(value: Any) -> str:
    """Missing, an empty map and an empty list are one thing for Go; zero, "" and false are not."""
    return "" if value is None or value in ([], {}) else type(value).__name__


def _check_deadline(new: int | None, old: int | None) -> tuple[list[Cause], bool]:
    field = "spec.activeDeadlineSeconds"
    if new is None:
        said = "must not update from a positive integer to nil value"
        return (
            ([fielderrors.written(field, "null", said)], False) if old is not None else ([], False)
        )
    if not 0 <= new <= _MOST:
        return [fielderrors.invalid(field, new, naming.between(0, _MOST))], True
    if old is not None and old < new:
        return [
            fielderrors.invalid(field, new, "must be less than or equal to previous value")
        ], True
    return [], False


def _check_tolerations(new: Sequence[Values], old: Sequence[Values]) -> Iterator[Cause]:
    kept = [_patient(one) for one in new]
    if any(_patient(one) not in kept for one in old):
        said = "existing toleration can not be modified except its tolerationSeconds"
        yield fielderrors.forbidden("spec.tolerations", said)
        return
    yield from placement.check_tolerations("spec.tolerations", new)


def _patient(toleration: Values) -> Object:
    return {
        name: value for name, value in toleration.items() if name != "tolerationSeconds" and value
    }


def _check_gates(new: Sequence[Values], old: Sequence[Values]) -> Iterator[Cause]:
    known = {gate.get("name", "") for gate in old}
    added = {gate.get("name", ""): at for at, gate in enumerate(new)}
    for name, at in added.items():
        if name not in known:
            said = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield fielderrors.forbidden(f"spec.schedulingGates[{at}].name", said)


def _check_others(spec: Values, old: Values) -> Iterator[Cause]:
    """Everything that may not change at all, after what may change was put back."""
    back = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            back[kind] = [
                {**new, "image": before.get("image", "")}
                for new, before in zip(spec[kind], old[kind], strict=True)
            ]
    for member in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(back, member, old)
    patience = old.get("terminationGracePeriodSeconds")
    if patience is not None and patience < 0 and back.get("terminationGracePeriodSeconds") == 1:
        back["terminationGracePeriodSeconds"] = patience
    if old.get("schedulingGates"):
        yield from _check_gated(back, old)
    if not same(back, old):
        stated = internal.difference("PodSpec", old, back)
        said = f"pod updates may not change fields other than {_UPDATABLE}\n{stated}"
        yield fielderrors.forbidden("spec", said)


def _put_back(back: Object, member: str, old: Values) -> None:
    if old.get(member) is None:
        back.pop(member, None)
    else:
        back[member] = old[member]


def _check_gated(back: Object, old: Values) -> Iterator[Cause]:
    """A pod that is held back may become pickier about nodes, never less so."""
    new, before = back.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(new.get(key) != value for key, value in before.items()):
        said = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield fielderrors.invalid("spec.nodeSelector", new or None, said)
    _put_back(back, "nodeSelector", old)
    wanted = dict(back.get("affinity") or {})
    nodes = wanted.get("nodeAffinity")
    had = (old.get("affinity") or {}).get("nodeAffinity")
    if same(nodes, had):
        return
    yield from _check_terms(_terms(nodes), _terms(had))
    _put_back(wanted, "nodeAffinity", {"nodeAffinity": had})
    if wanted or old.get("affinity") is not None:
        back["affinity"] = wanted
    else:
        back.pop("affinity", None)


def _terms(nodes: Values | None) -> list[Object]:
    found: list[Object] = ((nodes or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    return found


def _check_terms(new: list[Object], old: list[Object]) -> Iterator[Cause]:
    field = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if old and len(old) != len(new):
        said = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield fielderrors.written(field, internal.texts("NodeSelectorTerm", new), said)
        return
    for at, (term, before) in enumerate(zip(new, old, strict=False)):
        if not _only_grew(term, before):
            said = "only additions are allowed (no mutations or deletions)"
            stated = internal.text("NodeSelectorTerm", term)
            yield fielderrors.written(f"{field}[{at}]", stated, said)


def _only_grew(term: Values, before: Values) -> bool:
    members = "matchExpressions", "matchFields"
    if not any(before.get(member) for member in members):
        return not any(term.get(member) for member in members)
    return all(
        same((term.get(member) or [])[: len(before.get(member) or [])], before.get(member) or [])
        for member in members
    )
