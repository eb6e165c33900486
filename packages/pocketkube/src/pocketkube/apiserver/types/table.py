"""The types of all kinds of Kubernetes that the server serves, as facts in a text file.

`reading` compiles readers from them, `ownership` asks how lists are merged, OpenAPI is printed from them. The text is made
from the Go types by a program (its head says how); a type is looked at only when somebody asks for it, so loading costs
next to nothing. Its notation:

    Name [atomic] [kind] : member ...      a struct; kinds have `kind` and `apiVersion` besides
    Name = type                            another name, which Go shows in its messages
    name@Embedded?~:type;fact;fact=value   a member: the structs it was inlined from, ? omitempty, ~ omitzero
    *T  []T  {}T  {Key}T  bytes  @form     pointer, list, map, map with named keys, base64, a type that reads itself

Facts are `required`, how a list is merged by apply (`atomic`, `set`, `map=keys`; `atomic` also of maps and structs, `granular` against it), by
strategic merge patches (`patch=strategies`, `key=member`), `default=JSON` and `enum=values`, of the
items if it is a list or a map, with %20 for spaces.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
import hashlib
from importlib import resources
import re

_MEMBER = re.compile(r"([^@?~:]+)((?:@\w+)*)([?~]*):([^;]+)(.*)")


@dataclass(frozen=True, slots=True)
class Type:
    """How a value looks in JSON and what Go calls it.

    Attributes:
        form: `struct`, `pointer`, `list`, `map`, `bytes`, a scalar of Go (`string`, `bool`, `int32` ...), or `@quantity` and the
            like for types that read themselves.
        go: The type in messages, such as `[]v1.Container`.
        name: Where the table describes it (`core/v1.Container`); "" if it has no name.
        inner: What a pointer points to, what a list or a map holds.
    """

    form: str
    go: str
    name: str = ""
    inner: "Type | None" = None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct.

    Attributes:
        name: Its name in JSON.
        type: What it holds.
        via: The embedded structs through which Go reaches it.
        omitempty: Whether Go leaves it out when it is empty.
        omitzero: Whether Go leaves it out when it is a zero struct.
        facts: What else is known, see above; without a value it is "".
    """

    name: str
    type: Type
    via: tuple[str, ...] = ()
    omitempty: bool = False
    omitzero: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Package:
    """A Go package, whose name in OpenAPI and in messages are its own, and the `apiVersion` of its kinds."""

    name: str
    openapi: str
    go: str
    api_version: str


@dataclass(frozen=True, slots=True)
class _Line:
    package: Package
    marks: frozenset[str]
    text: str


class UnknownType(KeyError):
    """The table does not know such a type."""


def kinds() -> Iterable[tuple[str, str]]:
    """All kinds, as `apiVersion` and `kind`, with their lists and the kinds that are only sent."""
    return _kinds().keys()


@cache
def kind(api_version: str, kind: str) -> Type:
    """Finds the type of a kind.

    Raises:
        UnknownType: there is none.
    """
    name = _kinds().get((api_version, kind))
    if name is None:
        raise UnknownType(f"{kind} in {api_version}")
    return named(name)


@cache
def named(name: str) -> Type:
    """Finds a type by its name in the table."""
    line = _line(name)
    go = f"{line.package.go}.{name.rpartition('.')[2]}"
    if not line.text.startswith("= "):
        return Type("struct", go, name)
    alias = _parsed(line.text[2:], line.package)
    return Type(alias.form, go, name, alias.inner)


@cache
def members(name: str) -> tuple[Member, ...]:
    """Lists the members of a struct, in the order in which Go writes them."""
    line = _line(name)
    own = tuple(_member(text, line.package) for text in line.text.removeprefix(":").split())
    return (*_OF_KINDS, *own) if "kind" in line.marks else own


def is_atomic(name: str) -> bool:
    """Says whether a struct has one owner as a whole."""
    return "atomic" in _line(name).marks


def package(name: str) -> Package:
    """Finds the package of a type."""
    return _line(name).package


def digest() -> str:
    """Names the state of the table: what is made from it alone can be kept under this name."""
    return hashlib.sha256(_text().encode()).hexdigest()


_STRING = Type("string", "string")
_OF_KINDS = tuple(Member(each, _STRING, ("TypeMeta",), True) for each in ("kind", "apiVersion"))  # noqa: FBT003


def _member(text: str, package: Package) -> Member:
    parts = _MEMBER.fullmatch(text)
    assert parts is not None, text  # noqa: S101 the table is made by a program
    name, via, omits, type_, facts = parts.groups()
    return Member(
        name,
        _parsed(type_, package),
        tuple(via.split("@")[1:]),
        "?" in omits,
        "~" in omits,
        {fact: value for fact, _, value in (each.partition("=") for each in facts.split(";")[1:])},
    )


@cache
def _parsed(text: str, package: Package) -> Type:
    if text.startswith("*"):
        inner = _parsed(text[1:], package)
        return Type("pointer", inner.go, inner=inner)
    if text.startswith("[]"):
        inner = _parsed(text[2:], package)
        return Type("list", f"[]{_with_star(inner)}", inner=inner)
    if text.startswith("{"):
        key, _, value = text[1:].partition("}")
        inner = _parsed(value, package)
        key = _parsed(key, package).go if key else "string"
        return Type("map", f"map[{key}]{_with_star(inner)}", inner=inner)
    if text == "bytes" or text.startswith("@"):
        return Type(text, "[]uint8" if text == "bytes" else "")
    if text[0].islower() and "." not in text:
        return Type(text, text)
    return named(text if "." in text else f"{package.name}.{text}")


def _with_star(inner: Type) -> str:
    return f"*{inner.go}" if inner.form == "pointer" else inner.go


def _line(name: str) -> _Line:
    try:
        return _lines()[name]
    except KeyError:
        raise UnknownType(name) from None


@cache
def _kinds() -> Mapping[tuple[str, str], str]:
    return {
        (line.package.api_version, name.rpartition(".")[2]): name
        for name, line in _lines().items()
        if "kind" in line.marks
    }


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("types.txt").read_text("utf-8")


@cache
def _lines() -> Mapping[str, _Line]:
    lines: dict[str, _Line] = {}
    package = Package("", "", "", "")
    for text in _text().splitlines():
        if text.startswith("["):
            package = Package(*text[1:-1].split(" "))
        elif text and not text.startswith("#"):
            name, _, rest = text.partition(" ")
            if rest.startswith("= "):
                marks, body = "", rest
            else:
                marks, _, body = rest.partition(":")
            lines[f"{package.name}.{name}"] = _Line(package, frozenset(marks.split()), body)
    return lines
