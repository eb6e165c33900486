"""The nodes of an order in DaemonSet mode, each with its tickets: what is too much there, what is old, and what is missing.

`daemonplan` calls it; it asks `eligibility` about every node. What can still be claimed goes at once when its node is no longer eligible, a
ticket with a pod stays until it comes back. A name that is still in use by a ticket on its way out is waited for.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from korder.api.core import Node
from korder.api.reserve import Ticket, TicketSpec
from korder.reserve.rules.daemons import eligibility
from korder.reserve.rules.daemons.eligibility import Verdict
from korder.reserve.rules.orders import ticketstate

_WAVES = 10
"""One in so many nodes is without its ticket at a time while a template rolls out."""


@dataclass(frozen=True, slots=True)
class Post:
    """A node, what is thought of it, and the tickets it has."""

    node: str
    verdict: Verdict
    tickets: tuple[Ticket, ...]

    @property
    def live(self) -> list[Ticket]:
        """The tickets that have not ended."""
        return [ticket for ticket in self.tickets if not ticketstate.is_over(ticket)]

    @property
    def serves(self) -> bool:
        """Whether a ticket is there to stay."""
        return any(not ticketstate.is_leaving(ticket) for ticket in self.live)


@dataclass(slots=True)
class Work:
    """What a turn wants done: tickets that go, with why, and nodes that get one."""

    unwanted: list[Ticket] = field(default_factory=list)
    outdated: list[Ticket] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    why: str = ""

    @property
    def gone(self) -> list[Ticket]:
        """All tickets that go."""
        return [*self.unwanted, *self.outdated]


def posts_of(
    spec: TicketSpec, nodes: Collection[Node], tickets: Iterable[Ticket], now: datetime
) -> list[Post]:
    """All nodes with their tickets, and the tickets whose node is gone."""
    there: dict[str, list[Ticket]] = {}
    for ticket in tickets:
        there.setdefault(ticket.spec.node_name, []).append(ticket)
    wish = eligibility.wish_of(spec)
    posts = [
        Post(name, eligibility.judge(wish, node, now), tuple(there.pop(name, ())))
        for node in nodes
        for name in [node.metadata.name]
    ]
    lost = (Post(n, Verdict(f"node {n} is gone"), tuple(left)) for n, left in there.items())
    return [*posts, *lost]


@dataclass(frozen=True, slots=True)
class Wish:
    """What every node should have: a ticket of this template and, if the order has windows, of this one."""

    template_hash: str
    windowed: bool
    firing: datetime | None

    def is_of_now(self, ticket: Ticket) -> bool:
        """Says whether a ticket belongs to the window that is open; of a standing one that is never asked."""
        return not self.windowed or ticketstate.firing_of(ticket) == self.firing


def work_on(posts: Sequence[Post], wish: Wish, now: datetime) -> Work:
    """Looks at each node."""
    work = Work()
    for post in posts:
        surplus, kept = _surplus(post, wish, now)
        if surplus and not work.why:
            work.why = post.verdict.why_not or "another ticket of the order is there, or follows"
        work.unwanted += surplus
        if kept is None and post.verdict.takes and not _is_occupied(post, wish):
            work.bare.append(post.node)
        elif kept is not None and _is_old(kept, wish):
            work.outdated.append(kept)
    if work.outdated:
        in_flight = sum(post.verdict.takes and not post.serves for post in posts)
        wave = max(sum(post.verdict.takes for post in posts) // _WAVES, 1)
        work.outdated = work.outdated[: max(wave - in_flight, 0)]
    return work


def _surplus(post: Post, wish: Wish, now: datetime) -> tuple[list[Ticket], Ticket | None]:
    """The tickets of a node that have to go now, and the one that stays: one with a pod rather than an idle one."""
    staying = [ticket for ticket in post.live if not ticketstate.is_leaving(ticket)]
    staying.sort(key=lambda ticket: (ticketstate.is_idle(ticket), ticket.metadata.name))
    welcome = post.verdict.keeps(now)
    fitting = (
        ticket
        for ticket in staying
        if not ticketstate.is_idle(ticket) or (welcome and wish.is_of_now(ticket))
    )
    kept = next(fitting, None)
    going = [each for each in staying if each is not kept and ticketstate.is_idle(each)]
    if not wish.windowed:
        ended = [ticket for ticket in post.tickets if ticketstate.is_over(ticket)]
        going += [ticket for ticket in ended if not ticketstate.is_leaving(ticket)]
    return going, kept


def _is_occupied(post: Post, wish: Wish) -> bool:
    """Says whether the node has to wait: its window is closed, has had its ticket, or a ticket still has the name."""
    if wish.windowed and wish.firing is None:
        return True
    return any(wish.is_of_now(t) or not ticketstate.is_over(t) for t in post.tickets)


def _is_old(ticket: Ticket, wish: Wish) -> bool:
    return ticketstate.is_idle(ticket) and not ticketstate.has_hash(ticket, wish.template_hash)
