"""`korder describe`: everything about an object that a person asks for, and what happened to it."""

import asyncio
from datetime import datetime
import sys

import msgspec
from rich.text import Text
import typer
import yaml

from korder.cli import tables
from korder.cli.options import Context, Desk, Kubeconfig, Labels, Namespace, What, desk
from korder.cli.tables import Layout
from kubeloop.client import request as requests
from kubeloop.client.errors import NotFound
from kubeloop.client.request import Page, Selection
from kubeloop.client.rest_mapper import Served
from kubeloop.objects import codec, duration
from kubeloop.objects.core import ReportedCondition
from kubeloop.objects.meta import JSON, Base, Object
from kubeloop.runtime.clock import SystemClock

_NOISE = frozenset(
    {"name", "managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"}
)
_NOTHING: tuple[JSON, ...] = (None, "", [], {})


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
    what: What,
    namespace: Namespace = None,
    labels: Labels = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show all about objects, with their conditions and events."""
    if not asyncio.run(_describe(what, namespace, labels, kubeconfig, context)):
        raise typer.Exit(1)


async def _describe(
    what: list[str], namespace: str | None, labels: str, kubeconfig: str | None, context: str | None
) -> bool:
    """Shows all of them, and says whether all that were named are there."""
    shown, well = 0, True
    async with desk(kubeconfig, context, namespace) as at:
        for target in at.targets(what, labels, everywhere=False):
            for name in target.names or await _names(at, target.served, target.selection):
                if shown:
                    print()
                try:
                    await _show(at, target.served, name)
                except NotFound as error:
                    well = False
                    print(f"korder: {error}", file=sys.stderr)
                shown += 1
    if not shown:
        print("nothing found", file=sys.stderr)
    return well


async def _names(at: Desk, each: Served, selection: Selection) -> list[str]:
    found = await at.client.list(each.kind, selection.namespace, labels=selection.labels)
    return [item.metadata.name for item in found.items]


async def _show(at: Desk, each: Served, name: str) -> None:
    body = await at.client.raw(requests.get(each.kind, at.key(each, name)))
    obj: dict[str, JSON] = msgspec.json.decode(body)
    head = codec.convert(obj, Object)
    metadata, status = _dict(obj.get("metadata")), _dict(obj.get("status"))
    conditions = status.pop("conditions", None)
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata", "status")}
    about = {k: v for k, v in metadata.items() if k not in _NOISE}
    now = SystemClock().now()
    tables.show([Text.assemble((head.kind, "bold"), f" {name}, {_age(head, now)}")])
    stated = _reported({**about, "status": status, **rest})
    if stated:
        print(yaml.safe_dump(stated, sort_keys=False, allow_unicode=True), end="")
    if isinstance(conditions, list):
        _section("Conditions", _conditions(conditions, now))
    if head.kind == "Node":
        _section("Pods", await _pods(at, name))
    _section("Events", await _events(at, head, now))


def _dict(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}


def _reported(value: JSON) -> JSON:
    """Leaves out what tells a reader nothing: empty members, and the token every pod gets."""
    if isinstance(value, dict):
        stated = {name: _reported(member) for name, member in value.items()}
        return {name: member for name, member in stated.items() if member not in _NOTHING}
    if isinstance(value, list):
        return [_reported(item) for item in value if not _is_token(item)]
    return value


def _is_token(item: JSON) -> bool:
    return str(_dict(item).get("name", "")).startswith("kube-api-access-")


def _age(head: Object, now: datetime) -> str:
    made = head.metadata.creation_timestamp
    dying = ", being deleted" if head.metadata.deletion_timestamp else ""
    return f"{_ago(made, now)} old{dying}" if made else "of unknown age"


def _section(title: str, lines: list[Text]) -> None:
    print()
    tables.show([Text(f"{title}", style="bold"), *lines] if lines else [Text(f"{title}: none")])


def _conditions(conditions: list[JSON], now: datetime) -> list[Text]:
    read = [codec.convert(raw, ReportedCondition) for raw in conditions]
    return _indented(
        ["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"],
        [[c.type, c.status, _ago(c.last_transition_time, now), c.reason, c.message] for c in read],
    )


async def _pods(at: Desk, node: str) -> list[Text]:
    (pods,) = at.catalog.find("pods")
    found = await tables.read(at.client, pods, Selection("", "", f"spec.nodeName={node}"))
    columns = found.column_definitions
    return _indented(
        tables.titles(columns, namespaces=True),
        [tables.cells(columns, row, namespaces=True) for row in found.rows],
    )


async def _events(at: Desk, about: Object, now: datetime) -> list[Text]:
    (events,) = at.catalog.find("events")
    selection = Selection(
        about.metadata.namespace or "default", "", f"involvedObject.uid={about.metadata.uid}"
    )
    body = await at.client.raw(requests.list_page(events.kind, selection, Page()))
    found = sorted(codec.decode(body, _Events).items, key=lambda event: _when(event) or now)
    return _indented(
        ["TYPE", "REASON", "AGE", "COUNT", "MESSAGE"],
        [[e.type, e.reason, _ago(_when(e), now), str(e.count or 1), e.message] for e in found],
    )


def _when(event: _Event) -> datetime | None:
    return event.last_timestamp or event.event_time or event.metadata.creation_timestamp


def _ago(instant: datetime | None, now: datetime) -> str:
    return "" if instant is None else duration.human(int((now - instant).total_seconds()))


def _indented(titles: list[str], rows: list[list[str]]) -> list[Text]:
    lines = Layout(titles).lines(rows) if rows else []
    return [Text.assemble("  ", line) for line in lines]
