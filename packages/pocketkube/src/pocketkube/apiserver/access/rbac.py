"""Role-based access control: what the roles bound to somebody allow.

The door asks for every request, reviews and `escalation` ask too. Bindings are looked up by their subjects, and what was
found out about a user and a kind of action is kept until any of the four tables changes, so a repeated request costs
one dictionary lookup and four comparisons of numbers. A binding whose role is missing allows nothing and is told in
the refusal, as a server does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pocketkube.apiserver import refusal
from pocketkube.apiserver.access import rules
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.rules import Rule
from pocketkube.apiserver.access.user import MASTERS, User, account_name
from pocketkube.apiserver.fielderrors import quote
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.view import View

Object = Mapping[str, Any]

GROUP = "rbac.authorization.k8s.io"
ROLES = f"roles.{GROUP}"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
ROLE_BINDINGS = f"rolebindings.{GROUP}"
CLUSTER_ROLE_BINDINGS = f"clusterrolebindings.{GROUP}"
_TABLES = ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS
_REMEMBERED = 10_000
"""How many answers, and bindings of how many namespaces, are kept at most: anybody may ask about any namespace."""


class Decision(NamedTuple):
    """Whether, and why."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A binding that applies to somebody: the rules it gives, or the role it names in vain."""

    source: str
    rules: Sequence[Rule] = ()
    missing: str = ""
    kind: str = ""


class _Answer(NamedTuple):
    """What is known about a user and a kind of action: why every object is allowed, or only some, or what stands in the way."""

    always: str | None
    named: Mapping[str, str]
    problem: str


class Rbac:
    """Reads roles and bindings and answers what they allow."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._seen: tuple[int, ...] = ()
        self._answers: dict[tuple[str, tuple[str, ...], Action], _Answer] = {}
        self._bindings: dict[str, dict[str, list[tuple[int, Object, Object]]]] = {}

    def authorize(self, user: User, action: Action) -> None:
        """Lets pass or raises.

        Raises:
            Refused: 403.
        """
        decision = self.decide(user, action)
        if not decision.allowed:
            raise denial(user, action, decision.reason)

    def decide(self, user: User, action: Action) -> Decision:
        """Says whether somebody may, and because of which binding."""
        if MASTERS in user.groups:
            return Decision(allowed=True)
        self._refresh()
        key = (user.name, user.groups, action._replace(name=""))
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            answer = self._answers[key] = self._find(user, action)
        why = answer.always if answer.always is not None else answer.named.get(action.name)
        if why is None:
            return Decision(allowed=False, reason=answer.problem)
        return Decision(allowed=True, reason=f"RBAC: allowed by {why}")

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """All bindings that apply to a user: those of the cluster, then those of a namespace, by name."""
        self._refresh()
        yield from self._applying(user, "")
        if namespace:
            yield from self._applying(user, namespace)

    def role_rules(self, ref: Object, namespace: str) -> Sequence[Rule] | None:
        """The rules of the role that a binding in a namespace ("" for the cluster) refers to; None if there is none."""
        name = ref.get("name", "")
        if ref.get("kind") == "Role":
            role = self._view.get(ROLES, namespace, name)
        else:
            role = self._view.get(CLUSTER_ROLES, "", name)
        return None if role is None else role.get("rules") or ()

    def _refresh(self) -> None:
        seen = tuple(map(self._view.changes, _TABLES))
        if seen != self._seen:
            self._seen = seen
            self._answers.clear()
            self._bindings.clear()

    def _find(self, user: User, action: Action) -> _Answer:
        named: dict[str, str] = {}
        problems = []
        for grant in self.grants(user, action.namespace):
            if grant.missing:
                problems.append(f"{grant.kind.lower()}.{GROUP} {quote(grant.missing)} not found")
            for rule in grant.rules:
                if not rules.allows(rule, action):
                    continue
                names = rules.members(rule, "resourceNames") if action.path is None else ()
                if not names:
                    return _Answer(grant.source, {}, "")
                for name in names:
                    named.setdefault(name, grant.source)
        return _Answer(None, named, _reported(problems))

    def _applying(self, user: User, namespace: str) -> Iterator[Grant]:
        """The bindings of one namespace, in order; each once, for the first of its subjects that is meant."""
        by_subject = self._bindings.get(namespace)
        if by_subject is None:
            if len(self._bindings) >= _REMEMBERED:
                self._bindings.clear()
            by_subject = self._bindings[namespace] = self._indexed(namespace)
        keys = (f"user:{user.name}", *(f"group:{group}" for group in user.groups))
        found = [entry for key in keys for entry in by_subject.get(key, ())]
        found.sort(key=lambda entry: entry[0])
        last: Object | None = None
        for _, binding, subject in found:
            if binding is not last:
                last = binding
                yield self._grant(binding, subject, namespace)

    def _indexed(self, namespace: str) -> dict[str, list[tuple[int, Object, Object]]]:
        bindings = (
            self._view.all(ROLE_BINDINGS, namespace)
            if namespace
            else self._view.all(CLUSTER_ROLE_BINDINGS)
        )
        index: dict[str, list[tuple[int, Object, Object]]] = {}
        position = 0
        for binding in bindings:
            for subject in binding.get("subjects") or ():
                position += 1
                key = _key(subject, namespace)
                if key:
                    index.setdefault(key, []).append((position, binding, subject))
        return index

    def _grant(self, binding: Object, subject: Object, namespace: str) -> Grant:
        ref = binding["roleRef"]
        given = self.role_rules(ref, namespace)
        source = _source(binding, subject, namespace)
        if given is None:
            return Grant(source, missing=ref["name"], kind=ref["kind"])
        return Grant(source, given)


def denial(user: User, action: Action, reason: str = "") -> Refused:
    """The refusal for somebody who may not, in the server's words."""
    if action.path is not None:
        stated = f"User {quote(user.name)} cannot {action.verb} path {quote(action.path)}"
    else:
        slash = "/" if action.subresource else ""
        what = quote(f"{action.resource}{slash}{action.subresource}")
        where = (
            f"in the namespace {quote(action.namespace)}"
            if action.namespace
            else "at the cluster scope"
        )
        stated = (
            f"User {quote(user.name)} cannot {action.verb} resource {what}"
            f" in API group {quote(action.group)} {where}"
        )
    stated = stated.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    why = f"{stated}: {reason}" if reason else stated
    return refusal.forbidden(action.resource, action.group, action.name, why)


def joined(problems: Sequence[str]) -> str:
    """Several errors as Go joins them, each once."""
    stated = list(dict.fromkeys(problems))
    return stated[0] if len(stated) == 1 else f"[{', '.join(stated)}]"


def _key(subject: Object, namespace: str) -> str:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return f"user:{name}"
        case "Group":
            return f"group:{name}"
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return f"user:{account_name(home, name)}" if home else ""
        case _:
            return ""


def _source(binding: Object, subject: Object, namespace: str) -> str:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    bound = binding["metadata"]["name"] + (f"/{namespace}" if namespace else "")
    who = subject.get("name", "")
    if subject["kind"] == "ServiceAccount":
        who += f"/{subject.get('namespace') or namespace}"
    ref = binding["roleRef"]
    return f"{kind} {quote(bound)} of {ref['kind']} {quote(ref['name'])} to {subject['kind']} {quote(who)}"


def _reported(problems: Sequence[str]) -> str:
    return f"RBAC: {joined(problems)}" if problems else ""
