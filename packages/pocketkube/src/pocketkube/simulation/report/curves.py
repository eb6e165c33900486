"""Series as lines in a picture, and amounts as people read them.

`page` draws with it, and the terminal names amounts by it.
"""

from collections.abc import Sequence

_GIBI = 2**30


def amount(resource: str, value: float) -> str:
    """So much of a resource."""
    if resource == "memory":
        return f"{_short(value / _GIBI)}Gi"
    return _short(value)


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def curve(values: Sequence[float], top: float, across: int) -> str:
    """The path of a line in steps, from left to right in a picture 100 high; only what changes is written."""
    path, before = "", -1
    for index, value in enumerate(values):
        x, y = round(index * across / len(values)), 100 - round(value / top * 96) if top else 100
        if y != before:
            path += f"H{x}V{y}" if path else f"M{x} {y}"
            before = y
    return f"{path}H{across}"
