"""The roles and bindings every cluster has, and the roles that gather the rules of others.

Whoever starts a server stores `defaults()` where they are missing; `policy.txt` holds them in a form of a tenth of the size,
its first lines say how to read it. Gathering is a controller's work in a real cluster; here `gathered` says what it comes
to, so that the server can do it with the write that makes it necessary, and nobody has to wait for a controller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from kubeloop.objects import selector
from kubeloop.objects.selector import LabelSelector
from pocketkube.apiserver.access.rbac import GROUP
from pocketkube.apiserver.access.rules import Rule

Object = dict[str, Any]

_CONTROLLER = "system:controller:"
_AGGREGATION = "rbac.authorization.k8s.io/"
_EVERY = {
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
}


@cache
def defaults() -> tuple[Object, ...]:
    """ClusterRoles, Roles and their bindings, complete but for what a server adds to metadata; shared, not to be changed.

    Roles that gather come last, after all they gather from: stored in this order, none has to be written twice.
    """
    made = list(_read(files(__package__).joinpath("policy.txt").read_text("utf-8")))
    roles = [obj for obj in made if obj["kind"] == "ClusterRole"]
    for name, rules in gathered(roles):
        next(role for role in roles if role["metadata"]["name"] == name)["rules"] = rules
    return tuple(sorted(made, key=lambda obj: len(obj["rules"]) if "aggregationRule" in obj else 0))


def gathered(roles: Sequence[Object]) -> list[tuple[str, list[Rule]]]:
    """The ClusterRoles whose rules should be others, with these: those of all roles their selectors match, each once.

    Roles gather from roles that gather, so it is done until nothing changes any more.
    """
    rules = {role["metadata"]["name"]: list(role.get("rules") or ()) for role in roles}
    gathering = {role["metadata"]["name"]: _sources(role, roles) for role in roles}
    gathering = {name: sources for name, sources in gathering.items() if sources is not None}
    before = {name: rules[name] for name in gathering}
    for _ in gathering:
        for name, sources in gathering.items():
            rules[name] = _union(rules[source] for source in sources or ())
    return [(name, rules[name]) for name in gathering if rules[name] != before[name]]


def _sources(role: Object, roles: Sequence[Object]) -> list[str] | None:
    """The names of the roles it gathers from; None if it does not gather, or cannot."""
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
    if not selectors:
        return None
    own = role["metadata"]["name"]
    found: dict[str, None] = {}
    for each in selectors:
        try:
            wanted = selector.from_struct(msgspec.convert(each, LabelSelector))
        except (msgspec.ValidationError, selector.InvalidSelector):
            return None
        for other in sorted(roles, key=lambda candidate: str(candidate["metadata"]["name"])):
            name = other["metadata"]["name"]
            if name != own and wanted.matches(other["metadata"].get("labels") or {}):
                found[name] = None
    return list(found)


def _union(parts: Iterable[Sequence[Rule]]) -> list[Rule]:
    union: list[Rule] = []
    for each in (each for part in parts for each in part):
        if each not in union:
            union.append(each)
    return union


def _read(text: str) -> Iterator[Object]:
    role: Object = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            role = _role(line)
            yield role
            name = role["metadata"]["name"]
            if name.startswith(_CONTROLLER) and role["kind"] == "ClusterRole":
                controller = name.removeprefix(_CONTROLLER)
                yield _binding(role, f"ServiceAccount kube-system/{controller}")
        elif line.startswith("  >"):
            yield _binding(role, line.removeprefix("  >").strip())
        else:
            role["rules"].append(rule(line))


def _role(line: str) -> Object:
    path, *marks = line.split()
    namespace, _, name = path.rpartition("/")
    role = _object("Role" if namespace else "ClusterRole", namespace, name)
    for mark in marks:
        label = f"{_AGGREGATION}{mark[1:]}"
        if mark[0] == "+":
            role["metadata"]["labels"][label] = "true"
        else:
            role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    role["rules"] = []
    return role


def rule(line: str) -> Rule:
    """Reads a rule such as `get,list apps deployments = web` or `get : /healthz /livez`."""
    verbs, *rest = line.split()
    if rest[0] == ":":
        return {"verbs": verbs.split(","), "nonResourceURLs": rest[1:]}
    groups, resources, *named = rest
    made: dict[str, Sequence[str]] = {
        "verbs": verbs.split(","),
        "apiGroups": ["" if group == "core" else group for group in groups.split(",")],
        "resources": resources.split(","),
    }
    if named:
        made["resourceNames"] = named[1].split(",")
    return made


def _binding(role: Object, text: str) -> Object:
    own, _, listed = text.rpartition(" = ")
    meta = role["metadata"]
    made = _object(f"{role['kind']}Binding", meta.get("namespace", ""), own or meta["name"])
    if listed:
        made["subjects"] = [_subject(each) for each in listed.split(", ")]
    made["roleRef"] = {"apiGroup": GROUP, "kind": role["kind"], "name": meta["name"]}
    return made


def _subject(text: str) -> Mapping[str, str]:
    kind, _, name = text.partition(" ")
    if kind == "ServiceAccount":
        namespace, _, name = name.partition("/")
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"kind": kind, "apiGroup": GROUP, "name": name}


def _object(kind: str, namespace: str, name: str) -> Object:
    home = {"namespace": namespace} if namespace else {}
    about = {member: dict(value) for member, value in _EVERY.items()}
    return {
        "kind": kind,
        "apiVersion": f"{GROUP}/v1",
        "metadata": {"name": name, **home, **about},
    }
