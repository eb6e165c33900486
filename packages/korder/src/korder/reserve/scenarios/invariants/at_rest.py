"""Orders, tickets and waiting pods at rest: what table 1.8 promises is there, and nobody waits for what is free."""

from collections.abc import Iterable

from korder.api.quota import QUOTAS
from korder.api.reserve import (
    ENDED_PHASES,
    FALLBACK_AFTER_ANNOTATION,
    ORDERS,
    REQUIRED_ANNOTATION,
    TICKETS,
    Order,
    RefreshPolicy,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.reserve.scenarios.invariants import charges, facts, requests
from korder.reserve.scenarios.invariants.tickets_made import policy_of, type_of
from kubeloop.objects import core, duration, scheduling
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Node, Pod, PodSpec
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import Broken, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Subject
from pocketkube.simulation.invariants.waiting import A_MOMENT

_JUDGED_APART = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "korder.dev/handover",
    }
)
"""Rule 17: these are judged as Ready and cordon; a hand-over is over soon."""


def _about(order: Order) -> Subject:
    return Subject(str(ORDERS), order.metadata.namespace, order.metadata.name)


def _stays(order: Order, view: View) -> bool:
    where = view.of(NAMESPACES).get(Key("", order.metadata.namespace))
    ends = where is None or facts.is_going(where)
    return not ends and not facts.is_going(order)


class OrdersSettle(Invariant):
    """Refills of a Scheduled order end with its window, those of a Recurring one wait for a firing: neither is counted here."""

    name = "orders-settle"
    promise = "At rest an order has the tickets it promises, as far as quotas have room, and its status counts them."
    reads = (ORDERS, TICKETS, NAMESPACES, QUOTAS)

    def at_rest(self, view: View) -> Iterable[Broken]:
        for order in view.of(ORDERS).all():
            tickets = view.owned(TICKETS, order.metadata.uid)
            recent = any(view.quiet_for(facts.about(each)) < A_MOMENT for each in tickets)
            if not _stays(order, view) or recent or view.quiet_for(_about(order)) < A_MOMENT:
                continue
            full = charges.is_full_for(order, view)
            wrong = [*_counts(order, tickets), *_missing(order, tickets, full=full)]
            if wrong:
                yield Broken("; ".join(wrong), (_about(order), *map(facts.about, tickets[:5])))


def _counts(order: Order, tickets: list[Ticket]) -> Iterable[str]:
    status = order.status
    ended = sum(each.status.phase in ENDED_PHASES for each in tickets)
    used = sum(_is_used(each) for each in tickets)
    there = status.desired_replicas if order.spec.daemon_set else len(tickets) - ended
    pairs = {
        "observedGeneration": (status.observed_generation, order.metadata.generation),
        "replicas": (status.replicas, there),
        "claimedReplicas": (status.claimed_replicas, used),
        "terminalReplicas": (status.terminal_replicas, ended),
    }
    for what, (found, right) in pairs.items():
        if found != right:
            yield f"status.{what} is {found} instead of {right}"


def _is_used(ticket: Ticket) -> bool:
    shared = ticket.status.shared_by and ticket.status.phase not in ENDED_PHASES
    return ticket.status.phase is TicketPhase.CLAIMED or bool(shared)


def _missing(order: Order, tickets: list[Ticket], *, full: bool) -> Iterable[str]:
    if order.spec.paused or order.spec.daemon_set or type_of(order) is not StrategyType.ONE_TIME:
        return
    free = [each for each in tickets if each.status.phase in facts.OPEN]
    unclaimed, wanted = len(free), order.spec.replicas
    always = policy_of(order) is RefreshPolicy.ALWAYS
    if always and (unclaimed > wanted if full else unclaimed != wanted):
        yield f"it has {unclaimed} unclaimed tickets instead of {wanted}"
    elif policy_of(order) is not RefreshPolicy.NEVER and unclaimed > wanted:
        yield f"it has {unclaimed} unclaimed tickets, more than {wanted}"


