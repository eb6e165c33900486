"""Objects as a server would print them: tables with the columns of their kind, once or as they change.

`get`, `watch` and `describe` show them. The server makes the cells (`as=Table`), so custom kinds look as their authors
meant them to. Lines are as long as their cells and never cut: on a narrow terminal they go on below, in a pipe nothing is lost.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
import sys

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kubeloop.client import request as requests, stream
from kubeloop.client.client import PAGE, Client
from kubeloop.client.errors import KubeError, from_status
from kubeloop.client.request import Page, Selection
from kubeloop.client.rest_mapper import Served
from kubeloop.net.http import Request
from kubeloop.objects import codec
from kubeloop.objects.codec import Raw
from kubeloop.objects.machinery import Status
from kubeloop.objects.meta import Base, Key, ListMeta, Object

_AS_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
_SILENCE = 3600.0
_GAP = 3

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


class Layout:
    """Columns under their titles, each as wide as the widest cell it has seen."""

    def __init__(self, titles: Sequence[str]) -> None:
        self._titles = titles
        self._widths = [cell_len(title) for title in titles]

    def lines(self, rows: Iterable[Sequence[str]]) -> list[Text]:
        """The rows, below the titles."""
        shown = [tuple(map(_printable, row)) for row in rows]
        self._fit(shown)
        return [Text(self._line(self._titles).plain, style="bold"), *map(self._line, shown)]

    def line(self, row: Sequence[str]) -> Text:
        """One row more."""
        cells = tuple(map(_printable, row))
        self._fit([cells])
        return self._line(cells)

    def _fit(self, rows: Iterable[Sequence[str]]) -> None:
        for row in rows:
            self._widths = [
                max(*pair) for pair in zip(self._widths, map(cell_len, row), strict=True)
            ]

    def _line(self, cells: Sequence[str]) -> Text:
        text = Text(no_wrap=True, overflow="ignore")
        for cell, width in zip(cells, self._widths, strict=True):
            text.append(cell, _style(cell)).append(" " * (width - cell_len(cell) + _GAP))
        text.rstrip()
        return text


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


async def read_one(client: Client, served: Served, key: Key) -> Table:
    """Reads one object.

    Raises:
        NotFound: it is not there.
    """
    return _table(await client.raw(_as_table(requests.get(served.kind, key))))


async def follow(
    client: Client, served: Served, selection: Selection, since: str
) -> AsyncIterator[tuple[str, Table]]:
    """Yields what happens after a version: the word of the watch, and the row."""
    request = requests.watch(served.kind, selection, resource_version=since)
    async for word, body in changes(client, _as_table(request)):
        yield word, _table(body)


async def changes(client: Client, request: Request) -> AsyncIterator[tuple[str, bytes]]:
    """Yields what a watch tells: its word, and the object as the request wants it."""
    async with await client.raw_stream(request) as response:
        async for lines in stream.batches(response, _SILENCE):
            for line in lines:
                event = codec.decode(line, _Event)
                if event.type == "ERROR":
                    raise from_status(codec.decode(event.object, Status))
                if event.type != "BOOKMARK":
                    yield event.type, bytes(event.object)


def titles(columns: Sequence[Column], *, wide: bool = False, namespaces: bool = False) -> list[str]:
    """The titles of the columns that are shown."""
    shown = [column.name.upper() for column in columns if wide or not column.priority]
    return ["NAMESPACE", *shown] if namespaces else shown


def cells(
    columns: Sequence[Column],
    row: Row,
    *,
    wide: bool = False,
    namespaces: bool = False,
    prefix: str = "",
) -> list[str]:
    """The texts of the columns that are shown; a prefix goes before the first, the name."""
    values = [*row.cells, *[None] * (len(columns) - len(row.cells))]
    shown = [
        "<none>" if value is None else str(value)
        for column, value in zip(columns, values, strict=False)
        if wide or not column.priority
    ]
    shown[:1] = [f"{prefix}{first}" for first in shown[:1]]
    return [row.object.metadata.namespace, *shown] if namespaces else shown


def console() -> Console:
    """Standard output, with colours where they can be seen."""
    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def show(lines: Iterable[Text]) -> None:
    """Prints lines as they are, one below the other."""
    out = console()
    for line in lines:
        out.print(line)
    sys.stdout.flush()


def _printable(cell: str) -> str:
    return cell if cell.isprintable() else "".join(c if c.isprintable() else " " for c in cell)


def _style(cell: str) -> str:
    word = cell.partition(",")[0]
    return "green" if word in _GOOD else "red" if word in _BAD else ""


def _as_table(request: Request) -> Request:
    return msgspec.structs.replace(request, headers=_AS_TABLE)


def _table(body: bytes) -> Table:
    table = codec.decode(body, Table)
    if table.kind != "Table":
        raise KubeError("the server does not make tables of this kind")
    return table
