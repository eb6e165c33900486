"""`korder apply`: brings manifests into the cluster by server-side apply, document by document."""

import asyncio
from typing import Annotated

from rich.console import Console
import typer

from korder.api.meta import Key, Object
from korder.api.plan import PatchType
from korder.cli import documents, served
from korder.cli.asking import Context, Desk, Kubeconfig, Namespace, desk
from korder.cli.documents import Document
from korder.cli.served import Served
from korder.kube.client import Client
from korder.kube.errors import ApiError, Conflict, KubeError, NotFound

PATIENCE = 30.0
"""Seconds to wait for a kind that an earlier document has just defined."""


def run(
    files: Annotated[
        list[str], typer.Option("--filename", "-f", help="A file, a folder, or - for input.")
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
    found = documents.read(files)
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
    well = True
    async with desk(kubeconfig, context, namespace) as at:
        for document in found:
            try:
                print(await _apply_one(at, document, dry_run=dry_run, force=force), flush=True)
            except ApiError as error:
                well = False
                typer.echo(f"{document.place}: {_told(error)}", err=True)
    return well


async def _apply_one(at: Desk, document: Document, *, dry_run: bool, force: bool) -> str:
    each = at.catalog.of(document.api_version, document.kind) or await _defined(at.client, document)
    where = str(document.metadata.get("namespace") or at.namespace)
    key = Key(where if each.kind.namespaced else "", document.name)
    before = await _look(at.client, each, key)
    applied = await at.client.patch(
        each.kind, key, document.body, PatchType.APPLY, dry_run=dry_run, force=force
    )
    suffix = " (dry run)" if dry_run else ""
    return f"{each.kind}/{document.name} {_outcome(before, applied)}{suffix}"


async def _defined(client: Client, document: Document) -> Served:
    """Waits for a kind that is not served yet, because its definition was applied just now."""
    message = f"waiting for {document.kind} of {document.api_version}"
    with Console(stderr=True).status(message):
        for _ in range(int(PATIENCE / 0.5)):
            each = (await served.discover(client)).of(document.api_version, document.kind)
            if each is not None:
                return each
            await asyncio.sleep(0.5)
    raise KubeError(
        f"{document.place}: the server does not serve {document.kind} of {document.api_version}"
    )


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


def _told(error: ApiError) -> str:
    if isinstance(error, Conflict):
        return f"{error} (--force takes the fields over)"
    return str(error)
