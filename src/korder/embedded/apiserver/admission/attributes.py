"""A write as admission sees it, and what a plugin of the chain is.

`serving` makes the attributes and runs the chain; plugins read the rest of the world through a `View`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.kinds.resource import Resource
from korder.embedded.apiserver.refusal import Refused
from korder.embedded.apiserver.storage import Write

Object = dict[str, Any]


class Operation(StrEnum):
    """What is being done."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True)
class Rounds:
    """How often the chain has to mutate: webhooks and policies may ask to be heard again after a change by others.

    Attributes:
        again: Whether somebody changed the object so that a second round is due.
        second: Whether this is the second round; there is no third.
        notes: What plugins remember from round to round, by their own names.
    """

    again: bool = False
    second: bool = False
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Attributes:
    """One write on its way.

    Attributes:
        object: What is to be stored (of a binding or eviction: that object); plugins may change or replace it while they mutate. None for deletes.
        old: What is stored; None for creates.
        options: CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as webhooks see them.
        warnings: What the client is to be told.
        alongside: Writes that have to happen with this one or not at all, such as a quota's new usage. If one of them
            conflicts, the whole request begins again.
        afterwards: What plugins wait to do until the write is over, however it ended; `over` does it.
        rounds: Whether the plugins mutate once or twice.
    """

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    user: User
    object: Object | None = None
    old: Object | None = None
    subresource: str = ""
    dry_run: bool = False
    options: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    alongside: list[Write] = field(default_factory=list)
    afterwards: list[Callable[[], None]] = field(default_factory=list)
    rounds: Rounds = field(default_factory=Rounds)

    def over(self) -> None:
        """Says that the write was made, refused or given up."""
        while self.afterwards:
            self.afterwards.pop()()


class Plugin:
    """One member of the chain; both parts raise `Refused` to say no."""

    async def mutate(self, attributes: Attributes) -> None:
        """Changes the object before it is checked."""

    async def validate(self, attributes: Attributes) -> None:
        """Looks at the object that would be stored."""


class Chain:
    """All plugins, in order."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._changing = [each for each in plugins if type(each).mutate is not Plugin.mutate]
        self._judging = [each for each in plugins if type(each).validate is not Plugin.validate]

    async def mutate(self, attributes: Attributes) -> None:
        """Lets all plugins change the object, a second time if one of them asks for it."""
        try:
            for plugin in self._changing:
                await plugin.mutate(attributes)
            if attributes.rounds.again:
                attributes.rounds.second = True
                for plugin in self._changing:
                    await plugin.mutate(attributes)
        except Refused as refused:
            refused.warnings = attributes.warnings
            raise

    async def validate(self, attributes: Attributes) -> None:
        """Lets all plugins look at the object."""
        try:
            for plugin in self._judging:
                await plugin.validate(attributes)
        except Refused as refused:
            refused.warnings = attributes.warnings
            raise
