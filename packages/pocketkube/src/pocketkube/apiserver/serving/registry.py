"""Which resources there are: those of Kubernetes, and those that definitions add and take away.

`server` finds the resource of a request here, `discovery` tells about all of them, `definitions` installs and removes.
"""

from collections.abc import Iterable, Sequence

from pocketkube.apiserver.kinds.resource import Resource


class Registry:
    """All resources by group, version and plural; `revision` counts the changes."""

    def __init__(self, builtin: Iterable[Resource]) -> None:
        self._builtin = tuple(builtin)
        self._added: dict[str, tuple[Resource, ...]] = {}
        self._groups: set[str] = set()
        self._found: dict[tuple[str, str, str], Resource] = {}
        self.revision = 0
        self._renew()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._found.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        return group in self._groups

    def install(self, source: str, resources: Sequence[Resource]) -> None:
        """Serves the resources of one definition, in place of those it had before."""
        if resources:
            self._added[source] = tuple(resources)
        else:
            self._added.pop(source, None)
        self._renew()

    def added(self, source: str) -> tuple[Resource, ...]:
        """What a definition has brought."""
        return self._added.get(source, ())

    def all(self) -> Sequence[Resource]:
        """Everything that is served, those of Kubernetes first."""
        return tuple(self._found.values())

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        return next(
            (
                each
                for each in self._found.values()
                if (each.group, each.version, each.kind) == (group, version, kind)
            ),
            None,
        )

    def _renew(self) -> None:
        self.revision += 1
        everything = (*self._builtin, *(one for added in self._added.values() for one in added))
        self._found = {(each.group, each.version, each.plural): each for each in everything}
        self._groups = {each.group for each in everything}
