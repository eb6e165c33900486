"""May a ticket be held for another term? Not while a quota that means it is exceeded (rule 20).

`controllers.renewing` asks when a term is over. A renewal is judged as if the ticket were given back and asked for again. Many terms end at
one instant: tickets that have been refused and still seem to be there are counted as gone, so that no more of them end than
are too many.
"""

from collections.abc import Iterable
from datetime import datetime

from korder.api import resources
from korder.api.quota import Quota
from korder.api.reserve import Ticket
from korder.reserve.rules.orders import strategies
from korder.reserve.rules.quotas import charges, ledger, scopes
from korder.reserve.rules.quotas.tally import Tally
from korder.reserve.rules.quotas.verdict import Part, Shortfall, Use, Wish, verdict


def refused(
    tally: Tally, ticket: Ticket, going: Iterable[Ticket], now: datetime
) -> tuple[Shortfall, ...]:
    """What stands in the way of another term."""
    meta, gone = ticket.metadata, (ticket, *going)
    using = ledger.using(tally)
    part = Part(meta.labels, charges.of_ticket(ticket), strategies.hold(ticket.spec))
    return verdict(
        tally.applying(meta.namespace, meta.labels),
        lambda quota: _without(using(quota), quota, gone, tally),
        Wish(tally.place(meta.namespace), (part,)),
        now,
        tally.limits,
    )


def _without(use: Use, quota: Quota, gone: Iterable[Ticket], tally: Tally) -> Use:
    """What would be used if these tickets had ended."""
    total, inside = use.total, list(use.allocations)
    for ticket in gone:
        meta = ticket.metadata
        place = tally.place(meta.namespace)
        if scopes.covers(quota.spec.scope, place, meta.labels):
            amounts = charges.of_ticket(ticket)
            total = resources.subtract(total, amounts)
            for number in scopes.allocations(quota.spec, place):
                inside[number] = resources.subtract(inside[number], amounts)
    return Use(total, tuple(inside))
