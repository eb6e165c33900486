"""Who owns what after a write, and server-side apply.

The server calls `update` after every create, update and patch, with the object it is about to store, and `apply` for an
apply patch; both return the object with its `managedFields`. Versions of a kind share one structure here, so no field
moves when a manager wrote in another version. Defaults are the caller's: whoever updates owns the defaults of what it
sent (default first, then `update`), whoever applies does not (`apply` first, then default).
"""

from collections.abc import Mapping
from datetime import datetime

from kubeloop.objects import instant
from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import (
    creation,
    fieldsets,
    lastapplied,
    listitems,
    managers as entries,
    merging,
    typed,
)
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet
from pocketkube.apiserver.managed_fields.managers import Entry, Manager, Managers
from pocketkube.apiserver.managed_fields.refusals import ApplyConflict, ApplyRefused, Cause
from pocketkube.apiserver.managed_fields.structure import Node

Object = dict[str, JSON]

_BEFORE = "before-first-apply"

# Nobody owns what the server alone decides, nor what names the object.
_SYSTEM = fieldsets.of_paths(
    [
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", fieldsets.member(name))
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    ]
)


def update(
    endpoint: Endpoint, live: Object | None, new: Object, manager: str, now: datetime
) -> Object:
    """Writes down who owns what after a create (no live object), an update or a patch.

    Args:
        endpoint: Where the write arrived.
        live: What was stored before; None for a create.
        new: What is about to be stored, complete with defaults.
        manager: Who writes: the `fieldManager` of the request, or the user agent up to its first slash.
        now: When.
    """
    owners = _given(endpoint, live, new)
    bare = _without_managers(new)
    if live is not None and not owners:
        return bare
    if endpoint.custom and not typed.fits(endpoint.shape, endpoint.structure, bare):
        return bare
    try:
        if live is None and not owners:
            return _with_managers(bare, _created(endpoint, bare, manager, now))
        owners = _updated(endpoint, live or endpoint.empty, bare, owners, manager, now)
    except listitems.Unmergeable:
        return bare
    return _with_managers(bare, entries.capped(owners))


def apply(
    endpoint: Endpoint,
    live: Object | None,
    applied: Object,
    manager: str,
    now: datetime,
    *,
    force: bool = False,
) -> Object:
    """Applies a configuration: merges it, removes what the manager applied before and no longer does.

    Defaults follow; the configuration is taken as sent, so whoever applies does not own them. What became empty is null, and nulls
    of the configuration are kept: reading by type or schema, which follows too, decides what becomes of them.

    Args:
        endpoint: Where the patch arrived.
        live: What is stored; None if the patch creates the object.
        applied: The configuration.
        manager: The `fieldManager` of the request, which apply requires.
        now: When.
        force: Take fields over that others own with other values.

    Raises:
        ApplyConflict: others own some of the fields, and it was not forced.
        ApplyRefused: the configuration is not one.
    """
    _check(endpoint, applied, manager)
    stored = live or dict(endpoint.empty)
    try:
        owners = entries.decode(_metadata(stored).get("managedFields"))
    except entries.MalformedManagers as error:
        raise ApplyRefused(f"failed to decode managed fields: {error}", 500) from None
    bare = _without_managers(stored)
    try:
        typed.check(endpoint.shape, endpoint.structure, applied)
        if not owners:
            owners = _updated(endpoint, endpoint.empty, bare, {}, _BEFORE, now)
        merged = _applied(endpoint, bare, applied, owners, manager, now, force=force)
    except listitems.Unmergeable as error:
        raise ApplyRefused(_untyped(endpoint, applied, str(error)), 500) from None
    if manager == lastapplied.KUBECTL:
        merged = lastapplied.renewed(merged, applied)
    return merged


def keep_times(before: Object, after: Object) -> Object:
    """Takes the times of the stored object if nothing but times differs, so that the write is none."""
    old, new = _metadata(before).get("managedFields"), _metadata(after).get("managedFields")
    if not isinstance(old, list) or not isinstance(new, list):
        return after
    if list(map(_timeless, old)) != list(map(_timeless, new)):
        return after
    same = merging.same(_without_managers(before), _without_managers(after))
    return {**after, "metadata": {**_metadata(after), "managedFields": old}} if same else after


def _given(endpoint: Endpoint, live: Object | None, new: Object) -> dict[Manager, Entry]:
    """Reads the owners the writer sends along, as clients do that change what they read; else the stored ones."""
    sent = _metadata(new).get("managedFields")
    stored = _metadata(live or {}).get("managedFields")
    if not endpoint.subresource:
        if entries.is_reset(sent) and (sent or not endpoint.custom):
            return {}
        try:
            owners = entries.decode(sent)
        except entries.MalformedManagers:
            owners = {}
        if owners:
            return owners
    try:
        return entries.decode(stored)
    except entries.MalformedManagers:
        return {}


def _created(endpoint: Endpoint, new: Object, manager: str, now: datetime) -> dict[Manager, Entry]:
    """Gives a new object to the manager."""
    found = creation.fields(endpoint.structure, endpoint.empty, new)
    found = found.without(endpoint.reset) - _SYSTEM
    me = entries.updater(manager, endpoint.api_version, endpoint.subresource)
    return {me: Entry(found, endpoint.api_version, instant.render(now))} if found else {}


