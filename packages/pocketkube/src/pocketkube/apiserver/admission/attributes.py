"""A write as admission sees it, and what a plugin of the chain is.

`serving` makes the attributes and runs the chain; plugins read the rest of the world through a `View`.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Self

import msgspec

from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Write

Object = dict[str, Any]


class Operation(StrEnum):
    """What is being done."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Rounds(msgspec.Struct):
    """How often the chain has to mutate: webhooks and policies may ask to be heard again after a change by others.

    Attributes:
        again: Whether somebody changed the object so that a second round is due.
        second: Whether this is the second round; there is no third.
        notes: What plugins remember from round to round, by their own names.
    """

    again: bool = False
    second: bool = False
    notes: dict[str, Any] = {}


class Attributes(msgspec.Struct, eq=False):
    """One write on its way.

    Attributes:
        object: What is to be stored (of a binding or eviction: that object); plugins may change or replace it while they mutate. None for deletes.
        old: What is stored; None for creates.
        options: CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as webhooks see them.
        warnings: What the client is to be told.
        alongside: Writes that have to happen with this one or not at all, such as a quota's new usage. If one of them
            conflicts, the whole request begins again.
        afterwards: What plugins wait to do until the write is over, however it ended.
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
    options: Object = {}
    warnings: list[str] = []
    alongside: list[Write] = []
    afterwards: list[Callable[[], None]] = []
    rounds: Rounds = msgspec.field(default_factory=Rounds)


class Plugin:
    """One member of the chain; all parts raise `Refused` to say no.

    Attributes:
        resources: The stored resources whose writes can concern it; none stands for all.
        operations: What has to be done to them to concern it.
    """

    resources: frozenset[str] = frozenset()
    operations: frozenset[Operation] = frozenset(Operation)

    async def mutate(self, attributes: Attributes) -> None:
        """Changes the object before it is checked."""

    async def complete(self, attributes: Attributes) -> None:
        """Adds what only the server gives, when nobody else will change the object; webhooks never see it of a new object."""

    async def validate(self, attributes: Attributes) -> None:
        """Looks at the object that would be stored."""


class _Part(NamedTuple):
    """The plugins that are asked about one sort of write."""

    changing: Sequence[Plugin]
    completing: Sequence[Plugin]
    judging: Sequence[Plugin]


class Chain:
    """All plugins, in order; most writes concern few of them."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = plugins
        self._parts: dict[tuple[str, Operation], _Part] = {}

    def admission(self, attributes: Attributes) -> "Admission":
        """The way of one write through the chain."""
        sort = attributes.resource.stored, attributes.operation
        part = self._parts.get(sort)
        if part is None:
            part = self._parts[sort] = self._part(*sort)
        return Admission(part, attributes)

    def _part(self, stored: str, operation: Operation) -> _Part:
        concerned = [
            each
            for each in self._plugins
            if operation in each.operations and (not each.resources or stored in each.resources)
        ]
        return _Part(
            [each for each in concerned if type(each).mutate is not Plugin.mutate],
            [each for each in concerned if type(each).complete is not Plugin.complete],
            [each for each in concerned if type(each).validate is not Plugin.validate],
        )


class Admission:
    """One write in the chain; as a block it ends when the write was made, refused or given up.

    What plugins hold for the write, such as their turn, they hold as long as the block lasts.
    """

    def __init__(self, part: _Part, attributes: Attributes) -> None:
        self._part = part
        self._attributes = attributes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        attributes = self._attributes
        if isinstance(error, Refused):
            error.warnings = attributes.warnings
        while attributes.afterwards:
            attributes.afterwards.pop()()

    async def mutate(self) -> None:
        """Lets all plugins change the object, a second time if one of them asks for it."""
        attributes = self._attributes
        for plugin in self._part.changing:
            await plugin.mutate(attributes)
        if attributes.rounds.again:
            attributes.rounds.second = True
            for plugin in self._part.changing:
                await plugin.mutate(attributes)
        for plugin in self._part.completing:
            await plugin.complete(attributes)

    async def validate(self) -> None:
        """Lets all plugins look at the object."""
        for plugin in self._part.judging:
            await plugin.validate(self._attributes)
