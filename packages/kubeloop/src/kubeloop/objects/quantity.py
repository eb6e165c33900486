"""Amounts of CPU, memory and countable things, exactly as Kubernetes writes them.

Called wherever requests, capacities and limits are read, added or compared; calls nothing. A quantity is a whole number
of nano units, so sums never round, and equality is by value: "3000m" equals "3". Printing gives the canonical form,
always. An API server is lazier there: it hands some texts back as they were written ("1.500", "+1", "1e0"), and up to
1.36 it drops the exponent of decimal quantities from 1000E on, where this module prints "1e21" as later servers do.
"""

from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
import re

import msgspec


class InvalidQuantity(ValueError):
    """The text is not a quantity."""


class Format(StrEnum):
    """The three families of suffixes; a quantity is printed in the family it was written in."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_NANO = 10**9
_MILLI = 10**6
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SUFFIXES = {
    **{suffix: (1024**power * _NANO, Format.BINARY_SI) for power, suffix in enumerate(_BINARY)},
    **{suffix: (1000**power, Format.DECIMAL_SI) for power, suffix in enumerate(_DECIMAL)},
}
"""Suffix to its worth in nano units and its family."""

_TEXT = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]+))?"
)
_BINARY_CAP = (2**63 - 1) * _NANO
_LIMIT = 1000
"""The longest text and the largest exponent read; "1e999999999" would otherwise be a number of a gigabyte."""


class Quantity(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A whole number of nano units and the family of suffixes it prints in; compares and hashes by the number only."""

    nano: int
    format: Format = Format.DECIMAL_SI

    @property
    def is_zero(self) -> bool:
        return self.nano == 0

    def value(self) -> int:
        """The amount in whole units, rounded away from zero."""
        return _divide(self.nano, _NANO)

    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return _divide(self.nano, _MILLI)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.format)

    def __mul__(self, factor: int | Decimal | Fraction) -> "Quantity":
        """Multiplies exactly; what remains below a nano unit is rounded away from zero, as in parsing."""
        if isinstance(factor, int):
            return Quantity(self.nano * factor, self.format)
        if not isinstance(factor, Decimal | Fraction):
            return NotImplemented
        ratio = Fraction(factor)
        return Quantity(_divide(self.nano * ratio.numerator, ratio.denominator), self.format)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: "Quantity") -> bool:
        return self.nano > other.nano

    def __ge__(self, other: "Quantity") -> bool:
        return self.nano >= other.nano

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        if not self.nano:
            return "0"
        units, rest = divmod(self.nano, _NANO)
        if self.format is Format.BINARY_SI and not rest and abs(units) >= 1024:
            number, power = _strip(units, 1024, len(_BINARY) - 1)
            return f"{number}{_BINARY[power]}"
        number, power = _strip(self.nano, 1000)
        if self.format is not Format.DECIMAL_EXPONENT and power < len(_DECIMAL):
            return f"{number}{_DECIMAL[power]}"
        exponent = 3 * power - 9
        return f"{number}e{exponent}" if exponent else str(number)


ZERO = Quantity(0)
"""Nothing; as the start of a sum it leaves the family to the first summand."""


def parse(text: str | float) -> Quantity:
    """Reads a quantity as an API server does: a text, or a bare number as JSON and YAML allow.

    What is finer than a nano unit is rounded away from zero, and binary quantities end at 2^63-1. Texts without any
    digit, which a server takes for zero, and exponents beyond 1000 are refused.
    """
    if isinstance(text, str):
        return _parse(text)
    if isinstance(text, bool):
        raise InvalidQuantity(f"{text} is not a quantity")
    return Quantity(text * _NANO) if isinstance(text, int) else _parse(repr(text))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _TEXT.fullmatch(text) if len(text) <= _LIMIT else None
    if match is None:
        raise InvalidQuantity(
            f"{text[:64]!r} is not a quantity: write a number with a suffix, such as 1.5, 100m, 2Gi, 3e6"
        )
    sign, whole, fraction, suffix, exponent = match.groups("")
    amount, places = int(whole + fraction), len(fraction)
    if exponent:
        family = Format.DECIMAL_EXPONENT
        amount, places = amount * _NANO, places - _exponent(text, exponent)
    else:
        worth, family = _SUFFIXES[suffix]
        amount *= worth
    amount = _divide(amount, 10**places) if places > 0 else amount * 10**-places
    if family is Format.BINARY_SI:
        amount = min(amount, _BINARY_CAP)
        if 0 < amount < _NANO:
            family = Format.DECIMAL_SI
    return Quantity(-amount if sign == "-" else amount, family)


def _exponent(text: str, digits: str) -> int:
    exponent = int(digits)
    if abs(exponent) > _LIMIT:
        raise InvalidQuantity(f"{text[:64]!r} is not a quantity: its exponent is out of range")
    return exponent


def _divide(amount: int, by: int) -> int:
    """Divides, rounding away from zero."""
    return -(-amount // by) if amount > 0 else amount // by


def _strip(number: int, base: int, most: int | None = None) -> tuple[int, int]:
    """Takes the factors `base` out of a number that is not zero: what is left, and how many there were."""
    power = 0
    while power != most and number % base == 0:
        number //= base
        power += 1
    return number, power
