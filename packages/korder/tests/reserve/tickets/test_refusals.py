"""Guardians that the server does not want: however it says so, they are tried again ever later (S9)."""

import asyncio
import random

from tests.reserve.refusing_wire import RefusingWire
from tests.reserve.scene import define, scene
from tests.reserve.tickets.ticket_helpers import RESERVED, reason_is, stated

from korder.api.reserve import TICKETS, Reason
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.core import NODES
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_node
from pocketkube.testing.apiserver import embedded_server

KEY = Key("default", "t")


async def test_a_refusal_in_other_words_is_reported_and_is_no_reason_to_try_again_at_once_s9(
    clock: Clock,
) -> None:
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        await define(client)
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        wire = RefusingWire(InProcessTransport(server.api.handle, headers), "pods")
        manager = Manager(
            Client(wire, rng=random.Random(1)),
            Settings(identity="m", component="korder", metric_prefix="korder"),
            clock=clock,
            rng=random.Random(1),
        )
        Tickets(manager)
        await client.create(NODES, a_node("node-1").json)
        await client.create(TICKETS, a_ticket("t").json)
        stop = asyncio.Event()
        group.create_task(manager.run(stop))
        await asyncio.sleep(120)
        assert 5 < wire.refused < 15
        status = (await client.get(TICKETS, KEY)).status
        assert status.reason == Reason.GUARDIAN_REFUSED
        assert status.message == f"denied, see request {wire.refused}"
        stop.set()


async def test_a_policy_that_cannot_be_asked_is_reported_and_a_guardian_comes_when_it_is_gone_s9(
    clock: Clock,
) -> None:
    """A webhook that nobody serves any more keeps all pods away; people must read that on the ticket."""
    hook: JSON = {
        "name": "policy.example.com",
        "clientConfig": {"service": {"namespace": "policies", "name": "gone", "path": "/"}},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
        ],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    async with scene(clock, Tickets) as cluster:
        found = await rest_mapper.discover(cluster.client)
        hooks = found.of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
        assert hooks is not None
        await cluster.client.create(hooks.kind, {"metadata": {"name": "h"}, "webhooks": [hook]})
        await cluster.put(a_ticket("t"))
        refused = await cluster.until(TICKETS, "t", reason_is(Reason.GUARDIAN_REFUSED))
        assert 'failed calling webhook "policy.example.com"' in refused.status.message
        assert await stated(cluster, "t") == ["GuardianRefused"]
        await cluster.client.delete(hooks.kind, Key("", "h"))
        await cluster.until(TICKETS, "t", RESERVED)