class NodesAreCovered(Invariant):
    """A claimed ticket may outlast the node's eligibility."""

    name = "nodes-are-covered"
    promise = "At rest an order in DaemonSet mode has one ticket on every eligible node, as far as quotas have room, and none elsewhere."
    reads = (ORDERS, TICKETS, NODES, NAMESPACES, QUOTAS)

    def at_rest(self, view: View) -> Iterable[Broken]:
        for order in view.of(ORDERS).all():
            strategy = type_of(order)
            if not order.spec.daemon_set or order.spec.paused or not _stays(order, view):
                continue
            if strategy is StrategyType.SCHEDULED:
                continue
            live = [
                ticket
                for ticket in view.owned(TICKETS, order.metadata.uid)
                if not facts.is_going(ticket) and ticket.status.phase not in ENDED_PHASES
            ]
            yield from _coverage(order, live, view)


def _coverage(order: Order, live: list[Ticket], view: View) -> Iterable[Broken]:
    enough = range(2) if charges.is_full_for(order, view) else range(1, 2)
    for node in view.of(NODES).all():
        if view.quiet_for(Subject(str(NODES), "", node.metadata.name)) < A_MOMENT:
            continue
        here = [each for each in live if each.spec.node_name == node.metadata.name]
        free = [each for each in here if each.status.phase in facts.OPEN]
        about = _about(order), Subject(str(NODES), "", node.metadata.name)
        if _is_eligible(order, node) and len(here) not in enough:
            yield Broken(f"node {node.metadata.name} has {len(here)} tickets instead of one", about)
        elif not _is_eligible(order, node) and free:
            yield Broken(f"node {node.metadata.name} is not eligible and has a ticket", about)
    for ticket in live:
        if view.of(NODES).get(Key("", ticket.spec.node_name)) is None:
            yield Broken(
                f"ticket {ticket.metadata.name} is of a node that is gone", (_about(order),)
            )


def _is_eligible(order: Order, node: Node) -> bool:
    spec = order.spec.template.spec
    asks = PodSpec(
        node_selector=spec.node_selector, affinity=spec.affinity, tolerations=spec.tolerations
    )
    return (
        core.is_ready(node)
        and not node.spec.unschedulable
        and scheduling.selector_mismatch(asks, node) is None
        and scheduling.affinity_mismatch(asks, node) is None
        and scheduling.tainted(asks, node, _JUDGED_APART) is None
    )


class NobodyWaitsForWhatIsFree(Invariant):
    """Pods with further gates wait for somebody else too; tickets of an order that has not opened yet are nobody's."""

    name = "nobody-waits-for-what-is-free"
    promise = "At rest no pod waits for a ticket while one is free that fits it, and none waits that need not have one."
    reads = (ORDERS, TICKETS, PODS, NODES)

    def at_rest(self, view: View) -> Iterable[Broken]:
        for pod in view.of(PODS).all():
            if not facts.is_gated(pod) or facts.is_going(pod) or len(pod.spec.scheduling_gates) > 1:
                continue
            if view.quiet_for(facts.about_pod(pod)) < A_MOMENT:
                continue
            if not _may_wait(pod, view):
                yield Broken("it waits although it need not have a ticket", (facts.about_pod(pod),))
            for ticket in view.of(TICKETS).all():
                calm = view.quiet_for(facts.about(ticket)) >= A_MOMENT
                if calm and _serves(ticket, pod, view):
                    about = facts.about_pod(pod), facts.about(ticket)
                    yield Broken(f"it waits although ticket {ticket.metadata.name} fits it", about)
                    break


def _may_wait(pod: Pod, view: View) -> bool:
    """Whether a pod insists on a ticket, or has not yet waited for one as long as it said."""
    notes = pod.metadata.annotations
    wait = duration.parse(notes.get(FALLBACK_AFTER_ANNOTATION, "0s")).timedelta
    since = pod.metadata.creation_timestamp
    patient = since is not None and view.now < since + wait + A_MOMENT
    return patient or notes.get(REQUIRED_ANNOTATION) == "true"


def _serves(ticket: Ticket, pod: Pod, view: View) -> bool:
    node = view.of(NODES).get(Key("", ticket.status.node_name))
    if ticket.status.phase is not TicketPhase.RESERVED or facts.is_going(ticket) or node is None:
        return False
    order = facts.order_of(ticket, view)
    shut = order is not None and order.spec.min_available is not None and not order.status.opened
    expired = (
        ticket.status.expiration_time is not None and ticket.status.expiration_time <= view.now
    )
    if shut or expired or not core.is_ready(node) or node.spec.unschedulable:
        return False
    suits = not scheduling.unsuited(pod.spec, node)
    return (
        suits and facts.fits(facts.asked_by(pod), facts.left(ticket)) and requests.asks(pod, ticket)
    )
