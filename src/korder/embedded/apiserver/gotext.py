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


def _whole(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
