"""Who waits for a quota goes on when there is room, and is not kept by quotas, refusals or namespaces that have nothing to say."""

import pytest
from tests.reserve.quotas.quota_scene import is_short, label, open_quota, tickets, wanting
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.scene import scene

from korder.api.quota import QUOTA_FINALIZER, QUOTAS
from korder.api.reserve import ORDERS
from korder.reserve.domain import add_reserve
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock


async def test_a_quota_of_the_original_korder_can_be_deleted(clock: Clock) -> None:
    kept: JSON = {"metadata": {"finalizers": [QUOTA_FINALIZER]}}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="0").but(kept))
        await cluster.put(wanting("o"))
        await cluster.until(ORDERS, "o", is_short)
        await cluster.delete(QUOTAS, "q")
        await cluster.gone(QUOTAS, "q")
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 1)


async def test_a_quota_that_is_being_deleted_limits_nobody_however_long_others_keep_it(
    clock: Clock,
) -> None:
    kept: JSON = {"metadata": {"finalizers": [QUOTA_FINALIZER, "example.com/backup"]}}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="1").but(kept))
        await cluster.put(wanting("o", 2))
        await cluster.until(ORDERS, "o", is_short)
        await cluster.delete(QUOTAS, "q")
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        quota = await cluster.get(QUOTAS, "q")
        assert quota is not None
        assert quota.metadata.finalizers == ("example.com/backup",)


async def test_tickets_that_the_server_refuses_do_not_hold_room_for_ever(clock: Clock) -> None:
    nothing: JSON = {"hard": {"count/tickets.core.korder.dev": "0"}}
    async with scene(clock, add_reserve) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        await cluster.client.create(
            RESOURCE_QUOTAS, {"metadata": {"name": "none", "namespace": "other"}, "spec": nothing}
        )
        await open_quota(cluster, a_quota("q", tickets="2"))
        await cluster.put(wanting("refused", 2).in_namespace("other"))
        await cluster.until(QUOTAS, "q", lambda q: len(q.status.pending) == 2)
        await cluster.put(wanting("good", 2))
        await cluster.until(ORDERS, "good", is_short)
        await cluster.until(ORDERS, "good", lambda o: o.status.available_replicas == 2)
        await cluster.until(ORDERS, "refused", is_short, "other")


@pytest.mark.parametrize("moved", ["default", "other"])
async def test_who_waits_for_an_allocation_goes_on_when_only_that_gets_room(
    clock: Clock, moved: str
) -> None:
    """One namespace, the one that uses it or the one that waits, leaves the allocation; as much is used of the whole quota."""
    production: JSON = {"matchLabels": {"env": "prod"}}
    part: JSON = {"name": "prod", "namespaceSelector": production, "limits": {"tickets": "1"}}
    async with scene(clock, add_reserve) as cluster:
        await cluster.client.create(
            NAMESPACES, {"metadata": {"name": "other", "labels": {"env": "prod"}}}
        )
        await label(cluster, "default", {"env": "prod"})
        await open_quota(cluster, a_quota("q", tickets="10").but({"spec": {"allocation": [part]}}))
        await cluster.put(wanting("first"))
        await cluster.until(ORDERS, "first", lambda o: o.status.available_replicas == 1)
        await cluster.put(wanting("second").in_namespace("other"))
        await cluster.until(ORDERS, "second", is_short, "other")
        await cluster.pass_time(10)
        await label(cluster, moved, {"env": "dev"})
        await cluster.until(ORDERS, "second", lambda o: o.status.available_replicas == 1, "other")
        assert len(await tickets(cluster)) == 2
