"""Back-off of workloads whose pods claim tickets and are never bound: each next pod of one waits longer before it claims.

`endings` counts on the ticket, `claiming` asks. A pod that cannot be bound vacates its ticket's node in vain, and its replacement would do so
again. What counts is the controller of the pods, because their templates are equal; the pods of a StatefulSet differ in their claims
and count each by its name.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api.core import Pod
from korder.api.meta import controller_of
from korder.api.reserve import Ticket
from korder.api.workloads import STATEFUL_SETS

FIRST, LONGEST = timedelta(seconds=10), timedelta(minutes=5)
"""The first pause after a failure, doubled with each further one, and the longest."""
_MOST_DOUBLINGS = 5
_FORGOTTEN_AFTER = timedelta(hours=1)


def workload_of(pod: Pod) -> str:
    """What the pods have in common that are made in place of this one; empty for a pod that no controller makes again."""
    owner = controller_of(pod)
    if owner is None:
        return ""
    is_set = (owner.api_version, owner.kind) == (STATEFUL_SETS.api_version, STATEFUL_SETS.kind)
    return f"{owner.uid}/{pod.metadata.name}" if is_set else owner.uid


def counted(ticket: Ticket, workload: str) -> int:
    """How often pods of this workload were not bound by the ticket, with the failure of now."""
    is_again = bool(workload) and ticket.status.unbound_workload == workload
    return ticket.status.unbound_count + 1 if is_again else 1


def pauses(tickets: Iterable[Ticket], now: datetime) -> dict[str, datetime]:
    """Until when workloads claim nothing, by what these tickets say of them; a failure is forgotten after an hour."""
    last: dict[str, datetime] = {}
    times: dict[str, int] = {}
    for ticket in tickets:
        at, workload = ticket.status.unbound_time, ticket.status.unbound_workload
        if workload and at is not None and now < at + _FORGOTTEN_AFTER:
            last[workload] = max(at, last.get(workload, at))
            times[workload] = times.get(workload, 0) + ticket.status.unbound_count
    until = {each: at + _pause(times[each]) for each, at in last.items()}
    return {each: at for each, at in until.items() if at > now}


def _pause(failures: int) -> timedelta:
    return min(FIRST * (1 << min(max(failures - 1, 0), _MOST_DOUBLINGS)), LONGEST)
