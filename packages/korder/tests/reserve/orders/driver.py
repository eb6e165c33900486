"""Stands for the ticket controller in tests of orders: a ticket is Reserved at once, Expired on time, gone when told.

It holds no room, so tests decide themselves what does not fit: a ticket with the annotation `test/waits` stays Pending.
"""

from datetime import datetime, timedelta

from korder.api.reserve import DEFAULT_DURATION, TICKET_FINALIZER, TICKETS, Ticket, TicketPhase
from kubeloop.objects import duration, instant
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import NOTHING, Delete, Patch, Plan
from kubeloop.runtime.manager import Manager


class OrderDriver:
    """Plays all tickets."""

    def __init__(self, manager: Manager) -> None:
        self._tickets = manager.informers.of(TICKETS)
        manager.controller("keeper", self._reconcile).follow(self._tickets)

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        ticket = self._tickets.reader.get(key)
        if ticket is None:
            return NOTHING
        if ticket.metadata.deletion_timestamp is not None:
            others: list[JSON] = [f for f in ticket.metadata.finalizers if f != TICKET_FINALIZER]
            if len(others) == len(ticket.metadata.finalizers):
                return NOTHING
            return Plan().then(_patch(ticket, {"metadata": {"finalizers": others}}))
        if ticket.status.phase in (TicketPhase.EXPIRED, TicketPhase.RELEASED):
            return _buried(ticket, now)
        if ticket.status.phase not in (None, TicketPhase.PENDING, TicketPhase.RESERVED):
            return NOTHING
        return _held(ticket, now)


def _held(ticket: Ticket, now: datetime) -> Plan:
    spec = ticket.spec
    start = spec.starts_at or ticket.status.activation_time or now
    ends = start + duration.parse(spec.duration or DEFAULT_DURATION).timedelta
    if "korder.dev/standing" not in ticket.metadata.annotations and ends <= now:
        gone: JSON = {"phase": "Expired", "finishedTime": instant.render(now)}
        return Plan().then(_patch(ticket, {"status": gone}, "status"))
    if start > now or "test/waits" in ticket.metadata.annotations:
        return Plan().requeue(max(start, now) if start > now else ends)
    held: JSON = {"phase": "Reserved", "activationTime": instant.render(start)}
    if ticket.status.phase is TicketPhase.RESERVED:
        return Plan().requeue(ends)
    return Plan().then(_patch(ticket, {"status": held}, "status")).requeue(ends)


def _buried(ticket: Ticket, now: datetime) -> Plan:
    ended = ticket.status.finished_time or now
    due = ended + timedelta(seconds=ticket.spec.lifecycle.ttl_seconds_after_finished)
    if due > now:
        return Plan().requeue(due)
    return Plan().then(Delete(TICKETS, key_of(ticket), ticket.metadata.uid))


def _patch(ticket: Ticket, body: dict[str, JSON], subresource: str = "") -> Patch:
    meta = ticket.metadata
    return Patch(
        TICKETS,
        key_of(ticket),
        body,
        subresource=subresource,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
