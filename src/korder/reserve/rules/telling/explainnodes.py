"""Nodes: whether the hand-over taint is on one, for whom, and what to do if it stays.

`korder explain node` prints it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from korder.api.core import Node
from korder.api.meta import key_of
from korder.api.reserve import HANDOVER_TAINT, AfterUse, Ticket, TicketPhase
from korder.reserve.rules.telling import telling
from korder.reserve.rules.telling.explaining import Explanation, shortened
from korder.reserve.rules.tickets import barrier, succession

_OCCUPYING = (TicketPhase.RESERVED, TicketPhase.CLAIMING, TicketPhase.CLAIMED)


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A node, and all tickets that name it."""

    node: Node
    tickets: Collection[Ticket]
    now: datetime


def explain(asked: NodeQuestion) -> Explanation:
    """Says what korder does on a node."""
    here = [t for t in asked.tickets if t.status.node_name == asked.node.metadata.name]
    rows = shortened(
        (str(key_of(t)), t.status.phase or "", telling.pods_of(t), telling.life(t, asked.now))
        for t in sorted(here, key=lambda t: (t.status.phase is not TicketPhase.CLAIMING, key_of(t)))
    )
    titles = ("TICKET", "PHASE", "POD", "TIME") if rows else ()
    token = barrier.token_of(asked.node)
    return Explanation(_verdict(here, token, asked.now), tuple(_facts(asked, here)), titles, rows)


def _verdict(here: list[Ticket], token: str, now: datetime) -> str:
    held = sum(t.status.phase in _OCCUPYING for t in here)
    if not token:
        return f"It has {held} tickets, and no hand-over keeps other pods away."
    since = telling.when(barrier.raised_at(token), now)
    return f"Capacity is handed over: since {since} only pods with a promised place are scheduled."


def _facts(asked: NodeQuestion, here: list[Ticket]) -> Iterator[str]:
    name = asked.node.metadata.name
    if not barrier.token_of(asked.node):
        return
    claiming = sum(t.status.phase is TicketPhase.CLAIMING for t in here)
    back = sum(map(_comes_back, here))
    yield f"The taint {HANDOVER_TAINT}:NoSchedule keeps other pods away until the hand-over is done."
    if claiming or back:
        yield f"{claiming} tickets are being claimed, {back} can take capacity back from their pods."
    else:
        yield "No ticket is being handed over: the manager removes the taint within seconds."
    yield f"If no manager runs, remove it with `kubectl taint node {name} {HANDOVER_TAINT}-`."


def _comes_back(ticket: Ticket) -> bool:
    returns = (
        ticket.status.phase is TicketPhase.CLAIMED and ticket.spec.after_use is AfterUse.RESERVE
    )
    return returns or bool(ticket.status.shared_by) or succession.is_arriving(ticket)
