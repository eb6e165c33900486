"""JSON to API structs, forgiving where Kubernetes is.

`kube` decodes what a server sends through `decode`; `convert` does the same for JSON that is already parsed; `kubeloop.runtime.store` keeps
what objects have in common once, by `share`. To
Kubernetes a member that is null is a member that is absent, to msgspec it is a type error. Types that had None in every
field would push that question to all readers, so the price is paid here and only by the rare body that needs it: when
the fast path fails, nulls are dropped and the body is read once more.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kubeloop.objects.meta import JSON, Base

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


def share(new: object, like: object) -> None:
    """Lets a struct have its parts in common with another one, as far as they are equal; it is then as large as what tells them apart.

    What is read from JSON is nobody's but its reader's, and whoever keeps thousands of objects that were made from one
    template would otherwise keep the template thousands of times. Nobody can tell: structs do not change.
    """
    if not isinstance(new, msgspec.Struct) or type(new) is not type(like):
        return
    for name in new.__struct_fields__:
        mine, other = getattr(new, name), getattr(like, name)
        if mine is other:
            continue
        if mine == other and _encode(mine) == _encode(other):
            msgspec.structs.force_setattr(new, name, other)
        else:
            share(mine, other)


_encode = msgspec.json.Encoder().encode
"""Tells apart what Python takes for equal and JSON does not: true and 1, in fields that hold any JSON."""


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
