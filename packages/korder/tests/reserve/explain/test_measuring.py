"""Metrics equal what the API has, whatever happens to the objects (S39)."""

import random

import pytest
from tests.reserve.explain.figures import counted, gauges, printed
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS
from korder.reserve.metrics import Measuring
from korder.testing.builders import a_ticket, an_order
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock, SystemClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.memory import MemoryServer

PHASES = ("Pending", "Reserved", "Claiming", "Claimed", "Released", "Expired")


class Measured:
    """Keeps the manager of the part under test, to read its metrics."""

    def __call__(self, manager: Manager) -> None:
        self.manager = manager
        Measuring(manager)


async def become(cluster: Scene, name: str, **status: JSON) -> None:
    """Writes a ticket's status, as a controller would."""
    key = Key("default", name)
    await cluster.client.patch(TICKETS, key, {"status": status}, subresource="status")


async def test_figures_equal_the_api_after_any_changes_and_a_restart(clock: Clock):
    measured, rng = Measured(), random.Random(6)
    async with scene(clock, measured, nodes=0) as cluster:
        await cluster.put(an_order("one"), an_order("two").but({"spec": {"paused": True}}))
        alive = set[str]()
        for number in range(60):
            await cluster.pass_time(0.1)
            name = f"t{rng.randrange(20)}"
            if name in alive and rng.random() < 0.15:
                await cluster.delete(TICKETS, name)
                alive.discard(name)
                continue
            cpu = f"{rng.randrange(1, 9) * 100}m"
            await cluster.put(
                a_ticket(name).but({"spec": {"resources": {"requests": {"cpu": cpu}}}})
            )
            alive.add(name)
            await become(cluster, name, phase=rng.choice(PHASES), nodeName=f"n{number % 3}")
        await cluster.pass_time(1)
        assert gauges(measured.manager) == await counted(cluster)
        await cluster.restart()
        await cluster.pass_time(1)
        assert gauges(measured.manager) == await counted(cluster)


async def test_a_hand_over_is_timed_from_the_claim_to_the_bound_pod(clock: Clock):
    measured = Measured()
    async with scene(clock, measured, nodes=0) as cluster:
        await cluster.put(a_ticket("t"), a_ticket("u"))
        for name in ("t", "u"):
            await become(cluster, name, phase="Reserved")
            await cluster.pass_time(1)
            await become(cluster, name, phase="Claiming")
        await cluster.pass_time(0.4)
        await become(cluster, "u", phase="Claimed")
        share: JSON = {"namespace": "default", "name": "p", "uid": "p-uid"}
        await become(cluster, "t", phase="Reserved", sharedBy=[share])
        await cluster.pass_time(1)
        figures = printed(measured.manager)
        assert figures["korder_handover_seconds_count", ()] == 2
        assert 1.7 < figures["korder_handover_seconds_sum", ()] < 1.9
        assert ("korder_handovers_undone_total", ("default", "ClaimUndone")) not in figures


async def test_lost_room_and_undone_claims_are_counted_with_their_reason(clock: Clock):
    measured = Measured()
    async with scene(clock, measured, nodes=0) as cluster:
        names = ("evicted", "stolen", "ended", "given-back")
        await cluster.put(*map(a_ticket, names))
        for name in names:
            await become(cluster, name, phase="Reserved", reason="Held")
        await cluster.pass_time(1)
        await become(cluster, "evicted", phase="Pending", reason="Lost")
        await cluster.pass_time(1)
        await become(cluster, "evicted", phase="Pending", reason="Lost", message="no room")
        await become(cluster, "stolen", phase="Claiming")
        await become(cluster, "given-back", phase="Claiming")
        await cluster.pass_time(1)
        await become(cluster, "stolen", phase="Pending", reason="Lost")
        await become(cluster, "given-back", phase="Reserved")
        await become(cluster, "ended", phase="Expired")
        await cluster.pass_time(1)
        figures = printed(measured.manager)
        assert figures["korder_tickets_lost_total", ("default", "Lost")] == 2
        undone = {
            key[1]: n for key, n in figures.items() if key[0] == "korder_handovers_undone_total"
        }
        assert undone == {("default", "Lost"): 1, ("default", "ClaimUndone"): 1}


@pytest.mark.parametrize(
    ("lease", "shown"),
    [(None, {1.0}), (Key("korder-system", "korder-manager"), set[float]())],
    ids=["leads", "waits to lead"],
)
def test_only_the_replica_that_leads_shows_figures(lease: Key | None, shown: set[float]):
    client, rng = Client(MemoryServer().connect(), rng=random.Random(1)), random.Random(1)
    manager = Manager(
        client,
        Settings("one", component="korder", metric_prefix="korder", lease=lease),
        clock=SystemClock(),
        rng=rng,
    )
    Measuring(manager)
    manager.informers.of(TICKETS).wrote(a_ticket("t").stored("t-uid").build())
    assert set(gauges(manager).values()) == shown


async def test_a_hand_over_ends_with_its_ticket_whatever_has_its_name_now(clock: Clock):
    """After a broken watch a list can show a successor where the ticket was."""
    client, rng = Client(MemoryServer().connect(), rng=random.Random(1)), random.Random(1)
    manager = Manager(
        client, Settings("one", component="korder", metric_prefix="korder"), clock=clock, rng=rng
    )
    measuring = Measuring(manager)
    tickets = manager.informers.of(TICKETS)
    claiming = a_ticket("t").but({"status": {"phase": "Claiming"}})
    for version, ticket in enumerate((a_ticket("t"), claiming), 2):
        meta: JSON = {"resourceVersion": str(version)}
        tickets.wrote(ticket.stored("first").but({"metadata": meta}).build())
    assert len(measuring._begun) == 1
    later: JSON = {"metadata": {"resourceVersion": "9"}}
    tickets.wrote(claiming.stored("second").but(later).build())
    assert not measuring._begun
    figures = [key[0] for key, n in printed(manager).items() if n]
    assert "korder_handovers_undone_total" not in figures
