"""Why a configuration was not applied.

`apply` raises these; the server answers with their code, text and causes, which are those of the real server.
"""

from dataclasses import dataclass

from pocketkube.apiserver.managed_fields import fieldsets
from pocketkube.apiserver.managed_fields.fieldsets import Path
from pocketkube.apiserver.managed_fields.managers import Manager


class ApplyRefused(ValueError):
    """The configuration cannot be applied to any object; `code` is the HTTP status to answer with."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Cause:
    """A field that somebody else owns; in the answer its reason is `FieldManagerConflict`."""

    manager: Manager
    path: Path

    @property
    def field(self) -> str:
        return fieldsets.describe(self.path)

    @property
    def message(self) -> str:
        return f"conflict with {self.manager}"


class ApplyConflict(Exception):
    """Others own some of the fields with other values (409, reason Conflict); causes stand manager by manager."""

    def __init__(self, causes: tuple[Cause, ...]) -> None:
        super().__init__(_reported(causes))
        self.causes = causes


def _reported(causes: tuple[Cause, ...]) -> str:
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    lines: list[str] = []
    for place, cause in enumerate(causes):
        if place == 0 or cause.manager != causes[place - 1].manager:
            lines.append(f"conflicts with {cause.manager}:")
        lines.append(f"- {cause.field}")
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
