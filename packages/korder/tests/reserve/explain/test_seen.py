"""What people see while orders, tickets and claims go their way: figures, Events and columns (S39)."""

from collections import Counter

import pytest
from tests.reserve.explain.figures import counted, gauges, printed
from tests.reserve.explain.test_measuring import Measured
from tests.reserve.scene import Scene, scene

from korder.api.reserve import (
    ORDER_ANNOTATION,
    ORDERS,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    TICKETS,
    TicketPhase,
)
from korder.cli import tables
from korder.reserve.claims import patches as claim_patches
from korder.reserve.claims.controller import Claims
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import Site
from korder.reserve.explain import pods as explain_pods
from korder.reserve.explain.pods import PodQuestion
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import an_order
from kubeloop.client import rest_mapper
from kubeloop.client.request import Selection
from kubeloop.objects.core import EVENTS, NODES, PODS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import PodBuilder, a_pod

EVERYTHING = (Orders, Tickets, Claims, HandOvers)


def a_claimant(name: str) -> PodBuilder:
    asked = {REQUIRED_ANNOTATION: "true", ORDER_ANNOTATION: "o"}
    return a_pod(name).requesting(cpu="1").gated_by(SCHEDULING_GATE).annotated(asked)


async def settled(cluster: Scene, **phases: int) -> None:
    """Waits until the tickets are as many in each phase as said."""
    found: Counter[str] = Counter()
    for _ in range(600):
        found = Counter(str(t.status.phase) for t in await cluster.all(TICKETS))
        if found == Counter(phases):
            await cluster.pass_time(2)
            return
        await cluster.pass_time(0.5)
    raise AssertionError(f"not {phases}, but {found}")


async def test_figures_equal_the_api_all_along_a_life(clock: Clock):
    """Held, claimed, released, without room, gone: the figures are those of the API each time (S39)."""
    measured = Measured()
    requests: JSON = {"requests": {"cpu": "1"}}
    order = an_order("o", 3).but(
        {
            "spec": {
                "strategy": {"refreshPolicy": "Never"},
                "template": {"spec": {"resources": requests, "duration": "1h"}},
            }
        }
    )
    async with scene(clock, *EVERYTHING, measured, nodes=1) as cluster:

        async def agree() -> None:
            assert gauges(measured.manager) == await counted(cluster)

        await cluster.put(order)
        await settled(cluster, Reserved=3)
        await agree()
        assert (
            gauges(measured.manager)["korder_node_reserved_resources", ("node-1", "cpu", "cores")]
            == 3
        )
        await cluster.put(a_claimant("a"), a_claimant("b"))
        await settled(cluster, Reserved=1, Claimed=2)
        await agree()
        assert printed(measured.manager)["korder_handover_seconds_count", ()] == 2
        await cluster.delete(PODS, "a")
        await settled(cluster, Reserved=1, Claimed=1, Released=1)
        await agree()
        await cluster.delete(ORDERS, "o")
        await cluster.gone(ORDERS, "o")
        await cluster.pass_time(2)
        await agree()
        assert gauges(measured.manager) == {}


async def test_each_transition_is_reported_once(clock: Clock):
    """One Event for the creation, the hold, the claim and the release of a ticket (S39)."""
    order = an_order("o", 1).but(
        {
            "spec": {
                "strategy": {"refreshPolicy": "Never"},
                "template": {"spec": {"resources": {"requests": {"cpu": "1"}}}},
            }
        }
    )
    async with scene(clock, *EVERYTHING, nodes=1) as cluster:
        await cluster.put(order)
        await settled(cluster, Reserved=1)
        await cluster.put(a_claimant("a"))
        await settled(cluster, Claimed=1)
        await cluster.delete(PODS, "a")
        await settled(cluster, Released=1)
        await cluster.pass_time(5)
        events = await cluster.all(EVENTS, "default")
        stated = Counter(e.reason for e in events if e.regarding.kind == TICKETS.kind)
        assert stated == Counter(["Reserved", "Claiming", "Claimed", "Released"])
        of_order = Counter(e.reason for e in events if e.regarding.kind == ORDERS.kind)
        assert of_order == Counter(["TicketsCreated"])


