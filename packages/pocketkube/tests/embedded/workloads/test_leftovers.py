"""Pods that no kubelet ends, and storage that somebody still uses."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import JSON
from pocketkube.objects.provisions import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World

CONTAINERS: JSON = [{"name": "c"}]
GOES = "2026-01-01T00:00:00Z"


class TestPods:
    async def test_those_of_a_node_that_is_gone_go_after_a_while(self, world: "World") -> None:
        world.kubelets_work = False
        world.create(NODES, "n1")
        world.create(NODES, "n2")
        for name, node in (("a", "n1"), ("b", "n2")):
            world.create(PODS, name, spec={"nodeName": node, "containers": CONTAINERS})
        async with world.running():
            await asyncio.sleep(100)
            world.server.delete(world.path(NODES, "n1"), {})
            await asyncio.sleep(30)
            assert len(world.all(PODS)) == 2
            await world.until(lambda: world.get(PODS, "a").status.phase == "Failed", seconds=60)
            (condition,) = world.get(PODS, "a").status.conditions
            assert condition.reason == "DeletionByPodGC"
            assert world.get(PODS, "a").metadata.deletion_timestamp is not None
            assert world.get(PODS, "b").metadata.deletion_timestamp is None

    async def test_a_node_that_comes_back_keeps_its_pods(self, world: "World") -> None:
        world.kubelets_work = False
        world.create(PODS, "a", spec={"nodeName": "n1", "containers": CONTAINERS})
        async with world.running():
            await asyncio.sleep(30)
            world.create(NODES, "n1")
            await asyncio.sleep(300)
        assert world.get(PODS, "a").metadata.deletion_timestamp is None

    async def test_a_node_that_only_the_server_knows_of_keeps_its_pods(
        self, world: "World"
    ) -> None:
        world.kubelets_work = False
        world.create(PODS, "a", spec={"nodeName": "n1", "containers": CONTAINERS})
        async with world.running():
            await asyncio.sleep(10)
            world.server.lag = 1000
            world.create(NODES, "n1")
            await asyncio.sleep(300)
            assert world.get(PODS, "a").metadata.deletion_timestamp is None

    @pytest.mark.parametrize(
        ("ready", "phase"),
        [("True", "Running"), ("Unknown", "Failed")],
        ids=["that is ready is left to its kubelet", "that does not answer is ended"],
    )
    async def test_what_ends_on_a_node_out_of_service(
        self, world: "World", ready: str, phase: str
    ) -> None:
        world.kubelets_work = False
        taint: JSON = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        conditions: JSON = [{"type": "Ready", "status": ready}]
        world.create(NODES, "n1", spec={"taints": [taint]}, status={"conditions": conditions})
        ends: JSON = {"deletionTimestamp": GOES, "deletionGracePeriodSeconds": 30}
        spec: JSON = {"nodeName": "n1", "containers": CONTAINERS}
        world.create(PODS, "a", metadata=ends, spec=spec, status={"phase": "Running"})
        async with world.running():
            await asyncio.sleep(20)
            assert world.get(PODS, "a").status.phase == phase

    async def test_one_that_was_deleted_before_it_had_a_node_goes(self, world: "World") -> None:
        world.kubelets_work = False
        held: JSON = {"deletionTimestamp": GOES, "deletionGracePeriodSeconds": 30}
        world.create(PODS, "a", metadata=held, spec={"containers": CONTAINERS})
        async with world.running():
            await world.until(lambda: world.get(PODS, "a").status.phase == "Failed")


class TestStorage:
    def claim(self, world: "World", name: str) -> None:
        meta: JSON = {
            "finalizers": ["kubernetes.io/pvc-protection"],
            "deletionTimestamp": GOES,
            "deletionGracePeriodSeconds": 0,
        }
        world.create(PERSISTENT_VOLUME_CLAIMS, name, metadata=meta)

    async def test_a_claim_waits_for_the_pods_that_mount_it(self, world: "World") -> None:
        world.kubelets_work = False
        world.create(NODES, "n1")
        self.claim(world, "used")
        self.claim(world, "p-own")
        self.claim(world, "free")
        volumes: JSON = [
            {"name": "v", "persistentVolumeClaim": {"claimName": "used"}},
            {"name": "own", "ephemeral": {}},
        ]
        spec: JSON = {"nodeName": "n1", "containers": CONTAINERS, "volumes": volumes}
        world.create(PODS, "p", spec=spec)
        async with world.running():
            await world.until(lambda: self.names(world) == {"used", "p-own"})
            await asyncio.sleep(60)
            assert self.names(world) == {"used", "p-own"}
            ends: JSON = {"deletionTimestamp": GOES, "deletionGracePeriodSeconds": 0}
            world.change(PODS, "p", {"metadata": ends})
            await world.until(lambda: not self.names(world))

    async def test_a_volume_waits_while_it_is_bound(self, world: "World") -> None:
        meta: JSON = {
            "finalizers": ["kubernetes.io/pv-protection"],
            "deletionTimestamp": GOES,
            "deletionGracePeriodSeconds": 0,
        }
        world.create(PERSISTENT_VOLUMES, "v", metadata=meta, status={"phase": "Bound"})
        async with world.running():
            await asyncio.sleep(60)
            assert world.all(PERSISTENT_VOLUMES)
            world.change(PERSISTENT_VOLUMES, "v", {"status": {"phase": "Released"}})
            await world.until(lambda: not world.all(PERSISTENT_VOLUMES))

    def names(self, world: "World") -> set[str]:
        return {each.metadata.name for each in world.all(PERSISTENT_VOLUME_CLAIMS)}
