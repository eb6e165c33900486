"""`korder describe`: everything about an object that a person asks for, and what happened to it."""

import asyncio
from datetime import datetime
from typing import Annotated

import msgspec
from rich.console import Console
from rich.table import Table
import typer
import yaml

from korder.api import codec
from korder.api.core import ReportedCondition
from korder.api.meta import JSON, Base, Object
from korder.cli.asking import Context, Desk, Kubeconfig, Namespace, desk
from korder.cli.served import Served
from korder.kube import request as requests
from korder.kube.request import Page, Selection
from korder.runtime.clock import SystemClock

_NOISE = frozenset({"managedFields", "resourceVersion", "uid", "generation", "selfLink"})


class _Event(Object):
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 1
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


class _Events(Base):
    items: tuple[_Event, ...] = ()


def run(
    what: Annotated[list[str], typer.Argument(help="TYPE NAME... or TYPE/NAME...")],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show everything about objects, with their conditions and events."""
    asyncio.run(_describe(what, namespace, kubeconfig, context))


async def _describe(
    what: list[str], namespace: str | None, kubeconfig: str | None, context: str | None
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        targets = at.named(what)
        if not targets:
            (each,) = at.catalog.find(what[0])
            names = await at.client.list(each.kind, at.key(each, "").namespace)
            targets = [(each, item.metadata.name) for item in names.items]
        for each, name in targets:
            await _show(at, each, name)


async def _show(at: Desk, each: Served, name: str) -> None:
    obj: dict[str, JSON] = msgspec.json.decode(
        await at.client.raw(requests.get(each.kind, at.key(each, name)))
    )
    head = codec.convert(obj, Object)
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101  every object has one
    status = obj.get("status")
    conditions = status.pop("conditions", None) if isinstance(status, dict) else None
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata") and v}
    about = {k: v for k, v in metadata.items() if k not in _NOISE}
    console = Console(highlight=False)
    console.print(f"[bold]{head.kind}[/bold] {name}")
    print(yaml.safe_dump({**about, **rest}, sort_keys=False, allow_unicode=True), end="")
    now = SystemClock().now()
    if isinstance(conditions, list):
        console.print("[bold]Conditions[/bold]")
        console.print(_conditions(conditions, now))
    console.print("[bold]Events[/bold]")
    console.print(await _events(at, head, now))


def _conditions(conditions: list[JSON], now: datetime) -> Table:
    table = _plain("TYPE", "STATUS", "SINCE", "REASON", "MESSAGE")
    for raw in conditions:
        each = codec.convert(raw, ReportedCondition)
        since = _ago(each.last_transition_time, now)
        table.add_row(each.type, each.status, since, each.reason, each.message)
    return table


async def _events(at: Desk, about: Object, now: datetime) -> Table | str:
    (events,) = at.catalog.find("events")
    selection = Selection(
        about.metadata.namespace or "default", "", f"involvedObject.uid={about.metadata.uid}"
    )
    body = await at.client.raw(requests.list_page(events.kind, selection, Page()))
    found = codec.decode(body, _Events).items
    if not found:
        return "  none"
    table = _plain("TYPE", "REASON", "AGE", "COUNT", "MESSAGE")
    for each in sorted(found, key=lambda event: _when(event) or now):
        age = _ago(_when(each), now)
        table.add_row(each.type, each.reason, age, str(each.count), each.message)
    return table


def _when(event: _Event) -> datetime | None:
    return event.last_timestamp or event.event_time or event.metadata.creation_timestamp


def _ago(instant: datetime | None, now: datetime) -> str:
    if instant is None:
        return ""
    seconds = max(0, int((now - instant).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _plain(*columns: str) -> Table:
    table = Table(box=None, pad_edge=True, header_style="dim")
    for column in columns:
        table.add_column(column)
    return table
