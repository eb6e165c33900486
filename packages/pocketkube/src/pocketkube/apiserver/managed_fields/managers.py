"""Who owns which fields: the entries of `metadata.managedFields`.

`apply` decodes them, reckons, and encodes them again. An entry is known by its manager, its operation, its subresource
and, for updates only, its version: whoever applies has one entry per subresource, however the version changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
import json
from typing import NamedTuple

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import fieldsets
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet

MOST_UPDATERS = 10
"""So many entries of updates are kept; beyond it the oldest become one entry of nobody."""

_ANCIENT = "ancient-changes"
_FORMAT = "FieldsV1"


class Operation(StrEnum):
    """How fields came to be owned."""

    APPLY = "Apply"
    UPDATE = "Update"


class MalformedManagers(ValueError):
    """What stands in `managedFields` cannot be read."""


class Manager(NamedTuple):
    """What makes an entry one entry."""

    name: str
    operation: Operation
    version: str
    subresource: str

    @property
    def identity(self) -> str:
        """Writes the text by which the real server sorts managers."""
        parts = {
            "manager": self.name,
            "operation": str(self.operation),
            "apiVersion": self.version,
            "subresource": self.subresource,
        }
        return json.dumps({key: value for key, value in parts.items() if value})

    def __str__(self) -> str:
        text = json.dumps(self.name, ensure_ascii=False)
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text + (f" using {self.version}" if self.operation is Operation.UPDATE else "")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a manager owns, in which version it said so, and when that changed last.

    `written` is how the fields stand in the object as long as they are the same: most writes leave most entries alone.
    """

    fields: FieldSet
    version: str
    time: str = ""
    written: JSON = field(default=None, compare=False)


Managers = Mapping[Manager, Entry]


def applier(name: str, subresource: str) -> Manager:
    """Names whoever applies."""
    return Manager(name, Operation.APPLY, "", subresource)


def updater(name: str, version: str, subresource: str) -> Manager:
    """Names whoever creates, updates or patches."""
    return Manager(name or "unknown", Operation.UPDATE, version, subresource)


def decode(written: JSON) -> dict[Manager, Entry]:
    """Reads `managedFields`; absent means that nobody owns anything."""
    if written is None:
        return {}
    if not isinstance(written, list):
        raise MalformedManagers("managedFields is a list")
    return dict(map(_decoded, written))


def encode(managers: Managers) -> list[JSON]:
    """Writes `managedFields`: appliers first, then by time and name."""
    ordered = sorted(
        managers.items(),
        key=lambda pair: (
            pair[0].operation,
            pair[1].time,
            pair[0].name,
            pair[1].version,
            pair[0].subresource,
        ),
    )
    return [_encoded(manager, entry) for manager, entry in ordered]


def is_reset(written: JSON) -> bool:
    """Says whether a writer asks to forget all owners: an empty list, or one empty entry."""
    return written in ([], [{}])


def deprived(managers: Managers, gone: FieldSet) -> dict[Manager, Entry]:
    """Takes fields from everybody; who owns nothing any more is no manager."""
    left = {
        manager: replace(entry, fields=entry.fields - gone, written=None)
        if entry.fields & gone
        else entry
        for manager, entry in managers.items()
    }
    return {manager: entry for manager, entry in left.items() if entry.fields}


def capped(managers: Managers) -> dict[Manager, Entry]:
    """Merges the oldest entries of updates, version by version, until few enough are left."""
    updaters = [manager for manager in managers if manager.operation is Operation.UPDATE]
    if len(updaters) <= MOST_UPDATERS:
        return dict(managers)
    updaters.sort(key=lambda manager: (managers[manager].time, manager.identity))
    kept, left = dict(managers), len(updaters)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if left <= MOST_UPDATERS:
            break
        entry = managers[manager]
        bucket = updater(_ANCIENT, entry.version, "")
        if entry.version not in first:
            first[entry.version] = manager
            continue
        gathered = kept[bucket] if bucket in kept else kept.pop(first[entry.version])
        del kept[manager]
        kept[bucket] = replace(entry, fields=entry.fields | gathered.fields, written=None)
        left -= 1
    return kept


def _decoded(entry: JSON) -> tuple[Manager, Entry]:
    if not isinstance(entry, dict):
        raise MalformedManagers("an entry of managedFields is an object")
    texts = {key: value for key, value in entry.items() if isinstance(value, str)}
    operation, version = texts.get("operation", ""), texts.get("apiVersion", "")
    if operation not in (Operation.APPLY, Operation.UPDATE):
        raise MalformedManagers("operation must be `Apply` or `Update`")
    if not version:
        raise MalformedManagers("apiVersion must not be empty")
    if texts.get("fieldsType") != _FORMAT:
        raise MalformedManagers(f"invalid fieldsType {texts.get('fieldsType', '')!r}")
    name, subresource = texts.get("manager", ""), texts.get("subresource", "")
    stated = "" if operation == Operation.APPLY else version
    manager = Manager(name, Operation(operation), stated, subresource)
    try:
        fields = fieldsets.from_json(entry.get("fieldsV1") or {})
    except fieldsets.MalformedFields as error:
        raise MalformedManagers(str(error)) from None
    return manager, Entry(fields, version, texts.get("time", ""), entry.get("fieldsV1"))


def _encoded(manager: Manager, entry: Entry) -> JSON:
    written: dict[str, JSON] = {
        "manager": manager.name,
        "operation": str(manager.operation),
        "apiVersion": entry.version,
        "time": entry.time,
        "fieldsType": _FORMAT,
        "fieldsV1": entry.written or fieldsets.to_json(entry.fields),
        "subresource": manager.subresource,
    }
    return {key: value for key, value in written.items() if value != ""}
