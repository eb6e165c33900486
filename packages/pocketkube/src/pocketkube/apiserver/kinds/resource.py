"""A resource as discovery, routing and the write path know it.

`catalogue` lists those of Kubernetes, `custom` makes one for each served version of a CustomResourceDefinition.
"""

from dataclasses import dataclass
from functools import cached_property

from pocketkube.apiserver.kinds.printer import PLAIN, Printer
from pocketkube.apiserver.kinds.strategy import Strategy

READING = "get", "list", "watch"
ALL = "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with a path of its own; its kind may be another one (`Scale`, `Eviction`)."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""
    """Group and version of its kind, if they are not those of the resource."""


@dataclass(frozen=True)
class Resource:
    """One kind in one version.

    Attributes:
        stored_as: How storage calls it, if another group keeps the objects (events); versions of one kind share them anyway.
        strategy: How its objects are read, completed and judged.
        printer: How its objects are shown in a table.
        virtual: Nothing is stored: a create is a question that is answered (reviews).
        custom: Whether it comes from a definition; its objects keep kind and version inside of lists.
        deprecation: What clients of an old version are told with every answer.
        returns_deleted: Whether a deletion is answered with the object that is gone instead of a Status.
    """

    group: str
    version: str
    kind: str
    plural: str
    strategy: Strategy
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL
    subresources: tuple[Subresource, ...] = ()
    list_kind: str = ""
    virtual: bool = False
    stored_as: str = ""
    custom: bool = False
    returns_deleted: bool = False
    deprecation: str = ""
    printer: Printer = PLAIN

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def stored(self) -> str:
        """How storage calls it."""
        if self.stored_as:
            return self.stored_as
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kept_group(self) -> str:
        """The group in which the objects are kept and judged: events are judged as those of the core."""
        return self.stored.partition(".")[2]

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)
