"""JSON values as programs in Go write them, because users read and compare such texts.

`fieldsets` and `lastapplied` store the encoded form, messages of refusals quote the printed one.
"""

import json

from korder.api.meta import JSON

_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def encoded(value: JSON) -> str:
    """Writes JSON as Go's encoder does: sorted, without spaces, safe inside of HTML, whole numbers without a point."""
    text = json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.translate(_ESCAPES)


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


def _whole(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
