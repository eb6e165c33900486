"""`korder watch`: objects, and what becomes of them."""

import asyncio
from collections.abc import AsyncIterator

from korder.cli import tables
from korder.cli.live_table import Look, follow
from korder.cli.options import (
    Context,
    Desk,
    Everywhere,
    Kubeconfig,
    Labels,
    Namespace,
    Target,
    What,
    desk,
)
from korder.cli.tables import Row
from kubeloop.client.errors import KubeError


def run(
    what: What,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    labels: Labels = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects and follow their changes until Ctrl-C."""
    asyncio.run(_watch(what, namespace, everywhere, labels, kubeconfig, context))


async def _watch(
    what: list[str],
    namespace: str | None,
    everywhere: bool,
    labels: str,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        targets = at.targets(what, labels, everywhere=everywhere)
        if len(targets) > 1 or len(targets[0].names) > 1:
            raise KubeError("watch follows one kind, or one object")
        await _follow(at, targets[0], namespaces=everywhere and targets[0].served.kind.namespaced)


async def _follow(at: Desk, target: Target, *, namespaces: bool) -> None:
    table = await tables.read(at.client, target.served, target.selection)
    columns = table.column_definitions
    look: Look[Row] = Look(
        titles=tables.titles(columns, namespaces=namespaces),
        cells=lambda row: tables.cells(columns, row, namespaces=namespaces),
        place=lambda row: (row.object.metadata.namespace, row.object.metadata.name),
    )
    since = table.metadata.resource_version
    await follow(look, table.rows, _rows(at, target, since))


async def _rows(at: Desk, target: Target, since: str) -> AsyncIterator[tuple[str, Row]]:
    async for word, change in tables.follow(at.client, target.served, target.selection, since):
        for row in change.rows:
            yield word, row
