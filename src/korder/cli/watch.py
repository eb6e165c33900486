"""`korder watch`: objects, and what becomes of them."""

import asyncio
from collections.abc import AsyncIterator

from rich.console import Group
from rich.live import Live

from korder.cli import tables
from korder.cli.asking import (
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
from korder.cli.tables import Layout, Row, Table
from korder.kube.errors import KubeError

Changes = AsyncIterator[tuple[str, Table]]


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
    """Keeps one table up to date where it fits; elsewhere prints each change below the last."""
    table = await tables.read(at.client, target.served, target.selection)
    since = table.metadata.resource_version
    changes = tables.follow(at.client, target.served, target.selection, since)
    if _fits(table, namespaces=namespaces):
        await _keep(table, changes, namespaces=namespaces)
    else:
        await _print(table, changes, namespaces=namespaces)


def _fits(table: Table, *, namespaces: bool) -> bool:
    """Whether there is a terminal that shows the whole table, with room for a row more."""
    console = tables.console()
    columns = table.column_definitions
    rows = [tables.cells(columns, row, namespaces=namespaces) for row in table.rows]
    lines = Layout(tables.titles(columns, namespaces=namespaces)).lines(rows)
    width = max(line.cell_len for line in lines)
    return console.is_terminal and len(lines) + 1 < console.height and width <= console.width


async def _print(table: Table, changes: Changes, *, namespaces: bool) -> None:
    columns = table.column_definitions
    layout = Layout(["EVENT", *tables.titles(columns, namespaces=namespaces)])
    layout.line(["MODIFIED", *[""] * len(tables.titles(columns, namespaces=namespaces))])
    first = [("ADDED", row) for row in table.rows]
    tables.show(
        layout.lines(
            [word, *tables.cells(columns, row, namespaces=namespaces)] for word, row in first
        )
    )
    async for word, change in changes:
        for row in change.rows:
            tables.show([layout.line([word, *tables.cells(columns, row, namespaces=namespaces)])])


async def _keep(table: Table, changes: Changes, *, namespaces: bool) -> None:
    columns = table.column_definitions
    rows = {_id(row): row for row in table.rows}

    def drawn() -> Group:
        shown = [tables.cells(columns, rows[key], namespaces=namespaces) for key in sorted(rows)]
        return Group(*Layout(tables.titles(columns, namespaces=namespaces)).lines(shown))

    with Live(drawn(), console=tables.console(), auto_refresh=False) as live:
        async for word, change in changes:
            for row in change.rows:
                if word == "DELETED":
                    rows.pop(_id(row), None)
                else:
                    rows[_id(row)] = row
            live.update(drawn(), refresh=True)


def _id(row: Row) -> tuple[str, str]:
    return row.object.metadata.namespace, row.object.metadata.name
