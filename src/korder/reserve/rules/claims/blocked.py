"""Tickets that hold room and cannot be handed over now, because their guardian cannot be deleted at once.

`controllers.claims` and `korder explain` ask it, `choosing` leaves such tickets out. A guardian with a finalizer, which is never one
of ours, stays as long as its owner wants; one that is being deleted leaves room that its ticket has to take again.
"""

from collections.abc import Callable, Iterable, Iterator

from korder.api.core import Pod
from korder.api.meta import Key, controller_of, key_of, owned_by
from korder.api.reserve import TICKETS, Ticket


def ticket_key(guardian: Pod) -> Key | None:
    """The ticket for which the pod is a guardian that cannot be handed over."""
    meta, owner = guardian.metadata, controller_of(guardian)
    is_detained = bool(meta.finalizers) or meta.deletion_timestamp is not None
    if not is_detained or owner is None or owner.kind != TICKETS.kind:
        return None
    return Key(meta.namespace, owner.name)


def among(guardians: Iterable[Pod], find: Callable[[Key], Ticket | None]) -> dict[str, str]:
    """The tickets that cannot be handed over, by UID, and why; guardians that can be deleted may be missing."""
    detained: dict[Key, list[Pod]] = {}
    for pod in guardians:
        if (key := ticket_key(pod)) is not None:
            detained.setdefault(key, []).append(pod)
    found = ((find(key), pods) for key, pods in detained.items())
    said = {t.metadata.uid: why(t, pods) for t, pods in found if t is not None}
    return {uid: words for uid, words in said.items() if words}


def why(ticket: Ticket, guardians: Iterable[Pod]) -> str:
    """Says what keeps the ticket from being handed over; empty if nothing does."""
    return next(_reasons(ticket, guardians), "")


def _reasons(ticket: Ticket, guardians: Iterable[Pod]) -> Iterator[str]:
    for each in guardians:
        meta = each.metadata
        if not owned_by(each, ticket.metadata.uid):
            continue
        if meta.finalizers:
            names = ", ".join(sorted(meta.finalizers))
            yield f"guardian {meta.name} has the finalizer {names}"
        elif meta.deletion_timestamp is not None and _holds(each, ticket):
            yield f"guardian {meta.name} is being deleted"


def _holds(guardian: Pod, ticket: Ticket) -> bool:
    """Whether this is the guardian that the ticket counts on; others of a shared ticket make way for a smaller one."""
    return ticket.status.guardian_pod == str(key_of(guardian))
