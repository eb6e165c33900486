"""Acting as somebody else: the `Impersonate-` headers, and whether who sends them may.

The door asks after it knows who sends a request. There are several ways to be allowed, tried in the order of a server: narrow
ones for nodes, service accounts and users, which also need a permission for what is being done
(`impersonate-on:user-info:list` on the pods), and the old one, `impersonate` on users and groups. The first refusal is the
one that is told; somebody for whom a way was open before hears the refusal of that way.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from pocketkube.apiserver import refusal
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.rbac import Rbac, denial
from pocketkube.apiserver.access.user import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODES,
    UNAUTHENTICATED,
    User,
    account_groups,
    node_name,
    split_account,
)
from pocketkube.apiserver.fielderrors import quote
from pocketkube.apiserver.refusal import Refused

_EXTRA = "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_REMEMBERED = 10_000


def headers_for(user: str) -> dict[str, str]:
    """With these an administrator acts in the name of somebody else, and may do as much as before."""
    return {"Impersonate-User": user, "Impersonate-Group": MASTERS}


def wanted(headers: Mapping[str, str]) -> User | None:
    """Whom a request wants to act as.

    Raises:
        Refused: 400, groups and such without a user.
    """
    given = [
        (header.lower(), _printable(value))
        for header, value in headers.items()
        if header[:12].lower() == "impersonate-"
    ]
    if not given:
        return None
    groups = tuple(value for header, value in given if header == "impersonate-group")
    name = next((value for header, value in given if header == "impersonate-user"), "")
    uid = next((value for header, value in given if header == "impersonate-uid"), "")
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in given:
        if header.startswith(_EXTRA):
            key = _printable(unquote(header.removeprefix(_EXTRA)))
            extra[key] = (*extra.get(key, ()), value)
    if name:
        return User(name, groups, uid, extra)
    if uid or groups or extra:
        raise refusal.bad_request(
            f"requested {_in_go(uid, groups, extra)} without impersonating a user name"
        )
    return None


def _printable(value: str) -> str:
    """A header as it can be answered: bytes that are no text become replacement characters."""
    if value.isascii():
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Way(NamedTuple):
    """One way to be allowed; `mode` is empty for the old one."""

    mode: str
    is_for: Callable[[User, User], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.mode}" if self.mode else "impersonate"


class Impersonation:
    """Checks who may act as whom."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac
        self._last: dict[str, _Way] = {}

    def act(self, user: User, other: User, action: Action) -> User:
        """Whom `user` acts as in this request.

        Raises:
            Refused: 403.
        """
        first: Refused | None = None
        for way in self._ways(user):
            if not way.is_for(other, user):
                continue
            try:
                found = self._check(way, user, other, action)
            except Refused as refused:
                first = first or refused
                continue
            if len(self._last) >= _REMEMBERED:
                self._last.clear()
            self._last[user.name] = way
            return found
        raise first or denial(user, action)

    def _ways(self, user: User) -> Iterator[_Way]:
        last = self._last.get(user.name)
        if last is not None:
            yield last
        yield from (way for way in _WAYS if way is not last)

    def _check(self, way: _Way, user: User, other: User, action: Action) -> User:
        if way.mode:
            verb = f"impersonate-on:{way.mode}:{action.verb}"
            self._rbac.authorize(user, action._replace(verb=verb))
        groups = self._check_name(way, user, other)
        if other.uid:
            self._rbac.authorize(user, Action(way.verb, _AUTHENTICATION, "uids", name=other.uid))
        self._check_groups(way, user, other)
        self._check_extra(way, user, other)
        return User(other.name, _completed(other.name, groups), other.uid, other.extra)

    def _check_name(self, way: _Way, user: User, other: User) -> tuple[str, ...]:
        """Checks the name; returns the groups, which follow from the names of nodes and service accounts."""
        group = _AUTHENTICATION if way.mode else ""
        node, account = node_name(other.name), split_account(other.name)
        if way.mode and node:
            meant = "*" if way.mode == "associated-node" else node
            self._rbac.authorize(user, Action(way.verb, group, "nodes", name=meant))
            return (NODES,)
        if account is None:
            self._rbac.authorize(user, Action(way.verb, group, "users", name=other.name))
            return other.groups
        namespace, name = account
        asked = Action(way.verb, group, "serviceaccounts", namespace=namespace, name=name)
        self._rbac.authorize(user, asked)
        return other.groups or account_groups(namespace)

    def _check_groups(self, way: _Way, user: User, other: User) -> None:
        asked = Action(way.verb, _AUTHENTICATION if way.mode else "", "groups")
        if way.mode and "" in other.groups:
            raise denial(user, asked, "impersonating the empty string group is not allowed")
        if way.mode and MASTERS in other.groups:
            why = "impersonating the system:masters group is not allowed"
            raise denial(user, asked._replace(name=MASTERS), why)
        for group in other.groups:
            self._rbac.authorize(user, asked._replace(name=group))

    def _check_extra(self, way: _Way, user: User, other: User) -> None:
        for key, values in sorted(other.extra.items()):
            asked = Action(way.verb, _AUTHENTICATION, "userextras", key)
            wrong = _wrong_with(key, values) if way.mode else ""
            if wrong:
                raise denial(user, asked._replace(subresource=""), wrong)
            for value in values:
                self._rbac.authorize(user, asked._replace(name=value))


def _is_only_a_name(other: User) -> bool:
    return not (other.uid or other.groups or other.extra)


def _is_own_node(other: User, user: User) -> bool:
    node = node_name(other.name)
    return (
        _is_only_a_name(other)
        and bool(node)
        and split_account(user.name) is not None
        and user.extra.get(_NODE_NAME) == (node,)
    )


_WAYS = (
    _Way("associated-node", _is_own_node),
    _Way("arbitrary-node", lambda other, _: _is_only_a_name(other) and bool(node_name(other.name))),
    _Way(
        "serviceaccount",
        lambda other, _: _is_only_a_name(other) and split_account(other.name) is not None,
    ),
    _Way(
        "user-info",
        lambda other, _: not node_name(other.name) and split_account(other.name) is None,
    ),
    _Way("", lambda *_: True),
)


def _wrong_with(key: str, values: tuple[str, ...]) -> str:
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    domain, _, path = key.partition("/")
    if not domain or not path:
        return (
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
            f' {quote(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
        )
    if not all(values):
        return "impersonating the empty string value in extra is not allowed"
    return ""


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Adds the group of those who are somebody, or nobody."""
    if name != ANONYMOUS.name and UNAUTHENTICATED in groups:
        return groups
    own = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    return groups if own in groups else (*groups, own)


def _in_go(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    listed = "[]string" + (_slice(groups) if groups else "(nil)")
    pairs = ", ".join(f"{quote(key)}:[]string{_slice(extra[key])}" for key in sorted(extra))
    mapped = "map[string][]string" + (f"{{{pairs}}}" if extra else "(nil)")
    return f'&user.DefaultInfo{{Name:"", UID:{quote(uid)}, Groups:{listed}, Extra:{mapped}}}'


def _slice(texts: tuple[str, ...]) -> str:
    return "{" + ", ".join(map(quote, texts)) + "}"
