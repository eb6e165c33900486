"""The nodes of an order in DaemonSet mode, each with its tickets: what is too much there, what is old, and what is missing.

`daemonplan` calls it; it asks `eligibility` about every node. What can still be claimed goes at once when its node is no longer eligible, a
ticket with a pod stays until it comes back, and is the one ticket of its node until then. A name that is still in use by a ticket on
its way out is waited for. A roll-out takes what holds room only while it has left few nodes without; a ticket that never found room follows
when those of its template that hold some have gone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from korder.api.core import Node
from korder.api.reserve import NODE_LABEL, TEMPLATE_HASH_LABEL, Ticket, TicketSpec
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
    """What a turn wants done: tickets that go, with why, and nodes that get one, each for its window.

    Attributes:
        halted: Whether old tickets stay because too many nodes hold nothing.
    """

    unwanted: list[Ticket] = field(default_factory=list)
    outdated: list[Ticket] = field(default_factory=list)
    bare: list[tuple[str, datetime | None]] = field(default_factory=list)
    why: str = ""
    halted: bool = False

    @property
    def gone(self) -> list[Ticket]:
        """All tickets that go."""
        return [*self.unwanted, *self.outdated]


def posts_of(
    spec: TicketSpec, nodes: Collection[Node], tickets: Iterable[Ticket], now: datetime
) -> list[Post]:
    """All nodes with their tickets, the tickets whose node is gone, and those that were made for no node, wherever they are."""
    there: dict[str, list[Ticket]] = {}
    for ticket in tickets:
        node = ticket.spec.node_name if NODE_LABEL in ticket.metadata.labels else ""
        there.setdefault(node, []).append(ticket)
    wish = eligibility.wish_of(spec)
    posts = [
        Post(name, eligibility.judge(wish, node, now), tuple(there.pop(name, ())))
        for node in nodes
        for name in [node.metadata.name]
    ]
    lost = (Post(name, Verdict(_why_lost(name)), tuple(left)) for name, left in there.items())
    return [*posts, *lost]


def _why_lost(name: str) -> str:
    return f"node {name} is gone" if name else "they are of no node"


@dataclass(frozen=True, slots=True)
class Wish:
    """What every node should have: a ticket of the present template, for each of these windows."""

    is_current: Callable[[Ticket], bool]
    firings: tuple[datetime | None, ...]
    """What opened the windows: the one that is open, and those that are to come; only None for standing tickets, which have no window."""

    @property
    def is_standing(self) -> bool:
        """Whether tickets have no window."""
        return None in self.firings

    def window_of(self, ticket: Ticket) -> datetime | None:
        """The window for which a ticket is there; of a standing one that is never asked."""
        return None if self.is_standing else ticketstate.firing_of(ticket)

    def is_old(self, ticket: Ticket) -> bool:
        """Says whether a ticket is to be replaced by one of the present template."""
        return ticketstate.is_idle(ticket) and not self.is_current(ticket)


def work_on(posts: Sequence[Post], wish: Wish, now: datetime) -> Work:
    """Looks at each node."""
    work = Work()
    kept = [_kept(post, wish, now) for post in posts]
    for post, staying in zip(posts, kept, strict=True):
        surplus = _surplus(post, wish, staying)
        if surplus and not work.why:
            work.why = post.verdict.why_not or "another ticket of the order is there, or follows"
        work.unwanted += surplus
        if post.verdict.takes:
            work.bare += ((post.node, each) for each in _missing(post, wish, staying))
    takes = [each for post, each in zip(posts, kept, strict=True) if post.verdict.takes]
    most = max(len(takes) // _WAVES, 1)
    for firing in wish.firings:
        there = [each[firing] for each in takes if firing in each]
        old = [ticket for ticket in there if wish.is_old(ticket)]
        held = [ticket for ticket in old if _holds(ticket)]
        empty = _empty(there, held)
        wave = held[: max(most - len(empty) - len(takes) + len(there), 0)]
        work.outdated += [*filter(wish.is_old, empty), *wave]
        work.halted |= bool(held) and not wave
    return work


def _empty(tickets: Iterable[Ticket], held: Iterable[Ticket]) -> list[Ticket]:
    """Those without room, but for those of a template of which others hold some: no roll-out took it, and they follow the others."""
    before = {_hash_of(ticket) for ticket in held}
    return [each for each in tickets if not _holds(each) and _hash_of(each) not in before]


def _hash_of(ticket: Ticket) -> str:
    return ticket.metadata.labels.get(TEMPLATE_HASH_LABEL, "")


def _kept(post: Post, wish: Wish, now: datetime) -> dict[datetime | None, Ticket]:
    """The tickets of a node that stay, by window; one that is in use stands for all windows."""
    staying = [ticket for ticket in post.live if not ticketstate.is_leaving(ticket)]
    staying.sort(key=lambda ticket: ticket.metadata.name)
    in_use = next((ticket for ticket in staying if not ticketstate.is_idle(ticket)), None)
    if in_use is not None:
        return dict.fromkeys((*wish.firings, wish.window_of(in_use)), in_use)
    if not post.verdict.keeps(now):
        return {}
    return {wish.window_of(each): each for each in reversed(staying) if _is_wanted(each, wish)}


def _is_wanted(ticket: Ticket, wish: Wish) -> bool:
    return wish.window_of(ticket) in wish.firings


def _surplus(post: Post, wish: Wish, kept: Mapping[datetime | None, Ticket]) -> list[Ticket]:
    """The tickets of a node that have to go now."""
    staying = {ticket.metadata.uid for ticket in kept.values()}
    going = [
        each for each in post.live if ticketstate.is_idle(each) and each.metadata.uid not in staying
    ]
    if wish.is_standing:
        ended = [ticket for ticket in post.tickets if ticketstate.is_over(ticket)]
        going += [ticket for ticket in ended if not ticketstate.is_leaving(ticket)]
    return going


def _missing(
    post: Post, wish: Wish, kept: Mapping[datetime | None, Ticket]
) -> list[datetime | None]:
    """The windows for which a node gets a ticket: not those that have had theirs, and none while a ticket is on its way out."""
    staying = {ticket.metadata.uid for ticket in kept.values()}
    if any(ticket.metadata.uid not in staying for ticket in post.live):
        return []
    had = {wish.window_of(ticket) for ticket in post.tickets}
    return [firing for firing in wish.firings if firing not in kept and firing not in had]


def _holds(ticket: Ticket) -> bool:
    """Says whether a ticket, or a pod that shares it, has room."""
    return ticketstate.keeps_room(ticket) or not ticketstate.is_idle(ticket)
