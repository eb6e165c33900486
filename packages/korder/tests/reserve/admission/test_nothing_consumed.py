"""S20: what does not come into being takes nothing, however often it is tried."""

import asyncio

import pytest
from tests.reserve.scene import scene

from korder.api.reserve import ORDERS, TICKETS, TicketPhase
from korder.install.objects import Admission, admission_objects
from korder.install_config import Site
from korder.reserve.domain import add_reserve
from korder.testing.builders import a_ticket, an_order
from kubeloop.client import rest_mapper
from kubeloop.client.errors import Forbidden
from kubeloop.objects.core import PODS
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod

ASKING = a_pod("p").annotated({"korder.dev/required": "true"})


async def test_dry_runs_and_pods_that_are_refused_later_leave_the_ticket_alone(
    clock: Clock,
) -> None:
    async with scene(clock, add_reserve, nodes=1) as cluster:
        client = cluster.client
        catalog = await rest_mapper.discover(client)
        for body in admission_objects(Site(), Admission.POLICY):
            found = catalog.of(str(body["apiVersion"]), str(body["kind"]))
            meta = body["metadata"]
            assert found is not None
            assert isinstance(meta, dict)
            key = Key("", str(meta["name"]))
            await client.patch(found.kind, key, body, PatchType.APPLY, force=True)
        await cluster.put(a_ticket("t"))
        held = await cluster.until(TICKETS, "t", lambda t: t.status.phase is TicketPhase.RESERVED)

        shown = await client.create(PODS, ASKING.json, dry_run=True)
        assert [gate.name for gate in shown.spec.scheduling_gates] == ["korder.dev/ticket"]
        await client.create(ORDERS, an_order("o", 5).json, dry_run=True)

        full: JSON = {"name": "full", "namespace": "default"}
        await client.create(RESOURCE_QUOTAS, {"metadata": full, "spec": {"hard": {"pods": "1"}}})
        await cluster.until(RESOURCE_QUOTAS, "full", lambda quota: bool(quota.status.used))
        for _ in range(20):
            with pytest.raises(Forbidden, match="exceeded quota"):
                await client.create(PODS, ASKING.json)
            await asyncio.sleep(1)

        after = await cluster.get(TICKETS, "t")
        assert after is not None
        assert after.metadata.resource_version == held.metadata.resource_version
        assert len(await cluster.guardians()) == 1
        assert not await cluster.all(ORDERS)
