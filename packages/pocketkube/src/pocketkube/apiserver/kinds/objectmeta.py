"""What is wrong with the metadata of an object, for all kinds, in the words of a server.

Strategies call `created` and `updated` from their checks; the types of the members were checked when the object was read.
A server looks two or three times at the metadata of an update and repeats its causes; here each is told once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming

Meta = Mapping[str, Any]

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", ORPHAN, FOREGROUND})
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_OWNER_MEMBERS: Final = ("apiVersion", "kind", "name", "uid")


@dataclass(frozen=True, slots=True)
class Rules:
    """What a kind asks of metadata.

    Attributes:
        name: What its objects may be called.
        namespaced: Whether they live in namespaces.
        qualified_finalizers: Whether a finalizer without a domain must be one of Kubernetes itself.
    """

    name: names.NameRule = names.subdomain
    namespaced: bool = True
    qualified_finalizers: bool = True


def created(meta: Meta, rules: Rules) -> list[Cause]:
    """What is wrong with the metadata of a new object, whose name has been generated if it was asked for."""
    found = list(_name(meta, rules.name))
    found += _namespace(meta, namespaced=rules.namespaced)
    found += _members(meta, rules)
    return found


def updated(meta: Meta, old: Meta, rules: Rules) -> list[Cause]:
    """What is wrong with the metadata of a changed object."""
    found = list(_members(meta, rules))
    if "deletionTimestamp" in old:
        found += _no_new_finalizers(meta, old)
    if not meta.get("resourceVersion"):
        found.append(fe.invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if meta.get("generation", 0) < old.get("generation", 0):
        found.append(
            fe.invalid("metadata.generation", meta.get("generation", 0), "must not be decremented")
        )
    for member in _IMMUTABLE:
        if meta.get(member) != old.get(member):
            found.append(immutable(f"metadata.{member}", meta.get(member)))
    return found


def immutable(field: str, value: Any) -> Cause:
    """A value that was changed and cannot be."""
    return fe.invalid(field, value, "field is immutable")


def finalizer(name: str, field: str) -> Iterator[Cause]:
    """What is wrong with one finalizer that stands outside of the metadata."""
    yield from naming.named(field, name, naming.label_key)
    yield from _qualified(name, field)


def _name(meta: Meta, rule: names.NameRule) -> Iterator[Cause]:
    generated, name = meta.get("generateName", ""), meta.get("name", "")
    if generated:
        for stated in rule(generated, beginning=True):
            yield fe.invalid("metadata.generateName", generated, stated)
    if not name:
        yield fe.required("metadata.name", "name or generateName is required")
    else:
        for stated in rule(name):
            yield fe.invalid("metadata.name", name, stated)


def _namespace(meta: Meta, *, namespaced: bool) -> Iterator[Cause]:
    namespace = meta.get("namespace", "")
    if namespaced and not namespace:
        yield fe.required("metadata.namespace")
    elif namespaced:
        for stated in names.label(namespace):
            yield fe.invalid("metadata.namespace", namespace, stated)
    elif namespace:
        yield fe.forbidden("metadata.namespace", "not allowed on this type")


def _members(meta: Meta, rules: Rules) -> Iterator[Cause]:
    if (meta.get("generation") or 0) < 0:
        yield fe.invalid(
            "metadata.generation", meta["generation"], "must be greater than or equal to 0"
        )
    if "labels" in meta:
        yield from naming.labels("metadata.labels", meta["labels"])
    if "annotations" in meta:
        yield from naming.annotations("metadata.annotations", meta["annotations"])
    if "ownerReferences" in meta:
        yield from _owners(meta["ownerReferences"])
    if "finalizers" in meta:
        yield from _finalizers(meta["finalizers"], qualified=rules.qualified_finalizers)


def _owners(owners: Sequence[Meta]) -> Iterator[Cause]:
    place, controller = "metadata.ownerReferences", ""
    for owner in owners:
        yield from _owner(owner, place)
        if not owner.get("controller"):
            continue
        this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            stated = f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {this}'
            yield _ordered(place, [_complete(each) for each in owners], stated)
        controller = controller or this


def _owner(owner: Meta, place: str) -> Iterator[Cause]:
    version = owner.get("apiVersion", "")
    if not version or version.endswith("/") or version.count("/") > 1:
        yield fe.invalid(f"{place}.apiVersion", version, "version must not be empty")
    for member in ("kind", "name", "uid"):
        if not owner.get(member):
            yield fe.invalid(f"{place}.{member}", "", "must not be empty")
    if (version, owner.get("kind")) == ("v1", "Event"):
        stated = "/v1, Kind=Event is disallowed from being an owner"
        yield _ordered(place, _complete(owner), stated)


def _complete(owner: Meta) -> Meta:
    """A reference with the members that are always written, in the order in which they are written."""
    order = (*_OWNER_MEMBERS, "controller", "blockOwnerDeletion")
    found = {**dict.fromkeys(_OWNER_MEMBERS, ""), **owner}
    return {member: found[member] for member in order if member in found}


def _ordered(place: str, value: Any, stated: str) -> Cause:
    return fe.unshown(place, f"{fe.in_order(value)}: {stated}")


def _finalizers(finalizers: Sequence[str], *, qualified: bool) -> Iterator[Cause]:
    place = "metadata.finalizers"
    for each in finalizers:
        yield from naming.named(place, each, naming.label_key)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        stated = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        yield fe.invalid(place, list(finalizers), stated)
    for index, each in enumerate(finalizers) if qualified else ():
        yield from _qualified(each, f"{place}[{index}]")


def _qualified(finalizer: str, field: str) -> Iterator[Cause]:
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        stated = "name is neither a standard finalizer name nor is it fully qualified"
        yield fe.invalid(field, finalizer, stated)


def plain_finalizers(finalizers: Iterable[str]) -> list[str]:
    """What to tell about finalizers of a custom kind that have no domain."""
    stated = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    return [
        f"metadata.finalizers: {fe.quote(each)}: {stated}"
        for each in sorted(set(finalizers))
        if "/" not in each and each not in _STANDARD_FINALIZERS
    ]


def _no_new_finalizers(meta: Meta, old: Meta) -> Iterator[Cause]:
    new = sorted(set(meta.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if new:
        listed = ", ".join(fe.quote(each) for each in new)
        stated = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
        yield fe.forbidden("metadata.finalizers", stated)
