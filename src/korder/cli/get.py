"""`korder get` and `korder watch`: objects as tables, as YAML, as JSON, or as they change."""

import asyncio
from enum import StrEnum
import json
import sys
from typing import Annotated

import msgspec
from rich.console import Console
from rich.live import Live
import typer
import yaml

from korder.api.meta import JSON
from korder.cli import tables
from korder.cli.asking import Context, Desk, Kubeconfig, Labels, Namespace, desk, one
from korder.cli.served import Served
from korder.cli.tables import Row
from korder.kube import request as requests
from korder.kube.request import Page, Selection

What = Annotated[list[str], typer.Argument(help="TYPE, TYPE NAME... or TYPE/NAME...")]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look everywhere.")]


class Form(StrEnum):
    """How objects are shown."""

    TABLE = "table"
    WIDE = "wide"
    YAML = "yaml"
    JSON = "json"
    NAME = "name"


def run(
    what: What,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    labels: Labels = "",
    output: Annotated[Form, typer.Option("--output", "-o", help="The form.")] = Form.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects."""
    asyncio.run(_get(what, namespace, everywhere, labels, output, kubeconfig, context))


def watch(
    what: What,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    labels: Labels = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects and follow their changes until Ctrl-C."""
    asyncio.run(_watch(what, namespace, everywhere, labels, kubeconfig, context))


async def _get(
    what: list[str],
    namespace: str | None,
    everywhere: bool,
    labels: str,
    output: Form,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        for each, selection in _selections(at, what, everywhere, labels):
            if output in (Form.TABLE, Form.WIDE):
                await _show_table(at, each, selection, everywhere, wide=output is Form.WIDE)
            else:
                await _show_objects(at, each, selection, output)


def _selections(
    at: Desk, what: list[str], everywhere: bool, labels: str
) -> list[tuple[Served, Selection]]:
    where = "" if everywhere else at.namespace
    if len(what) == 1 and "/" not in what[0]:
        return [
            (each, Selection(where if each.kind.namespaced else "", labels))
            for each in at.catalog.find(what[0])
        ]
    return [
        (each, Selection(at.key(each, name).namespace, labels, f"metadata.name={name}"))
        for each, name in at.named(what)
    ]


async def _show_table(
    at: Desk, each: Served, selection: Selection, everywhere: bool, *, wide: bool
) -> None:
    if selection.fields:
        await at.client.get(each.kind, at.key(each, selection.fields.partition("=")[2]))
    table = await tables.read(at.client, each, selection)
    if not table.rows:
        where = f" in the namespace {selection.namespace}" if selection.namespace else ""
        print(f"no {each.kind}{where}", file=sys.stderr)
        return
    namespaces = everywhere and each.kind.namespaced
    drawn = tables.drawn(table.column_definitions, table.rows, wide=wide, namespaces=namespaces)
    _console().print(drawn)


async def _show_objects(at: Desk, each: Served, selection: Selection, output: Form) -> None:
    if selection.fields:
        name = selection.fields.partition("=")[2]
        body = await at.client.raw(requests.get(each.kind, at.key(each, name)))
    else:
        body = await at.client.raw(requests.list_page(each.kind, selection, Page()))
    obj: dict[str, JSON] = msgspec.json.decode(body)
    if output is Form.NAME:
        for item in obj.get("items", [obj]):  # type: ignore[union-attr]
            print(f"{each.kind}/{item['metadata']['name']}")  # type: ignore[index,call-overload]
    elif output is Form.JSON:
        print(json.dumps(obj, indent=4))
    else:
        print(yaml.safe_dump(obj, sort_keys=False, allow_unicode=True), end="")


async def _watch(
    what: list[str],
    namespace: str | None,
    everywhere: bool,
    labels: str,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        one(at.catalog, what[0].partition("/")[0])
        ((each, selection), *_) = _selections(at, what, everywhere, labels)
        await _follow(at, each, selection, everywhere=everywhere and each.kind.namespaced)


async def _follow(at: Desk, each: Served, selection: Selection, *, everywhere: bool) -> None:
    """Keeps one table up to date on a terminal; elsewhere prints each change below the last."""
    table = await tables.read(at.client, each, selection)
    columns, console = table.column_definitions, _console()
    rows = {_id(row): row for row in table.rows}
    drawn = tables.drawn(columns, table.rows, wide=False, namespaces=everywhere)
    changes = tables.follow(at.client, each, selection, table.metadata.resource_version)
    if not console.is_terminal:
        console.print(drawn)
        async for word, change in changes:
            for row in change.rows:
                print(word.lower(), row.object.metadata.name, *row.cells[1:], sep="  ", flush=True)
        return
    with Live(drawn, console=console, auto_refresh=False) as live:
        async for word, change in changes:
            for row in change.rows:
                if word == "DELETED":
                    rows.pop(_id(row), None)
                else:
                    rows[_id(row)] = row
            ordered = [rows[name] for name in sorted(rows)]
            update = tables.drawn(columns, ordered, wide=False, namespaces=everywhere)
            live.update(update, refresh=True)


def _id(row: Row) -> tuple[str, str]:
    return row.object.metadata.namespace, row.object.metadata.name


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 10_000, soft_wrap=True, highlight=False)
