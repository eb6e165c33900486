"""`korder tickets`: who holds which room, and until when, once or as it changes.

Beside `korder get tickets`, whose cells the server makes, it tells times from now and whose ticket it is.
"""

import asyncio
from collections.abc import AsyncIterator
import sys
from typing import Annotated

import typer

from korder.api.reserve import TICKETS, Ticket
from korder.cli import tables
from korder.cli.live_table import Look, follow
from korder.cli.options import Context, Desk, Everywhere, Kubeconfig, Labels, Namespace, desk
from korder.cli.tables import Layout
from korder.reserve.claims import inventory
from korder.reserve.explain import tickets as explain_tickets
from korder.reserve.tickets import state as ticket_state
from kubeloop.client import request as requests
from kubeloop.client.request import Selection
from kubeloop.objects import codec
from kubeloop.runtime.clock import SystemClock

_TITLES = ["NAME", "PHASE", "NODE", "POD", "ORDER", "TIME", "REASON"]
_NONE = "<none>"
_USUAL = (
    "nightly-batch-0",
    "Reserved",
    "node-10",
    "default/batch-0",
    "nightly-batch",
    "expires in 59m59s",
    "",
)


def run(
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    labels: Labels = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow until Ctrl-C.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show tickets: who has them, until when, and why not."""
    asyncio.run(_tickets(namespace, everywhere, labels, watch, kubeconfig, context))


async def _tickets(
    namespace: str | None,
    everywhere: bool,
    labels: str,
    watch: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        at.require(TICKETS)
        selection = Selection("" if everywhere else at.namespace, labels)
        found = await at.client.list(TICKETS, selection.namespace, labels=labels)
        look = _look(namespaces=everywhere)
        if watch:
            await follow(look, found.items, _changes(at, selection, found.resource_version))
        elif found.items:
            rows = sorted(found.items, key=look.place)
            tables.show(Layout(look.titles).lines(map(look.cells, rows)))
        else:
            where = "" if everywhere else f" in the namespace {at.namespace}"
            print(f"no tickets{where}", file=sys.stderr)


def _look(*, namespaces: bool) -> Look[Ticket]:
    clock = SystemClock()

    def cells(ticket: Ticket) -> list[str]:
        shown = [
            ticket.metadata.name,
            str(ticket_state.phase_of(ticket)),
            ticket.status.node_name or _NONE,
            explain_tickets.pods_of(ticket) or _NONE,
            inventory.order_of(ticket) or _NONE,
            explain_tickets.life(ticket, clock.now()),
            ticket.status.reason or _NONE,
        ]
        return [ticket.metadata.namespace, *shown] if namespaces else shown

    return Look(
        titles=["NAMESPACE", *_TITLES] if namespaces else _TITLES,
        cells=cells,
        place=lambda ticket: (ticket.metadata.namespace, ticket.metadata.name),
        ticks=True,
        usual=("default", *_USUAL) if namespaces else _USUAL,
    )


async def _changes(at: Desk, selection: Selection, since: str) -> AsyncIterator[tuple[str, Ticket]]:
    request = requests.watch(TICKETS, selection, resource_version=since)
    async for word, body in tables.changes(at.client, request):
        yield word, codec.decode(body, Ticket)
