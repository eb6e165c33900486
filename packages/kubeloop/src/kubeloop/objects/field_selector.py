"""Field selectors: equality on a few fields the server knows, such as `spec.nodeName=node-1`.

Called by informers that watch a slice of a kind, and by fakes that have to answer them; calls nothing. Which fields may
be used depends on the kind and is the server's business; here a field that is missing counts as empty, as it does there.
"""

from collections.abc import Mapping
import re

import msgspec

_PATH = re.compile(r"[^\s\\,=!]+")
_TERM = re.compile(r"(?P<path>[^\s\\,=!]+)(?P<operator>!=|==|=)(?P<value>(?:[^\\,=]|\\[\\,=])*)")
_ESCAPED = re.compile(r"\\(.)")
_SPECIAL = re.compile(r"([\\,=])")


class InvalidFieldSelector(ValueError):
    """The text is not a field selector."""


class Term(msgspec.Struct, frozen=True, gc=False):
    """One field that must, or must not, have this value."""

    path: str
    value: str
    equal: bool = True

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path):
            raise InvalidFieldSelector(f"{self.path!r} is not the path of a field")

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.path, "") == self.value) is self.equal

    def __str__(self) -> str:
        value = _SPECIAL.sub(r"\\\1", self.value)
        return f"{self.path}{'=' if self.equal else '!='}{value}"


class FieldSelector(msgspec.Struct, frozen=True, gc=False):
    """Terms that must all hold."""

    terms: tuple[Term, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Says whether an object with these fields, by dotted path, is selected."""
        return all(term.matches(fields) for term in self.terms)

    def and_(self, other: "FieldSelector") -> "FieldSelector":
        """Selects what both select."""
        return of(*self.terms, *other.terms)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def of(*terms: Term) -> FieldSelector:
    """Makes a selector of terms, whatever their order and however often they are repeated."""
    return FieldSelector(tuple(sorted(set(terms), key=str)))


def parse(text: str) -> FieldSelector:
    """Reads the text form; empty terms, as in a trailing comma, are skipped as the server skips them."""
    terms = []
    position = 0
    while position < len(text):
        if text[position] == ",":
            position += 1
            continue
        found = _TERM.match(text, position)
        if found is None or text[found.end() : found.end() + 1] not in ("", ","):
            raise InvalidFieldSelector(
                f"{text[:256]!r} is not a field selector: cannot read {text[position:][:64]!r}"
            )
        path, operator, value = found.group("path", "operator", "value")
        terms.append(Term(path, _ESCAPED.sub(r"\1", value), operator != "!="))
        position = found.end()
    return of(*terms)
