"""Reads objects along their types, in place, into the form in which Go keeps and writes them.

`kinds.builtin` calls it for every write. Null and empty members vanish where Go omits them, others appear with Go's zero;
quantities, timestamps and base64 become canonical. An empty list counts as none, because storing makes no difference
between them. Readers are compiled per type on first use: one dictionary lookup per member, and no paths until something is wrong.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from pocketkube.apiserver.types import survey, table, values
from pocketkube.apiserver.types.mismatch import Mismatch, said, wrong
from pocketkube.apiserver.types.table import Member, Type

Unknown = list[str]
"""The paths of members nobody knows, which each struct on the way out completes."""
_Reader = Callable[[Any, Unknown], Any]
_Zero = Callable[[], Any]

_PLAIN = {"string": str, "bool": bool}
_RESOURCE_LIST = "core/v1.ResourceList"
_SCHEMA = "apiextensions/v1.JSONSchemaProps"


@cache
def of_kind(api_version: str, kind: str) -> Callable[[Any], Unknown]:
    """Makes the reader of a kind; it returns the paths of unknown members, which it took out.

    The reader raises:
        Mismatch: a value does not fit its type.
    """
    return _reading(table.kind(api_version, kind))


@cache
def converter(api_version: str, kind: str) -> Callable[[Any], str]:
    """Makes what tells why an object cannot be converted to a kind: in words, empty if it can."""
    of = table.kind(api_version, kind)

    def tell(obj: Any) -> str:
        fault = survey.first(of, obj, _read_alone)
        stated = str(fault or "")
        return (
            f"error decoding from json: {stated}" if stated.startswith("illegal base64") else stated
        )

    return tell


@cache
def of_type(name: str) -> Callable[[Any], Unknown]:
    """Makes the reader of a type by its name, such as `meta/v1.ObjectMeta`; else like `of_kind`."""
    return _reading(table.named(name))


def _reading(of: Type) -> Callable[[Any], Unknown]:
    reader = _reader(of)

    def read_or_tell(obj: Any) -> Unknown:
        unknown: Unknown = []
        try:
            reader(obj, unknown)
        except Mismatch as mismatch:
            raise survey.stopping(of, obj, _read_alone) or mismatch from None
        return unknown

    def read(obj: Any) -> Unknown:
        try:
            return read_or_tell(obj)
        except RecursionError:
            raise said("exceeded max depth") from None

    return read


def _read_alone(of: Type, value: Any) -> Any:
    return _reader(of)(value, [])


@cache
def zero(api_version: str, kind: str) -> Callable[[], Any]:
    """Makes objects of a kind that nobody has filled in."""
    return _zero(table.kind(api_version, kind))


@cache
def _reader(of: Type) -> _Reader:
    match of.form:
        case "struct":
            return _Struct(of)
        case "pointer":
            return _reader(_inner(of))
        case "list":
            return _list(of)
        case "map":
            return _map(of)
        case "@schemaorarray" | "@schemaorbool" | "@schemaorstrings":
            return _schema_or(of.form)
        case _:
            return _unaware(values.reader(of.form, of.go))


def _unaware(read: values.Reader) -> _Reader:
    """The reader of a value in which nothing can be unknown."""
    return lambda value, _: read(value)


def _inner(of: Type) -> Type:
    assert of.inner is not None  # noqa: S101 pointers, lists and maps have one
    return of.inner


def _zero(of: Type) -> _Zero:
    if of.form == "struct":
        read = _reader(of)
        return lambda: read({}, [])
    value = values.ZEROS.get(of.form)
    return lambda: value


def _zero_item(of: Type) -> _Zero:
    """What stands for null in a list or a map: storing leaves nothing else of bytes that are not there."""
    return str if of.form == "bytes" else _zero(of)


class _Struct:
    """The reader of a struct, compiled when it meets its first object: a schema contains schemas."""

    def __init__(self, of: Type) -> None:
        self._of = of
        self._plan: dict[str, tuple[type | None, _Reader, bool]] = {}
        self._always: list[tuple[str, _Zero]] = []
        self._via: dict[str, str] = {}

    def __call__(self, value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise wrong(value, self._of.go)
        if not self._via:
            self._compile()
        self._read(value, unknown)
        for name, make in self._always:
            if name not in value:
                value[name] = make()
        return value

    def _compile(self) -> None:
        for member in table.members(self._of.name):
            self._plan[member.name] = _planned(member)
            self._via[member.name] = ".".join((*member.via, member.name))
            if _is_always_there(member):
                self._always.append((member.name, _zero(member.type)))

    def _read(self, value: dict[str, Any], unknown: Unknown) -> None:
        plan = self._plan
        for name in [*value]:
            planned = plan.get(name)
            sent = value[name]
            if planned is None:
                unknown.append(name)
                del value[name]
                continue
            plain, reader, omitted = planned
            if type(sent) is not plain and sent is not None:
                kept = self._read_member(name, sent, reader, unknown)
                if kept is not sent:
                    value[name] = sent = kept
            if sent is None or (omitted and not sent):
                del value[name]

    def _read_member(self, name: str, sent: Any, reader: _Reader, unknown: Unknown) -> Any:
        known = len(unknown)
        try:
            kept = reader(sent, unknown)
        except Mismatch as mismatch:
            mismatch.inside(self._of.name.rpartition(".")[2], self._via[name])
            raise
        if len(unknown) > known:
            _complete(unknown, known, name)
        return kept


def _planned(member: Member) -> tuple[type | None, _Reader, bool]:
    """The type that needs no reader, the reader, and whether an empty value vanishes."""
    of = member.type
    pointed = _inner(of) if of.form == "pointer" else of
    empties = of.form == "list" or (member.omitempty and _can_be_empty(of))
    return _PLAIN.get(pointed.form), _reader(of), empties


def _can_be_empty(of: Type) -> bool:
    return of.form not in ("struct", "pointer") and not of.form.startswith("@")


def _is_always_there(member: Member) -> bool:
    if member.omitzero:
        return False
    return not (member.omitempty and (_can_be_empty(member.type) or member.type.form == "pointer"))


def _complete(unknown: Unknown, known: int, step: str) -> int:
    """Puts a step before the paths that were found below it."""
    for place in range(known, len(unknown)):
        path = unknown[place]
        unknown[place] = f"{step}{path}" if path.startswith("[") else f"{step}.{path}"
    return len(unknown)


def _list(of: Type) -> _Reader:
    item = _inner(of)
    reader, make, plain = _reader(item), _zero_item(item), _PLAIN.get(item.form)

    def read(value: Any, unknown: Unknown) -> Any:
        if type(value) is not list:
            raise wrong(value, of.go)
        known = len(unknown)
        for place, sent in enumerate(value):
            if type(sent) is plain:
                continue
            value[place] = make() if sent is None else reader(sent, unknown)
            if len(unknown) > known:
                known = _complete(unknown, known, f"[{place}]")
        return value

    return read


def _map(of: Type) -> _Reader:
    item = _inner(of)
    reader, make, plain = _reader(item), _zero_item(item), _PLAIN.get(item.form)
    if of.name == _RESOURCE_LIST:
        reader = _unaware(values.rounded_quantity)

    def read(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise wrong(value, of.go)
        known = len(unknown)
        for key, sent in value.items():
            if type(sent) is plain:
                continue
            value[key] = make() if sent is None else reader(sent, unknown)
            if len(unknown) > known:
                known = _complete(unknown, known, key)
        return value

    return read


def _schema_or(form: str) -> _Reader:
    """A schema, or what else stands in its place; what is unknown in there nobody tells."""

    def read(value: Any, _: Unknown) -> Any:
        schema = _reader(table.named(_SCHEMA))
        if type(value) is dict:
            return schema(value, [])
        if form == "@schemaorbool":
            if type(value) is not bool:
                raise said("boolean or JSON schema expected")
            return value
        if type(value) is not list or not value:
            return None
        texts = form == "@schemaorstrings"
        item = _reader(Type("string", "string")) if texts else schema
        return [item(each, []) for each in value]

    return read
