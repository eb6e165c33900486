"""Explanations of quotas and nodes: what limits and windows allow, and whether the hand-over taint is on a node, for which pods."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from korder.api.quota import MAX_DURATION_KEY, Enforcement, Quota, QuotaCondition, ScopeType
from korder.api.reserve import HANDOVER_TAINT, AfterUse, Ticket, TicketPhase
from korder.explanation import Explanation, shortened
from korder.reserve.claims import patches as claim_patches
from korder.reserve.explain import tickets as explain_tickets
from korder.reserve.quotas import ledger as quota_ledger, limits as quota_limits
from korder.reserve.quotas.status import wrongs
from korder.reserve.tickets import guardian_replacement
from kubeloop.objects import conditions, duration, instant, quantity, selector
from kubeloop.objects.core import Node
from kubeloop.objects.meta import key_of
from kubeloop.objects.selector import InvalidSelector, LabelSelector

_OCCUPYING = (TicketPhase.RESERVED, TicketPhase.CLAIMING, TicketPhase.CLAIMED)


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A node, and all tickets that name it."""

    node: Node
    tickets: Collection[Ticket]
    now: datetime


def explain_node(asked: NodeQuestion) -> Explanation:
    """Says what korder does on a node."""
    here = [t for t in asked.tickets if t.status.node_name == asked.node.metadata.name]
    rows = shortened(
        (
            str(key_of(t)),
            t.status.phase or "",
            explain_tickets.pods_of(t),
            explain_tickets.life(t, asked.now),
        )
        for t in sorted(here, key=lambda t: (t.status.phase is not TicketPhase.CLAIMING, key_of(t)))
    )
    titles = ("TICKET", "PHASE", "POD", "TIME") if rows else ()
    token = claim_patches.token_of(asked.node)
    return Explanation(_verdict(here, token, asked.now), tuple(_facts(asked, here)), titles, rows)


def _verdict(here: list[Ticket], token: str, now: datetime) -> str:
    held = sum(t.status.phase in _OCCUPYING for t in here)
    if not token:
        return f"It has {held} tickets, and no hand-over keeps other pods away."
    since = explain_tickets.when_text(claim_patches.raised_at(token), now)
    return f"Capacity is handed over: since {since} only pods with a promised place are scheduled."


def _facts(asked: NodeQuestion, here: list[Ticket]) -> Iterator[str]:
    name = asked.node.metadata.name
    if not claim_patches.token_of(asked.node):
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
    return returns or bool(ticket.status.shared_by) or guardian_replacement.is_arriving(ticket)


Row = tuple[str, str, str, str, str]
"""The quota or its allocation, the limit, what is used, what is allowed, and how much of it that is."""


TITLES = ("QUOTA", "LIMIT", "USED", "HARD", "PART")
_BEYOND = {
    Enforcement.REFUSE: "refuses what goes beyond",
    Enforcement.WAIT: "lets what goes beyond wait",
}


def explain_quota(quota: Quota, now: datetime) -> Explanation:
    """Says how it stands with a quota."""
    waiting = len(quota.status.pending)
    facts = [f"Tickets that are charged before they are made: {waiting}."] if waiting else []
    if not quota_ledger.is_open(quota):
        facts.append("It does not count yet: does `korder manager` run?")
    facts += [f"Nobody can read {each.field}: {each.message}." for each in wrongs(quota.spec)]
    stated = standing(quota, now)
    return Explanation(f"It {stated}.", tuple(facts), TITLES, shortened(rows(quota, now)))


def rows(quota: Quota, now: datetime) -> Iterator[Row]:
    """A line for each limit that is in force, those of allocations after those of the quota."""
    force = quota_limits.in_force(quota.spec, now)
    yield from _rows(quota.metadata.name, force.hard.render(), dict(quota.status.used))
    stated = {each.name: dict(each.used) for each in quota.status.allocation}
    for allocation, allowed in zip(quota.spec.allocation, force.allocations, strict=True):
        name = f"{quota.metadata.name}/{allocation.key}"
        yield from _rows(name, allowed.render(), stated.get(allocation.key, {}))


def _rows(name: str, hard: dict[str, str], used: dict[str, str | int]) -> Iterator[Row]:
    for key, limit in hard.items():
        if key == MAX_DURATION_KEY:
            yield name, key, "", limit, ""
        else:
            there = quantity.parse(used.get(key, 0))
            yield name, key, str(there), limit, _part(there, quantity.parse(limit))


def _part(used: quantity.Quantity, hard: quantity.Quantity) -> str:
    if hard.is_zero:
        return "full"
    return f"{Fraction(used.nano, hard.nano) * 100 // 1}%"


def standing(quota: Quota, now: datetime) -> str:
    """Whom a quota means, what it does, which windows are open, and what comes next."""
    spec = quota.spec
    force = quota_limits.in_force(spec, now)
    stated = [_scope(quota), _BEYOND[spec.enforcement]]
    if force.windows:
        stated.append(f"window {', '.join(force.windows)} is open")
    following = quota_limits.next_change(spec, now)
    if following is not None:
        away = duration.human(int((following - now).total_seconds()))
        stated.append(f"limits change in {away}, at {instant.render(following)}")
    exceeded = conditions.find(quota.status.conditions, QuotaCondition.EXCEEDED)
    if exceeded is not None and conditions.is_true((exceeded,), QuotaCondition.EXCEEDED):
        since = exceeded.last_transition_time
        when = f" since {instant.render(since)}" if since is not None else ""
        stated.append(f"exceeded{when}: {exceeded.message}")
    return "; ".join(stated)


def _scope(quota: Quota) -> str:
    match quota.spec.scope.type:
        case ScopeType.CLUSTER:
            return "means the whole cluster"
        case ScopeType.NAMESPACE_LIST:
            return f"means namespaces {', '.join(quota.spec.scope.namespaces)}"
        case ScopeType.NAMESPACE_SELECTOR:
            return f"means namespaces {_labelled(quota.spec.scope.namespace_selector)}"
        case ScopeType.OBJECT_SELECTOR:
            return f"means orders and tickets {_labelled(quota.spec.scope.object_selector)}"


def _labelled(chosen: LabelSelector | None) -> str:
    try:
        return f"labelled {selector.from_struct(chosen)}"
    except InvalidSelector:
        return "by labels that nobody can read"


def week(quota: Quota, now: datetime, days: int = 7) -> Iterator[tuple[str, str, str]]:
    """The spans of the days to come: from, until, and what holds then."""
    if not quota.spec.time_windows:
        return
    end = now + timedelta(days=days)
    spans = quota_limits.spans(quota.spec, now, end)
    for span in spans:
        named = ", ".join(span.force.windows) or "no window"
        stated = ", ".join(f"{key} {limit}" for key, limit in span.force.hard.render().items())
        yield instant.render(span.begin), instant.render(span.end), f"{named}: {stated}"
    if (reported_until := spans[-1].end) < end:
        stated = "not told: the limits change too often"
        yield instant.render(reported_until), instant.render(end), stated
