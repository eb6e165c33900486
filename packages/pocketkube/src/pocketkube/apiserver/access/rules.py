"""What the rules of a role allow, which of them cover others, and how a server writes them down. Pure.

`rbac` asks whether a rule allows an action, `escalation` whether the rules somebody has cover those they want to give.
Rules are JSON as it is stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.fielderrors import quote

Rule = Mapping[str, Sequence[str]]

EVERYTHING: Sequence[Rule] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_NONE: Sequence[str] = ()
_SHOWN = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


def members(rule: Rule, member: str) -> Sequence[str]:
    """A list of the rule, empty if it has none."""
    return rule.get(member) or _NONE


def allows(rule: Rule, action: Action) -> bool:
    """Says whether a rule allows an action on some object, whatever its `resourceNames` are."""
    if not _has(members(rule, "verbs"), action.verb):
        return False
    if action.path is not None:
        path = action.path
        return any(url_covers(url, path) for url in members(rule, "nonResourceURLs"))
    if not _has(members(rule, "apiGroups"), action.group):
        return False
    resources = members(rule, "resources")
    if not action.subresource:
        return _has(resources, action.resource)
    return (
        _has(resources, f"{action.resource}/{action.subresource}")
        or f"*/{action.subresource}" in resources
    )


def _has(allowed: Sequence[str], wanted: str) -> bool:
    return wanted in allowed or "*" in allowed


def url_covers(url: str, path: str) -> bool:
    """Says whether a path, or all paths a pattern stands for, are among those of another pattern."""
    return url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def missing(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The single permissions among the wanted ones that the owned rules do not give."""
    return [
        part
        for rule in wanted
        for part in _parts(rule)
        if not any(_covers(owner, part) for owner in owned)
    ]


def _parts(rule: Rule) -> Iterator[Rule]:
    verbs = members(rule, "verbs")
    names = members(rule, "resourceNames")
    for group, resource, verb in product(
        members(rule, "apiGroups"), members(rule, "resources"), verbs
    ):
        part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        if names:
            yield from ({**part, "resourceNames": [name]} for name in names)
        else:
            yield part
    for url, verb in product(members(rule, "nonResourceURLs"), verbs):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def _covers(owner: Rule, part: Rule) -> bool:
    names = members(owner, "resourceNames")
    return (
        all(_has(members(owner, "verbs"), verb) for verb in part["verbs"])
        and all(_has(members(owner, "apiGroups"), group) for group in members(part, "apiGroups"))
        and all(_gives(owner, resource) for resource in members(part, "resources"))
        and (
            not names
            or ("resourceNames" in part and all(name in names for name in part["resourceNames"]))
        )
        and all(
            any(url_covers(mine, url) for mine in members(owner, "nonResourceURLs"))
            for url in members(part, "nonResourceURLs")
        )
    )


def _gives(owner: Rule, resource: str) -> bool:
    resources = members(owner, "resources")
    _, slash, subresource = resource.partition("/")
    return _has(resources, resource) or (bool(slash) and f"*/{subresource}" in resources)


def described(rules: Iterable[Rule]) -> str:
    """Lists rules as a refusal does: those of one resource joined, one in a line, sorted."""
    joined: dict[tuple[str, ...], dict[str, Sequence[str]]] = {}
    lines = set()
    for rule in rules:
        if "nonResourceURLs" in rule:
            lines.add(_line(rule))
            continue
        names = members(rule, "resourceNames")
        key = (rule["apiGroups"][0], rule["resources"][0], *names)
        kept = joined.setdefault(key, {**rule, "verbs": []})
        kept["verbs"] = [*kept["verbs"], *rule["verbs"]]
    lines.update(map(_line, joined.values()))
    return "\n".join(sorted(lines))


def _line(rule: Rule) -> str:
    shown = (
        f"{label}:{quoted(rule[member])}"
        for member, label in _SHOWN.items()
        if members(rule, member)
    )
    return "{" + ", ".join(shown) + "}"


def quoted(texts: Iterable[str]) -> str:
    """A list of texts as Go's %q prints it."""
    return "[" + " ".join(map(quote, texts)) + "]"
