"""Who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import re
from typing import Any

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
NODES = "system:nodes"
_ACCOUNTS = "system:serviceaccounts"
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NODE = re.compile(rf"system:node:(?=.{{1,253}}\Z)({_LABEL}(?:\.{_LABEL})*)")
_ACCOUNT = re.compile(
    rf"system:serviceaccount:(?=[^:]{{1,63}}:)({_LABEL}):(?=.{{1,253}}\Z)({_LABEL}(?:\.{_LABEL})*)"
)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a name and groups."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups every service account of a namespace is in."""
    return (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")


def split_account(username: str) -> tuple[str, str] | None:
    """Namespace and name, if it is the user name of a service account."""
    found = _ACCOUNT.fullmatch(username)
    return None if found is None else (found[1], found[2])


def node_name(username: str) -> str:
    """The name of the node, if it is the user name of one."""
    found = _NODE.fullmatch(username)
    return "" if found is None else found[1]


def user_info(user: User) -> dict[str, Any]:
    """Somebody as reviews and admission requests show them."""
    info: dict[str, Any] = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(user.extra[key]) for key in sorted(user.extra)}
    return info
