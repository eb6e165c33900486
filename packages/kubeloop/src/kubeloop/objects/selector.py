"""Label selectors: which objects are meant.

Called by informers, rules and the proxy; calls nothing. A selector is a set of requirements that must all hold, never a
map by key: joining two selectors keeps every requirement of both, so a contradiction selects nothing instead of one
side overriding the other. Kubernetes' "select nothing" prints as the empty text, which a server reads as "everything";
here `NOTHING` is an ordinary contradiction and stays one on the wire.
"""

from collections.abc import Mapping
from enum import StrEnum
import re

import msgspec

from kubeloop.objects.meta import Base

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_INTEGER = re.compile(r"[+-]?[0-9]+")

# Possessive quantifiers: a bad text fails at once, not after all ways to split its blanks have been tried.
_BLANK, _WORD = r"[ \t\r\n]*+", r"[^ \t\r\n=!(),<>]++"
_REQUIREMENT = re.compile(
    rf"{_BLANK}(?:!{_BLANK}(?P<absent>{_WORD})"
    rf"|(?P<key>{_WORD}){_BLANK}(?:"
    rf"(?P<compare>==|=|!=|<|>){_BLANK}(?P<value>(?:{_WORD})?)"
    rf"|(?P<member>in|notin){_BLANK}\((?P<values>{_BLANK}(?:{_WORD})?(?:{_BLANK},{_BLANK}(?:{_WORD})?)*){_BLANK}\)"
    rf")?){_BLANK}"
)


class InvalidSelector(ValueError):
    """The selector is not one an API server accepts."""


class Operator(StrEnum):
    """How a requirement looks at its key, as written in the text form (`==` is read as `=`)."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = ">"
    LESS = "<"


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One demand on the labels of an object; valid by construction."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _check_key(self.key)
        _check_count(self)
        for value in sorted(self.values):
            _check_value(self.key, value)
        if self.operator in (Operator.GREATER, Operator.LESS):
            (bound,) = self.values
            if _integer(bound) is None:
                raise InvalidSelector(
                    f"{self.key}: {self.operator} needs an integer, not {bound!r}"
                )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Says whether the labels meet the demand; `!=` and `notin` are met by a label that is missing."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.IN:
                return value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        (bound,) = self.values
        number = _integer(value)
        if number is None:
            return False
        return number > int(bound) if self.operator is Operator.GREATER else number < int(bound)

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case _:
                (value,) = self.values
                return f"{self.key}{self.operator}{value}"


class Selector(msgspec.Struct, frozen=True, gc=False):
    """Requirements that must all hold; made by the functions below, which put them in canonical order."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Says whether an object with these labels is selected."""
        for requirement in self.requirements:  # noqa: SIM110 a generator costs more than the test itself
            if not requirement.matches(labels):
                return False
        return True

    def and_(self, other: "Selector") -> "Selector":
        """Selects what both select."""
        return of(*self.requirements, *other.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class Match(StrEnum):
    """The operators of the structured form."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelSelectorRequirement(Base):
    """One expression of the structured form."""

    key: str
    operator: Match
    values: tuple[str, ...] = ()


class LabelSelector(Base):
    """The structured form of a selector; empty it means everything, and where it is missing nothing."""

    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


_OPERATORS = {
    Match.IN: Operator.IN,
    Match.NOT_IN: Operator.NOT_IN,
    Match.EXISTS: Operator.EXISTS,
    Match.DOES_NOT_EXIST: Operator.DOES_NOT_EXIST,
}


def of(*requirements: Requirement) -> Selector:
    """Makes a selector of requirements, whatever their order and however often they are repeated."""
    return Selector(
        tuple(sorted(set(requirements), key=lambda each: (each.key, each.operator, str(each))))
    )


def from_labels(labels: Mapping[str, str]) -> Selector:
    """Selects the objects that carry all of these labels."""
    return of(
        *(Requirement(key, Operator.EQUALS, frozenset((value,))) for key, value in labels.items())
    )


def from_struct(selector: LabelSelector | None) -> Selector:
    """Translates the structured form."""
    if selector is None:
        return NOTHING
    expressions = (
        Requirement(each.key, _OPERATORS[each.operator], frozenset(each.values))
        for each in selector.match_expressions
    )
    return from_labels(selector.match_labels).and_(of(*expressions))


def parse(text: str) -> Selector:
    """Reads the text form, accepting and refusing what an API server does; an empty text selects everything."""
    if not text.strip(" \t\r\n"):
        return EVERYTHING
    requirements = []
    position = -1
    while position < len(text):
        found = _REQUIREMENT.match(text, position + 1)
        if found is None or text[found.end() : found.end() + 1] not in ("", ","):
            raise InvalidSelector(
                f"{text[:256]!r} is not a label selector: cannot read {text[position + 1 :][:64]!r}"
            )
        requirements.append(_requirement(found))
        position = found.end()
    return of(*requirements)


def _requirement(found: re.Match[str]) -> Requirement:
    absent, key, compare, value, member, values = found.group(
        "absent", "key", "compare", "value", "member", "values"
    )
    if absent is not None:
        return Requirement(absent, Operator.DOES_NOT_EXIST)
    if compare is not None:
        operator = Operator.EQUALS if compare == "==" else Operator(compare)
        return Requirement(key, operator, frozenset((value,)))
    if member is not None:
        members = frozenset(each.strip(" \t\r\n") for each in values.split(","))
        return Requirement(key, Operator(member), members)
    return Requirement(key, Operator.EXISTS)


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        raise InvalidSelector(f"{key[:320]!r} is not a label key: its prefix is no DNS subdomain")
    if not _NAME.fullmatch(name):
        raise InvalidSelector(
            f"{key[:320]!r} is not a label key: a name has 1 to 63 letters, digits, '-', '_' or '.' "
            "and begins and ends with a letter or digit"
        )


def _check_value(key: str, value: str) -> None:
    if value and not _NAME.fullmatch(value):
        raise InvalidSelector(
            f"{key}: {value[:128]!r} is not a label value: at most 63 letters, digits, '-', '_' or '.', "
            "beginning and ending with a letter or digit"
        )


def _check_count(requirement: Requirement) -> None:
    count = len(requirement.values)
    match requirement.operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            right, wanted = count == 0, "no value"
        case Operator.IN | Operator.NOT_IN:
            right, wanted = count > 0, "at least one value"
        case _:
            right, wanted = count == 1, "exactly one value"
    if not right:
        raise InvalidSelector(
            f"{requirement.key}: {requirement.operator} takes {wanted}, not {count}"
        )


def _integer(text: str) -> int | None:
    """Reads a 64-bit integer as Go does; Python alone would also take "1_000" and " 1"."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


EVERYTHING = Selector()
NOTHING = of(
    Requirement("korder.dev/nothing", Operator.EXISTS),
    Requirement("korder.dev/nothing", Operator.DOES_NOT_EXIST),
)
