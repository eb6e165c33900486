"""The five fields of a cron expression, read term by term and written as `cronsim` takes them.

`schedule` calls it. Every term becomes a list of numbers, so that names, 7 for Sunday, steps and ranges that wrap around mean the
same in all fields. Only what begins with `*` stays as it is: from that star `cronsim` tells whether two day fields are both
needed, and whether clock changes are ignored.
"""

from dataclasses import dataclass
import re

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LAST_OR_NTH = re.compile(r"[0-7]L|(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#[1-5]")


class InvalidSchedule(ValueError):
    """The text is not a schedule; says why in one sentence."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    first: int
    last: int
    highest: int
    """The highest number that may be written; of weekdays it is one more than the last."""
    names: tuple[str, ...] = ()

    def number(self, text: str, term: str) -> int:
        if text in self.names:
            return self.names.index(text) + self.first
        if text.isascii() and text.isdigit() and self.first <= int(text) <= self.highest:
            return int(text)
        named = f", or {self.names[0]} to {self.names[-1]}" if self.names else ""
        told = f"{term!r} in the {self.name} field: use numbers from {self.first} to {self.highest}"
        raise InvalidSchedule(f"{told}{named}")

    def span(self, first: int, last: int) -> list[int]:
        """All numbers of a range, around the end of the field if need be."""
        size = self.last - self.first + 1
        length = last - first if first <= last else (last - first) % size
        return [self.first + (first - self.first + each) % size for each in range(length + 1)]


_FIELDS = (
    _Field("minute", 0, 59, 59),
    _Field("hour", 0, 23, 23),
    _Field("day-of-month", 1, 31, 31),
    _Field("month", 1, 12, 12, _MONTHS),
    _Field("day-of-week", 0, 6, 7, _DAYS),
)


def normal(text: str) -> str:
    """Writes an expression of five fields in the plainest form.

    Raises:
        InvalidSchedule: it is none.
    """
    parts = text.upper().split()
    if len(parts) != len(_FIELDS):
        told = f"{text!r} has {len(parts)} fields; write minute, hour, day of month, month and day of week"
        raise InvalidSchedule(told)
    return " ".join(map(_normal_field, _FIELDS, parts))


def _normal_field(field: _Field, text: str) -> str:
    return ",".join(_normal_term(field, term) for term in text.split(","))


def _normal_term(field: _Field, term: str) -> str:
    days = field.name in ("day-of-month", "day-of-week")
    if term == "*" or (term == "?" and days):
        return "*"
    if field.name == "day-of-month" and term in ("L", "LW"):
        return term
    if field.name == "day-of-week" and _LAST_OR_NTH.fullmatch(term):
        return term
    base, slash, steps = term.partition("/")
    step = _step(field, steps, term) if slash else 1
    if base == "*":
        return term
    return ",".join(map(str, _numbers(field, base, term, open_ended=bool(slash))[::step]))


def _numbers(field: _Field, base: str, term: str, *, open_ended: bool) -> list[int]:
    """What a number or a range stands for; a number with a step goes on to the field's end."""
    first, dash, last = base.partition("-")
    begin = field.number(first, term)
    if dash:
        return field.span(begin, field.number(last, term))
    return field.span(begin, field.last) if open_ended else field.span(begin, begin)


def _step(field: _Field, text: str, term: str) -> int:
    most = field.last - field.first + 1
    if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
        return int(text)
    told = f"{term!r} in the {field.name} field: the step must be a number from 1 to {most}"
    raise InvalidSchedule(told)
