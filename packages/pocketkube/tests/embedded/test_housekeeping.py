"""Admission and the controllers around it, together on a whole server: quotas, budgets, accounts, storage, namespaces."""

import asyncio
from collections.abc import AsyncIterator
import json
import random
from typing import Any

import pytest

from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError, NamespaceEnds, NotFound
from kubeloop.client.request import ACCEPT_JSON, Propagation
from kubeloop.net.http import Request
from kubeloop.objects import codec
from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.meta import Key, key_of, owner_reference
from kubeloop.objects.workloads import DEPLOYMENTS, JOBS, REPLICA_SETS
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.controllers.namespaces import Namespaces
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.objects.policy import POD_DISRUPTION_BUDGETS
from pocketkube.objects.provisions import PERSISTENT_VOLUME_CLAIMS
from pocketkube.scheduler.scheduler import Scheduler
from pocketkube.testing.apiserver import embedded_server

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A cluster with one machine and a namespace, and everybody who works there."""
    clock, stop, rng = VirtualClock(), asyncio.Event(), random.Random(1)
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        manager = Manager(client, Settings(identity="all"), clock=clock, rng=rng)
        machines = Machines()
        machines.add("n1", Shape(labels={ZONE: "z"}))
        Nodes(manager, machines)
        Kubelet(manager, machines)
        Scheduler(manager, clock=clock, rng=rng)
        add_workloads(manager, client, await stored_kinds(client), root_certificate="PEM")
        group.create_task(manager.run(stop))
        try:
            await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
            await asyncio.sleep(5)
            yield client
        finally:
            stop.set()


def a_deployment(replicas: int, name: str = "web") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


def a_pod(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns"}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def a_quota(client: Client, **hard: str) -> None:
    meta = {"name": "q", "namespace": "ns"}
    body: Any = {"metadata": meta, "spec": {"hard": hard}}
    await client.create(RESOURCE_QUOTAS, body)
    await asyncio.sleep(2)


async def used(client: Client) -> dict[str, object]:
    return dict((await client.get(RESOURCE_QUOTAS, Key("ns", "q"))).status.used)


async def test_a_quota_holds_a_deployment_back_and_lets_it_grow(client: Client) -> None:
    await a_quota(client, pods="3", **{"count/deployments.apps": "1"})
    await client.create(DEPLOYMENTS, a_deployment(5))
    with pytest.raises(KubeError, match=r"exceeded quota: q, requested: count/deployments\.apps=1"):
        await client.create(DEPLOYMENTS, a_deployment(1, "other"))
    await asyncio.sleep(30)
    assert len((await client.list(PODS, "ns")).items) == 3
    assert await used(client) == {"pods": "3", "count/deployments.apps": "1"}
    larger: Any = {"spec": {"hard": {"pods": "9"}}}
    await client.patch(RESOURCE_QUOTAS, Key("ns", "q"), larger)
    await asyncio.sleep(600)
    assert (await used(client))["pods"] == "5"


async def test_racing_clients_do_not_pass_a_quota(client: Client) -> None:
    await a_quota(client, pods="7")
    answers = await asyncio.gather(
        *(client.create(PODS, a_pod(f"p{number}")) for number in range(30)),
        return_exceptions=True,
    )
    assert sum(not isinstance(each, BaseException) for each in answers) == 7
    assert await used(client) == {"pods": "7"}


async def test_what_ends_makes_room(client: Client) -> None:
    await a_quota(client, pods="1")
    await client.create(PODS, a_pod("a"))
    with pytest.raises(KubeError, match="exceeded quota"):
        await client.create(PODS, a_pod("b"))
    await client.delete(PODS, Key("ns", "a"))
    await asyncio.sleep(10)
    await client.create(PODS, a_pod("b"))


async def test_an_eviction_beyond_the_budget_is_refused(client: Client) -> None:
    await client.create(DEPLOYMENTS, a_deployment(3))
    meta = {"name": "b", "namespace": "ns"}
    selector = {"matchLabels": {"app": "web"}}
    budget: Any = {"metadata": meta, "spec": {"minAvailable": 2, "selector": selector}}
    await client.create(POD_DISRUPTION_BUDGETS, budget)
    await asyncio.sleep(20)
    status = (await client.get(POD_DISRUPTION_BUDGETS, Key("ns", "b"))).status
    assert (status.current_healthy, status.disruptions_allowed) == (3, 1)
    first, second, _ = (await client.list(PODS, "ns")).items
    await evict(client, first.metadata.name)
    with pytest.raises(KubeError, match="disruption budget"):
        await evict(client, second.metadata.name)
    await asyncio.sleep(60)
    await evict(client, second.metadata.name)


async def evict(client: Client, name: str) -> None:
    meta = {"name": name, "namespace": "ns"}
    body: Any = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    await client.post(PODS, Key("ns", name), "eviction", body)


async def test_a_bound_pod_knows_its_zone_and_its_account(client: Client) -> None:
    await client.create(PODS, a_pod("a"))
    await asyncio.sleep(5)
    pod = await client.get(PODS, Key("ns", "a"))
    assert (pod.spec.node_name, pod.metadata.labels[ZONE]) == ("n1", "z")
    assert pod.spec.service_account_name == "default"
    published = await client.get(CONFIG_MAPS, Key("ns", "kube-root-ca.crt"))
    assert published.data == {"ca.crt": "PEM"}
    assert published.metadata.annotations["kubernetes.io/description"].startswith("Contains a CA")


async def test_a_namespace_goes_with_everything_in_it(client: Client) -> None:
    await client.create(DEPLOYMENTS, a_deployment(2))
    claim: Any = {
        "metadata": {"name": "c", "namespace": "ns"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    made = await client.create(PERSISTENT_VOLUME_CLAIMS, claim)
    assert made.metadata.finalizers == ("kubernetes.io/pvc-protection",)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    await client.create(PODS, a_pod("a", volumes=[volume]))
    await asyncio.sleep(10)
    await client.delete(NAMESPACES, Key("", "ns"))
    with pytest.raises(NamespaceEnds, match="because it is being terminated"):
        await client.create(PODS, a_pod("b"))
    await asyncio.sleep(120)
    with pytest.raises(NotFound):
        await client.get(NAMESPACES, Key("", "ns"))
    for kind in (PODS, REPLICA_SETS, PERSISTENT_VOLUME_CLAIMS, SERVICE_ACCOUNTS):
        assert (await client.list(kind, "ns")).items == ()


async def test_a_job_is_complete_when_its_pods_have_run_for_their_time(client: Client) -> None:
    container = {"name": "c", "image": "i"}
    template = {
        "metadata": {"annotations": {"korder.dev/runs-for": "10m"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job: Any = {
        "metadata": {"name": "j", "namespace": "ns"},
        "spec": {"completions": 3, "parallelism": 1, "template": template},
    }
    await client.create(JOBS, job)
    await asyncio.sleep(29 * 60)
    assert (await client.get(JOBS, Key("ns", "j"))).status.succeeded == 2
    await asyncio.sleep(2 * 60)
    status = (await client.get(JOBS, Key("ns", "j"))).status
    assert (status.succeeded, status.completion_time is not None) == (3, True)


async def test_a_namespace_that_was_made_again_meanwhile_is_left_alone() -> None:
    clock, stop, rng = VirtualClock(), asyncio.Event(), random.Random(1)
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        looks = 0

        async def kinds() -> tuple[()]:
            """Asked while the namespace is emptied: somebody else is faster, and a third makes a new one."""
            nonlocal looks
            looks += 1
            if looks == 1:
                emptied: Any = {"metadata": {"name": "ns"}, "spec": {"finalizers": []}}
                await client.replace(NAMESPACES, emptied, "finalize")
                await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
            return ()

        manager = Manager(client, Settings(identity="all"), clock=clock, rng=rng)
        Namespaces(manager, client, kinds)
        await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
        await client.delete(NAMESPACES, Key("", "ns"))
        group.create_task(manager.run(stop))
        await asyncio.sleep(10)
        stop.set()
        found = json.loads(await client.raw(Request("GET", "/api/v1/namespaces/ns", ACCEPT_JSON)))
    assert looks
    assert found["spec"] == {"finalizers": ["kubernetes"]}


async def test_pods_of_a_node_that_was_deleted_come_back_elsewhere(client: Client) -> None:
    await client.create(DEPLOYMENTS, a_deployment(1))
    await asyncio.sleep(10)
    (before,) = (await client.list(PODS, "ns")).items
    await client.delete(NODES, Key("", "n1"))
    await asyncio.sleep(120)
    (after,) = (await client.list(PODS, "ns")).items
    assert after.metadata.uid != before.metadata.uid


async def test_three_pods_in_a_circle_of_owners_go_when_one_is_deleted_in_the_foreground(
    client: Client,
) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pods = [
        await client.create(PODS, {"metadata": {"name": name, "namespace": "ns"}, "spec": spec})
        for name in ("pod1", "pod2", "pod3")
    ]
    for pod, owner in zip(pods, (pods[2], pods[0], pods[1]), strict=True):
        ref = codec.plain(owner_reference(PODS, owner))
        body: Any = {"metadata": {"ownerReferences": [ref]}}
        await client.patch(PODS, key_of(pod), body)
    await asyncio.sleep(10)
    await client.delete(PODS, Key("ns", "pod1"), propagation=Propagation.FOREGROUND)
    await asyncio.sleep(90)
    assert not (await client.list(PODS, "ns")).items
