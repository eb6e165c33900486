"""A cluster in which people book: orders that come, change and go, quotas, pods that claim, intruders who want the same room, nodes that fail.

    booking(Random(seed), Booking(nodes=4, hours=1)) -> steps

Like `traffic`, which it leaves the plain tenants to: all that happens is written down from one seed. What begins also ends, and the last
minutes bring nothing new, so that the cluster can come to rest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import chain
from random import Random

from korder.api import quota
from korder.api.reserve import DEFINITIONS, GUARDIAN_LABEL, GUARDIAN_PRIORITY_CLASS
from korder.reserve.scenarios import orders as random_orders
from korder.reserve.scenarios.claimants import Claimant, claims, daemons
from korder.reserve.scenarios.orders import API_VERSION, Form
from korder.reserve.scenarios.quotas import Quotas, quotas
from kubeloop.schema import crd
from pocketkube.simulation.script import Apply, Delete, DeletePods, Manifest, Patch, Step, in_order
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.fleet import Fleet, fleet, renewal
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.workloads.tenants import POOL, URGENT
from pocketkube.simulation.workloads.troubles import HOUR, outages, troubles

_NAMESPACES = ("default", "blue")
MIX: Mapping[str, float] = {"order": 12, "nodes": 2, "ticket": 4, "team": 1}
"""Who books, in proportion: orders, orders for each node, tickets made by hand, whole namespaces that go with their orders."""
_SIZES = (250, 500, 500, 1_000, 2_000)
_SETTING_UP = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """What the cluster is like.

    Attributes:
        nodes: How many machines there are.
        hours: How long all this goes on.
        orders: How many orders come in an hour.
        mix: Who they are from, in proportion.
        life: How long an order stays, in seconds, on average.
        claims: How many claimants come to an order, on average.
        edits: How often somebody changes an order, on average.
        intruders: How many plain pods come in an hour, to take what room there is.
        mishaps: How often in an hour a node is cordoned, tainted, relabelled or renewed, or a guardian is deleted by hand.
        outages: How often in an hour a machine is lost or slow for a while.
        troubles: How often in an hour a process crashes, stops or loses the time.
        processes: Which processes those troubles befall.
        quotas: How many quotas there are.
        limiting: How often in an hour a quota is changed or a namespace gets another label.
        gated: Whether pods bring the gate themselves, where no admission puts it on.
    """

    nodes: int = 4
    hours: float = 1.0
    orders: float = 8.0
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    life: float = 1_200.0
    claims: float = 3.0
    edits: float = 1.5
    intruders: float = 10.0
    mishaps: float = 6.0
    outages: float = 1.0
    troubles: float = 0.0
    processes: tuple[str, ...] = ()
    quotas: int = 0
    limiting: float = 5.0
    gated: bool = True

    @property
    def length(self) -> float:
        return self.hours * HOUR


@cache
def _definitions() -> tuple[Manifest, ...]:
    return tuple(crd.build(each) for each in (*DEFINITIONS, *quota.DEFINITIONS))


def surroundings() -> tuple[Manifest, ...]:
    """What must be there before anything runs: our kinds, and the class of guardians."""
    guardians = objects.priority_class(GUARDIAN_PRIORITY_CLASS, 1_000_000)
    return (
        *_definitions(),
        {**guardians, "preemptionPolicy": "Never"},
        objects.priority_class(URGENT, 1_000),
    )


def booking(rng: Random, wanted: Booking, start: datetime) -> tuple[Step, ...]:
    """Writes the script of a run that starts at this instant."""
    machines = fleet(rng, wanted.nodes)
    namespaces = (Step(1.0, Apply(objects.namespace(name))) for name in _NAMESPACES[1:])
    limits = Quotas(
        many=wanted.quotas,
        length=wanted.length,
        edits=wanted.limiting,
        namespaces=_NAMESPACES,
    )
    steps = chain(
        machines.steps(),
        namespaces,
        _customers(rng, wanted, machines, start),
        _intruders(rng, wanted),
        _mishaps(rng, wanted, machines),
        outages(rng, machines.names, wanted.length, wanted.outages),
        troubles(rng, wanted.processes, wanted.length, wanted.troubles),
        quotas(rng, limits),
    )
    return in_order(
        Step(round(each.at, 3), each.action) for each in steps if each.at <= wanted.length
    )


def _customers(rng: Random, wanted: Booking, machines: Fleet, start: datetime) -> Iterator[Step]:
    gap = HOUR / wanted.orders
    early = [_SETTING_UP + rng.uniform(0, 20) for _ in range(round(wanted.orders / 4))]
    for index, at in enumerate([*early, *moments(rng, gap, _SETTING_UP, wanted.length)]):
        ends = at + max(30.0, rng.expovariate(1 / wanted.life))
        where = rng.choice(_NAMESPACES)
        who = Claimant(
            name=f"o{index}",
            where=where,
            begins=at,
            ends=ends,
            cpu=rng.choice(_SIZES),
            gated=wanted.gated,
        )
        match rng.choices([*wanted.mix], [*wanted.mix.values()])[0]:
            case "nodes":
                yield from _per_node(rng, replace(who, cpu=100))
            case "ticket":
                yield from _by_hand(rng, who, machines, start)
            case "team":
                own = f"team-{index}"
                yield Step(at, Apply(objects.namespace(own)))
                yield from _order(rng, replace(who, where=own, begins=at + 2), wanted, machines)
                yield Step(max(at + 10, ends - 5), Delete("v1", "Namespace", own))
            case _:
                yield from _order(rng, who, wanted, machines)


def _order(rng: Random, who: Claimant, wanted: Booking, machines: Fleet) -> Iterator[Step]:
    """An order, those who claim of it, and what its owner does to it."""
    pools = tuple(pool.name for pool in machines.pools)
    tickets = random_orders.form(rng, who.cpu, pools)
    manifest = random_orders.order(who.name, who.where, rng, tickets, rng.randint(1, 4))
    yield Step(who.begins, Apply(manifest))
    lasts = who.ends - who.begins
    for at in moments(rng, lasts / max(wanted.edits, 0.01), who.begins, who.ends):
        yield from _idea(rng, who, tickets, manifest, at)
    for number, at in enumerate(moments(rng, lasts / wanted.claims, who.begins, who.ends)):
        yield from claims(rng, _claimant(rng, who, number, at, order=who.name))
    if rng.random() < 0.3:
        yield from _rush(rng, who)
    yield Step(who.ends, Delete(API_VERSION, "Order", who.name, who.where))


def _rush(rng: Random, who: Claimant) -> Iterator[Step]:
    """Many ask in one instant."""
    at = rng.uniform(who.begins, who.ends)
    for number in range(rng.randint(3, 6)):
        yield from claims(rng, _claimant(rng, who, 100 + number, at, order=who.name))


def _per_node(rng: Random, who: Claimant) -> Iterator[Step]:
    """An order of one ticket for each node, and mostly a DaemonSet that uses them."""
    tickets = Form(cpu=who.cpu, memory=who.cpu, duration=rng.choice(("", "5m")), tolerates=True)
    manifest = random_orders.daemon_order(who.name, who.where, rng, tickets)
    yield Step(who.begins, Apply(manifest))
    if rng.random() < 0.7:
        begins = rng.uniform(who.begins, who.ends)
        yield from daemons(rng, replace(who, name=f"{who.name}-ds", begins=begins, order=who.name))
    yield Step(who.ends, Delete(API_VERSION, "Order", who.name, who.where))


def _by_hand(rng: Random, who: Claimant, machines: Fleet, start: datetime) -> Iterator[Step]:
    """A ticket without an order, for now or for later, and somebody who wants it."""
    starts = (
        random_orders.moment(start, who.begins + rng.uniform(5, 300))
        if rng.random() < 0.5
        else None
    )
    node = rng.choice(machines.names) if rng.random() < 0.3 else ""
    tickets = random_orders.form(rng, who.cpu, ())
    yield Step(who.begins, Apply(random_orders.ticket(who.name, who.where, tickets, starts, node)))
    for number in range(rng.randint(0, 2)):
        at = rng.uniform(who.begins, who.ends)
        yield from claims(rng, _claimant(rng, who, number, at, ticket=who.name))
    yield Step(who.ends, Delete(API_VERSION, "Ticket", who.name, who.where))


def _claimant(
    rng: Random, who: Claimant, number: int, at: float, *, order: str = "", ticket: str = ""
) -> Claimant:
    return replace(
        who,
        name=f"{who.name}-c{number}",
        begins=at,
        ends=at + max(5.0, rng.expovariate(1 / 300)),
        order=order,
        ticket=ticket,
    )


def _idea(
    rng: Random, who: Claimant, tickets: Form, manifest: Manifest, at: float
) -> Iterator[Step]:
    match rng.choice(("scale", "scale", "pause", "size", "length", "pick", "again")):
        case "scale":
            yield Step(at, _edit(who, {"replicas": rng.randint(0, 5)}))
        case "pause":
            yield Step(at, _edit(who, {"paused": True}))
            resumed = min(at + rng.uniform(1, 120), who.ends)
            yield Step(resumed, _edit(who, {"paused": False}))
        case "size":
            cpu = rng.choice(_SIZES)
            changed = replace(tickets, cpu=cpu, memory=cpu).spec()["resources"]
            yield Step(at, _edit(who, {"template": {"spec": {"resources": changed}}}))
        case "length":
            if manifest["spec"].get("strategy", {}).get("type") != "Scheduled":
                longer = rng.choice(("2m", "5m", "30m"))
                yield Step(at, _edit(who, {"template": {"spec": {"duration": longer}}}))
        case "pick":
            ticket = f"{who.name}-{rng.randint(0, 3)}"
            yield Step(at, Delete(API_VERSION, "Ticket", ticket, who.where))
        case _:
            yield Step(at, Delete(API_VERSION, "Order", who.name, who.where))
            yield Step(min(at + rng.uniform(0, 5), who.ends), Apply(manifest))


def _edit(who: Claimant, change: Manifest) -> Patch:
    return Patch(API_VERSION, "Order", who.name, {"spec": change}, who.where)


def _intruders(rng: Random, wanted: Booking) -> Iterator[Step]:
    """Plain pods that want the same room; a few are more important than those who claim."""
    if wanted.intruders <= 0:
        return
    for index, at in enumerate(moments(rng, HOUR / wanted.intruders, _SETTING_UP, wanted.length)):
        urgent = URGENT if rng.random() < 0.1 else ""
        ends = at + max(5.0, rng.expovariate(1 / 600))
        for number in range(rng.randint(1, 5)):
            name, cpu = f"intruder-{index}-{number}", rng.choice(_SIZES)
            pods = Pods(cpu=cpu, memory=cpu, priority=urgent, grace=rng.choice((0, 1, 30)))
            yield Step(at, Apply(objects.pod(name, "default", pods)))
            yield Step(ends, Delete("v1", "Pod", name, "default"))


def _mishaps(rng: Random, wanted: Booking, machines: Fleet) -> Iterator[Step]:
    if wanted.mishaps <= 0:
        return
    for at in moments(rng, HOUR / wanted.mishaps, _SETTING_UP, wanted.length):
        name, pool = rng.choice(machines.machines)
        until = min(at + rng.uniform(10, 400), wanted.length)
        match rng.choice(("cordon", "taint", "relabel", "renew", "guardian", "guardian")):
            case "cordon":
                yield Step(at, _node(name, {"spec": {"unschedulable": True}}))
                yield Step(until, _node(name, {"spec": {"unschedulable": False}}))
            case "taint":
                taint = {"key": "maintenance", "effect": rng.choice(("NoSchedule", "NoExecute"))}
                yield Step(at, _node(name, {"spec": {"taints": [taint]}}))
                yield Step(until, _node(name, {"spec": {"taints": []}}))
            case "relabel":
                yield Step(at, _node(name, {"metadata": {"labels": {POOL: "other"}}}))
                yield Step(until, _node(name, {"metadata": {"labels": {POOL: pool.name}}}))
            case "renew" if at + 300 < wanted.length:
                yield from renewal(rng, [(name, pool)], at)
            case _:
                where = rng.choice(_NAMESPACES)
                yield Step(at, DeletePods(where, {GUARDIAN_LABEL: "true"}, most=rng.randint(1, 2)))


def _node(name: str, change: Manifest) -> Patch:
    return Patch("v1", "Node", name, change)
