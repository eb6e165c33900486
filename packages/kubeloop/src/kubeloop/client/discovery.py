"""What a server is and which kinds it serves.

The command line and the manager ask before they begin, so that a missing CRD is one sentence and not a stream of 404s.
"""

from collections.abc import Iterable

import msgspec

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound, Undecodable
from kubeloop.client.request import ACCEPT_JSON
from kubeloop.net.http import Request
from kubeloop.objects import codec
from kubeloop.objects.meta import Base
from kubeloop.objects.plan import AnyKind


class ServerVersion(Base):
    """The version of an API server, as it says it."""

    git_version: str = ""
    major: str = ""
    minor: str = ""


class _Resource(Base):
    name: str
    kind: str


class _ResourceList(Base):
    resources: tuple[_Resource, ...] = ()


async def server_version(client: Client) -> ServerVersion:
    """Asks the server for its version."""
    answer = await client.raw(Request("GET", "/version", ACCEPT_JSON))
    try:
        return codec.decode(answer, ServerVersion)
    except msgspec.MsgspecError as error:
        raise Undecodable("what answers there does not speak like an API server") from error


async def missing(client: Client, kinds: Iterable[AnyKind]) -> tuple[AnyKind, ...]:
    """Finds those of `kinds` that the server does not serve, in the order given."""
    kinds = tuple(kinds)
    served = {
        version: await _served(client, version) for version in {kind.api_version for kind in kinds}
    }
    return tuple(kind for kind in kinds if kind.plural not in served[kind.api_version])


async def _served(client: Client, api_version: str) -> frozenset[str]:
    root = "/apis" if "/" in api_version else "/api"
    try:
        answer = await client.raw(Request("GET", f"{root}/{api_version}", ACCEPT_JSON))
    except NotFound:
        return frozenset()
    return frozenset(resource.name for resource in codec.decode(answer, _ResourceList).resources)
