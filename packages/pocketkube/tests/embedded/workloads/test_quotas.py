"""ResourceQuotas: the status tells the truth, and never lets go of what was charged because a watch is late."""

import asyncio
from typing import TYPE_CHECKING, cast

from kubeloop.objects.core import CONFIG_MAPS, PODS
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.meta import JSON, Kind, Object
from pocketkube.objects.provisions import SERVICES

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World

WIDGETS: Kind[Object] = Kind("example.com", "v1", "Widget", "widgets", Object)
CPU: JSON = {"name": "c", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}


def used(world: "World", name: str = "q") -> dict[str, JSON]:
    return cast("dict[str, JSON]", dict(world.get(RESOURCE_QUOTAS, name).status.used))


def a_pod(world: "World", name: str, **spec: JSON) -> None:
    world.create(PODS, name, spec={"nodeName": "n1", "containers": [CPU], **spec})


async def test_a_new_quota_counts_what_is_there(world: "World") -> None:
    world.kubelets_work = False
    world._machine()
    for name in ("a", "b"):
        a_pod(world, name)
    ports: JSON = [{"port": 1}, {"port": 2}]
    world.create(SERVICES, "s", spec={"type": "NodePort", "ports": ports})
    hard: JSON = {
        "pods": "9",
        "requests.cpu": "9",
        "limits.cpu": "9",
        "services.nodeports": "9",
        "count/configmaps": "9",
    }
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": hard})
    async with world.running():
        await world.until(lambda: used(world))
    assert used(world) == {
        "pods": "2",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "services.nodeports": "2",
        "count/configmaps": "0",
    }
    assert world.get(RESOURCE_QUOTAS, "q").status.hard == hard


async def test_what_ends_or_goes_is_given_back(world: "World") -> None:
    world.kubelets_work = False
    world._machine()
    for name in ("a", "b", "c"):
        a_pod(world, name)
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": {"pods": "9"}})
    async with world.running():
        await world.until(lambda: used(world) == {"pods": "3"})
        world.change(PODS, "a", {"status": {"phase": "Succeeded"}})
        await world.until(lambda: used(world) == {"pods": "2"})
        world.change(PODS, "b", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        await world.until(lambda: used(world) == {"pods": "1"})


async def test_only_pods_in_scope_count(world: "World") -> None:
    world.kubelets_work = False
    world._machine()
    a_pod(world, "ends", activeDeadlineSeconds=5)
    a_pod(world, "stays")
    a_pod(world, "light", containers=[{"name": "c"}])
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": {"pods": "9"}, "scopes": ["Terminating"]})
    scopes: JSON = ["NotTerminating", "NotBestEffort"]
    world.create(RESOURCE_QUOTAS, "r", spec={"hard": {"pods": "9"}, "scopes": scopes})
    async with world.running():
        await world.until(lambda: used(world) and used(world, "r"))
    assert (used(world), used(world, "r")) == ({"pods": "1"}, {"pods": "1"})


async def test_limits_that_were_taken_out_are_no_longer_reported(world: "World") -> None:
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": {"pods": "9", "configmaps": "1"}})
    async with world.running():
        await world.until(lambda: len(used(world)) == 2)
        world.change(RESOURCE_QUOTAS, "q", {"spec": {"hard": {"configmaps": None, "pods": "5"}}})
        wanted = {"pods": "5"}
        await world.until(lambda: world.get(RESOURCE_QUOTAS, "q").status.hard == wanted)
        assert used(world) == {"pods": "0"}


async def test_a_charge_is_not_undone_because_the_watch_is_late(world: "World") -> None:
    """A pod ends, which calls for a recount, and another one comes with its charge but is not to be seen yet."""
    world.kubelets_work = False
    world._machine()
    a_pod(world, "p0")
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": {"pods": "99"}})
    async with world.running():
        await world.until(lambda: used(world) == {"pods": "1"})
        world.server.checks.append(lambda: _enough(world))
        for number in range(5):
            world.server.lag = 0.0
            charged = int(str(used(world)["pods"])) + 1
            world.change(RESOURCE_QUOTAS, "q", {"status": {"used": {"pods": str(charged)}}})
            await asyncio.sleep(0.1)
            world.change(PODS, f"p{number}", {"status": {"phase": "Failed"}})
            for _ in range(3):
                await asyncio.sleep(0)
            world.server.lag = 5.0
            a_pod(world, f"p{number + 1}")
            await asyncio.sleep(20)
        assert used(world) == {"pods": "1"}


def _enough(world: "World") -> None:
    assert int(str(used(world)["pods"])) >= len(world.live())


async def test_a_kind_that_came_later_is_counted_too(world: "World") -> None:
    world.unwatched = (WIDGETS,)
    world.create(WIDGETS, "w")
    world.create(RESOURCE_QUOTAS, "q", spec={"hard": {"count/widgets.example.com": "3"}})
    async with world.running():
        await world.until(lambda: used(world) == {"count/widgets.example.com": "1"})
        world.create(WIDGETS, "v")
        await world.until(lambda: used(world) == {"count/widgets.example.com": "2"}, seconds=60)


async def test_every_namespace_has_the_certificate_of_the_server(world: "World") -> None:
    meta: JSON = {"name": "ns", "labels": {}}
    world.server.create("/api/v1/namespaces", {"metadata": meta})
    async with world.running():
        path = world.path(CONFIG_MAPS, "kube-root-ca.crt")
        await world.until(lambda: path in world.server.objects)
        world.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "no", "more": "x"}})
        wanted = {"ca.crt": "certificate"}
        await world.until(lambda: world.get(CONFIG_MAPS, "kube-root-ca.crt").data == wanted)


async def test_the_certificate_says_what_it_is_for(world: "World") -> None:
    name, about = "kube-root-ca.crt", "kubernetes.io/description"
    world.server.create("/api/v1/namespaces", {"metadata": {"name": "ns", "labels": {}}})

    def stated() -> str:
        return world.get(CONFIG_MAPS, name).metadata.annotations.get(about, "")

    async with world.running():
        await world.until(lambda: world.path(CONFIG_MAPS, name) in world.server.objects)
        said = stated()
        assert said.startswith("Contains a CA bundle")
        world.change(CONFIG_MAPS, name, {"metadata": {"annotations": {about: None}}})
        await world.until(lambda: stated() == said)
