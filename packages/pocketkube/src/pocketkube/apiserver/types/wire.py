"""Protocol Buffers as bytes: the fields of a message, whatever it is a message of.

`protobuf` knows what the numbers mean. A field's value shows how it was sent: a whole number, bytes, or a float for the two
kinds of fixed width, of which Kubernetes has no other use.
"""

from collections.abc import Iterator
import struct
from typing import Never

Value = int | float | bytes

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: "<d", _FIXED32: "<f"}
_SIGN, _ALL = 2**63, 2**64


class Malformed(ValueError):
    """The bytes are no message of their type; the text is what Go says, or near to it."""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Goes through the fields of a message, numbers and values, in the order in which they were sent.

    Raises:
        Malformed: it is none.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise Malformed(f"proto: illegal tag {number} (wire type {wire})")
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        size, position = _size(data, position, wire)
        if position + size > end:
            raise Malformed("unexpected EOF")
        found = data[position : position + size]
        yield number, struct.unpack(_FIXED[wire], found)[0] if wire in _FIXED else found
        position += size


def _size(data: bytes, position: int, wire: int) -> tuple[int, int]:
    if wire in _FIXED:
        return struct.calcsize(_FIXED[wire]), position
    if wire != _BYTES:
        raise Malformed(f"proto: illegal wireType {wire}")
    size, position = _varint(data, position)
    if size >= _SIGN:
        raise Malformed("proto: negative length found during unmarshaling")
    return size, position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if shift >= 64:
            raise Malformed("proto: integer overflow")
        if position >= len(data):
            raise Malformed("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _ALL, position
        shift += 7


def packed(data: bytes) -> Iterator[int]:
    """Goes through whole numbers that were sent as one field."""
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def signed(value: int, bits: int = 64) -> int:
    """What a Go integer of so many bits holds when it is given a number from the wire."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def whole(value: Value) -> int:
    """Insists on a whole number."""
    return value if isinstance(value, int) else _refuse(value)


def octets(value: Value) -> bytes:
    """Insists on bytes."""
    return value if isinstance(value, bytes) else _refuse(value)


def number(value: Value) -> float:
    """Insists on a number with a fraction."""
    return value if isinstance(value, float) else _refuse(value)


def text(value: Value) -> str:
    """Insists on a text. Go takes any bytes for one and mends them when it writes JSON."""
    return octets(value).decode(errors="replace")


def _refuse(value: Value) -> Never:
    wire = _VARINT if isinstance(value, int) else _BYTES if isinstance(value, bytes) else _FIXED64
    raise Malformed(f"proto: wrong wireType = {wire}")
