"""The fence around the manager's right to patch nodes, on a server: the hand-over taint and nothing else."""

import random

import pytest
from tests.reserve.claims.holds import asking, claiming, hold, phase
from tests.reserve.scene import Scene, scene

from korder.api.reserve import HANDOVER_TAINT, Reason, TicketPhase
from korder.install.rbac import rights
from korder.install_config import Site
from korder.reserve.admission.configs import fence
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import Forbidden
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.core import EVENTS, NODES
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock

OURS: dict[str, JSON] = {"key": HANDOVER_TAINT, "value": "1", "effect": "NoSchedule"}
OTHER: JSON = {"key": "example.com/gpu", "effect": "NoSchedule"}
NODE = Key("", "node-1")


async def put(cluster: Scene, *bodies: dict[str, JSON]) -> None:
    catalog = await rest_mapper.discover(cluster.client)
    for body in bodies:
        found = catalog.of(str(body["apiVersion"]), str(body["kind"]))
        assert found is not None
        await cluster.client.create(found.kind, body)


async def as_manager(cluster: Scene) -> Client:
    """The client of a manager with its rights, behind the fence."""
    namespace: dict[str, JSON] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": Site().namespace},
    }
    await put(cluster, namespace, *rights(Site()), *fence(Site()))
    assert cluster.server is not None
    headers = {
        "Authorization": f"Bearer {cluster.server.admin_token}",
        "Impersonate-User": Site().manager_user,
    }
    wire = InProcessTransport(cluster.server.api.handle, headers)
    return Client(wire, rng=random.Random(1))


def tainted(*taints: JSON) -> dict[str, JSON]:
    return {"spec": {"taints": [*taints]}}


async def test_the_manager_changes_its_own_taint_and_leaves_others(clock: Clock) -> None:
    async with scene(clock, nodes=1) as cluster:
        manager = await as_manager(cluster)
        await cluster.client.patch(NODES, NODE, tainted(OTHER))
        node = await manager.patch(NODES, NODE, tainted(OTHER, OURS))
        assert [taint.key for taint in node.spec.taints] == ["example.com/gpu", HANDOVER_TAINT]
        node = await manager.patch(NODES, NODE, tainted(OTHER))
        assert [taint.key for taint in node.spec.taints] == ["example.com/gpu"]


@pytest.mark.parametrize(
    "change",
    [
        tainted(),
        tainted(OTHER, {**OURS, "effect": "NoExecute"}),
        tainted(OTHER, {"key": "example.com/more", "effect": "NoSchedule"}),
        {"spec": {"unschedulable": True}},
        {"metadata": {"labels": {"role": "mine"}}},
        {"metadata": {"annotations": {"note": "mine"}}},
        {"metadata": {"finalizers": ["example.com/mine"]}},
    ],
    ids=[
        "foreign taint",
        "other effect",
        "new taint",
        "cordon",
        "label",
        "annotation",
        "finalizer",
    ],
)
async def test_the_manager_changes_nothing_else_of_a_node(
    clock: Clock, change: dict[str, JSON]
) -> None:
    async with scene(clock, nodes=1) as cluster:
        manager = await as_manager(cluster)
        await cluster.client.patch(NODES, NODE, tainted(OTHER))
        with pytest.raises(Forbidden, match=f"only the taint {HANDOVER_TAINT}"):
            await manager.patch(NODES, NODE, change)
        await cluster.client.patch(NODES, NODE, change)


async def test_a_manager_that_may_not_taint_nodes_says_so_and_vacates_nothing(clock: Clock) -> None:
    policy, binding = fence(Site())
    assert isinstance(policy["spec"], dict)
    policy["spec"]["validations"] = [{"expression": "false", "message": "nodes are ours"}]
    policy["spec"]["matchConditions"] = [
        {"name": "taints", "expression": "has(object.spec.taints)"}
    ]
    async with scene(clock, claiming, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        await put(cluster, policy, binding)
        await cluster.put(asking("web").requesting(cpu="4"))
        await phase(cluster, "t", TicketPhase.CLAIMING)
        await cluster.pass_time(10)
        assert len(await cluster.guardians()) == 1
        notes = [e.note for e in await cluster.all(EVENTS) if e.reason == Reason.HANDING_OVER]
        assert any("nodes are ours" in note and "--handover=nominate" in note for note in notes)
