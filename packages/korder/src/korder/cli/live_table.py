"""Rows that change, on a screen: one table kept up to date where it fits, elsewhere each change below the last.

`watch` and `tickets` show their objects through it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Group
from rich.live import Live

from korder.cli import tables
from korder.cli.tables import Layout

R = TypeVar("R")
Place = tuple[str, str]
"""The namespace and the name of what a row shows."""


@dataclass(frozen=True, slots=True)
class Look(Generic[R]):
    """How rows are shown.

    Attributes:
        titles: What stands above the columns.
        cells: The texts of a row.
        place: Which object a row is about.
        ticks: Whether cells tell of time, so that they change without any news.
        usual: A row as wide as most, for columns that nothing is known of yet.
    """

    titles: list[str]
    cells: Callable[[R], list[str]]
    place: Callable[[R], Place]
    ticks: bool = False
    usual: tuple[str, ...] = ()


async def follow(look: Look[R], first: Iterable[R], changes: AsyncIterator[tuple[str, R]]) -> None:
    """Shows what is there, and then what becomes of it: the word of a watch and the row."""
    rows = list(first)
    if _fits(look, rows):
        await _keep(look, rows, changes)
    else:
        await _print(look, rows, changes)


def _fits(look: Look[R], rows: list[R]) -> bool:
    """Whether there is a terminal that shows the whole table, with room for a row more."""
    console = tables.console()
    lines = Layout(look.titles).lines(map(look.cells, rows))
    width = max(line.cell_len for line in lines)
    return console.is_terminal and len(lines) + 1 < console.height and width <= console.width


async def _print(look: Look[R], rows: list[R], changes: AsyncIterator[tuple[str, R]]) -> None:
    layout = Layout(["EVENT", *look.titles])
    layout.line(["MODIFIED", *(look.usual or [""] * len(look.titles))])
    tables.show(layout.lines(["ADDED", *look.cells(row)] for row in rows))
    async for word, row in changes:
        tables.show([layout.line([word, *look.cells(row)])])


async def _keep(look: Look[R], rows: list[R], changes: AsyncIterator[tuple[str, R]]) -> None:
    shown = {look.place(row): row for row in rows}

    def draw() -> Group:
        return Group(*Layout(look.titles).lines(look.cells(shown[key]) for key in sorted(shown)))

    def take(word: str, row: R) -> None:
        if word == "DELETED":
            shown.pop(look.place(row), None)
        else:
            shown[look.place(row)] = row

    with Live(draw(), console=tables.console(), auto_refresh=False) as live:
        timer = _Ticker(lambda: live.update(draw(), refresh=True)) if look.ticks else None
        try:
            async for word, row in changes:
                take(word, row)
                live.update(draw(), refresh=True)
        finally:
            if timer is not None:
                timer.cancel()


class _Ticker:
    """Calls something every second; a task would wrap the errors of its neighbours."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._handle = self._arm()

    def cancel(self) -> None:
        self._handle.cancel()

    def _arm(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(1, self._fire)

    def _fire(self) -> None:
        self._call()
        self._handle = self._arm()
