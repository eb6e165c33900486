"""In which order the claims on one node are served: namespaces round robin, in each the higher priority first, then the older pod.

`handover` calls it. Otherwise a namespace with a hundred claims would have all free room of the node, and all places, before
another namespace has one.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import count

from korder.reserve.rules.claims.members import NEVER, Member

_Rank = tuple[int, datetime, str]


def in_fair_order(members: Iterable[Member]) -> list[Member]:
    """The members in the order of service."""
    rounds: dict[str, count[int]] = {}
    placed = [
        (next(rounds.setdefault(_namespace(each), count())), _rank(each), each)
        for each in sorted(members, key=_rank)
    ]
    return [member for *_, member in sorted(placed, key=lambda each: each[:2])]


def _namespace(member: Member) -> str:
    """The namespace that is served: that of the pod, which need not be the ticket's."""
    by = member.ticket.status.claimed_by
    return by.namespace if by is not None else member.ticket.metadata.namespace


def _rank(member: Member) -> _Rank:
    pod, name = member.pod, member.ticket.status.claimed_pod
    if pod is None:
        return 0, NEVER, name
    return -(pod.spec.priority or 0), pod.metadata.creation_timestamp or NEVER, name
