"""The parameters of the query, read and checked as the options of a verb.

Each verb asks for its own; what is wrong is told in the server's words, as an invalid object of kind `CreateOptions` and so on.
"""

from collections.abc import Sequence
import re
from typing import Any

import msgspec

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.refusal import bad_request, invalid
from pocketkube.apiserver.serving.routing import Query, Route

META = "meta.k8s.io"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_LONGEST_MANAGER = 128

Object = dict[str, Any]


class WriteOptions(msgspec.Struct, frozen=True):
    """How a write is meant."""

    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    force: bool | None = None

    def shown(self, kind: str) -> Object:
        """As webhooks see them."""
        found: Object = {"kind": kind, "apiVersion": f"{META}/v1"}
        if self.dry_run:
            found["dryRun"] = ["All"]
        if self.force is not None and kind == "PatchOptions":
            found["force"] = self.force
        if self.manager:
            found["fieldManager"] = self.manager
        if self.validation != "Warn":
            found["fieldValidation"] = self.validation
        return found


_USUAL = WriteOptions()


def write(route: Route, kind: str, *, apply: bool = False) -> WriteOptions:
    """Reads CreateOptions, UpdateOptions or PatchOptions."""
    query = route.query
    if not query and not apply:
        return _USUAL
    dry_run, manager = query.get("dryRun", ()), route.first("fieldManager")
    validation = route.first("fieldValidation")
    force = boolean(query, "force") if kind == "PatchOptions" else None
    causes = (
        list(_apply_causes(manager, force=force, apply=apply)) if kind == "PatchOptions" else []
    )
    causes += _manager(manager)
    causes += dry_runs(dry_run)
    if validation not in _VALIDATIONS:
        causes.append(fe.not_supported("fieldValidation", validation, _VALIDATIONS))
    if causes:
        raise invalid(kind, META, "", causes)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force)


def _apply_causes(manager: str, *, force: bool | None, apply: bool) -> list[Cause]:
    if apply:
        return [] if manager else [fe.required("fieldManager", "is required for apply patch")]
    return (
        [fe.forbidden("force", "may not be specified for non-apply patch")]
        if force is not None
        else []
    )


def _manager(manager: str) -> list[Cause]:
    causes = []
    if len(manager) > _LONGEST_MANAGER:
        causes.append(fe.too_long("fieldManager", _LONGEST_MANAGER))
    if manager.isprintable():
        return causes
    for position, char in enumerate(manager):
        if not char.isprintable():
            stated = f"invalid character U+{ord(char):04X} (at position {position})"
            causes.append(fe.invalid("fieldManager", manager, stated))
    return causes


def dry_runs(given: Sequence[str]) -> list[Cause]:
    """What is wrong with `dryRun`."""
    if any(each != "All" for each in given):
        return [fe.not_supported("dryRun", list(given), ("All",))]
    return []


def boolean(query: Query, name: str) -> bool | None:
    """A switch, None if it is not given."""
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def integer(query: Query, name: str) -> int | None:
    """A whole number, None if it is not given."""
    values = query.get(name)
    if not values:
        return None
    text = values[0]
    if not _INTEGER.fullmatch(text):
        raise bad_request(f"strconv.ParseInt: parsing {fe.quote(text)}: invalid syntax")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise bad_request(f"strconv.ParseInt: parsing {fe.quote(text)}: value out of range")
    return number
