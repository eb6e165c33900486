"""What a request is about, read from its method and target as kube-apiserver reads them.

`server` asks first of all; everything behind it looks at the `Route` and never at the target again. Reading cannot fail: what
means nothing becomes a route that finds nothing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

import msgspec

from pocketkube.apiserver.access.action import Action

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_PARTS_OF_A_NAMESPACE = ("status", "finalize")

Query = Mapping[str, Sequence[str]]


class Route(msgspec.Struct, frozen=True):
    """Where a request goes.

    Attributes:
        parts: The segments of the path, decoded; empty ones at both ends do not count.
        is_resource: Whether it is about objects; everything else is known by its path alone.
        rest: Segments behind the subresource.
        by_name: Whether the path names one object.
    """

    method: str
    path: str
    query: Query
    parts: Sequence[str] = ()
    is_resource: bool = False
    verb: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    rest: Sequence[str] = ()
    by_name: bool = False

    def first(self, parameter: str) -> str:
        """The value of a parameter of the query; of several the first one."""
        found = self.query.get(parameter)
        return found[0] if found else ""

    @property
    def action(self) -> Action:
        """The same, as authorization sees it."""
        if not self.is_resource:
            return Action(self.method.lower(), path=self.path)
        return Action(
            self.verb,
            self.group,
            self.resource,
            self.subresource,
            self.namespace,
            self.name or _named_by_selector(self),
        )


def read(method: str, target: str) -> Route:
    """Reads the target of a request."""
    raw_path, _, raw_query = target.partition("?")
    path = unquote(raw_path, errors="replace") if "%" in raw_path else raw_path
    query = _query(raw_query) if raw_query else {}
    inner = path.strip("/")
    parts = inner.split("/") if inner else []
    below: Sequence[str] = ()
    if path.startswith(("/api/", "/apis/")):
        below = parts[1:] if parts[0] == "apis" else ("", *parts[1:])
    if len(below) < 3:
        return Route(method, path, query, parts, verb=method.lower())
    group, version = below[:2]
    watched = below[2] == "watch" and len(below) > 3
    namespace, rest = _namespace(below[3:] if watched else below[2:])
    name = rest[1] if len(rest) > 1 else ""
    return Route(
        method,
        path,
        query,
        parts,
        is_resource=True,
        verb="watch" if watched else _verb(method, name, query),
        group=group,
        version=version,
        namespace=namespace,
        resource=rest[0],
        name=name,
        subresource=rest[2] if len(rest) > 2 else "",
        rest=rest[3:],
        by_name=bool(name),
    )


def _verb(method: str, name: str, query: Query) -> str:
    """What is wished, of one object or of many."""
    verb = _VERBS.get(method, "")
    if name or verb not in ("get", "delete"):
        return verb
    if verb == "delete":
        return "deletecollection"
    return "watch" if truth(query.get("watch")) else "list"


def _namespace(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Takes the namespace off, unless it is the object that is meant."""
    if parts[0] != "namespaces" or len(parts) == 1:
        return "", parts
    if len(parts) > 2 and parts[2] not in _PARTS_OF_A_NAMESPACE:
        return parts[1], parts[2:]
    return parts[1], parts


@lru_cache(maxsize=1024)
def _query(text: str) -> Query:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True, errors="replace"):
        found.setdefault(name, []).append(value)
    return found


def truth(values: Sequence[str] | None) -> bool:
    """A switch of the query: on if it is given, unless it says off."""
    return values is not None and len(values) > 0 and values[0].lower() not in ("false", "0")


def _named_by_selector(route: Route) -> str:
    """A list or watch of one object by its name is allowed to whoever may read that object."""
    selector = route.first("fieldSelector")
    if route.verb not in ("list", "watch", "deletecollection") or "metadata.name" not in selector:
        return ""
    for term in selector.split(","):
        key, equals, value = term.partition("=")
        if key.strip() == "metadata.name" and equals:
            return value.removeprefix("=").strip()
    return ""
