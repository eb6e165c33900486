"""`korder delete`: removes objects and waits until they are gone."""

import asyncio
import sys
from typing import Annotated

from rich.console import Console
import typer

from korder.cli import documents
from korder.cli.documents import Document
from korder.cli.options import Context, Desk, Kubeconfig, Namespace, desk
from kubeloop.client.errors import KubeError, NotFound
from kubeloop.client.request import Propagation
from kubeloop.client.rest_mapper import Served
from kubeloop.objects.meta import Key


def run(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="TYPE NAME...", help="Such as pods web-1 web-2, or deploy/web."),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="What is in these manifests."),
    ] = None,
    namespace: Namespace = None,
    wait: Annotated[bool, typer.Option(help="Wait until they are gone.")] = True,
    grace: Annotated[
        int | None, typer.Option("--grace-period", min=0, help="Seconds to shut down.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Remove objects."""
    if bool(what) == bool(files):
        raise typer.BadParameter("name either objects, or manifests with -f")
    found = documents.read(files, namespace) if files else []
    work = _delete(what or [], found, namespace, wait, grace, kubeconfig, context)
    if not asyncio.run(work):
        raise typer.Exit(1)


async def _delete(
    what: list[str],
    found: list[Document],
    namespace: str | None,
    wait: bool,
    grace: int | None,
    kubeconfig: str | None,
    context: str | None,
) -> bool:
    """Deletes all of them, and says whether all were there."""
    well = True
    async with desk(kubeconfig, context, namespace) as at:
        going = list[tuple[Served, Key, str]]()
        for each, key in _named(at, what) if what else _of_documents(at, found):
            try:
                going.append((each, key, await _begin(at, each, key, grace)))
            except NotFound as error:
                well = False
                print(f"korder: {error}", file=sys.stderr)
        if wait:
            with Console(stderr=True).status("waiting until they are gone") as status:
                for each, key, uid in going:
                    status.update(f"waiting until {each.called(key.name)} is gone")
                    await _gone(at, each, key, uid)
    return well


def _named(at: Desk, what: list[str]) -> list[tuple[Served, Key]]:
    pairs = [(each, at.key(each, name)) for each, name in at.named(what)]
    if not pairs:
        raise KubeError(f"name the {what[0]} to delete")
    return pairs


def _of_documents(at: Desk, manifests: list[Document]) -> list[tuple[Served, Key]]:
    """What manifests name, last first: what was made later may need what was made before."""
    found: list[tuple[Served, Key]] = []
    for document in reversed(manifests):
        each = at.catalog.of(document.api_version, document.kind)
        if each is None:
            raise KubeError(
                f"{document.place}: the server does not serve {document.kind} of {document.api_version}"
            )
        where = str(document.metadata.get("namespace") or at.namespace)
        found.append((each, Key(where if each.kind.namespaced else "", document.name)))
    return found


async def _begin(at: Desk, each: Served, key: Key, grace: int | None) -> str:
    """Asks for the deletion; returns whose it is, because another of the same name may follow at once."""
    uid = (await at.client.get(each.kind, key)).metadata.uid
    await at.client.delete(each.kind, key, grace_seconds=grace, propagation=Propagation.BACKGROUND)
    print(f"{each.called(key.name)} deleted", flush=True)
    return uid


async def _gone(at: Desk, each: Served, key: Key, uid: str) -> None:
    try:
        while (await at.client.get(each.kind, key)).metadata.uid == uid:
            await asyncio.sleep(0.2)
    except NotFound:
        return
