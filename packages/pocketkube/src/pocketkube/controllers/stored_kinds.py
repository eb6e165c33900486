"""Which kinds a server stores: the world as the garbage collector and the namespace controller see it.

Read through discovery, in the version that each group prefers. Only metadata matters to those who ask, so everything decodes to
`Object`. Events are served by two groups out of one drawer and are listed once.
"""

from collections.abc import Iterable

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.client.request import ACCEPT_JSON
from kubeloop.net.http import Request
from kubeloop.objects import codec
from kubeloop.objects.meta import Base, Kind, Object

_STORED = frozenset({"list", "watch", "delete", "patch"})
_TWINS = frozenset({("events.k8s.io", "events")})


class _Version(Base):
    group_version: str = ""


class _Group(Base):
    preferred_version: _Version = _Version()


class _Groups(Base):
    groups: tuple[_Group, ...] = ()


class _Resource(Base):
    name: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class _Resources(Base):
    resources: tuple[_Resource, ...] = ()


async def stored_kinds(client: Client) -> tuple[Kind[Object], ...]:
    """Asks the server for every kind whose objects can be listed, watched, patched and deleted."""
    groups = codec.decode(await client.raw(_get("/apis")), _Groups).groups
    versions = ["v1", *(group.preferred_version.group_version for group in groups)]
    return tuple([kind for version in versions for kind in await _kinds(client, version)])


async def _kinds(client: Client, api_version: str) -> Iterable[Kind[Object]]:
    group, _, version = api_version.rpartition("/")
    try:
        answer = await client.raw(_get(f"/{'apis' if group else 'api'}/{api_version}"))
    except NotFound:
        return ()  # the group has just gone; one that is only out of reach is an error
    resources = codec.decode(answer, _Resources).resources
    return [
        Kind(group, version, each.kind, each.name, Object, namespaced=each.namespaced)
        for each in resources
        if _STORED.issubset(each.verbs) and (group, each.name) not in _TWINS
    ]


def _get(path: str) -> Request:
    return Request("GET", path, ACCEPT_JSON)
