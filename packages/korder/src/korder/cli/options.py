"""What the daily verbs ask for in common: which cluster, which namespace, which objects."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
import random
from typing import Annotated

import typer

from korder.cli.session import cluster, home
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError
from kubeloop.client.request import Selection
from kubeloop.client.rest_mapper import Catalog, Served
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import AnyKind

Kubeconfig = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="The kubeconfig to use; `embedded` for that of `korder up`."),
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="The context of the kubeconfig.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="The namespace; the context's if not given."
    ),
]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look everywhere.")]
Labels = Annotated[
    str,
    typer.Option("--selector", "-l", metavar="LABELS", help="Only objects with these labels."),
]
What = Annotated[
    list[str],
    typer.Argument(
        metavar="TYPE [NAME...]",
        help="Such as pods, deploy/web, nodes node-1 node-2, order,ticket, or all and korder.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Target:
    """Objects of one kind: those that were named, or all that are selected."""

    served: Served
    selection: Selection
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Desk:
    """A cluster that was asked what it serves, and the namespace one is in."""

    client: Client
    catalog: Catalog
    namespace: str

    def key(self, each: Served, name: str) -> Key:
        """Where an object of that name would be."""
        return Key(self.namespace if each.kind.namespaced else "", name)

    def require(self, *kinds: AnyKind) -> None:
        """Says in one sentence that korder is not installed, where it is not."""
        absent = [kind for kind in kinds if self.catalog.of(kind.api_version, kind.kind) is None]
        if absent:
            names = ", ".join(str(kind) for kind in absent)
            raise KubeError(f"the cluster does not serve {names}: run `korder install` first")

    def targets(self, words: Sequence[str], labels: str, *, everywhere: bool) -> list[Target]:
        """Reads `TYPE`, `TYPE NAME...` or `TYPE/NAME...`."""
        if len(words) == 1 and "/" not in words[0]:
            return [
                Target(each, Selection("" if everywhere else self.key(each, "").namespace, labels))
                for each in self.catalog.find(words[0])
            ]
        if everywhere:
            raise KubeError("a name is looked up in one namespace; leave out -A or the name")
        if labels:
            raise KubeError("say either names or -l, not both")
        names = dict[Served, list[str]]()
        for each, name in self.named(words):
            names.setdefault(each, []).append(name)
        return [Target(each, self._only(each, of), tuple(of)) for each, of in names.items()]

    def named(self, words: Sequence[str]) -> list[tuple[Served, str]]:
        """Reads `TYPE NAME...` or `TYPE/NAME...`."""
        if all("/" in word for word in words):
            pairs = [word.split("/", 1) for word in words]
            return [(one(self.catalog, word), name) for word, name in pairs]
        if any("/" in word for word in words):
            raise KubeError("say either TYPE NAME... or TYPE/NAME..., not both")
        each = one(self.catalog, words[0])
        return [(each, name) for name in words[1:]]

    def _only(self, each: Served, names: list[str]) -> Selection:
        return Selection(self.key(each, "").namespace, "", f"metadata.name={names[0]}")


def one(catalog: Catalog, word: str) -> Served:
    """Finds the one kind that a word means."""
    found = catalog.find(word)
    if len(found) > 1:
        raise KubeError(f"{word!r} means several kinds here; name one of them")
    return found[0]


@asynccontextmanager
async def desk(
    kubeconfig: str | None, context: str | None, namespace: str | None
) -> AsyncIterator[Desk]:
    """Opens the cluster and asks it what it serves."""
    async with cluster(kubeconfig, context, random.Random()) as client:
        where = namespace or home(kubeconfig, context)
        yield Desk(client, await rest_mapper.discover(client), where)
