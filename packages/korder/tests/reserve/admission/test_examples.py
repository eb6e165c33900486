"""The examples: unchanged from the documents they come from, and with the outcomes that `examples/README.md` promises."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.reserve.scene import Scene, scene
import yaml

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, TicketPhase
from korder.install.objects import Admission, admission_objects
from korder.install_config import Site
from korder.reserve.domain import add_reserve
from kubeloop.client import rest_mapper
from kubeloop.client.errors import Forbidden
from kubeloop.objects import quantity
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock, VirtualClock
from pocketkube.fleet import fleet

ROOT = Path(__file__).parents[5]
EXAMPLES = {
    "first-order/order.yaml": "000-order-my-order.yaml",
    "first-order/business-pod.yaml": "000-pod-my-business-pod.yaml",
    "scheduled-order/order.yaml": "000-order-scheduled-order.yaml",
    "daemonset/monitoring-agent.yaml": "000-order-monitoring-agent-reservation.yaml",
    "daemonset/infrastructure.yaml": "001-order-infrastructure-reservation.yaml",
    "daemonset/gpu-nodes.yaml": "001-order-gpu-node-buffer.yaml",
    "quota/team-quota.yaml": "000-quota-team-quota.yaml",
}


@pytest.mark.parametrize(("example", "seed"), EXAMPLES.items(), ids=EXAMPLES)
def test_an_example_is_the_manifest_of_its_document(example: str, seed: str) -> None:
    text = (ROOT / "examples" / example).read_text()
    assert text == (ROOT / "packages" / "korder" / "tests" / "seeds" / seed).read_text()


def test_no_manifest_is_without_a_promise() -> None:
    there = {str(path.relative_to(ROOT / "examples")) for path in ROOT.glob("examples/**/*.yaml")}
    assert there == set(EXAMPLES)
    promised = (ROOT / "examples" / "README.md").read_text()
    assert all(name.rpartition("/")[2] in promised for name in there)


class Stage:
    """The cluster of `korder up`, in virtual time."""

    def __init__(self, cluster: Scene) -> None:
        self.cluster = cluster

    async def apply(self, *examples: str) -> None:
        for name in examples:
            await self.put(yaml.safe_load((ROOT / "examples" / name).read_text()))

    async def put(self, *bodies: dict[str, JSON]) -> None:
        client = self.cluster.client
        catalog = await rest_mapper.discover(client)
        for body in bodies:
            found = catalog.of(str(body["apiVersion"]), str(body["kind"]))
            meta = body["metadata"]
            assert found is not None
            assert isinstance(meta, dict)
            where = str(meta.get("namespace", "default")) if found.kind.namespaced else ""
            key = Key(where, str(meta["name"]))
            await client.patch(found.kind, key, body, PatchType.APPLY, force=True)

    async def reserved(self, order: str, count: int, namespace: str = "default") -> set[str]:
        """Waits until so many tickets can be claimed, and returns their nodes."""
        await self.cluster.until(
            ORDERS, order, lambda found: found.status.available_replicas == count, namespace
        )
        tickets = await self.cluster.all(TICKETS, namespace)
        held = [each for each in tickets if each.status.phase is TicketPhase.RESERVED]
        return {each.status.node_name for each in held}


@asynccontextmanager
async def stage(clock: Clock) -> AsyncIterator[Stage]:
    async with scene(clock, add_reserve, nodes=0) as cluster:
        for name, shape in fleet(5).items():
            cluster.add_node(name, shape)
        there = Stage(cluster)
        await there.put(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "korder-system"}},
            *admission_objects(Site(), Admission.POLICY),
        )
        yield there


async def test_the_first_order_holds_room_that_one_pod_takes(clock: Clock) -> None:
    """S1, S10, S20: the quick start."""
    async with stage(clock) as there:
        cluster = there.cluster
        await there.apply("first-order/order.yaml")
        nodes = await there.reserved("my-order", 3)
        assert nodes <= {"node-1", "node-2", "node-3", "node-4"}
        guardians = await cluster.all(PODS, labels="korder.dev/role=guardian")
        assert len(guardians) == len(await cluster.guardians()) == 3

        await there.apply("first-order/business-pod.yaml")
        pod = await cluster.until(PODS, "my-business-pod", lambda p: p.status.phase == "Running")
        claimed = pod.metadata.annotations["korder.dev/ticket-claimed"]
        ticket = await cluster.until(
            TICKETS, claimed, lambda each: each.status.phase is TicketPhase.CLAIMED
        )
        assert ticket.status.claimed_by is not None
        assert ticket.status.claimed_by.uid == pod.metadata.uid
        node = pod.metadata.annotations["korder.dev/ticket-node"]
        assert node == pod.spec.node_name == ticket.status.node_name
        await cluster.until(ORDERS, "my-order", lambda order: order.status.claimed_replicas == 1)
        await there.reserved("my-order", 3)
        assert len(await cluster.all(TICKETS)) == 4


async def test_the_scheduled_order_holds_room_from_two_to_ten() -> None:
    """The scheduled order holds room from two to ten (S28)."""
    clock = VirtualClock(datetime(2026, 1, 1, 1, 50, tzinfo=UTC))
    async with stage(clock) as there:
        await there.apply("scheduled-order/order.yaml")
        opens = await there.cluster.until(
            ORDERS, "scheduled-order", lambda order: order.status.next_schedule_time is not None
        )
        at = opens.status.next_schedule_time
        assert at is not None
        assert at == datetime(2026, 1, 1, 2, tzinfo=UTC)
        assert not await there.cluster.all(TICKETS)
        await there.cluster.pass_time((at - clock.now()).total_seconds())
        await there.reserved("scheduled-order", 2)
        assert clock.now() - at < timedelta(seconds=5)
        ends = {each.status.expiration_time for each in await there.cluster.all(TICKETS)}
        assert ends == {at + timedelta(hours=8)}


async def test_a_daemonset_order_holds_room_on_each_of_its_nodes(clock: Clock) -> None:
    """A DaemonSet order holds room on each of its nodes (S36)."""
    async with stage(clock) as there:
        await there.apply("daemonset/gpu-nodes.yaml")
        assert await there.reserved("gpu-node-buffer", 1) == {"node-5"}
        await there.apply("daemonset/infrastructure.yaml", "daemonset/monitoring-agent.yaml")
        everywhere = set(fleet(5))
        assert await there.reserved("infrastructure-reservation", 5) == everywhere
        assert (
            await there.reserved("monitoring-agent-reservation", 5, "korder-system") == everywhere
        )


def uses(tickets: str, cpu: str, memory: str) -> Callable[[Quota], bool]:
    def holds(quota: Quota) -> bool:
        used = {key: quantity.parse(amount) for key, amount in quota.status.used.items()}
        asked = {"tickets": tickets, "reserved.cpu": cpu, "reserved.memory": memory}
        return all(used.get(key) == quantity.parse(said) for key, said in asked.items())

    return holds


async def test_a_team_stays_within_its_quota(clock: Clock) -> None:
    """A team stays within its quota (S30)."""
    async with stage(clock) as there:
        cluster = there.cluster
        await there.apply("quota/team-quota.yaml")
        await cluster.edit(NAMESPACES, "default", {"metadata": {"labels": {"team": "backend"}}})
        await there.apply("first-order/order.yaml")
        await cluster.until(QUOTAS, "team-quota", uses("3", "1500m", "3Gi"))
        with pytest.raises(Forbidden, match="exceeded quota team-quota: tickets used 3 of 50"):
            await cluster.edit(ORDERS, "my-order", {"spec": {"replicas": 60}})
        await cluster.edit(QUOTAS, "team-quota", {"spec": {"enforcement": "Wait"}})
        await cluster.edit(ORDERS, "my-order", {"spec": {"replicas": 60}})
        await cluster.until(QUOTAS, "team-quota", uses("40", "20", "40Gi"))
        await cluster.edit(NAMESPACES, "default", {"metadata": {"labels": {"team": None}}})
        await cluster.until(ORDERS, "my-order", lambda order: order.status.replicas == 60)
        await cluster.until(QUOTAS, "team-quota", uses("0", "0", "0"))
