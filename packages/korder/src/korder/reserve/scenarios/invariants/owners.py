"""Who has a ticket: one pod at a time, known by its UID, for as long as it lives; or several that share it and fit."""

from collections.abc import Iterable

from korder.api.reserve import ORDERS, TICKETS, TicketPhase
from korder.reserve.scenarios.invariants import facts
from korder.reserve.scenarios.invariants.holdings import Holdings
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, subject_of
from pocketkube.simulation.invariants.binding import USER

_P = TicketPhase
_NEXT: dict[TicketPhase | None, frozenset[TicketPhase]] = {
    None: frozenset({_P.PENDING, _P.RESERVED, _P.EXPIRED, _P.RELEASED}),
    _P.PENDING: frozenset({_P.RESERVED, _P.CLAIMED, _P.EXPIRED, _P.RELEASED}),
    _P.RESERVED: frozenset({_P.PENDING, _P.CLAIMING, _P.CLAIMED, _P.EXPIRED, _P.RELEASED}),
    _P.CLAIMING: frozenset({_P.PENDING, _P.RESERVED, _P.CLAIMED, _P.EXPIRED, _P.RELEASED}),
    _P.CLAIMED: frozenset({_P.PENDING, _P.RESERVED, _P.RELEASED}),
    _P.RELEASED: frozenset(),
    _P.EXPIRED: frozenset(),
}


class PhasesInOrder(Invariant):
    """Without a hand-over a ticket is Claimed only if it is shared: when the pods that have it have all of it."""

    name = "phases-in-order"
    promise = (
        "A ticket is claimed only while it is Reserved, and what has ended never begins again."
    )
    resources = (TICKETS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if old is None or new is None or old.status.phase == new.status.phase:
            return
        was, now = old.status.phase, new.status.phase
        alone = now is _P.CLAIMED and was is not _P.CLAIMING and not new.status.shared_by
        if now not in _NEXT[was] or alone:
            yield Broken(f"it went from {was or 'nothing'} to {now}", (subject_of(change),))


class OneTicketEach(Invariant):
    """Of a ticket that has ended the pods are history."""

    name = "one-ticket-each"
    promise = "A pod has at most one ticket."
    resources = (TICKETS,)

    def __init__(self) -> None:
        self._holdings = Holdings()

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        here = subject_of(change)
        for uid in sorted(self._holdings.note(change, view)):
            others = {*self._holdings.of(uid)} - {here}
            if others:
                names = ", ".join(sorted(each.name for each in others))
                yield Broken(f"it was given to a pod that has {names} (UID {uid})", (here, *others))


class OneOwner(Invariant):
    """Who is named may change only through a state in which nobody is."""

    name = "one-owner"
    promise = "A ticket that a pod has is not given to another one, and several have one only if they share it and fit."
    resources = (TICKETS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        del change
        old, new = view.both(TICKETS)
        if new is None:
            return
        before, after = facts.holders(old), facts.holders(new)
        if new.spec.allocate_once and (len(after) > 1 or (before and after - before)):
            yield Broken(
                f"pods {_listed(before)} had it, now {_listed(after)} do", (facts.about(new),)
            )
        negative = [name for name, amount in facts.left(new).items() if amount.nano < 0]
        if negative:
            yield Broken(
                f"its pods take more {', '.join(negative)} than it has", (facts.about(new),)
            )


class OwnersStay(Invariant):
    """A pod that is not on its node yet can lose its ticket: a hand-over may fail. That it was just bound nobody may know yet."""

    name = "owners-stay"
    promise = "A ticket is not taken from a pod that lives on its node."
    resources = (TICKETS, PODS)
    reads = (ORDERS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._unbound: Recent[str, None] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, pod = view.both(PODS)
        if was is not None and pod is not None and pod.spec.node_name and not was.spec.node_name:
            self._unbound.ended(pod.metadata.uid, None, change.at)
        old, new = view.both(TICKETS)
        if old is None or new is None or change.by == USER:
            return
        lost = facts.holders(old) - facts.holders(new)
        order = facts.order_of(new, view)
        begins = facts.is_going(new) and not facts.is_going(old) and facts.is_ours(change)
        if begins and order is not None and not facts.is_going(order):
            lost = facts.holders(old)
        for uid in lost:
            pod = facts.pod_of(uid, view)
            if pod is None or not facts.lives(pod) or not pod.spec.node_name:
                continue
            if not self._unbound.of(uid, change.at):
                stated = f"it was taken from pod {pod.metadata.name}, which lives on {pod.spec.node_name}"
                yield Broken(stated, (facts.about(new), facts.about_pod(pod)))


class OnlyTheNamedGo(Invariant):
    """The ticket may have been taken back a moment ago, which nobody needs to know yet."""

    name = "only-the-named-go"
    promise = "A pod is let go with a ticket only if the ticket names its UID."
    resources = (TICKETS, PODS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._former: Recent[Key, str] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        had, has = view.both(TICKETS)
        for uid in facts.holders(had) - facts.holders(has):
            self._former.ended(Key(change.namespace, change.name), uid, change.at)
        old, pod = view.both(PODS)
        if pod is None or not facts.is_let_go(change, old, pod):
            return
        ticket = facts.ticket_named_by(pod, view)
        named = set(facts.holders(ticket))
        if ticket is not None:
            key = Key(ticket.metadata.namespace, ticket.metadata.name)
            named.update(self._former.of(key, change.at))
        if pod.metadata.uid not in named:
            who = f"ticket {ticket.metadata.name} names {_listed(named)}" if ticket else "no ticket"
            yield Broken(f"it was let go, but {who}", (subject_of(change),))


def _listed(uids: Iterable[str]) -> str:
    return ", ".join(sorted(uids)) or "nobody"
