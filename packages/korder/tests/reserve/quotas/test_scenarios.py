"""S30-S35 on virtual time: every key with every scope, and what the scenarios say besides."""

from pathlib import Path

import pytest
from tests.reserve.quotas.quota_scene import (
    is_exceeded,
    is_short,
    label,
    open_quota,
    tickets,
    used,
    wanting,
)
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.scene import Scene, scene
import yaml

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, Order
from korder.reserve.domain import add_reserve
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

SEED = yaml.safe_load(Path("packages/korder/tests/seeds/000-quota-team-quota.yaml").read_text())
GOLD = {"tier": "gold"}
SCOPES: dict[str, JSON] = {
    "Cluster": {"type": "Cluster"},
    "NamespaceSelector": {
        "type": "NamespaceSelector",
        "namespaceSelector": {"matchLabels": {"team": "backend"}},
    },
    "NamespaceList": {"type": "NamespaceList", "namespaces": ["default"]},
    "ObjectSelector": {"type": "ObjectSelector", "objectSelector": {"matchLabels": GOLD}},
}
KEYS: dict[str, tuple[str, int]] = {
    "orders": ("0", 0),
    "tickets": ("2", 2),
    "reserved.cpu": ("1200m", 2),
    "reserved.memory": ("300Mi", 2),
    "reserved.nvidia.com/gpu": ("1", 1),
    "max-duration": ("30m", 0),
}
"""A limit, and how many of three tickets it lets through: of an hour, with 500m, 128Mi and a GPU each."""
REQUESTS: JSON = {"cpu": "500m", "memory": "128Mi", "nvidia.com/gpu": "1"}


def three(namespace: str, labels: JSON) -> Builder[Order]:
    template: JSON = {"metadata": {"labels": labels}, "spec": {"resources": {"requests": REQUESTS}}}
    order = wanting("o", 3).but({"metadata": {"labels": labels}, "spec": {"template": template}})
    return order.in_namespace(namespace)


async def other_namespace(cluster: Scene) -> None:
    meta: JSON = {"name": "other", "labels": {"team": "frontend"}}
    await cluster.put(Builder(NAMESPACES, {"metadata": meta}))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("key", KEYS)
async def test_every_key_limits_what_its_scope_means_and_nothing_else(
    clock: Clock, key: str, scope: str
) -> None:
    """Every key limits what its scope means and nothing else (S30, S31, S32, S35)."""
    limit, made = KEYS[key]
    quota = a_quota("q").but({"spec": {"scope": SCOPES[scope], "hard": {key: limit}}})
    async with scene(clock, add_reserve, nodes=1) as cluster:
        await label(cluster, "default", {"team": "backend"})
        await other_namespace(cluster)
        await open_quota(cluster, quota)
        await cluster.put(three("default", dict(GOLD)))
        order = await cluster.until(ORDERS, "o", is_short)
        assert f"quota q: {key} " in str(order.status.conditions)
        if scope != "Cluster":
            await cluster.put(three("other", {"tier": "lead"}))
        await cluster.until(QUOTAS, "q", used(tickets=str(made)))
        await cluster.pass_time(5)
        assert len(await tickets(cluster, "default")) == made
        assert len(await tickets(cluster, "other")) == (0 if scope == "Cluster" else 3)


async def test_the_quota_of_the_seed_counts_as_it_is(clock: Clock) -> None:
    """The quota of the seed counts as it is (S30)."""
    seed: Builder[Quota] = Builder(QUOTAS, SEED)
    async with scene(clock, add_reserve) as cluster:
        await label(cluster, "default", {"team": "backend"})
        await open_quota(cluster, seed)
        await cluster.put(wanting("fits", 3, "2"))
        await cluster.until(ORDERS, "fits", lambda o: o.status.available_replicas == 3)
        await cluster.put(wanting("large", 15, "1"))
        order = await cluster.until(ORDERS, "large", is_short)
        assert "reserved.cpu used 20 of 20, requested 1" in str(order.status.conditions)
        await cluster.until(QUOTAS, "team-quota", used(tickets="17", reserved_cpu="20"))


async def test_thousandths_are_added_up_exactly(clock: Clock) -> None:
    """S31: three of 500m leave room for one more, not for two."""
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", reserved_cpu="2"))
        await cluster.put(wanting("first", 3))
        await cluster.until(QUOTAS, "q", used(tickets="3", reserved_cpu="1500m"))
        await cluster.put(wanting("second", 2))
        await cluster.until(ORDERS, "second", is_short)
        await cluster.until(QUOTAS, "q", used(tickets="4", reserved_cpu="2"))


