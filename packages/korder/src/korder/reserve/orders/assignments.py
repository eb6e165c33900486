"""DaemonSet mode: which nodes are eligible for a ticket of an order, and which tickets each node has too many, outdated or missing."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from korder.api.reserve import HANDOVER_TAINT, NODE_LABEL, TEMPLATE_HASH_LABEL, Ticket, TicketSpec
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import core, duration, scheduling
from kubeloop.objects.core import Node, PodSpec, Taint, Toleration

PATIENCE = timedelta(seconds=40)
"""How long a node may be not ready before its ticket goes."""

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_JUDGED_OTHERWISE = (_NOT_READY, _UNREACHABLE, _UNSCHEDULABLE, HANDOVER_TAINT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a node gets a ticket, and keeps one.

    Attributes:
        why_not: Why the node gets no ticket; empty if it does.
        until: Until when it keeps one nevertheless; None if it does not, or if nothing is known that will end.
    """

    why_not: str = ""
    until: datetime | None = None

    @property
    def takes(self) -> bool:
        """Whether a ticket is made for the node."""
        return not self.why_not

    def keeps(self, now: datetime) -> bool:
        """Whether a ticket that is there stays."""
        return not self.why_not or (self.until is not None and now < self.until)


_ELIGIBLE = Verdict()


def wish_of(spec: TicketSpec) -> PodSpec:
    """What a ticket asks of its node, in the words of pods; made once for all nodes."""
    return PodSpec(
        node_name=spec.node_name,
        node_selector=spec.node_selector,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
    )


def judge(wish: PodSpec, node: Node, now: datetime) -> Verdict:
    """Asks the four questions, those with lasting answers first."""
    if node.spec.unschedulable:
        return Verdict(f"node {node.metadata.name} is cordoned")
    if node.metadata.deletion_timestamp is not None:
        return Verdict(f"node {node.metadata.name} is being deleted")
    mismatch = (
        scheduling.wrong_node(wish, node)
        or scheduling.selector_mismatch(wish, node)
        or scheduling.affinity_mismatch(wish, node)
        or scheduling.tainted(wish, node, _JUDGED_OTHERWISE)
    )
    if mismatch is not None:
        return Verdict(mismatch.message)
    return _readiness(wish, node) or _patience(wish, node, now)


def _readiness(spec: PodSpec, node: Node) -> Verdict | None:
    """Judges a node that is not ready; None if it is."""
    if core.is_ready(node):
        return None
    ready = core.reported(node.status.conditions, "Ready")
    why = f"node {node.metadata.name} is not ready"
    since = ready.last_transition_time if ready is not None else None
    if since is None:
        return Verdict(why)
    borne = [
        duration.of_seconds(each.toleration_seconds)
        for each in spec.tolerations
        if each.toleration_seconds is not None and _bears_unreadiness(each)
    ]
    return Verdict(why, since + max(borne, default=PATIENCE))


def _bears_unreadiness(toleration: Toleration) -> bool:
    taints = (
        Taint(key=_NOT_READY, effect="NoExecute"),
        Taint(key=_UNREACHABLE, effect="NoExecute"),
    )
    return any(scheduling.tolerates(toleration, taint) for taint in taints)


def _patience(spec: PodSpec, node: Node, now: datetime) -> Verdict:
    """Judges taints that are tolerated only for a while: until then the node has its ticket, afterwards it has none."""
    ends = [
        end
        for taint in node.spec.taints
        if taint.effect == "NoExecute" and taint.key not in _JUDGED_OTHERWISE
        for end in [_tolerated_until(spec, taint)]
        if end is not None
    ]
    if not ends:
        return _ELIGIBLE
    end = min(ends)
    if now < end:
        return Verdict(until=end)
    return Verdict(
        f"a taint of node {node.metadata.name} was tolerated only for a time, which is over"
    )


def _tolerated_until(spec: PodSpec, taint: Taint) -> datetime | None:
    """When the toleration of a taint ends; None if one lasts, or if nobody knows since when it is there."""
    fitting = [each for each in spec.tolerations if scheduling.tolerates(each, taint)]
    lengths = [each.toleration_seconds for each in fitting]
    if taint.time_added is None or None in lengths:
        return None
    longest = max((length for length in lengths if length is not None), default=0)
    return taint.time_added + duration.of_seconds(longest)


def relevant(old: Node, new: Node) -> bool:
    """Says whether a change of a node can change the answer; a heartbeat cannot."""
    return (
        old.spec.unschedulable != new.spec.unschedulable
        or old.metadata.labels != new.metadata.labels
        or old.spec.taints != new.spec.taints
        or old.metadata.uid != new.metadata.uid
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or _ready_since(old) != _ready_since(new)
    )


def _ready_since(node: Node) -> tuple[bool, datetime | None]:
    """Whether a node is ready, and if it is not, since when."""
    if core.is_ready(node):
        return True, None
    ready = core.reported(node.status.conditions, "Ready")
    return False, None if ready is None else ready.last_transition_time


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
        return [ticket for ticket in self.tickets if not ticket_state.is_over(ticket)]

    @property
    def serves(self) -> bool:
        """Whether a ticket is there to stay."""
        return any(not ticket_state.is_leaving(ticket) for ticket in self.live)


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
    wish = wish_of(spec)
    posts = [
        Post(name, judge(wish, node, now), tuple(there.pop(name, ())))
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
        return None if self.is_standing else ticket_state.firing_of(ticket)

    def is_old(self, ticket: Ticket) -> bool:
        """Says whether a ticket is to be replaced by one of the present template."""
        return ticket_state.is_idle(ticket) and not self.is_current(ticket)


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
    staying = [ticket for ticket in post.live if not ticket_state.is_leaving(ticket)]
    staying.sort(key=lambda ticket: ticket.metadata.name)
    in_use = next((ticket for ticket in staying if not ticket_state.is_idle(ticket)), None)
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
        each
        for each in post.live
        if ticket_state.is_idle(each) and each.metadata.uid not in staying
    ]
    if wish.is_standing:
        ended = [ticket for ticket in post.tickets if ticket_state.is_over(ticket)]
        going += [ticket for ticket in ended if not ticket_state.is_leaving(ticket)]
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
    return ticket_state.keeps_room(ticket) or not ticket_state.is_idle(ticket)
