"""A value that does not fit its type, and how Go's decoder tells it.

`values` and `reading` raise it; each struct on the way out adds its step, so nothing is spent on paths while all is well.
"""

from typing import Any

_WORDS: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


class Mismatch(Exception):
    """A value cannot be read; the text is Go's."""

    def __init__(self, go: str = "", value: str = "", said: str = "") -> None:
        super().__init__()
        self._go = go
        self._value = value
        self._said = said
        self._struct = ""
        self._path = ""

    def inside(self, struct: str, member: str) -> None:
        """Notes the struct and the member in which it happened, from the inside out."""
        self._struct = self._struct or struct
        self._path = f"{member}.{self._path}" if self._path else member

    def __str__(self) -> str:
        if self._said:
            return self._said
        target = f"struct field {self._struct}.{self._path}" if self._struct else "value"
        return f"json: cannot unmarshal {self._value} into Go {target} of type {self._go}"


def wrong(value: Any, go: str) -> Mismatch:
    """The value is of another type."""
    return Mismatch(go, _WORDS.get(type(value), "null"))


def not_a(value: float, go: str) -> Mismatch:
    """The number does not fit."""
    return Mismatch(go, f"number {value}")


def said(text: str) -> Mismatch:
    """The type reads itself and has its own words."""
    return Mismatch(said=text)