def _updated(
    endpoint: Endpoint,
    live: Mapping[str, JSON],
    new: Object,
    owners: Managers,
    manager: str,
    now: datetime,
) -> dict[Manager, Entry]:
    """Takes from everybody what was changed or removed, and gives what was changed to the manager."""
    old = _without_managers(dict(live))
    difference = merging.compare(endpoint.structure, old, new, endpoint.reset)
    left = entries.deprived(owners, difference.changed | difference.removed)
    fields = difference.changed - _SYSTEM
    if fields:
        me = entries.updater(manager, endpoint.api_version, endpoint.subresource)
        before = left[me].fields if me in left else fieldsets.EMPTY
        left[me] = Entry(fields | before, endpoint.api_version, instant.render(now))
    return left


def _applied(
    endpoint: Endpoint,
    live: Object,
    applied: Object,
    owners: dict[Manager, Entry],
    manager: str,
    now: datetime,
    *,
    force: bool,
) -> Object:
    node, me = endpoint.structure, entries.applier(manager, endpoint.subresource)
    merged = merging.merge(node, live, applied)
    mine = merging.fields_of(node, applied).without(endpoint.reset)
    last = owners.get(me)
    others = {other: entry for other, entry in owners.items() if other != me}
    if last is not None and last.fields - mine:
        claims = [mine, *(entry.fields for entry in others.values())]
        merged = _pruned(node, merged, last.fields, claims)
    assert isinstance(merged, dict)  # noqa: S101 two objects were merged
    difference = merging.compare(node, live, merged, endpoint.reset)
    if not force:
        _refuse_conflicts(endpoint, live, others, difference.changed, manager)
    result = entries.deprived(others, difference.changed | difference.removed)
    if mine - _SYSTEM:
        unchanged = merging.same(live, merged)
        time = (last.time if last else "") if unchanged else instant.render(now)
        result[me] = Entry(mine - _SYSTEM, endpoint.api_version, time)
    return _with_managers(merged, result)


def _pruned(node: Node, merged: JSON, last: FieldSet, claims: list[FieldSet]) -> JSON:
    """Removes what was applied last time and is claimed by nobody now, but nothing that was not applied then."""
    before = merging.with_structs(node, last)
    pruned = merging.remove(node, merged, before)
    everything = merging.with_structs(node, merging.fields_of(node, merged))
    claimed = merging.with_structs(node, _union(claims))
    left = merging.with_structs(node, merging.fields_of(node, pruned))
    pruned = merging.remove(node, merged, everything - (left | claimed))
    left = merging.with_structs(node, merging.fields_of(node, pruned))
    return merging.remove(node, merged, (everything - left) & before)


def _union(sets: list[FieldSet]) -> FieldSet:
    union = fieldsets.EMPTY
    for fields in sets:
        union |= fields
    return union


def _refuse_conflicts(
    endpoint: Endpoint, live: Object, others: Managers, changed: FieldSet, manager: str
) -> None:
    conflicts = {other: entry.fields & changed for other, entry in others.items()}
    allowed = fieldsets.EMPTY
    if manager == lastapplied.KUBECTL and any(conflicts.values()):
        allowed = lastapplied.still_true(endpoint.structure, endpoint.api_version, live)
    causes = tuple(
        Cause(other, path)
        for other in sorted(conflicts, key=lambda other: other.identity)
        for path in (conflicts[other] - allowed).paths()
    )
    if causes:
        raise ApplyConflict(causes)


def _check(endpoint: Endpoint, applied: Object, manager: str) -> None:
    if not manager:
        raise ApplyRefused(
            'PatchOptions.meta.k8s.io "" is invalid: '
            "fieldManager: Required value: is required for apply patch",
            422,
        )
    if applied.get("apiVersion") != endpoint.api_version or applied.get("kind") != endpoint.kind:
        said = [applied.get(member) for member in ("apiVersion", "kind")]
        api_version, kind = (each if isinstance(each, str) else "" for each in said)
        group, _, version = api_version.rpartition("/")
        raise ApplyRefused(f"invalid object type: {group}/{version}, Kind={kind}")
    if _metadata(applied).get("managedFields") is not None:
        raise ApplyRefused("metadata.managedFields must be nil")


def _untyped(endpoint: Endpoint, applied: Object, message: str) -> str:
    group, _, version = endpoint.api_version.rpartition("/")
    metadata = _metadata(applied)
    said = [metadata.get(member) for member in ("namespace", "name")]
    name = "/".join(each if isinstance(each, str) else "" for each in said)
    kind = f"{group}/{version}, Kind={endpoint.kind}"
    return f"failed to create typed patch object ({name}; {kind}): {message}"


def _metadata(obj: Mapping[str, JSON]) -> Object:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _without_managers(obj: Object) -> Object:
    metadata = {key: value for key, value in _metadata(obj).items() if key != "managedFields"}
    return {**obj, "metadata": metadata} if "metadata" in obj else obj


def _with_managers(obj: Object, owners: Managers) -> Object:
    if not owners:
        return obj
    return {**obj, "metadata": {**_metadata(obj), "managedFields": entries.encode(owners)}}


def _timeless(entry: JSON) -> JSON:
    return (
        {key: value for key, value in entry.items() if key != "time"}
        if isinstance(entry, dict)
        else entry
    )
