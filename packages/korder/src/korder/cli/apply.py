"""`korder apply`: brings manifests into the cluster by server-side apply, document by document."""

import asyncio
from typing import Annotated

from rich.console import Console
import typer

from korder.cli import documents
from korder.cli.documents import Document
from korder.cli.options import Context, Desk, Kubeconfig, Namespace, desk
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError, Conflict, NotFound
from kubeloop.client.rest_mapper import Served, UnknownWord
from kubeloop.objects.meta import Key, Object
from kubeloop.objects.plan import PatchType

PATIENCE = 30.0
"""Seconds to wait for a kind that an earlier document has just defined."""


def run(
    files: Annotated[
        list[str],
        typer.Option("--filename", "-f", metavar="FILE", help="A file, a folder, or - for input."),
    ],
    namespace: Namespace = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only ask what would happen.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Take over fields that others manage.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Create or change objects so that they are as the manifests say."""
    found = documents.read(files, namespace)
    if not asyncio.run(_apply(found, namespace, dry_run, force, kubeconfig, context)):
        raise typer.Exit(1)


async def _apply(
    found: list[Document],
    namespace: str | None,
    dry_run: bool,
    force: bool,
    kubeconfig: str | None,
    context: str | None,
) -> bool:
    """Applies all of them, whatever becomes of one, and says whether all went well."""
    well, defined = True, set[tuple[str, str]]()
    async with desk(kubeconfig, context, namespace) as at:
        for document in found:
            try:
                each = await _kind(at, document, defined)
                print(await _apply_one(at, each, document, dry_run, force), flush=True)
                defined |= {document.defines} if document.defines and not dry_run else set()
            except (ApiError, UnknownWord) as error:
                well = False
                typer.echo(f"{document.place}: {_reported(error)}", err=True)
    return well


async def _apply_one(at: Desk, each: Served, document: Document, dry_run: bool, force: bool) -> str:
    where = str(document.metadata.get("namespace") or at.namespace)
    key = Key(where if each.kind.namespaced else "", document.name)
    before = await _look(at.client, each, key)
    applied = await at.client.patch(
        each.kind, key, document.body, PatchType.APPLY, dry_run=dry_run, force=force
    )
    if dry_run:
        # A dry run gives no new version, so it does not show whether anything would change.
        outcome = "accepted (dry run)" if before else "created (dry run)"
    else:
        outcome = _outcome(before, applied)
    return f"{each.called(document.name)} {outcome}"


async def _kind(at: Desk, document: Document, defined: set[tuple[str, str]]) -> Served:
    """Finds the kind of a document; one that was defined just now is waited for."""
    found = at.catalog.of(document.api_version, document.kind)
    if found is None and (document.group, document.kind) in defined:
        found = await _awaited(at.client, document)
    if found is None:
        raise UnknownWord(f"the server does not serve {document.kind} of {document.api_version}")
    return found


async def _awaited(client: Client, document: Document) -> Served | None:
    message = f"waiting for {document.kind} of {document.api_version}"
    with Console(stderr=True).status(message):
        for _ in range(int(PATIENCE / 0.1)):
            found = (await rest_mapper.discover(client)).of(document.api_version, document.kind)
            if found is not None:
                return found
            await asyncio.sleep(0.1)
    return None


async def _look(client: Client, each: Served, key: Key) -> Object | None:
    try:
        return await client.get(each.kind, key)
    except NotFound:
        return None


def _outcome(before: Object | None, applied: Object) -> str:
    if before is None:
        return "created"
    same = before.metadata.resource_version == applied.metadata.resource_version
    return "unchanged" if same else "configured"


def _reported(error: ApiError | UnknownWord) -> str:
    if isinstance(error, Conflict):
        return f"{error} (--force takes the fields over)"
    return str(error)
