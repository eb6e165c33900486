"""Tickets that the server does not want: however it says so, they are tried again ever later."""

import asyncio
import random

import pytest
from tests.reserve.orders.driver import OrderDriver
from tests.reserve.orders.order_scene import order_scene
from tests.reserve.refusing_wire import RefusingWire
from tests.reserve.scene import define

from korder.api.reserve import ORDERS
from korder.reserve.orders.controller import Orders
from korder.testing.builders import an_order
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects import conditions
from kubeloop.objects.core import NODES
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_node
from pocketkube.testing.apiserver import embedded_server


@pytest.mark.parametrize("spec", [{}, {"daemonSet": True}], ids=["replicas", "nodes"])
async def test_a_refusal_in_other_words_is_reported_and_is_no_reason_to_try_again_at_once(
    clock: Clock, spec: dict[str, JSON]
) -> None:
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        await define(client)
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        wire = RefusingWire(InProcessTransport(server.api.handle, headers), "tickets")
        manager = Manager(
            Client(wire, rng=random.Random(1)),
            Settings(identity="m", component="korder", metric_prefix="korder"),
            clock=clock,
            rng=random.Random(1),
        )
        Orders(manager)
        await client.create(NODES, a_node("node-1").json)
        await client.create(ORDERS, an_order("o").but({"spec": spec}).json)
        stop = asyncio.Event()
        group.create_task(manager.run(stop))
        await asyncio.sleep(240)
        assert 5 < wire.refused < 15
        status = (await client.get(ORDERS, Key("default", "o"))).status
        failure = conditions.find(status.conditions, "Failure")
        assert failure is not None
        assert failure.message == f"denied, see request {wire.refused}"
        stop.set()


async def test_an_order_whose_tickets_are_refused_says_so_once(clock: Clock) -> None:
    """The server's words name the ticket; of several the first stands for all."""
    async with order_scene(clock, Orders, OrderDriver) as cluster:
        rule: JSON = {
            "apiGroups": [ORDERS.group],
            "apiVersions": [ORDERS.version],
            "operations": ["CREATE"],
            "resources": ["tickets"],
        }
        policy: JSON = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "no"}],
        }
        known = await rest_mapper.discover(cluster.client)
        binding: JSON = {"policyName": "keep", "validationActions": ["Deny"]}
        for kind, spec in (("", policy), ("Binding", binding)):
            name = f"ValidatingAdmissionPolicy{kind}"
            found = known.of("admissionregistration.k8s.io/v1", name)
            assert found is not None
            await cluster.client.create(found.kind, {"metadata": {"name": "keep"}, "spec": spec})
        await cluster.put(an_order("o", 5))
        await cluster.pass_time(30)
        before = await cluster.client.get(ORDERS, Key("default", "o"))
        await cluster.pass_time(1800)
        after = await cluster.client.get(ORDERS, Key("default", "o"))
        failure = conditions.find(after.status.conditions, "Failure")
        assert failure is not None
        assert "o-0" in failure.message
        assert before.metadata.resource_version == after.metadata.resource_version
