"""Identity and metadata that every Kubernetes object shares.

Every room speaks these words: `Kind` names a resource and the Python type its objects decode to, `Key` names one
object of it. The types decode only the fields korder uses and are frozen, because one decoded object is shared by
all readers of a store; write with patches, never by sending a decoded object back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar, dataclass_transform

import msgspec

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
"""A JSON value; raw bodies are typed with it at the border and turned into structs one step later."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _BaseMeta(msgspec.StructMeta):
    """Tells type checkers once that structs made from `Base` are frozen and take keywords only."""


class Base(
    msgspec.Struct,
    metaclass=_BaseMeta,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    gc=False,
):
    """What all API structs are: frozen, camelCase on the wire, defaults left out when encoded."""


class OwnerReference(Base):
    """Who an object belongs to; deletion follows it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Base):
    """The part of `metadata` korder reads."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class ListMeta(Base):
    """`metadata` of a list: where a watch may start and how to read the next page."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class Object(Base):
    """What every object has; also a useful type for any kind of which only metadata matters."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class HasMetadata(Protocol):
    """Anything a store can hold."""

    @property
    def metadata(self) -> ObjectMeta: ...


class Key(NamedTuple):
    """The name of an object within its kind; `namespace` is empty for cluster-scoped ones."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


T = TypeVar("T", bound=HasMetadata)
T_co = TypeVar("T_co", bound=HasMetadata, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T_co]):
    """A resource of an API server and the type its objects decode to."""

    group: str
    version: str
    kind: str
    plural: str
    model: type[T_co] = field(compare=False)
    namespaced: bool = True
    resource: str = field(init=False, repr=False, compare=False)
    """How it is called among all kinds: `pods`, `deployments.apps`."""

    def __post_init__(self) -> None:
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        object.__setattr__(self, "resource", name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return self.resource


def key_of(obj: HasMetadata) -> Key:
    """Names the object within its kind."""
    return Key(obj.metadata.namespace, obj.metadata.name)


def controller_of(obj: HasMetadata) -> OwnerReference | None:
    """Finds the one owner that manages the object."""
    for ref in obj.metadata.owner_references:
        if ref.controller:
            return ref
    return None


def owned_by(obj: HasMetadata, uid: str) -> bool:
    """Says whether the owner with this UID manages the object; names are never enough."""
    owner = controller_of(obj)
    return owner is not None and owner.uid == uid


def owner_reference(kind: Kind[T], owner: T) -> OwnerReference:
    """Makes the controller reference that a child of `owner` carries."""
    return OwnerReference(
        api_version=kind.api_version,
        kind=kind.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
