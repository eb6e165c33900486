"""The string formats that a schema can name, each as a yes-or-no function over texts.

Called by the schema checks; formats that are not listed here are ignored by a server, and so by us. Where a server is
more lenient than the standard a format is named after (a duration may be "3 days"), the leniency is kept.
"""

from collections.abc import Callable, Mapping
from datetime import date
import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from kubeloop.objects import duration

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_LONG_DURATION: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_HOUR: Final = duration.HOUR
_UNITS: Final = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), duration.MICROSECOND),
    (("ms", "milli"), duration.MILLISECOND),
    (("s", "sec"), duration.SECOND),
    (("m", "min"), duration.MINUTE),
    (("h", "hr", "hour"), _HOUR),
    (("d", "day"), 24 * _HOUR),
    (("w", "wk", "week"), 7 * 24 * _HOUR),
)
"""Spellings of a unit; the last one is also a prefix, so that "days" and "seconds" are read."""

_SHORT: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST: Final = re.compile(
    r"[^\W_](-?[^\W_]{0,62})?|([^\W_](([^\W_]|-){0,61}[^\W_])?\.)+[^\W\d_]{2,63}"
)


def nanoseconds(text: str) -> int:
    """The length of a duration as Go writes it, or in words such as "3 days".

    Raises:
        ValueError: it is neither.
    """
    try:
        return duration.parse(text).nanoseconds
    except duration.InvalidDuration:
        parts = [
            int(count) * worth
            for count, unit in _LONG_DURATION.findall(text)
            for spellings, worth in _UNITS
            if unit.lower() in spellings or unit.lower().startswith(spellings[-1])
        ]
        if not parts:
            raise
        return sum(parts)


def is_duration(text: str) -> bool:
    """A length of time."""
    try:
        nanoseconds(text)
    except ValueError:
        return False
    return True


def is_date(text: str) -> bool:
    """A day such as 2030-01-31."""
    try:
        return bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def is_date_time(text: str) -> bool:
    """An instant with a zone; seconds end at 59."""
    parts = text.lower().split("t")
    found = _TIME.fullmatch(parts[1]) if len(parts) > 1 and is_date(parts[0]) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def is_hostname(text: str) -> bool:
    """A host name of labels up to 63 bytes."""
    size = len(text.encode())
    return (
        bool(_HOST.fullmatch(text))
        and size <= 255
        and all(len(label.encode()) <= 63 for label in text.split("."))
    )


def _address(kind: Callable[[str], object], *, sloppy: bool = False) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(_without_zeros(text) if sloppy else text)
        except ValueError:
            return False
        return "%" not in text

    return check


def _without_zeros(text: str) -> str:
    """Leading zeros of decimal numbers are tolerated as Go once did."""
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9]+(\.|$|/))", "", text) if "." in text else text


def _network(text: str) -> object:
    if "/" not in text or not re.fullmatch(r"0|[1-9][0-9]*", text.rpartition("/")[2]):
        raise ValueError(text)
    return ipaddress.ip_network(text, strict=False)


def is_email(text: str) -> bool:
    """One mailbox, with or without a display name."""
    inner = re.fullmatch(r"[^<>]*<([^<>]+)>\s*", text)
    return bool(
        re.fullmatch(r"[^\s@<>()\[\],;:\\]+@[^\s@<>(),;:\\]+", inner[1] if inner else text.strip())
    )


def is_uri(text: str) -> bool:
    """An absolute address or an absolute path."""
    if not text or re.search(r"[\x00-\x20\x7f]", text) or re.search(r"%(?![0-9a-fA-F]{2})", text):
        return False
    try:
        parts = urlsplit(text)
        return text.startswith("/") or (bool(parts.scheme) and (parts.port or 0) >= 0)
    except ValueError:
        return False


def _isbn(length: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        digits = re.sub(r"[\s-]", "", text)
        if length == 10:
            sums = [
                (10 - i) * (10 if c == "X" else int(c))
                for i, c in enumerate(digits)
                if c in "0123456789X"
            ]
            return bool(re.fullmatch(r"[0-9]{9}[0-9X]", digits)) and sum(sums) % 11 == 0
        return bool(re.fullmatch(r"[0-9]{13}", digits)) and not (
            sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(digits)) % 10
        )

    return check


def is_credit_card(text: str) -> bool:
    """Digits of a known issuer whose check sum is right."""
    digits = re.sub(r"[^0-9]", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(c) * (2 if i % 2 else 1) for i, c in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


_CARD: Final = re.compile(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}"
    r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}"
)


def _shaped(pattern: str, flags: int = 0, longest: int = 1 << 30) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags | re.ASCII)
    return lambda text: len(text) <= longest and compiled.fullmatch(text) is not None


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _shaped(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}", re.IGNORECASE
    )


_HEX: Final = "[0-9a-f]{4}"
_BYTE: Final = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_ISBN10: Final = _isbn(10)
_ISBN13: Final = _isbn(13)

FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _shaped(r"[0-9a-fA-F]{24}"),
    "uri": is_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": _address(ipaddress.IPv4Address, sloppy=True),
    "ipv6": _address(ipaddress.IPv6Address),
    "cidr": _address(_network, sloppy=True),
    "mac": _shaped(
        r"([0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{2}([:-][0-9a-f]{2}){7}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})",
        re.IGNORECASE,
    ),
    "uuid": _uuid(_HEX, _HEX),
    "uuid3": _uuid("3[0-9a-f]{3}", _HEX),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "isbn": lambda text: _ISBN10(text) or _ISBN13(text),
    "isbn10": _ISBN10,
    "isbn13": _ISBN13,
    "creditcard": is_credit_card,
    "ssn": _shaped(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _shaped(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _shaped(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)"),
    "byte": _shaped(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": _shaped(_SHORT, longest=63),
    "k8slongname": _shaped(rf"{_SHORT}(\.{_SHORT})*", longest=253),
}
"""By name without dashes, as a server compares them."""


def supported(types: tuple[str, ...], name: str) -> str:
    """The format if a server looks at it for values of these types, otherwise nothing."""
    if not name:
        return ""
    only = types[0] if len(types) == 1 else ""
    if only in ("", "string"):
        return name if name.replace("-", "") in FORMATS else ""
    allowed = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(only, ())
    return name if name in allowed else ""
