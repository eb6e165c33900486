"""The owners of replicas, between an object and its Scale.

`serving.scaling` shows a Scale with the owners its object has, lets `apply` reckon on it, and brings them back. As on a real server,
whoever updated the replicas as part of the object has an entry of its own for them after any write of the Scale, and an entry that a
Scale brings has no time.
"""

from collections.abc import Mapping

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import fieldsets, managers as entries
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet, Path
from pocketkube.apiserver.managed_fields.managers import Entry, Manager

SCALE = "autoscaling/v1"

Places = Mapping[str, Path | None]
"""Where the replicas are in each version of a kind; None in a version that has no scale."""

_REPLICAS = fieldsets.of_paths([("f:spec", "f:replicas")])


def of_scale(written: JSON, places: Places) -> list[JSON]:
    """Which managers own the replicas, as `managedFields` of the Scale."""
    owners = _decoded(written)
    return entries.encode(
        {
            manager: Entry(_REPLICAS, SCALE, entry.time)
            for manager, entry in owners.items()
            if _owned(entry, places)
        }
    )


def of_object(written: JSON, scale: JSON, places: Places, api_version: str) -> list[JSON]:
    """The owners of the object, after those of its Scale have changed."""
    before, changed = _decoded(written), _decoded(scale)
    made: dict[Manager, Entry] = {}
    for manager, entry in before.items():
        if entry.version not in places:
            continue
        owned = _owned(entry, places)
        left = entry.fields if manager in changed else entry.fields - owned
        if left:
            made[manager] = (
                entry if left == entry.fields else Entry(left, entry.version, entry.time)
            )
        if owned:
            changed.pop(manager, None)
    path = places.get(api_version)
    for manager, entry in changed.items():
        if path and entry.fields & _REPLICAS:
            time = before[manager].time if manager in before else ""
            made[manager] = Entry(fieldsets.of_paths([path]), api_version, time)
    return entries.encode(made)


def _owned(entry: Entry, places: Places) -> FieldSet:
    path = places.get(entry.version)
    return entry.fields & fieldsets.of_paths([path]) if path else fieldsets.EMPTY


def _decoded(written: JSON) -> dict[Manager, Entry]:
    try:
        return entries.decode(written)
    except entries.MalformedManagers:
        return {}
