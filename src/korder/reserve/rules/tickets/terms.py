"""Terms of a ticket: at which instant a ticket that its order renews begins its next term, in place.

`holding` asks; `rules.orders.template` writes the rule. The order writes the rule as an annotation when it creates the ticket, so the ticket
controller alone decides at the expiry: no other write has to come first, and no instant exists at which the room is free. A renewal
is one status write with the version that was read: `activationTime` becomes the start of the new term. A ticket that is being handed over, claimed,
or full is never renewed, and a ticket that no controller owns keeps the term that it has.
"""

from datetime import datetime
from enum import StrEnum
from functools import lru_cache

import msgspec

from korder.api.meta import controller_of
from korder.api.reserve import RENEWAL_ANNOTATION, Ticket, TicketPhase
from korder.reserve.rules.schedules import schedule
from korder.reserve.rules.schedules.schedule import Schedule
from korder.reserve.rules.tickets import clockwork

_UNCLAIMED = (None, TicketPhase.PENDING, TicketPhase.RESERVED)


class RenewalTrigger(StrEnum):
    """What starts the next term."""

    EXPIRY = "Expiry"
    """The end of the present term; the next one follows it."""
    EXPIRY_AFTER_FIRING = "ExpiryAfterFiring"
    """The end of a term in which the order has fired; the next one counts from the last firing."""
    FIRING = "Firing"
    """Each firing; the next term counts from it."""


class RenewalRule(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How an order renews a ticket."""

    trigger: RenewalTrigger
    schedule: str = ""
    time_zone: str = "UTC"

    def render(self) -> str:
        """The rule as it is written on a ticket."""
        return msgspec.json.encode(self).decode()


def rule_of(ticket: Ticket) -> RenewalRule | None:
    """How the ticket is renewed; None if it is not, or the annotation is not readable."""
    text = ticket.metadata.annotations.get(RENEWAL_ANNOTATION, "")
    if not text or ticket.spec.starts_at is not None or controller_of(ticket) is None:
        return None
    try:
        return msgspec.json.decode(text, type=RenewalRule)
    except msgspec.MsgspecError:
        return None


def next_start(ticket: Ticket, now: datetime) -> datetime | None:
    """The start of the term to begin now; None while the present term goes on, and after the last one.

    A firing counts from its lead time on. Of several firings that were missed the last one counts, unless its term is over too.
    """
    rule, start = rule_of(ticket), clockwork.activation(ticket)
    if rule is None or start is None or ticket.status.phase not in _UNCLAIMED:
        return None
    length = clockwork.length(ticket)
    end = clockwork.shifted(start, length)
    if now < end and rule.trigger is not RenewalTrigger.FIRING:
        return None
    if rule.trigger is RenewalTrigger.EXPIRY:
        span = max(length, clockwork.SHORTEST_TURN)
        return clockwork.rounded_up(start + span * ((now - start) // span))
    lead, times = clockwork.lead_time(ticket), _times(rule)
    if times is None or _first_after(times, start) - lead > min(end, now):
        return None
    last = times.last_until(now + lead, start)
    return last if last is not None and clockwork.shifted(last, length) > now else None


def next_look(ticket: Ticket, now: datetime) -> datetime | None:
    """The instant at which the next term begins, if that can be before the end of the present one."""
    rule, start = rule_of(ticket), clockwork.activation(ticket)
    if rule is None or start is None or rule.trigger is not RenewalTrigger.FIRING:
        return None
    times = _times(rule)
    if times is None:
        return None
    opens = _first_after(times, start) - clockwork.lead_time(ticket)
    return opens if opens > now else None


def goes_on(ticket: Ticket) -> bool:
    """Says whether the ticket is held beyond the end of its present term, if no pod claims it and no quota forbids it."""
    start = clockwork.activation(ticket)
    if start is None:
        return False
    return next_start(ticket, clockwork.shifted(start, clockwork.length(ticket))) is not None


def _times(rule: RenewalRule) -> Schedule | None:
    try:
        return schedule.parse(rule.schedule, rule.time_zone)
    except schedule.InvalidSchedule:
        return None


@lru_cache(maxsize=1024)
def _first_after(times: Schedule, start: datetime) -> datetime:
    """The first firing of a term; all tickets of a pool ask for the same one."""
    return times.next_after(start)
