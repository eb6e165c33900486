"""JSON to API structs, forgiving where Kubernetes is.

`kube` decodes what a server sends through `decode`; `convert` does the same for JSON that is already parsed. To
Kubernetes a member that is null is a member that is absent, to msgspec it is a type error. Types that had None in every
field would push that question to all readers, so the price is paid here and only by the rare body that needs it: when
the fast path fails, nulls are dropped and the body is read once more.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from korder.api.meta import JSON, Base

if TYPE_CHECKING:
    Raw = JSON
    """A field of a struct that keeps any JSON as it is."""
else:
    # msgspec cannot follow the recursive alias; `object` makes it build the same plain values.
    Raw = object

T = TypeVar("T")


def decode(data: bytes | str, model: type[T]) -> T:
    """Reads JSON text as `model`; raises `msgspec.ValidationError` naming the path that does not fit."""
    try:
        return msgspec.json.decode(data, type=model)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(msgspec.json.decode(data, type=Raw)), model)


def convert(value: JSON, model: type[T]) -> T:
    """Reads parsed JSON as `model`, as `decode` does with text."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(value), model)


def plain(struct: Base) -> dict[str, JSON]:
    """Turns a struct into the JSON it stands for, to be part of a body."""
    value: dict[str, JSON] = msgspec.to_builtins(struct)
    return value


def names(struct: Base) -> Iterable[tuple[str, str]]:
    """The fields of a struct, as code calls them and as JSON does."""
    return zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)


def _without_nulls(value: JSON) -> JSON:
    match value:
        case dict():
            return {
                name: _without_nulls(member) for name, member in value.items() if member is not None
            }
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value
