"""Points in time as RFC 3339 texts.

Called where a text from a spec, an annotation or a cloud tag has to become an instant, and where an instant is written;
calls nothing. The standard library reads far too much (no offset, no "T", week dates), hence the pattern. Leap seconds
(":60") are refused, as Go refuses them: neither Go nor Python can hold one.
"""

from datetime import UTC, datetime
from functools import lru_cache
import re

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


class InvalidInstant(ValueError):
    """The text is not an RFC 3339 instant."""


def parse(text: str) -> datetime:
    """Reads an instant with its offset into UTC; digits below a microsecond are cut off."""
    if _RFC_3339.fullmatch(text) is None:
        raise InvalidInstant(
            f"{text[:64]!r} is not an RFC 3339 instant such as 2026-01-31T08:30:00Z or 2026-01-31T09:30:00+01:00"
        )
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInstant(f"{text!r} is not an instant: {error}") from None


@lru_cache(maxsize=64)
def render(instant: datetime) -> str:
    """Writes whole seconds in UTC, as `metav1.Time` does; smaller parts are cut off. Most write the present, one after the other."""
    return _utc(instant).isoformat(timespec="seconds").replace("+00:00", "Z")


def render_micro(instant: datetime) -> str:
    """Writes six fractional digits in UTC, as `metav1.MicroTime` does."""
    return _utc(instant).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _utc(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise ValueError(f"{instant!r} has no time zone, so it is not an instant")
    return instant if instant.tzinfo is UTC else instant.astimezone(UTC)
