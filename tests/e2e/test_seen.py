"""S39 on a real control plane: figures equal the API, columns and Events tell, and `korder explain` answers."""

import asyncio
from collections import Counter
import json
from pathlib import Path
import random

from prometheus_client.parser import text_string_to_metric_families
import pytest
from tests.e2e.installation import install, korder, managed
from tests.e2e.test_readme_flow import Plane

from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS
from korder.reserve import metrics
from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request
from kubeloop.net.ports import free_ports
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.nodes.machines import Shape
from pocketkube.testing.nodes import simulated_nodes

ORDER = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: spare}
spec:
  replicas: 3
  strategy: {type: OneTime, refreshPolicy: Never}
  template: {spec: {duration: 2h, resources: {requests: {cpu: "1", memory: 1Gi}}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {korder.dev/required: "true", korder.dev/order: spare}}
spec: {containers: [{name: app, image: nginx, resources: {requests: {cpu: CPU}}}]}
"""
NODE = {"node-1": Shape(cpu="3", memory="8Gi", pods=110)}


async def scraped(port: int) -> dict[tuple[str, tuple[str, ...]], float]:
    """The figures that must equal what the API has."""
    transport = HttpTransport(f"http://127.0.0.1:{port}")
    async with await transport.send(Request("GET", "/metrics")) as answer:
        text = (await answer.read()).decode()
    await transport.close()
    names = {family.name for family in metrics.FAMILIES}
    return {
        (sample.name, tuple(sample.labels[label] for label in _labels(sample.name))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in names
    }


def _labels(name: str) -> tuple[str, ...]:
    return next(family.labels for family in metrics.FAMILIES if family.name == name)


async def counted(client: Client) -> dict[tuple[str, tuple[str, ...]], float]:
    total: Counter[metrics.Line] = Counter()
    for order in (await client.list(ORDERS)).items:
        total.update(metrics.of_order(order))
    for ticket in (await client.list(TICKETS)).items:
        total.update(metrics.of_ticket(ticket))
    for pod in (await client.list(PODS, labels=f"{GUARDIAN_LABEL}=true")).items:
        total.update(metrics.of_pod(pod))
    return {(f.name, labels): amount / f.unit for (f, labels), amount in total.items()}


async def settled(client: Client, **phases: int) -> None:
    async with asyncio.timeout(100):
        while Counter(str(t.status.phase) for t in (await client.list(TICKETS)).items) != phases:
            await asyncio.sleep(0.2)


async def figures_are_true(port: int, client: Client) -> None:
    """Figures come by a watch and so a moment after the objects."""
    async with asyncio.timeout(100):
        while await scraped(port) != await counted(client):
            await asyncio.sleep(0.2)


async def told_once(client: Client, **reasons: int) -> None:
    """Events leave off the critical path; there are as many as transitions, and stay as many."""
    async with asyncio.timeout(100):
        while True:
            events = (await client.list(EVENTS, "default")).items
            stated = Counter(e.reason for e in events if e.regarding.kind == "Ticket")
            assert stated <= Counter(reasons)
            if stated == Counter(reasons):
                return
            await asyncio.sleep(0.2)


@pytest.mark.timeout(240)
async def test_what_people_see_of_a_life(
    a_control_plane: Plane, clock: Clock, tmp_path: Path
) -> None:
    plane = await a_control_plane()
    await install(plane)
    config = str(plane.kubeconfig())
    (port,) = free_ports(1)
    async with (
        open_client(config, now=clock.now, rng=random.Random(0)) as client,
        simulated_nodes(client, NODE, clock=clock),
        managed(plane, tmp_path, f"--metrics-bind-address=127.0.0.1:{port}"),
    ):
        await plane.kubectl("apply", "-f", "-", input=ORDER)
        await settled(client, Reserved=3)
        await figures_are_true(port, client)
        await plane.kubectl("apply", "-f", "-", input=POD.replace("NAME", "a").replace("CPU", "1"))
        await settled(client, Reserved=2, Claimed=1)
        await figures_are_true(port, client)
        await columns_tell(plane)
        await explanations_tell(plane, config)
        await plane.kubectl("delete", "pod", "a", "--wait=false")
        await settled(client, Reserved=2, Released=1)
        await figures_are_true(port, client)
        await told_once(client, Reserved=3, Claiming=1, Claimed=1, Released=1)


async def columns_tell(plane: ControlPlane) -> None:
    header, *rows = [r.split() for r in (await plane.kubectl("get", "tickets")).splitlines()]
    assert header == [
        "NAME",
        "PHASE",
        "REASON",
        "CPU",
        "MEMORY",
        "NODE",
        "CLAIMED-BY",
        "EXPIRATION",
        "AGE",
    ]
    (claimed,) = [row for row in rows if row[1] == "Claimed"]
    assert claimed[2:7] == ["InUse", "1", "1Gi", "node-1", "default/a"]


async def explanations_tell(plane: ControlPlane, config: str) -> None:
    """A pod that is too large hears why, by its condition and by `korder explain`."""
    await plane.kubectl("apply", "-f", "-", input=POD.replace("NAME", "b").replace("CPU", "2"))
    bound = '{.status.conditions[?(@.type=="korder.dev/TicketBound")].reason}'
    await plane.kubectl("wait", "pod/b", f"--for=jsonpath={bound}=NoTicketFits", "--timeout=60s")
    code, out, err = await korder("explain", "pod", "b", "--kubeconfig", config)
    assert (code, err) == (0, "")
    assert (
        "It waits (NoTicketFits): No ticket fits; nearest mismatch: needs cpu 2, it holds 1." in out
    )
    assert "does not fit: the pod needs cpu 2, it holds 1" in out
    pod = json.loads(await plane.kubectl("get", "pod", "b", "-o", "json"))
    (condition,) = [c for c in pod["status"]["conditions"] if c["type"].startswith("korder.dev/")]
    assert condition["message"] in out
