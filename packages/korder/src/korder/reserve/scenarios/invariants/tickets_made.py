"""Which tickets an order makes: as many as table 1.8 allows, under names that were never used, and no claimed one is taken for them."""

from collections import Counter
from collections.abc import Iterable

from korder.api.reserve import (
    NODE_LABEL,
    ORDERS,
    SCHEDULED_TIME_ANNOTATION,
    TEMPLATE_HASH_LABEL,
    TICKETS,
    Order,
    RefreshPolicy,
    StrategyType,
    Ticket,
)
from korder.reserve.scenarios.invariants import facts
from kubeloop.objects.meta import controller_of
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


def policy_of(order: Order) -> RefreshPolicy:
    """Which tickets are replaced, in whichever form it was said."""
    if order.spec.strategy is not None:
        return order.spec.strategy.refresh_policy
    return order.spec.refresh_policy or RefreshPolicy.ON_CLAIM


def type_of(order: Order) -> StrategyType:
    """When tickets are made."""
    return order.spec.strategy.type if order.spec.strategy else StrategyType.ONE_TIME


class NamesAreNew(Invariant):
    """In DaemonSet mode a ticket is named after its node, which may come again."""

    name = "names-are-new"
    promise = "An order gives no name to two of its tickets, however much later."
    resources = (TICKETS,)

    def __init__(self) -> None:
        self._used: set[tuple[str, str]] = set()

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        owner = controller_of(new) if new is not None else None
        if old is not None or new is None or owner is None or not facts.is_ours(change):
            return
        if NODE_LABEL in new.metadata.labels:
            return
        if (owner.uid, new.metadata.name) in self._used:
            yield Broken(f"order {owner.name} has used this name before", (subject_of(change),))
        self._used.add((owner.uid, new.metadata.name))


class NoTicketTooMany(Invariant):
    """Recurring pools and roll-outs make the new before they break the old, so each template and firing is counted for itself.

    What a controller may not have seen yet is how many are wanted now, and that a ticket has come back from a pod. A window may have again
    what it gave away because fewer were wanted; an order that has no windows may not (rule 18).
    """

    name = "no-ticket-too-many"
    promise = "An order makes a ticket only while it has fewer unclaimed ones than it wants, and one that replaces none only once."
    resources = (TICKETS, ORDERS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._wanted: Recent[str, int] = Recent(tolerance.stale)
        self._had: Recent[str, None] = Recent(tolerance.stale)
        self._most: Counter[str] = Counter()
        self._made: dict[str, Counter[str]] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note(change, view)
        old, new = view.both(TICKETS)
        if old is not None or new is None or not facts.is_ours(change):
            return
        order = facts.order_of(new, view)
        if order is None or order.spec.daemon_set:
            return
        uid, most = order.metadata.uid, self._limit(order, change)
        alike = [
            each
            for each in view.owned(TICKETS, uid)
            if _counts_with(each, new) and not self._had.of(each.metadata.uid, change.at)
        ]
        about = subject_of(change), Subject(str(ORDERS), change.namespace, order.metadata.name)
        if len(alike) > most:
            yield Broken(f"it was made as number {len(alike)} of {most}", about)
        made = self._made.setdefault(uid, Counter())
        made[_sort(new)] += 1
        never = (
            policy_of(order) is RefreshPolicy.NEVER and type_of(order) is not StrategyType.RECURRING
        )
        if never and made[_sort(new)] > max(most, self._most[uid]):
            yield Broken(
                f"it is number {made[_sort(new)]} of {most} that are never replaced", about
            )

    def _note(self, change: Change, view: View) -> None:
        before, after = view.both(TICKETS)
        if before is not None and after is not None and not _is_free(before) and _is_free(after):
            self._had.ended(after.metadata.uid, None, change.at)
        if before is not None and facts.is_ours(change):
            self._note_surplus(before, after, view)
        old, new = view.both(ORDERS)
        if old is not None and (new is None or facts.wants_replicas(new) != old.spec.replicas):
            self._wanted.ended(old.metadata.uid, facts.wants_replicas(old), change.at)
        if old is not None and new is not None and new.spec != old.spec:
            edited = new.spec.template != old.spec.template or policy_of(new) is not policy_of(old)
            if edited:
                self._made.pop(new.metadata.uid, None)
        if new is not None:
            self._most[new.metadata.uid] = max(self._most[new.metadata.uid], new.spec.replicas)
        elif old is not None:
            self._made.pop(old.metadata.uid, None)

    def _note_surplus(self, before: Ticket, after: Ticket | None, view: View) -> None:
        """Forgets that a ticket was made which goes from a window because there are more than wanted."""
        goes = not facts.is_going(before) and (after is None or facts.is_going(after))
        order = facts.order_of(before, view)
        if not goes or order is None or type_of(order) is not StrategyType.SCHEDULED:
            return
        uid = order.metadata.uid
        staying = sum(_counts_with(each, before) for each in view.owned(TICKETS, uid))
        if _is_free(before) and staying + 1 > facts.wants_replicas(order):
            self._made.setdefault(uid, Counter())[_sort(before)] -= 1

    def _limit(self, order: Order, change: Change) -> int:
        lately = self._wanted.of(order.metadata.uid, change.at)
        most = max((*lately, facts.wants_replicas(order)))
        return 2 * most if type_of(order) is StrategyType.RECURRING else most


def _sort(ticket: Ticket) -> str:
    meta = ticket.metadata
    firing = meta.annotations.get(SCHEDULED_TIME_ANNOTATION, "")
    return f"{meta.labels.get(TEMPLATE_HASH_LABEL, '')} {firing}"


def _counts_with(other: Ticket, new: Ticket) -> bool:
    """Whether a ticket is as good as the new one: unclaimed, to stay, and of the same sort."""
    return _is_free(other) and not facts.is_going(other) and _sort(other) == _sort(new)


def _is_free(ticket: Ticket) -> bool:
    return ticket.status.phase in facts.OPEN and not ticket.status.shared_by
