"""Figures of orders, tickets, guardians and quotas for Prometheus, kept up as the informers tell of changes.

`setup` puts it on a manager; `rules.telling.measures` says what each object adds. A scrape prints sums and looks at no object. Only
the replica that leads shows and counts: the others see the same objects, and a sum over replicas would count them twice.
"""

from collections.abc import Callable
from typing import TypeVar

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from korder.api.core import PODS
from korder.api.meta import HasMetadata
from korder.api.quota import QUOTAS
from korder.api.reserve import ORDERS, TICKETS, Reason, Ticket, TicketPhase
from korder.reserve.rules.orders import ticketstate
from korder.reserve.rules.telling import measures
from korder.reserve.rules.telling.measures import FAMILIES, Amounts, Line
from korder.runtime.manager import Manager
from korder.runtime.store import Change

T = TypeVar("T", bound=HasMetadata)

_SECONDS = (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10, 30, 60)


class Measuring(Collector):
    """Measures what a manager's informers show of orders, tickets, guardians and quotas."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._sums: dict[Line, int] = {}
        self._begun: dict[str, float] = {}
        """Since when hand-overs are under way, by the ticket's UID."""
        registry = manager.metrics.registry
        self._seconds = Histogram(
            "korder_handover_seconds",
            "Time from a claim until its pod was bound.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._lost = Counter(
            "korder_tickets_lost_total",
            "Tickets that lost the room they held, by namespace and reason.",
            ("namespace", "reason"),
            registry=registry,
        )
        self._undone = Counter(
            "korder_handovers_undone_total",
            "Claims that did not end with their pod bound, by namespace and reason.",
            ("namespace", "reason"),
            registry=registry,
        )
        registry.register(self)
        tickets = manager.informers.of(TICKETS)
        tickets.on_change(self._summed(measures.of_ticket))
        tickets.on_change(self._follow)
        manager.informers.of(ORDERS).on_change(self._summed(measures.of_order))
        manager.informers.of(PODS).on_change(self._summed(measures.of_pod))
        manager.informers.of(QUOTAS).on_change(self._summed(measures.of_quota))

    def collect(self) -> list[Metric]:
        """Prints the sums, if this replica leads."""
        shown = {
            family: GaugeMetricFamily(family.name, family.help, labels=family.labels)
            for family in FAMILIES
        }
        if self._manager.leading:
            for (family, labels), amount in sorted(self._sums.items()):
                shown[family].add_metric(labels, amount / family.unit)
        return list(shown.values())

    def _summed(self, amounts: Callable[[T], Amounts]) -> Callable[[Change[T]], None]:
        def take(change: Change[T]) -> None:
            before = {} if change.old is None else amounts(change.old)
            after = {} if change.new is None else amounts(change.new)
            if before != after:
                self._add(before, -1)
                self._add(after, 1)

        return take

    def _add(self, amounts: Amounts, sign: int) -> None:
        for line, amount in amounts.items():
            total = self._sums.get(line, 0) + sign * amount
            if total:
                self._sums[line] = total
            else:
                self._sums.pop(line, None)

    def _follow(self, change: Change[Ticket]) -> None:
        """Counts what happened to a ticket between two looks."""
        old, new = change
        if old is None or new is None or old.metadata.uid != new.metadata.uid:
            self._begun.pop(change.objects[0].metadata.uid, None)
            return
        before, after = ticketstate.phase_of(old), ticketstate.phase_of(new)
        if self._manager.leading and measures.has_lost(old, new):
            self._lost.labels(*_why(new)).inc()
        if before is not after and TicketPhase.CLAIMING in (before, after):
            self._time(old, new)

    def _time(self, old: Ticket, new: Ticket) -> None:
        """Takes the time of a hand-over that begins or ends."""
        uid, now = new.metadata.uid, self._manager.clock.monotonic()
        begun = self._begun.pop(uid, None)
        if new.status.phase is TicketPhase.CLAIMING:
            self._begun[uid] = now
        elif not self._manager.leading:
            return
        elif not _succeeded(old, new):
            self._undone.labels(*_why_undone(new)).inc()
        elif begun is not None:
            self._seconds.observe(now - begun)


def _succeeded(old: Ticket, new: Ticket) -> bool:
    """Says whether the pod that claimed has the room, or its share of it."""
    more = len(new.status.shared_by) > len(old.status.shared_by)
    return new.status.phase is TicketPhase.CLAIMED or more


def _why_undone(ticket: Ticket) -> tuple[str, str]:
    """A ticket that holds its room again says why it does, not why its pod did not come."""
    if ticketstate.is_held(ticket):
        return ticket.metadata.namespace, Reason.CLAIM_UNDONE
    return _why(ticket)


def _why(ticket: Ticket) -> tuple[str, str]:
    return ticket.metadata.namespace, ticket.status.reason or Reason.CLAIM_UNDONE
