"""What is wrong with an object, field by field, in the words of an API server.

The schema, list, CEL and definition checks build `Cause`s here; the HTTP side turns them into a Status with `invalid`.
Numbers, texts and JSON inside the messages are spelled as Go spells them, because clients and tests compare messages.
"""

from collections.abc import Sequence
from decimal import Decimal
import json
import math
from typing import Any, Final

from kubeloop.objects.machinery import Status, StatusCause, StatusDetails

NO_FIELD: Final = "<nil>"
"""How a server names the field of an error that belongs to the whole object."""

INVALID: Final = "FieldValueInvalid"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
REQUIRED: Final = "FieldValueRequired"
FORBIDDEN: Final = "FieldValueForbidden"
DUPLICATE: Final = "FieldValueDuplicate"
NOT_FOUND: Final = "FieldValueNotFound"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"

Cause = StatusCause

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """A Go string literal."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number as `%v` prints it: the shortest digits; of a float, an exponent from 1e6 on and below 1e-4."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value and not 1e-4 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{Decimal(repr(value)).normalize():e}".partition("e")
        return f"{mantissa}e{int(exponent):+03d}"
    return plain(value)


def plain(value: float) -> str:
    """A number without an exponent, as far as floats are exact."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def compact(value: Any) -> str:
    """JSON as Go writes it: no spaces, sorted keys, markup escaped."""
    text = json.dumps(_whole(value), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def in_order(value: Any) -> str:
    """JSON as Go writes a struct: its members in the order in which they are given."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shown(value: Any) -> str:
    """A refused value inside a message."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    return compact(value)


def loose(value: Any) -> str:
    """A value as `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case str():
            return value
        case list():
            return f"[{' '.join(loose(item) for item in value)}]"
        case dict():
            return f"map[{' '.join(f'{key}:{loose(value[key])}' for key in sorted(value))}]"
        case _:
            return shown(value)


def invalid(field: str, value: Any, detail: str, reason: str = INVALID) -> Cause:
    """A malformed value; `reason` is another one for values of the wrong type."""
    return Cause(field=field, reason=reason, message=f"Invalid value: {shown(value)}: {detail}")


def unshown(field: str, detail: str) -> Cause:
    """A malformed object or list, which is too large to be repeated."""
    return Cause(field=field, reason=INVALID, message=f"Invalid value: {detail}")


def required(field: str, detail: str = "") -> Cause:
    """A value is missing."""
    return Cause(
        field=field,
        reason=REQUIRED,
        message=f"Required value: {detail}" if detail else "Required value",
    )


def forbidden(field: str, detail: str) -> Cause:
    """A value that is well formed but must not stand here."""
    return Cause(field=field, reason=FORBIDDEN, message=f"Forbidden: {detail}")


def duplicate(field: str, value: Any) -> Cause:
    """A value that stands there twice."""
    return Cause(field=field, reason=DUPLICATE, message=f"Duplicate value: {shown(value)}")


def not_found(field: str, value: Any, detail: str = "") -> Cause:
    """A name of something that is not there."""
    said = f": {detail}" if detail else ""
    return Cause(field=field, reason=NOT_FOUND, message=f"Not found: {shown(value)}{said}")


def written(field: str, text: str, detail: str) -> Cause:
    """A malformed value that a server repeats in a form of its own."""
    return Cause(field=field, reason=INVALID, message=f"Invalid value: {text}: {detail}")


def not_supported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    """A value that is none of the allowed ones."""
    allowed = ", ".join(quote(text) for text in supported)
    message = f"Unsupported value: {shown(value)}: supported values: {allowed}"
    return Cause(field=field, reason=NOT_SUPPORTED, message=message)


def too_long(field: str, most: int) -> Cause:
    """A text with too many characters, which a server calls bytes."""
    unit = "byte" if most == 1 else "bytes"
    message = f"Too long: may not be more than {most} {unit}"
    return Cause(field=field, reason=TOO_LONG, message=message)


def too_many(field: str, actual: int, most: int) -> Cause:
    """A list or map with too many members."""
    unit = "item" if most == 1 else "items"
    message = f"Too many: {actual}: must have at most {most} {unit}"
    return Cause(field=field, reason=TOO_MANY, message=message)


def invalid_status(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Status:
    """The answer 422: all causes, and one sentence with each of them once."""
    stated = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = stated[0] if len(stated) == 1 else f"[{', '.join(stated)}]"
    qualified = f"{kind}.{group}" if group else kind
    return Status(
        api_version="v1",
        kind="Status",
        status="Failure",
        message=f"{qualified} {quote(name)} is invalid: {text}",
        reason="Invalid",
        details=StatusDetails(name=name, group=group, kind=kind, causes=tuple(causes)),
        code=422,
    )


def strict_decoding(unknown: Sequence[str]) -> str:
    """The message for fields nobody knows, under strict field validation."""
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown)
