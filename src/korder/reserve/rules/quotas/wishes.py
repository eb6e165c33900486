"""What somebody wishes for who writes an order or a ticket: in the words of `verdict`, and nothing but what is new.

Admission asks. What was there before is taken off, so an edit that asks for nothing more is never refused, though the quota is exceeded
or the object is from before it. Tickets are judged with the labels that they will have. In DaemonSet mode an order wishes for as
many tickets as there are eligible nodes now.
"""

from collections.abc import Collection, Iterator
from datetime import datetime

from korder.api import resources
from korder.api.core import Node
from korder.api.quota import Quota
from korder.api.reserve import ORDER_LABEL, Order, Ticket
from korder.reserve.rules.daemons import eligibility
from korder.reserve.rules.orders import strategies
from korder.reserve.rules.quotas import charges, ledger
from korder.reserve.rules.quotas.scopes import Labels, Place
from korder.reserve.rules.quotas.tally import Tally
from korder.reserve.rules.quotas.verdict import Part, Shortfall, Wish, verdict
from korder.reserve.rules.tickets import naming


def of_order(
    place: Place, order: Order, before: Order | None, nodes: Collection[Node], now: datetime
) -> Wish:
    """What an order brings that was not there before."""
    parts = list(_of_order(order, order.metadata.name, nodes, now))
    if before is None:
        return Wish(place, tuple(parts))
    old = list(_of_order(before, order.metadata.name, nodes, now))
    return Wish(place, (*map(_unless_longer, parts, old), *map(_less, old)))


def of_ticket(place: Place, ticket: Ticket, before: Ticket | None) -> Wish:
    """What a ticket brings that was not there before."""
    part = _of_ticket(ticket)
    if before is None:
        return Wish(place, (part,))
    old = _of_ticket(before)
    return Wish(place, (_unless_longer(part, old), _less(old)))


def judged(tally: Tally, wish: Wish, now: datetime) -> tuple[Shortfall, ...]:
    """What stands in the way of a wish, by what is known now; the ledger has the last word."""
    labelled: list[Labels] = [part.labels for part in wish.parts]
    quotas: list[Quota] = tally.applying(wish.place.namespace, *labelled)
    return verdict(quotas, ledger.using(tally), wish, now, tally.limits)


def _of_order(order: Order, name: str, nodes: Collection[Node], now: datetime) -> Iterator[Part]:
    spec, template = order.spec.template.spec, order.spec.template.metadata
    count = order.spec.replicas
    if order.spec.daemon_set:
        wanted = eligibility.wish_of(spec)
        count = sum(eligibility.judge(wanted, node, now).takes for node in nodes)
    labels = {**template.labels, ORDER_LABEL: naming.legal_label(name)}
    yield Part(order.metadata.labels, charges.ORDER)
    amounts = resources.scale(charges.of_new(spec), count)
    yield Part(labels, amounts, strategies.hold(spec))


def _of_ticket(ticket: Ticket) -> Part:
    spec = ticket.spec
    return Part(ticket.metadata.labels, charges.of_new(spec), strategies.hold(spec))


def _unless_longer(part: Part, old: Part) -> Part:
    """The same wish, whose length is judged only if it has grown."""
    grown = part.length is not None and (old.length is None or part.length > old.length)
    return Part(part.labels, part.amounts, part.length if grown else None)


def _less(old: Part) -> Part:
    return Part(old.labels, resources.scale(old.amounts, -1))
