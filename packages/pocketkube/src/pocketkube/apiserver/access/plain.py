"""Members of JSON that clients sent: whatever stands there, the answer has the type that was asked for.

Reviews and token requests are read with these; what has another type counts as left out, because a strategy has refused
it before if it knows the kind.
"""

from typing import Any

Object = dict[str, Any]


def text(obj: Object, member: str) -> str:
    """A text, or the empty one."""
    value = obj.get(member)
    return value if isinstance(value, str) else ""


def texts(obj: Object, member: str) -> list[str]:
    """A list of texts, perhaps empty."""
    value = obj.get(member)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def members(obj: Object, member: str) -> Object:
    """An object, perhaps empty."""
    value = obj.get(member)
    return value if isinstance(value, dict) else {}
