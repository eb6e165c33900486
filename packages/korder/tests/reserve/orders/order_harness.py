"""An order and its tickets under test: reconciles are run by hand, plans are carried out step by step, and can be broken off anywhere.

    harness = OrderHarness(an_order("o", replicas=3))
    harness.settle()
    harness.become("o-0", TicketPhase.CLAIMED)

Nothing but rules runs here. What ticket controller, users and time do to tickets is done by calling it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from korder.api.reserve import ORDERS, TICKETS, Order, Ticket, TicketPhase
from korder.reserve.orders import daemonset, plan as order_plan, pools
from korder.reserve.orders.pools import Granting, freely
from korder.reserve.tickets import deadlines
from kubeloop.objects import codec, instant, patch
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Create, Delete, Emit, Patch, Plan, Step
from kubeloop.testing.builders import Builder, NodeBuilder

START = datetime(2026, 1, 5, 0, 0, 30, tzinfo=UTC)
"""A Monday, half a minute after midnight."""


class OrderHarness:
    """The world of one order."""

    def __init__(self, order: Builder[Order], now: datetime = START) -> None:
        self.now = now
        stamp = instant.render(now)
        stored = order.stored("order-uid").but({"metadata": {"creationTimestamp": stamp}})
        self._order = stored.but({"metadata": {"generation": 1}}).json
        self._tickets: dict[str, dict[str, JSON]] = {}
        self._versions = 1
        self.made: list[str] = []
        """The name of every ticket ever made, in order."""
        self.emits: list[Emit] = []
        """What was told: all that a turn has to say, or if it was broken off, what belongs to the steps that were done."""
        self._words: tuple[Emit, ...] = ()
        self.gone: dict[str, Ticket] = {}
        """Tickets that went, as they were last seen."""
        self.foreign: set[str] = set()
        """Names of tickets that others have made."""
        self.nodes: dict[str, NodeBuilder] = {}
        self.rivals: dict[str, list[str]] = {}
        """Who else books on a node, in DaemonSet mode."""
        self.requeue_at: datetime | None = None
        self.granting: Granting = freely
        """Who says which tickets may be made."""

    @property
    def order(self) -> Order:
        return codec.convert(self._order, ORDERS.model)

    @property
    def tickets(self) -> dict[str, Ticket]:
        return {name: codec.convert(body, TICKETS.model) for name, body in self._tickets.items()}

    def names(self, *phases: TicketPhase) -> list[str]:
        """The tickets in these phases; a fresh one is Pending."""
        return [
            name
            for name, ticket in self.tickets.items()
            if not phases or (ticket.status.phase or TicketPhase.PENDING) in phases
        ]

    @property
    def free(self) -> list[str]:
        """What can be claimed, now or later."""
        return self.names(TicketPhase.PENDING, TicketPhase.RESERVED)

    def steps(self) -> list[Step]:
        """What a turn would do now."""
        found = order_plan.beginning(self.order)
        if found is None:
            found = self._decide()
        self.requeue_at = found.requeue_at
        self._words = found.emits
        return [step for stage in found.stages for step in stage]

    def _decide(self) -> Plan:
        order, tickets = self.order, tuple(self.tickets.values())
        if not order.spec.daemon_set:
            snapshot = pools.Snapshot(
                order, tickets, self.now, self._taken, tuple(self.gone.values()), self.granting
            )
            return order_plan.plan(snapshot)
        nodes = [node.build() for node in self.nodes.values()]
        return daemonset.plan(
            daemonset.Snapshot(order, tickets, nodes, self.now, self._taken, self._rivals)
        )

    def _rivals(self, node: str) -> list[str]:
        return self.rivals.get(node, [])

    def reconcile(self, most: int | None = None) -> int:
        """Takes a turn, or only its first steps; says how many there were."""
        steps = self.steps()
        done = steps[:most]
        for step in done:
            self._carry_out(step)
        self.emits += (
            each
            for each in self._words
            if len(done) == len(steps) or any(each.after is step for step in done)
        )
        return len(steps)

    def settle(self, *, hold: bool = True) -> None:
        """Takes turns until there is nothing to do; tickets get their room meanwhile unless told otherwise."""
        for _ in range(100):
            if hold:
                self.hold()
            if not self.reconcile():
                assert self.requeue_at is None or self.requeue_at > self.now, "it turns and turns"
                return
        raise AssertionError(f"it never comes to rest: {self.steps()}")

    def pass_time(self, **length: float) -> None:
        self.now += timedelta(**length)

    def at(self, text: str) -> None:
        """Sets the clock to a later time of the first day, or to an instant."""
        moved = instant.parse(text if "T" in text else f"{START:%Y-%m-%d}T{text}:00Z")
        assert moved >= self.now
        self.now = moved

    def edit(self, spec: Mapping[str, JSON]) -> None:
        """A user changes the spec."""
        generation = self.order.metadata.generation + 1
        self._change_order({"spec": dict(spec), "metadata": {"generation": generation}})

    def hold(self) -> None:
        """All tickets that hold nothing get their room."""
        for name in self.names(TicketPhase.PENDING):
            self.become(name, TicketPhase.RESERVED)

    def renew(self) -> None:
        """All tickets whose next term begins now are renewed in place, as the ticket controller does."""
        for name, ticket in self.tickets.items():
            start = deadlines.next_start(ticket, self.now)
            if start is not None:
                self._change(name, {"status": {"activationTime": instant.render(start)}})

    def become(self, name: str, phase: TicketPhase, **status: JSON) -> None:
        self._change(name, {"status": {"phase": phase.value, **status}})

    def delete(self, name: str) -> None:
        """A user deletes a ticket, and it goes."""
        self.gone[name] = self.tickets[name]
        del self._tickets[name]

    def lose_books(self) -> None:
        """The status is as another version of korder left it: counters, and nothing else."""
        self._order = {**self._order, "status": {"replicas": len(self._tickets)}}

    def _taken(self, name: str) -> bool:
        return name in self._tickets or name in self.foreign

    def _carry_out(self, step: Step) -> None:
        match step:
            case Create(body=dict(body)):
                meta = body["metadata"]
                assert isinstance(meta, dict)
                name = str(meta["name"])
                assert not self._taken(name), f"{name} is taken"
                self.made.append(name)
                self._versions += 1
                given: dict[str, JSON] = {
                    "uid": f"uid-{self._versions}",
                    "creationTimestamp": instant.render(self.now),
                }
                self._tickets[name] = {**body, "metadata": {**meta, **given}}
                self._change(name, {})
            case Patch(kind=kind) if kind == ORDERS:
                assert step.resource_version == self.order.metadata.resource_version
                assert isinstance(step.body, dict)
                self._change_order(step.body)
            case Patch():
                assert isinstance(step.body, dict)
                self._change(step.key.name, step.body)
            case Delete():
                ticket = self.tickets[step.key.name]
                assert ticket.metadata.uid == step.uid
                assert ticket.metadata.resource_version == step.resource_version
                del self._tickets[step.key.name]

    def _change(self, name: str, change: dict[str, JSON]) -> None:
        self._tickets[name] = self._merged(self._tickets[name], change)

    def _change_order(self, change: dict[str, JSON]) -> None:
        self._order = self._merged(self._order, change)

    def _merged(self, body: dict[str, JSON], change: dict[str, JSON]) -> dict[str, JSON]:
        self._versions += 1
        stamped = {"metadata": {"resourceVersion": str(self._versions)}}
        merged = patch.apply_merge(patch.apply_merge(body, change), stamped)
        assert isinstance(merged, dict)
        return merged
