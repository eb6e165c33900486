"""`korder get`: objects as tables, as YAML, as JSON, or only their names."""

import asyncio
from enum import StrEnum
import json
import sys
from typing import Annotated

import msgspec
import typer
import yaml

from korder.cli import tables
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
from korder.cli.tables import Layout, Table
from kubeloop.client import request as requests
from kubeloop.client.errors import NotFound
from kubeloop.client.request import Page
from kubeloop.objects.meta import JSON


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
    output: Annotated[Form, typer.Option("--output", "-o", help="How to show them.")] = Form.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects, such as `korder get pods -A -o wide`."""
    if not asyncio.run(_get(what, namespace, everywhere, labels, output, kubeconfig, context)):
        raise typer.Exit(1)


async def _get(
    what: list[str],
    namespace: str | None,
    everywhere: bool,
    labels: str,
    output: Form,
    kubeconfig: str | None,
    context: str | None,
) -> bool:
    """Shows what there is, and says whether everything that was named is there."""
    async with desk(kubeconfig, context, namespace) as at:
        targets = at.targets(what, labels, everywhere=everywhere)
        if output in (Form.TABLE, Form.WIDE):
            return await _show_tables(at, targets, wide=output is Form.WIDE, namespaces=everywhere)
        return await _show_objects(at, targets, output)


async def _show_tables(at: Desk, targets: list[Target], *, wide: bool, namespaces: bool) -> bool:
    several = len({target.served for target in targets}) > 1
    missing, blank = list[NotFound](), False
    for target, table in [(target, await _read(at, target, missing)) for target in targets]:
        if not table.rows:
            continue
        look = {"wide": wide, "namespaces": namespaces and target.served.kind.namespaced}
        prefix = target.served.called("") if several else ""
        columns = table.column_definitions
        rows = [tables.cells(columns, row, prefix=prefix, **look) for row in table.rows]
        lines = Layout(tables.titles(columns, **look)).lines(rows)
        if blank:
            print()
        tables.show(lines)
        blank = True
    if not blank and not missing:
        where = "" if namespaces or not _is_local(targets) else f" in the namespace {at.namespace}"
        print(f"nothing found{where}", file=sys.stderr)
    return _reported(missing)


def _is_local(targets: list[Target]) -> bool:
    return any(target.served.kind.namespaced for target in targets)


async def _read(at: Desk, target: Target, missing: list[NotFound]) -> Table:
    """Reads a table; objects of one kind that were named are put into one."""
    if not target.names:
        return await tables.read(at.client, target.served, target.selection)
    parts = list[Table]()
    for name in target.names:
        try:
            parts.append(
                await tables.read_one(at.client, target.served, at.key(target.served, name))
            )
        except NotFound as error:
            missing.append(error)
    rows = tuple(row for part in parts for row in part.rows)
    return msgspec.structs.replace(parts[0], rows=rows) if parts else Table()


async def _show_objects(at: Desk, targets: list[Target], output: Form) -> bool:
    missing, found = list[NotFound](), list[tuple[Target, dict[str, JSON]]]()
    for target in targets:
        found += [(target, item) for item in await _objects(at, target, missing)]
    if output is Form.NAME:
        for target, item in found:
            print(target.served.called(str(_metadata(item)["name"])))
        return _reported(missing)
    bodies: list[JSON] = [_shown(target, item) for target, item in found]
    alone = len(bodies) == 1 and sum(len(target.names) for target in targets) == 1
    shown: JSON = bodies[0] if alone else {"apiVersion": "v1", "kind": "List", "items": bodies}
    if not alone and missing:
        return _reported(missing)
    if output is Form.JSON:
        print(json.dumps(shown, indent=4, ensure_ascii=False))
    else:
        print(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), end="")
    return _reported(missing)


async def _objects(at: Desk, target: Target, missing: list[NotFound]) -> list[dict[str, JSON]]:
    if not target.names:
        request = requests.list_page(target.served.kind, target.selection, Page())
        listed: list[dict[str, JSON]] = msgspec.json.decode(await at.client.raw(request))["items"]
        return listed
    found = list[dict[str, JSON]]()
    for name in target.names:
        request = requests.get(target.served.kind, at.key(target.served, name))
        try:
            found.append(msgspec.json.decode(await at.client.raw(request)))
        except NotFound as error:
            missing.append(error)
    return found


def _shown(target: Target, item: dict[str, JSON]) -> dict[str, JSON]:
    """An object as people want to see it: with its kind, which lists leave out, and without who owns which field."""
    kind = target.served.kind
    metadata = {k: v for k, v in _metadata(item).items() if k != "managedFields"}
    rest = {k: v for k, v in item.items() if k not in ("apiVersion", "kind", "metadata")}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **rest}


def _metadata(item: dict[str, JSON]) -> dict[str, JSON]:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101  every object has one
    return metadata


def _reported(missing: list[NotFound]) -> bool:
    for error in missing:
        print(f"korder: {error}", file=sys.stderr)
    return not missing
