"""What two servers said, without what must differ: ids, instants, generated names and the numbers of versions.

Versions become the order in which a server first mentioned them; at the end of a sequence `Names.order` tells whether they also
grew in the same order. The version of a list is only checked to be one, because others write to the same server meanwhile.
"""

import json
import re
from typing import Any

_UUID = re.compile(r"(?!0{8})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"(?!2024)20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
"""An instant a server chose: those that requests name are of 2024."""
_GENERATED = re.compile(
    r"(?<!\w)(kube-api-access-|g\d+-|text|1Gi|-1|Not Valid!|a{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b"
)
_VERSION = re.compile(
    r"(ResourceVersion in (?:(?:precondition|object meta): |the precondition \(|record \()|\"?resourceVersion\"?:\s?\"?)(\d+)"
)
_QUOTED = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
"""An object inside of a text, whose members come in an order that depends on what was patched."""

_CONVERTED = re.compile(
    r'("map\[.*\]": |unable to convert unstructured object to [^:]*: )(?:cannot convert \w+ to \w+|unrecognized type: \w+|cannot restore \w+ from.*|(?:error decoding from json: )?json: cannot unmarshal .*)',
    re.DOTALL,
)
"""A wrong type in a strategic merge patch or an apply, which a real server tells in the words of another converter."""

_STAMPS = ("creationTimestamp", "deletionTimestamp")


class Names:
    """The names that the ids of one server get during one sequence."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def order(self) -> list[str]:
        """The versions by their numbers, under their names."""
        return [self._versions[each] for each in sorted(self._versions, key=int)]

    def plain(self, value: Any, *, listed: bool = False) -> Any:
        """A value in which nothing depends on which server gave it."""
        if isinstance(value, dict):
            return self._object(value, listed=listed)
        if isinstance(value, list):
            return [self.plain(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, value: dict[str, Any], *, listed: bool) -> dict[str, Any]:
        if value.get("kind") == "Status" and "status" in value:
            value = _without_order(value)
        made = {}
        for key, each in sorted(value.items()):
            if key == "metadata" and isinstance(each, dict):
                made[key] = self._meta(each, listed=listed or "items" in value)
            else:
                made[_UUID.sub(self._id, key)] = self.plain(each)
        return made

    def _meta(self, meta: dict[str, Any], *, listed: bool) -> dict[str, Any]:
        made = {}
        for key, each in sorted(meta.items()):
            if key == "resourceVersion" and isinstance(each, str) and each.isdigit():
                made[key] = "<version>" if listed else self._version(each)
            elif key == "managedFields" and isinstance(each, list):
                made[key] = sorted((self.plain(one) for one in each), key=json.dumps)
            elif key in _STAMPS and isinstance(each, str):
                made[key] = _TIME.sub("<time>", each)
            elif key == "finalizers" and "deletionTimestamp" in meta:
                # A namespace whose deletion begins gets them in any order.
                made[key] = sorted(each, key=json.dumps)
            elif key == "continue":
                made[key] = bool(each)
            else:
                made[key] = self.plain(each)
        return made

    def _version(self, version: str) -> str:
        return self._versions.setdefault(version, f"version {len(self._versions) + 1}")

    def _text(self, text: str) -> str:
        quoted = _QUOTED.search(text)
        if quoted:
            inner = self.plain(json.loads(json.loads(quoted[0])))
            text = text.replace(quoted[0], json.dumps(inner, sort_keys=True))
        text = _UUID.sub(self._id, text)
        text = _VERSION.sub(lambda found: found[1] + self._version(found[2]), text)
        text = _CONVERTED.sub(r"\1<wrong type>", text).replace("map[x:<nil>]", "map[]")
        return _GENERATED.sub(r"\1<any>", _TIME.sub("<time>", text))

    def _id(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"id {len(self._ids) + 1}")


def _without_order(status: dict[str, Any]) -> dict[str, Any]:
    """A Status whose causes are in an order of their own, as a real server's may come in any, and those about metadata once:

    real servers tell them once, twice or four times.
    """
    causes = _once((status.get("details") or {}).get("causes") or [])
    if not causes:
        return status
    message = status["message"]
    for cause in sorted(causes, key=lambda cause: -len(cause.get("message", ""))):
        if "field" in cause:
            message = message.replace(f"{cause['field']}: {cause['message']}", "*", 1)
    details = {**status["details"], "causes": sorted(causes, key=json.dumps)}
    return {**status, "message": message, "details": details}


def _once(causes: list[dict[str, str]]) -> list[dict[str, str]]:
    kept: list[dict[str, str]] = []
    for cause in causes:
        if cause not in kept or not cause.get("field", "").startswith("metadata."):
            kept.append(cause)
    return kept


_TYPED = re.compile(
    r"(failed to create typed patch object \([^)]*\): )(?:errors:\n)?(.*)", re.DOTALL
)


def same_trouble(theirs: str, ours: str) -> bool:
    """Whether two refusals of a configuration agree: a real server tells by chance only some of what is wrong with it."""
    left, right = _TYPED.fullmatch(theirs), _TYPED.fullmatch(ours)
    if not left or not right or left[1] != right[1]:
        return theirs == ours
    stated = [{line.strip() for line in found[2].split("\n")} for found in (left, right)]
    return stated[0] <= stated[1]


def difference(theirs: Any, ours: Any, path: str = "") -> str:
    """The first place at which two values differ, in words; empty if they do not."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        absent = object()
        pairs = [
            (f"{path}.{key}", theirs.get(key, absent), ours.get(key, absent))
            for key in sorted(theirs.keys() | ours.keys())
        ]
        return _first(pairs, absent)
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = [
            (f"{path}[{index}]", left, right)
            for index, (left, right) in enumerate(zip(theirs, ours, strict=True))
        ]
        return _first(pairs)
    same = type(theirs) is type(ours) and theirs == ours
    return (
        ""
        if same or _same_but_for_empty_lists(theirs, ours)
        else f"{path}: {theirs!r} there, {ours!r} here"
    )


def _same_but_for_empty_lists(theirs: Any, ours: Any) -> bool:
    """Whether two refusals show other lines of what changed, because one knows an empty list or map from none."""
    if not isinstance(theirs, str) or not isinstance(ours, str):
        return False
    if '": []' not in theirs and '": {}' not in theirs:
        return False
    (left, mark, _), (right, also, _) = theirs.partition("\n@@ -"), ours.partition("\n@@ -")
    return bool(mark and also) and left == right


def _first(pairs: list[tuple[str, Any, Any]], absent: object = None) -> str:
    for path, left, right in pairs:
        if absent is not None and absent in (left, right):
            side, value = ("here", right) if left is absent else ("there", left)
            return f"{path}: only {side}: {value!r}"
        if found := difference(left, right, path):
            return found
    return ""