@pytest.mark.parametrize("written", ["24h", "86400", 86400], ids=["24h", "text", "number"])
async def test_a_longest_duration_in_every_form(clock: Clock, written: str | int) -> None:
    """A longest duration in every form (S32)."""
    quota = a_quota("q").but({"spec": {"hard": {"max-duration": written}}})
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, quota)
        for name, length in (("day", "24h"), ("longer", "25h")):
            template: JSON = {"spec": {"duration": length}}
            await cluster.put(wanting(name).but({"spec": {"template": template}}))
        longer = await cluster.until(ORDERS, "longer", is_short)
        assert "max-duration is 24h0m0s, requested 25h0m0s" in str(longer.status.conditions)
        await cluster.until(ORDERS, "day", lambda o: o.status.available_replicas == 1)


@pytest.mark.parametrize(
    ("borrow", "made"), [(False, 2), (True, 4)], ids=["capped", "borrowing what others leave"]
)
async def test_who_has_an_allocation_leaves_the_rest_to_others(
    clock: Clock, borrow: bool, made: int
) -> None:
    """S33: one of three cpu for a namespace, two for all others."""
    limits: JSON = {"namespace": "default", "limits": {"reserved.cpu": "1"}, "borrow": borrow}
    quota = a_quota("q", reserved_cpu="3").but({"spec": {"allocation": [limits]}})
    async with scene(clock, add_reserve) as cluster:
        await other_namespace(cluster)
        await open_quota(cluster, quota)
        await cluster.put(wanting("o", 4))
        await cluster.until(QUOTAS, "q", used(tickets=str(made)))
        await cluster.put(wanting("p", 6).in_namespace("other"))
        await cluster.until(ORDERS, "p", is_short, "other")
        await cluster.until(QUOTAS, "q", used(tickets="6", reserved_cpu="3"))
        assert len(await tickets(cluster, "default")) == made


async def test_of_windows_that_are_open_the_most_important_counts_and_then_the_strictest(
    clock: Clock,
) -> None:
    """Of windows that are open the most important counts and then the strictest (S34)."""
    always: JSON = {"schedule": "* * * * *", "duration": "2m"}
    windows: JSON = [
        {"name": "wide", "multiplier": "10", **always},
        {"name": "double", "multiplier": "2", "priority": 1, **always},
        {"name": "own", "hard": {"tickets": 3}, "priority": 1, **always},
    ]
    quota = a_quota("q", tickets="2").but({"spec": {"timeWindows": windows}})
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, quota)
        found = await cluster.until(QUOTAS, "q", lambda q: bool(q.status.hard))
        assert found.status.active_time_window == "double,own"
        assert found.status.hard["tickets"] == "3"
        await cluster.put(wanting("o", 5))
        await cluster.until(QUOTAS, "q", used(tickets="3"))
        await cluster.edit(QUOTAS, "q", {"spec": {"timeWindows": None}})
        found = await cluster.until(QUOTAS, "q", is_exceeded)
        assert found.status.active_time_window == ""
        assert len(await tickets(cluster)) == 3


async def test_what_has_expired_never_counts(clock: Clock) -> None:
    """What has expired never counts (S35)."""
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="1"))
        spec: JSON = {"duration": "30s", "lifecycle": {"cleanupPolicy": "Retain"}}
        await cluster.put(wanting("first").but({"spec": {"template": {"spec": spec}}}))
        await cluster.until(QUOTAS, "q", used(tickets="1"))
        await cluster.put(wanting("second"))
        await cluster.until(ORDERS, "second", is_short)
        await cluster.until(ORDERS, "second", lambda o: o.status.available_replicas == 1)
        (old,) = [t for t in await cluster.all(TICKETS) if t.metadata.name.startswith("first")]
        assert old.status.phase == "Expired"
        await cluster.until(QUOTAS, "q", used(tickets="1", reserved_cpu="500m"))


async def test_a_limit_without_a_request_is_charged(clock: Clock) -> None:
    """Rule 20: what is held counts, and of a limit as much is held."""
    gpu: JSON = {"limits": {"nvidia.com/gpu": "1"}}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", **{"reserved.nvidia.com/gpu": "0"}))
        await cluster.put(wanting("o").but({"spec": {"template": {"spec": {"resources": gpu}}}}))
        await cluster.until(ORDERS, "o", is_short)
        assert await tickets(cluster) == []
