"""Readers of single values: numbers, texts and the types that read themselves, each into the form Go writes.

`reading` puts them together to readers of structs. A reader takes a value that is not null and returns what is kept of it.
"""

import base64
from collections.abc import Callable, Mapping
import math
from typing import Any

from pocketkube.apiserver.types import base64error, goquantity, gotime
from pocketkube.apiserver.types.mismatch import not_a, said, wrong

Reader = Callable[[Any], Any]

_EXACT = 1e21

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}

ZEROS: Mapping[str, Any] = {
    "string": "",
    "bool": False,
    "float32": 0,
    "float64": 0,
    "@quantity": "0",
    "@intorstring": 0,
    **dict.fromkeys(_RANGES, 0),
}
"""What Go writes for a value that nobody has set; null for all others that are no structs."""


def reader(form: str, go: str) -> Reader:
    """Makes the reader of a form."""
    if form in _RANGES:
        return _whole(go, *_RANGES[form])
    if form in _READERS:
        return _READERS[form]
    return {"string": _text, "bool": _bool, "bytes": _bytes, "float64": _float}[form](go)


def _text(go: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str:
            raise wrong(value, go)
        return value

    return read


def _bool(go: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not bool:
            raise wrong(value, go)
        return value

    return read


def _whole(go: str, least: int, most: int) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is int:
            if least <= value <= most:
                return value
            raise not_a(value, go)
        raise not_a(value, go) if type(value) is float else wrong(value, go)

    return read


def _float(go: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is int:
            return value
        if type(value) is not float:
            raise wrong(value, go)
        if not math.isfinite(value):
            raise not_a(value, go)
        return int(value) if value.is_integer() and abs(value) < _EXACT else value

    return read


def _bytes(go: str) -> Reader:
    byte = _whole("uint8", *_RANGES["uint8"])

    def read(value: Any) -> Any:
        if type(value) is list:
            data = bytes(0 if each is None else byte(each) for each in value)
            return base64.b64encode(data).decode()
        if type(value) is not str:
            raise wrong(value, go)
        try:
            data = base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
        except ValueError:
            place = base64error.place(value.encode())
            raise said(f"illegal base64 data at input byte {place}") from None
        return base64.b64encode(data).decode()

    return read


def _quantity(value: Any) -> Any:
    return goquantity.read(_amount(value))


def rounded_quantity(value: Any) -> Any:
    """Reads a quantity of a `ResourceList`."""
    return goquantity.read_rounded(_amount(value))


def _amount(value: Any) -> str:
    if type(value) is str:
        return value.strip()
    return str(value) if type(value) in (int, float) else "?"


_INT32 = _whole("int32", *_RANGES["int32"])


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _INT32(value)


def _time(value: Any) -> Any:
    if type(value) is not str:
        raise wrong(value, "string")
    return gotime.read(value)


def _micro_time(value: Any) -> Any:
    if type(value) is not str:
        raise wrong(value, "string")
    return gotime.read_micro(value)


def _as_it_is(value: Any) -> Any:
    return value


_READERS: Mapping[str, Reader] = {
    "@quantity": _quantity,
    "@intorstring": _int_or_string,
    "@time": _time,
    "@microtime": _micro_time,
    "@raw": _as_it_is,
    "@json": _as_it_is,
    "@object": _as_it_is,
}
