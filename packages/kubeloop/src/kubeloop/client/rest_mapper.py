"""From the words people type to the kinds a server serves: `po`, `pod`, `Pods`, `orders.core.korder.dev`, `all`.

The daily verbs (`get`, `watch`, `apply`, `describe`, `delete`) and simulation ask here. Everything is known from two requests of
aggregated discovery, so a kind that was defined a second ago is found.
"""

from collections.abc import Iterable
from dataclasses import dataclass
import difflib

import msgspec

from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError
from kubeloop.net.http import Request
from kubeloop.objects import codec
from kubeloop.objects.meta import Base, Kind, Object

_FORM = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_AGGREGATED = {"Accept": f"{_FORM.format('v2')},{_FORM.format('v2beta1')},application/json"}
"""Servers before 1.30 know only the second."""


class _ResponseKind(Base):
    kind: str = ""


class _Resource(Base):
    resource: str
    response_kind: _ResponseKind = _ResponseKind()
    scope: str = ""
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Version(Base):
    version: str
    resources: tuple[_Resource, ...] = ()


class _Meta(Base):
    name: str = ""


class _Group(Base):
    metadata: _Meta = _Meta()
    versions: tuple[_Version, ...] = ()


class _Groups(Base):
    items: tuple[_Group, ...] = ()


class UnknownWord(KubeError):
    """The server serves nothing of that name."""


@dataclass(frozen=True, slots=True)
class Served:
    """A kind, and the words for it.

    Attributes:
        words: Its full names.
        short: Words that mean it where nothing has them for its name: `quota` is short for a ResourceQuota unless there is a Quota.
    """

    kind: Kind[Object]
    noun: str
    words: frozenset[str]
    short: frozenset[str]
    categories: tuple[str, ...]

    def called(self, name: str) -> str:
        """How one object of it is named in answers: `deployment.apps/web`."""
        return f"{self.noun}/{name}"


class Catalog:
    """Everything a server serves, preferred versions first."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._served = tuple(served)

    def find(self, words: str) -> tuple[Served, ...]:
        """Finds what a word means, or several with commas between them, or a category.

        Raises:
            UnknownWord: nothing has that name.
        """
        return tuple(dict.fromkeys(each for word in words.split(",") for each in self._find(word)))

    def of(self, api_version: str, kind: str) -> Served | None:
        """Finds the kind that an object says it is."""
        for each in self._served:
            if (each.kind.api_version, each.kind.kind) == (api_version, kind):
                return each
        return None

    def _find(self, word: str) -> tuple[Served, ...]:
        wanted = word.lower()
        meant = [each for each in self._served if wanted in each.words]
        meant += [each for each in self._served if wanted in each.short]
        if meant:
            return (meant[0],)
        found = tuple(each for each in self._served if wanted in each.categories)
        if not found:
            raise UnknownWord(
                f"the server has no resource of the name {word!r}{self._like(wanted)}"
            )
        return tuple({each.kind.kind: each for each in reversed(found)}.values())[::-1]

    def _like(self, wanted: str) -> str:
        plain = {each.kind.plural for each in self._served}
        near = difflib.get_close_matches(wanted, sorted(plain), n=1, cutoff=0.7)
        return f"; is {near[0]!r} meant?" if near else ""


async def discover(client: Client) -> Catalog:
    """Asks a server for all it serves."""
    groups = [await _groups(client, root) for root in ("/api", "/apis")]
    return Catalog(
        _served(group.metadata.name, version.version, resource)
        for group in (*groups[0], *groups[1])
        for version in group.versions
        for resource in version.resources
    )


async def _groups(client: Client, root: str) -> tuple[_Group, ...]:
    answer = await client.raw(Request("GET", root, _AGGREGATED))
    try:
        return codec.decode(answer, _Groups).items
    except msgspec.MsgspecError as error:
        raise KubeError(f"{root} does not answer as an API server does: {error}") from error


def _served(group: str, version: str, resource: _Resource) -> Served:
    kind = Kind(
        group,
        version,
        resource.response_kind.kind,
        resource.resource,
        Object,
        namespaced=resource.scope == "Namespaced",
    )
    plain = (resource.resource, resource.singular_resource, kind.kind.lower())
    words = set(plain)
    if group:
        words |= {f"{word}.{group}" for word in plain}
        words |= {f"{word}.{version}.{group}" for word in plain}
    singular = resource.singular_resource or kind.kind.lower()
    noun = f"{singular}.{group}" if group else singular
    return Served(
        kind, noun, frozenset(words), frozenset(resource.short_names), resource.categories
    )
