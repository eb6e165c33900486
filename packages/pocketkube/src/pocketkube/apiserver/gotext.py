"""JSON values as programs in Go write them, because users read and compare such texts.

`fieldsets` and `lastapplied` store the encoded form, messages of refusals quote the printed one.
"""

import json

from kubeloop.objects.meta import JSON

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def encoded(value: JSON) -> str:
    """Writes JSON as Go's encoder does: sorted, without spaces, safe inside of HTML, whole numbers without a point."""
    return _encode(whole_numbers(value)).translate(_ESCAPES)


def printed(value: JSON) -> str:
    """Prints as `%v` does: `map[name:a ports:[80 443]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{printed(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(printed, value)) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(value: JSON) -> str:
    """Writes as `%#v` does: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(key)}:{written(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(written, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return _quoted(value) if isinstance(value, str) else printed(value)


def type_of(value: JSON) -> str:
    """Names the type as `%T` does."""
    return _TYPES.get(type(value), "<nil>")


_TYPES: dict[type, str] = {
    bool: "bool",
    str: "string",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def whole_numbers(value: JSON, below: float = 1e21) -> JSON:
    """A value whose whole floats are integers, as they are once Go has written them."""
    if isinstance(value, dict):
        return {key: whole_numbers(inner, below) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(inner, below) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < below:
        return int(value)
    return value
