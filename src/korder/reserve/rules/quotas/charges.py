"""What an order or a ticket counts for in a quota (rule 20).

`tally` adds it up, the ledger charges it ahead. A ticket counts until it is Expired or Released. Room counts while it is held and not
in use: a claimed ticket's room is its pod's, and of a ticket that several pods share only the rest is held, until its time is over and it
is Claimed with whatever they have.
"""

from collections.abc import Mapping

from korder.api import quantity, resources
from korder.api.quantity import Quantity
from korder.api.quota import ORDERS_KEY, RESERVED_PREFIX, TICKETS_KEY
from korder.api.reserve import Ticket, TicketPhase, TicketSpec
from korder.reserve.rules.orders import ticketstate
from korder.reserve.rules.tickets import usage

ONE = quantity.parse(1)
ORDER: Mapping[str, Quantity] = {ORDERS_KEY: ONE}
"""What an order counts for."""


def of_ticket(ticket: Ticket) -> dict[str, Quantity]:
    """What a ticket counts for as it stands; nothing when it has ended."""
    if ticketstate.is_over(ticket):
        return {}
    if ticketstate.phase_of(ticket) is TicketPhase.CLAIMED:
        return _charge({})
    return _charge(usage.remainder(ticket, ticket.status.shared_by))


def of_new(spec: TicketSpec) -> dict[str, Quantity]:
    """What a ticket that is yet to be made counts for."""
    return _charge(resources.parse_list(spec.requests))


def _charge(held: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {
        TICKETS_KEY: ONE,
        **{f"{RESERVED_PREFIX}{name}": amount for name, amount in held.items()},
    }
