"""The garbage collector on small families of ConfigMaps."""

import asyncio
from dataclasses import dataclass
import random
from typing import TYPE_CHECKING

import pytest

from kubeloop.net.faults import Fault, Rule, writes
from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, NODES, SERVICE_ACCOUNTS, ConfigMap
from kubeloop.objects.meta import JSON

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World


def a_map(world: "World", name: str, *owners: ConfigMap, block: bool = True) -> ConfigMap:
    refs: list[JSON] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return world.create(CONFIG_MAPS, name, metadata={"ownerReferences": refs})


def delete(world: "World", name: str, *finalizers: str) -> None:
    if finalizers:
        world.change(CONFIG_MAPS, name, {"metadata": {"finalizers": [*finalizers]}})
    world.server.delete(world.path(CONFIG_MAPS, name), {})


def names(world: "World") -> list[str]:
    return sorted(each.metadata.name for each in world.all(CONFIG_MAPS))


@pytest.mark.parametrize("seed", range(4))
async def test_whole_trees_go_with_their_root_over_a_bad_wire(
    a_world: "type[World]", seed: int
) -> None:
    world = a_world(seed)
    family = [a_map(world, "root")]
    for number in range(20):
        family.append(a_map(world, f"child-{number}", world.rng.choice(family)))
    a_map(world, "stranger")
    world.misbehave()
    async with world.running():
        await asyncio.sleep(10)
        assert len(names(world)) == 22
        delete(world, "root")
        await world.until(lambda: names(world) == ["stranger"])


async def test_in_the_foreground_the_owner_waits_for_children_and_grandchildren(
    world: "World",
) -> None:
    root = a_map(world, "root")
    child = a_map(world, "child", root)
    a_map(world, "grandchild", child)
    world.change(CONFIG_MAPS, "grandchild", {"metadata": {"finalizers": ["korder.dev/test"]}})
    async with world.running():
        delete(world, "root", "foregroundDeletion")
        await asyncio.sleep(60)
        assert names(world) == ["child", "grandchild", "root"]
        world.change(CONFIG_MAPS, "grandchild", {"metadata": {"finalizers": []}})
        await world.until(lambda: not names(world))


async def test_a_child_that_does_not_block_is_not_waited_for(world: "World") -> None:
    a_map(world, "child", a_map(world, "root"), block=False)
    world.change(CONFIG_MAPS, "child", {"metadata": {"finalizers": ["korder.dev/test"]}})
    async with world.running():
        delete(world, "root", "foregroundDeletion")
        await world.until(lambda: names(world) == ["child"])
        assert world.get(CONFIG_MAPS, "child").metadata.deletion_timestamp is not None


async def test_orphans_are_cut_loose_before_their_owner_goes(world: "World") -> None:
    root, other = a_map(world, "root"), a_map(world, "other")
    a_map(world, "child", root, other)
    async with world.running():
        delete(world, "root", "orphan")
        await world.until(lambda: names(world) == ["child", "other"])
        child = world.get(CONFIG_MAPS, "child")
        assert [ref.name for ref in child.metadata.owner_references] == ["other"]


async def test_a_child_with_another_owner_loses_only_the_reference(world: "World") -> None:
    root, other = a_map(world, "root"), a_map(world, "other")
    a_map(world, "child", root, other)
    async with world.running():
        delete(world, "root")
        await world.until(
            lambda: len(world.get(CONFIG_MAPS, "child").metadata.owner_references) == 1
        )
        assert names(world) == ["child", "other"]


async def test_a_namesake_of_the_owner_is_not_the_owner(world: "World") -> None:
    first = a_map(world, "root")
    world.server.delete(world.path(CONFIG_MAPS, "root"), {})
    a_map(world, "root")
    a_map(world, "child", first)
    async with world.running():
        await world.until(lambda: names(world) == ["root"])


async def test_an_owner_that_the_cache_has_not_seen_yet_is_asked_for(world: "World") -> None:
    async with world.running():
        await asyncio.sleep(1)
        world.server.lag = 30.0
        uid = world.create(NODES, "machine").metadata.uid
        await asyncio.sleep(0.1)
        world.server.lag = 0.0
        ref: JSON = {"apiVersion": "v1", "kind": "Node", "name": "machine", "uid": uid}
        world.create(CONFIG_MAPS, "child", metadata={"ownerReferences": [ref]})
        await asyncio.sleep(60)
        assert names(world) == ["child"]


async def test_an_owner_of_a_kind_nobody_watches_counts_as_there(world: "World") -> None:
    ref: JSON = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
    world.create(CONFIG_MAPS, "child", metadata={"ownerReferences": [ref]})
    async with world.running():
        await asyncio.sleep(60)
        assert names(world) == ["child"]


async def test_each_namespace_has_its_default_account_again_and_again(world: "World") -> None:
    world.wire.rules.append(Rule(Fault.LOST_AFTER, writes, chance=0.5))
    world.create(NAMESPACES, "ns")
    async with world.running():
        for _ in range(3):
            await world.until(lambda: world.all(SERVICE_ACCOUNTS))
            world.server.delete(world.path(SERVICE_ACCOUNTS, "default"), {})
        await world.until(lambda: world.all(SERVICE_ACCOUNTS))


