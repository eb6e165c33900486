"""How much of a ticket's room is in use, and what is left for its guardian.

`ticketplan` and the claim rules ask; it calls the exact arithmetic of `api`. The room of a ticket that several pods share is its
requests minus what the pods in `sharedBy` take; the guardian holds exactly the rest (rule 11).
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from korder.api import podrequests, quantity, resources
from korder.api.core import Pod
from korder.api.quantity import Quantity
from korder.api.reserve import Share, Ticket

Amounts = dict[str, Quantity]


def held(ticket: Ticket) -> Amounts:
    """All the room of a ticket."""
    return resources.parse_list(ticket.spec.requests)


def taken(shares: Iterable[Share]) -> Amounts:
    """What sharing pods have."""
    total: Amounts = {}
    for share in shares:
        total = resources.add(total, resources.parse_list(share.requests))
    return total


def remainder(ticket: Ticket, shares: Iterable[Share]) -> Amounts:
    """What is left of the ticket's room beside these shares; what is used up is not named."""
    used = taken(shares)
    rest = {name: amount - used.get(name, quantity.ZERO) for name, amount in held(ticket).items()}
    return {name: amount for name, amount in rest.items() if amount > quantity.ZERO}


def share_of(ticket: Ticket, pod: Pod) -> Amounts:
    """What a pod takes of the kinds of room that the ticket holds."""
    wanted = podrequests.requests(pod)
    return {name: wanted[name] for name in held(ticket) if name in wanted}


def rate(ticket: Ticket, used: Mapping[str, Quantity]) -> str:
    """The part of the room that is used, of the resource that is used most: "75%"."""
    parts = [
        Fraction(used[name].nano, amount.nano)
        for name, amount in held(ticket).items()
        if name in used and not amount.is_zero
    ]
    return f"{round(max(parts, default=Fraction()) * 100)}%"
