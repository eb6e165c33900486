"""Objects as a server would print them: tables with the columns of their kind, once or as they change.

`get`, `watch` and `describe` show them. The server makes the cells (`as=Table`), so custom kinds look as their authors
meant them to.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import msgspec
from rich.table import Table as RichTable
from rich.text import Text

from korder.api import codec
from korder.api.codec import Raw
from korder.api.machinery import Status
from korder.api.meta import Base, ListMeta, Object
from korder.cli.served import Served
from korder.kube import request as requests, stream
from korder.kube.client import PAGE, Client
from korder.kube.errors import KubeError, from_status
from korder.kube.request import Page, Selection
from korder.net.http import Request

_AS_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
_SILENCE = 3600.0

_GOOD = frozenset({"Running", "Ready", "Active", "Bound", "True", "Complete", "Completed", "Open"})
_BAD = frozenset({"Failed", "Error", "CrashLoopBackOff", "NotReady", "Lost", "Expired", "Evicted"})


class Column(Base):
    """A column; those of priority 0 are always shown."""

    name: str
    type: str = ""
    priority: int = 0


class Row(Base):
    """One object in cells."""

    cells: tuple[Raw, ...] = ()
    object: Object = Object()


class Table(Base):
    """A part of a list, or of one object."""

    kind: str = ""
    metadata: ListMeta = ListMeta()
    column_definitions: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()


class _Event(Base):
    type: str
    object: msgspec.Raw


async def read(client: Client, served: Served, selection: Selection) -> Table:
    """Reads everything selected, page by page."""
    page, rows = Page(limit=PAGE), list[Row]()
    while True:
        request = requests.list_page(served.kind, selection, page)
        table = _table(await client.raw(_as_table(request)))
        rows += table.rows
        if not table.metadata.continue_token:
            return msgspec.structs.replace(table, rows=tuple(rows))
        page = Page(limit=PAGE, continue_token=table.metadata.continue_token)


async def follow(
    client: Client, served: Served, selection: Selection, since: str
) -> AsyncIterator[tuple[str, Table]]:
    """Yields what happens after a version: the word of the watch, and the row."""
    request = requests.watch(served.kind, selection, resource_version=since)
    async with await client.raw_stream(_as_table(request)) as response:
        async for lines in stream.batches(response, _SILENCE):
            for line in lines:
                event = codec.decode(line, _Event)
                if event.type == "ERROR":
                    raise from_status(codec.decode(event.object, Status))
                if event.type != "BOOKMARK":
                    yield event.type, _table(bytes(event.object))


def drawn(
    columns: Sequence[Column], rows: Sequence[Row], *, wide: bool, namespaces: bool
) -> RichTable:
    """Draws rows for a terminal."""
    shown = [place for place, column in enumerate(columns) if wide or not column.priority]
    table = RichTable(box=None, pad_edge=False, header_style="bold", show_edge=False)
    if namespaces:
        table.add_column("NAMESPACE", no_wrap=True)
    for place in shown:
        table.add_column(columns[place].name.upper(), no_wrap=True)
    for row in rows:
        cells = [_cell(row.cells[place]) for place in shown if place < len(row.cells)]
        table.add_row(*([row.object.metadata.namespace] if namespaces else []), *cells)
    return table


def _cell(value: object) -> Text:
    text = "<none>" if value is None else str(value)
    word = text.partition(",")[0]
    return Text(text, style="green" if word in _GOOD else "red" if word in _BAD else "")


def _as_table(request: Request) -> Request:
    return replace(request, headers=_AS_TABLE)


def _table(body: bytes) -> Table:
    table = codec.decode(body, Table)
    if table.kind != "Table":
        raise KubeError("the server does not make tables of this kind")
    return table
