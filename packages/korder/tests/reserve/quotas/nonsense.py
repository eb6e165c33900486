"""Windows and selectors of quotas that make no sense, which no schema can see, and what is said to them; and some that do make sense."""

from kubeloop.objects.meta import JSON

_WINDOWS: list[tuple[str, dict[str, JSON], str]] = [
    ("an hour that never comes", {"schedule": "0 25 * * *"}, "window day: "),
    ("a day that never comes", {"schedule": "0 0 30 2 *", "duration": "1h"}, "window day: "),
    ("another planet", {"hours": "09:00-17:00", "timeZone": "Mars/Base"}, "zone"),
]
_SELECTORS: list[tuple[str, JSON, str]] = [
    ("a label with a blank", {"matchLabels": {"a b": "c"}}, "a b"),
    ("a label of nobody", {"matchLabels": {"/a": "c"}}, "/a"),
    ("a label with a blank value", {"matchLabels": {"a": "b c"}}, "a: "),
    (
        "an expression with a blank",
        {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
        "a b",
    ),
    (
        "a label of a long domain",
        {"matchExpressions": [{"key": f"{'a' * 254}/b", "operator": "Exists"}]},
        "a",
    ),
    (
        "an expression with a value that no label has",
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "-c"]}]},
        "a: ",
    ),
]


def _selecting(selector: JSON) -> dict[str, dict[str, JSON]]:
    """A selector in all places that a quota has for one."""
    place: dict[str, JSON] = {
        "name": "x",
        "namespaceSelector": selector,
        "limits": {"tickets": "1"},
    }
    by = {"namespaceSelector": "NamespaceSelector", "objectSelector": "ObjectSelector"}
    scopes: dict[str, dict[str, JSON]] = {
        f"in {field}": {"scope": {"type": type_, field: selector, "namespaces": None}}
        for field, type_ in by.items()
    }
    return {**scopes, "in an allocation": {"allocation": [place]}}


NONSENSE: dict[str, tuple[dict[str, JSON], str]] = {
    **{
        stated: ({"timeWindows": [{"name": "day", "multiplier": "2", **window}]}, said)
        for stated, window, said in _WINDOWS
    },
    **{
        f"{stated} {where}": (spec, said)
        for stated, selector, said in _SELECTORS
        for where, spec in _selecting(selector).items()
    },
}
"""By what it is: the spec of a quota, and a part of the answer."""

_SELECTOR: JSON = {
    "matchLabels": {f"{'a' * 253}/{'b' * 63}": "", "tier": "gold"},
    "matchExpressions": [{"key": "a.b/c", "operator": "NotIn", "values": ["", "x_y", "Z"]}],
}
_SOUND: JSON = [
    {"name": "day", "schedule": "0 9-17 * * mon-fri", "timeZone": "", "multiplier": "2"},
    {"name": "night", "hours": "22:00-06:00", "timeZone": "Europe/Berlin", "multiplier": "3"},
]
SENSE: dict[str, dict[str, JSON]] = {
    where.replace(" ", "-").lower(): {"timeWindows": _SOUND, **spec}
    for where, spec in _selecting(_SELECTOR).items()
}
"""By name: the specs of quotas with such windows and selectors as are allowed."""
