"""What an order says and does when the server does not want its tickets: a quota, a policy, a webhook.

`controllers.orders` calls it with the server's words. They become the Failure condition and stay there until all tickets are made; the
pause before the next try grows with the time for which that has lasted, so nothing has to be remembered but the order.
"""

from datetime import datetime, timedelta

import msgspec

from korder.api import conditions
from korder.api.conditions import Condition, Status
from korder.api.plan import EventType, Notice, Plan
from korder.api.reserve import ORDERS, Order, OrderCondition, OrderReason
from korder.reserve.rules.orders import orderstatus

SOONEST, LATEST = timedelta(seconds=1), timedelta(seconds=300)
"""The pauses before another try. The longest is longer than a ticket counts ahead in quotas after a try (two minutes, decision 0020): in
between others get the room that is held for nothing."""
_LONGEST_MESSAGE = 1_024


def refused(order: Order, message: str, now: datetime) -> Plan:
    """Writes a refusal down, and tries again ever later."""
    reason = OrderReason.TICKETS_REFUSED.value
    before = conditions.find(order.status.conditions, OrderCondition.FAILURE)
    since = before.last_transition_time if before is not None and before.reason == reason else None
    pause = min(max(now - since, SOONEST), LATEST) if since is not None else SOONEST
    failure = Condition(
        type=OrderCondition.FAILURE.value,
        status=Status.TRUE,
        observed_generation=order.metadata.generation,
        reason=reason,
        message=message[:_LONGEST_MESSAGE],
    )
    said = conditions.set_condition(order.status.conditions, failure, now)
    status = msgspec.structs.replace(order.status, conditions=said)
    plan = Plan().then(*orderstatus.report(order, status)).wake(now + pause)
    if since is not None:
        return plan
    return plan.tell(Notice(ORDERS, order, reason, failure.message, EventType.WARNING))


def is_reworded(old: Order, new: Order) -> bool:
    """Says whether a refusal is only told in other words: when the tickets are tried again has been decided."""
    failure = conditions.find(new.status.conditions, OrderCondition.FAILURE)
    is_refused = failure is not None and failure.reason == OrderReason.TICKETS_REFUSED
    return is_refused and _but_for_words(old) == _but_for_words(new)


def _but_for_words(order: Order) -> Order:
    meta = msgspec.structs.replace(order.metadata, resource_version="")
    said = tuple(
        msgspec.structs.replace(each, message="") if each.type == OrderCondition.FAILURE else each
        for each in order.status.conditions
    )
    status = msgspec.structs.replace(order.status, conditions=said)
    return msgspec.structs.replace(order, metadata=meta, status=status)
