"""CustomResourceDefinitions: their own defaults, what a server refuses, and the status it gives them.

The server's write path calls `fill_defaults` and `check` when a definition is written, after `crdshape` found it readable, and
`status_of` once it is stored. A definition whose versions all have the same schema is reported at `spec.validation`, as if it had only one; that is how a
server holds it.
"""

from collections.abc import Iterable, Iterator, Mapping
import re
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas import crdapproval, crdschemas

Definition = Mapping[str, Any]

_LABEL: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NOT_A_LABEL: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL}')"
)
_NOT_A_DOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{_PART}(\.{_PART})*')"
)
_DATA: Final = frozenset({"default", "enum", "example"})
"""Words of a schema after which anything may stand."""

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "binary", "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip


def fill_defaults(crd: dict[str, Any]) -> None:
    """What a server makes of a definition before it looks at it, in place: nulls are absent, names are complete."""
    spec = crd["spec"] = _without_nulls(crd.get("spec") or {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    for version in spec.get("versions") or ():
        version.setdefault("served", False)
        version.setdefault("storage", False)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: member for name, member in value.items() if member is not None}
        return {
            name: member if name in _DATA else _without_nulls(member)
            for name, member in kept.items()
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def check(crd: Definition) -> list[Cause]:
    """What is wrong with a definition whose defaults are filled in."""
    spec = crd.get("spec", {})
    names = spec.get("names", {})
    found = list(_name(crd, spec, names))
    found += _group_and_scope(spec)
    found += _versions(spec)
    found += _names(names)
    return found


def check_stored(crd: Definition) -> Iterator[Cause]:
    """What is wrong with the versions in which objects may be stored: none of them can go while the status names it."""
    place, stored = "status.storedVersions", (crd.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield fe.invalid(place, stored, "must have at least one stored version")
        return
    served = {version["name"]: version for version in crd["spec"].get("versions") or ()}
    for name, version in served.items():
        if version.get("storage") and name not in stored:
            yield fe.invalid(place, stored, f"must have the storage version {name}")
    for index, name in enumerate(stored):
        if name not in served:
            stated = f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            yield fe.invalid(f"{place}[{index}]", name, stated)


def _name(crd: Definition, spec: Definition, names: Definition) -> Iterator[Cause]:
    name = crd.get("metadata", {}).get("name", "")
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        yield fe.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _group_and_scope(spec: Definition) -> Iterator[Cause]:
    group, scope = spec.get("group", ""), spec.get("scope", "")
    if not group:
        yield fe.required("spec.group")
    elif not re.fullmatch(rf"{_PART}(\.{_PART})*", group):
        yield fe.invalid("spec.group", group, _NOT_A_DOMAIN)
    elif "." not in group:
        yield fe.invalid("spec.group", group, "should be a domain with at least one dot")
    if not scope:
        yield fe.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield fe.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _versions(spec: Definition) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    for index, version in enumerate(versions):
        name = version.get("name", "")
        if not re.fullmatch(_LABEL, name):
            yield fe.invalid(f"spec.versions[{index}].name", name, _NOT_A_LABEL)
            if index == 0:
                yield fe.invalid("spec.version", name, _NOT_A_LABEL)
        if not version.get("schema", {}).get("openAPIV3Schema"):
            yield fe.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if len({version.get("name") for version in versions}) < len(versions):
        yield fe.unshown("spec.versions", "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield fe.unshown("spec.versions", detail)
    yield from _per_version(versions, "schema", _schema)
    yield from _per_version(versions, "subresources", _scale)
    yield from _per_version(versions, "additionalPrinterColumns", _columns)


def _per_version(versions: list[Any], word: str, examine: Any) -> Iterator[Cause]:
    """One report where all versions say the same, otherwise one for each."""
    given = [version.get(word) for version in versions]
    if given and given[0] and all(one == given[0] for one in given):
        yield from examine(given[0], "spec.validation" if word == "schema" else f"spec.{word}")
        return
    for index, one in enumerate(given):
        if one:
            yield from examine(one, f"spec.versions[{index}].{word}")


def _schema(schema: Definition, at: str) -> Iterator[Cause]:
    if schema.get("openAPIV3Schema"):
        yield from crdschemas.check(schema["openAPIV3Schema"], f"{at}.openAPIV3Schema")


def _scale(subresources: Definition, at: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if not scale:
        return
    for word, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        path, place = scale.get(word, ""), f"{at}.scale.{word}"
        if not path:
            yield fe.required(place)
        elif not path.startswith("."):
            yield fe.invalid(place, path, "must be a simple json path starting with .")
        elif not path.startswith(f"{under}."):
            yield fe.invalid(place, path, f"should be a json path under {under}")


def _columns(columns: list[Any], at: str) -> Iterator[Cause]:
    for index, column in enumerate(columns):
        place, kind, form = f"{at}[{index}]", column.get("type", ""), column.get("format", "")
        if not column.get("name"):
            yield fe.required(f"{place}.name")
        if kind not in _COLUMN_TYPES:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield (
                fe.invalid(f"{place}.type", kind, detail)
                if kind
                else fe.required(f"{place}.type", detail)
            )
        if form and form not in _COLUMN_FORMATS:
            yield fe.invalid(f"{place}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        path = column.get("jsonPath", "")
        if not path:
            yield fe.required(f"{place}.JSONPath")
        elif not path.startswith("."):
            yield fe.invalid(
                f"{place}.JSONPath", path, "must be a simple json path starting with ."
            )


def _names(names: Definition) -> Iterator[Cause]:
    for word in ("plural", "singular", "kind", "listKind"):
        if not names.get(word):
            yield fe.required(f"spec.names.{word}")
    for word in ("plural", "singular", "kind", "listKind"):
        name, mixed = names.get(word, ""), word in ("kind", "listKind")
        if name and not re.fullmatch(_LABEL, name.lower() if mixed else name):
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            yield fe.invalid(f"spec.names.{word}", name, prefix + _NOT_A_LABEL)
    for word in ("shortNames", "categories"):
        for index, name in enumerate(names.get(word) or ()):
            if not re.fullmatch(_LABEL, name):
                yield fe.invalid(f"spec.names.{word}[{index}]", name, _NOT_A_LABEL)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield fe.invalid(
            "spec.names.listKind", names["kind"], "kind and listKind may not be the same"
        )


def status_of(crd: Definition, others: Iterable[Definition], now: str) -> dict[str, Any]:
    """The status of a definition beside all others: which names it may use, and whether it is served."""
    spec = crd["spec"]
    taken = _taken(spec["group"], crd["metadata"]["name"], others)
    conflict = _conflict(spec["names"], taken)
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    if conflict:
        reason, word = conflict
        conditions = [
            _condition("NamesAccepted", "False", reason, f'"{word}" is already in use', now),
            _condition("Established", "False", "NotAccepted", "not all names are accepted", now),
        ]
    else:
        stated = "the initial names have been accepted"
        conditions = [
            _condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
            _condition("Established", "True", "InitialNamesAccepted", stated, now),
        ]
    if crdapproval.is_protected(crd):
        reason, stated = crdapproval.state(crd)
        approved = "True" if reason == crdapproval.APPROVED else "False"
        conditions.insert(0, _condition(crdapproval.CONDITION, approved, reason, stated, now))
    accepted = {"plural": "", "kind": ""} if conflict else dict(spec["names"])
    return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def terminating(now: str) -> dict[str, Any]:
    """The condition of a definition that is being deleted."""
    stated = "CustomResource deletion is in progress"
    return _condition("Terminating", "True", "InstanceDeletionInProgress", stated, now)


def _taken(group: str, name: str, others: Iterable[Definition]) -> dict[str, set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["spec"]["group"] == group and other["metadata"]["name"] != name:
            names = (other.get("status") or {}).get("acceptedNames") or {}
            resources |= {names.get("plural", ""), names.get("singular", "")}
            resources |= set(names.get("shortNames") or ())
            kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return {"resources": resources, "kinds": kinds}


def _conflict(names: Definition, taken: Mapping[str, set[str]]) -> tuple[str, str] | None:
    wanted = [
        ("Plural", "resources", names["plural"]),
        ("Singular", "resources", names.get("singular", "")),
    ]
    wanted += [("ShortNames", "resources", short) for short in names.get("shortNames", ())]
    wanted += [("Kind", "kinds", names["kind"]), ("ListKind", "kinds", names.get("listKind", ""))]
    return next(
        (
            (f"{word}Conflict", name)
            for word, where, name in wanted
            if name and name in taken[where]
        ),
        None,
    )


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
