"""Quantities in objects, written as Go writes them and refused in its words.

`values` calls it. `kubeloop.objects.quantity` knows what a quantity is and what its canonical form is; a server, however, hands
back as they were written those texts that it takes for canonical at first sight ("+1", "1.500", "1e0").
"""

from functools import lru_cache
import re

from kubeloop.objects import quantity
from kubeloop.objects.quantity import Quantity
from pocketkube.apiserver.types.mismatch import said

_NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_SHAPE = re.compile(r"(?=.)[+-]?[0-9]*(\.[0-9]*)?[eEinumkKMGTP]*[-+]?[0-9]*")
_NO_DIGITS = re.compile(r"(?=.)[+-]?\.?([KMGTPE]i|[numkMGTPE])?")
_PARTS = re.compile(r"[+-]?0*([0-9]*)\.?([0-9]*)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]+))?")
_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MILLI = 10**6


@lru_cache(maxsize=4096)
def read(text: str) -> str:
    """Reads a quantity."""
    parsed = _parsed(text)
    return text if _is_kept(text) else str(parsed)


@lru_cache(maxsize=4096)
def read_rounded(text: str) -> str:
    """Reads a quantity of a `ResourceList`, where thousandths are the least that counts."""
    parsed = _parsed(text)
    if parsed.nano % _MILLI:
        return str(Quantity(parsed.milli() * _MILLI, parsed.format))
    return text if _is_kept(text) else str(parsed)


def _parsed(text: str) -> Quantity:
    try:
        return quantity.parse(text)
    except quantity.InvalidQuantity:
        if _NO_DIGITS.fullmatch(text):
            return quantity.ZERO
        why = "unable to parse quantity's suffix" if _SHAPE.fullmatch(text) else _NO_QUANTITY
        raise said(why) from None


def _is_kept(text: str) -> bool:
    """Says whether Go takes the text for canonical: it looks at the length and the end of the digits only."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return False
    whole, fraction, suffix, exponent = parts.groups("")
    digits = (whole or "0") + fraction
    if suffix in _BINARY:
        room = 14 - len(digits) - _BINARY[suffix] * 3 // 10
        return not fraction and room >= 0 and int(digits) % 8 != 0
    scale = (int(exponent) if exponent else _EXPONENTS[suffix]) - len(fraction)
    short = len(digits) <= 18 and scale >= -9
    return short and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