def own(world: "World", name: str, owners: dict[str, bool]) -> None:
    """Sets the owners of a map, each with whether its deletion is blocked."""
    refs: list[JSON] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner,
            "uid": world.get(CONFIG_MAPS, owner).metadata.uid,
            "blockOwnerDeletion": blocks,
        }
        for owner, blocks in owners.items()
    ]
    world.change(CONFIG_MAPS, name, {"metadata": {"ownerReferences": refs}})


def a_circle(world: "World", length: int) -> None:
    for number in range(length):
        a_map(world, f"map-{number}")
    for number in range(length):
        own(world, f"map-{(number + 1) % length}", {f"map-{number}": True})


@pytest.mark.parametrize("length", [1, 2, 3, 7])
async def test_a_dependency_circle_does_not_block_a_foreground_deletion(
    world: "World", length: int
) -> None:
    a_circle(world, length)
    async with world.running():
        await asyncio.sleep(1)
        delete(world, "map-0", "foregroundDeletion")
        await world.until(lambda: not names(world), seconds=5)


async def test_a_dependency_circle_goes_if_all_members_are_deleted_in_the_foreground(
    world: "World",
) -> None:
    a_circle(world, 3)
    async with world.running():
        await asyncio.sleep(1)
        for name in names(world):
            delete(world, name, "foregroundDeletion")
        await world.until(lambda: not names(world), seconds=5)


async def test_outside_of_the_circle_an_owner_still_waits_for_its_children(world: "World") -> None:
    a_circle(world, 3)
    a_map(world, "child", world.get(CONFIG_MAPS, "map-1"))
    world.change(CONFIG_MAPS, "child", {"metadata": {"finalizers": ["korder.dev/test"]}})
    async with world.running():
        delete(world, "map-0", "foregroundDeletion")
        await asyncio.sleep(60)
        assert {"map-1", "child"} <= set(names(world))
        world.change(CONFIG_MAPS, "child", {"metadata": {"finalizers": []}})
        await world.until(lambda: not names(world), seconds=5)


@dataclass(frozen=True)
class Graph:
    """Who owns whom, by number, with whether deletion is blocked, and what is deleted when."""

    owners: list[dict[int, bool]]
    deleted: dict[int, tuple[bool, float]]
    """In the foreground or not, and after how many seconds."""

    @property
    def collected(self) -> set[int]:
        """What is deleted, and all that has owners, but none that stays."""
        gone = set(self.deleted)
        while more := {
            number
            for number, owners in enumerate(self.owners)
            if number not in gone and owners and owners.keys() <= gone
        }:
            gone |= more
        return gone


def a_graph(rng: random.Random) -> Graph:
    """A graph of up to eight maps; most have cycles, and some members own themselves."""
    numbers = range(rng.randint(1, 8))
    owners = [
        {
            owner: rng.random() < 0.7
            for owner in rng.sample(numbers, min(rng.randint(0, 3), len(numbers)))
        }
        for _ in numbers
    ]
    deleted = rng.sample(numbers, rng.randint(1, min(3, len(numbers))))
    when = (0.0, 0.0, 0.001, 0.003, 2.0)
    return Graph(owners, {each: (rng.random() < 0.5, rng.choice(when)) for each in deleted})


@dataclass(frozen=True)
class Planted:
    """A graph in a world that has many, its maps told apart by a prefix."""

    world: "World"
    prefix: str
    graph: Graph

    def name(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    def plant(self) -> None:
        for number in range(len(self.graph.owners)):
            a_map(self.world, self.name(number))
        for number, owners in enumerate(self.graph.owners):
            blocks = {self.name(owner): blocked for owner, blocked in owners.items()}
            own(self.world, self.name(number), blocks)

    async def delete(self) -> None:
        for number, (foreground, when) in self.graph.deleted.items():
            await asyncio.sleep(when)
            if self.world.path(CONFIG_MAPS, self.name(number)) in self.world.server.objects:
                delete(self.world, self.name(number), *["foregroundDeletion"] * foreground)

    def check(self, there: set[str]) -> None:
        left = set(range(len(self.graph.owners))) - self.graph.collected
        assert {name for name in there if name.startswith(f"{self.prefix}-")} == {
            self.name(number) for number in left
        }, self.graph
        for number in left:
            refs = self.world.get(CONFIG_MAPS, self.name(number)).metadata.owner_references
            stay = self.graph.owners[number].keys() & left
            assert {ref.name for ref in refs} == set(map(self.name, stay)), self.graph


@pytest.mark.parametrize("lag", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(10))
async def test_fifty_ownership_graphs_are_collected_as_far_as_their_owners_are_gone(
    a_world: "type[World]", seed: int, lag: float
) -> None:
    world, rng = a_world(seed), random.Random(f"{seed} {lag}")
    world.server.lag = lag
    planted = [Planted(world, f"graph-{number}", a_graph(rng)) for number in range(50)]
    for each in planted:
        each.plant()
    async with world.running():
        await asyncio.sleep(2)
        async with asyncio.TaskGroup() as group:
            for each in planted:
                group.create_task(each.delete())
        await asyncio.sleep(20)
        written = len(world.server.writes)
        await asyncio.sleep(10)
        assert len(world.server.writes) == written
    there = set(names(world))
    for each in planted:
        each.check(there)