async def test_the_columns_say_where_whose_until_when_and_why(clock: Clock):
    """Without -o wide: phase, node, owner, expiry, and why a ticket is not Reserved (S39)."""
    order = an_order("o", 5).but(
        {
            "spec": {
                "strategy": {"refreshPolicy": "Never"},
                "template": {"spec": {"resources": {"requests": {"cpu": "1"}}, "duration": "1h"}},
            }
        }
    )
    async with scene(clock, *EVERYTHING, nodes=1) as cluster:
        await cluster.put(order, a_claimant("a"))
        await cluster.until(ORDERS, "o", lambda o: o.status.claimed_replicas == 1)
        await cluster.pass_time(5)
        (kind,) = (await rest_mapper.discover(cluster.client)).find("tickets")
        table = await tables.read(cluster.client, kind, Selection("default"))
        columns = table.column_definitions
        assert tables.titles(columns) == [
            "NAME",
            "PHASE",
            "REASON",
            "CPU",
            "MEMORY",
            "NODE",
            "CLAIMED-BY",
            "EXPIRATION",
            "AGE",
        ]
        rows = [
            dict(zip(tables.titles(columns), tables.cells(columns, row), strict=True))
            for row in table.rows
        ]
        (claimed,) = [row for row in rows if row["PHASE"] == TicketPhase.CLAIMED]
        assert (claimed["NODE"], claimed["CLAIMED-BY"]) == ("node-1", "default/a")
        held = [row for row in rows if row["PHASE"] == TicketPhase.RESERVED]
        assert all(row["EXPIRATION"].endswith("Z") for row in held)
        (waits,) = [row for row in rows if row["PHASE"] == TicketPhase.PENDING]
        assert waits["REASON"] == "Unschedulable"
        assert {(row["CPU"], row["MEMORY"]) for row in rows} == {("1", "<none>")}


async def test_an_explanation_says_what_the_controller_says(clock: Clock):
    """A pod that waits is told the same by its condition and by `korder explain` (S12, S14)."""
    order = an_order("o", 1).but(
        {"spec": {"template": {"spec": {"resources": {"requests": {"cpu": "1"}}}}}}
    )
    async with scene(clock, *EVERYTHING, nodes=1) as cluster:
        await cluster.put(order)
        await settled(cluster, Reserved=1)
        big = a_claimant("big").requesting(cpu="2")
        lost = a_claimant("lost").annotated({ORDER_ANNOTATION: "nowhere"})
        await cluster.put(big, lost)
        for name in ("big", "lost"):
            pod = await cluster.until(PODS, name, lambda pod: claim_patches.stated(pod) is not None)
            said, nodes = claim_patches.stated(pod), await cluster.all(NODES)
            sites = {node.metadata.name: Site(node) for node in nodes}
            market = Market(
                "default",
                await cluster.all(TICKETS),
                await cluster.all(ORDERS),
                sites.get,
                clock.now(),
            )
            stated = explain_pods.explain(PodQuestion(pod, market, [pod]))
            assert said is not None
            assert stated.verdict == f"It waits ({said.reason}): {said.message}"


@pytest.mark.parametrize("strategy", [{"type": "OneTime"}, None], ids=["told", "left out"])
async def test_an_order_shows_numbers_also_where_they_are_zero(clock: Clock, strategy: JSON):
    wide: JSON = {"requests": {"cpu": "100"}}
    template: JSON = {"spec": {"resources": wide}}
    order = an_order("o", 2).but({"spec": {"template": template, "strategy": strategy}})
    async with scene(clock, *EVERYTHING, nodes=1) as cluster:
        await cluster.put(order)
        await settled(cluster, Pending=2)
        (kind,) = (await rest_mapper.discover(cluster.client)).find("orders")
        table = await tables.read(cluster.client, kind, Selection("default"))
        columns = table.column_definitions
        shown = dict(zip(tables.titles(columns), tables.cells(columns, table.rows[0]), strict=True))
        shown.pop("AGE")
        assert shown == {
            "NAME": "o",
            "STRATEGY": "OneTime",
            "DESIRED": "2",
            "CURRENT": "2",
            "AVAILABLE": "0",
            "CLAIMED": "0",
            "READY": "False",
        }
