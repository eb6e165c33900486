"""The whole webhook server over loopback, with a certificate of its own making."""

import asyncio
from collections.abc import AsyncIterator
import contextlib
import json
from typing import Any

from prometheus_client import CollectorRegistry
import pytest

from kubeloop.net.client import HttpTransport
from kubeloop.net.faults import Fault, Rule
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.objects.admission import AdmissionRequest
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_sources import SecretSource
from kubeloop.runtime.webhook.review import Verdict
from kubeloop.runtime.webhook.rotation import Policy
from kubeloop.runtime.webhook.server import Settings, WebhookServer

pytestmark = pytest.mark.enable_socket

HOST = "127.0.0.1"
SECRET = Key("korder-system", "korder-webhook-tls-secret")
CONFIGURATIONS = "mutatingwebhookconfigurations"

Cluster = Any  # tests cannot import from conftest; its fixture says what it is


class SlowGate:
    """A gate that takes its time."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, _: AdmissionRequest) -> Verdict:
        self.entered.set()
        await self.go_on.wait()
        return review.deny("thought about it")


class Bench:
    """A webhook server under test and an API server's way to call it."""

    def __init__(self, cluster: Cluster, clock: Clock, *rules: Rule) -> None:
        client = cluster.client(*rules)
        self.cluster = cluster
        self.registry = CollectorRegistry()
        self.slow = SlowGate()
        self.server = WebhookServer(
            {"pods": lambda _: review.allow(), "slow": self.slow},
            SecretSource(client, SECRET, Policy(frozenset({HOST})), clock),
            CaInjector(client, mutating=["korder"]),
            settings=Settings(HOST, 0),
            registry=self.registry,
            clock=clock,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.server.run())
            await self.server.port()
            yield task
            task.cancel()

    async def review(self, target: str) -> tuple[int, bytes]:
        (bundle,) = self.cluster.bundles()
        trust = RotatingTls(lambda: ClientTls(ca_data=bundle))
        transport = HttpTransport(f"https://{HOST}:{await self.server.port()}", tls=trust)
        body = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u-1", "operation": "CREATE"},
        }
        headers = {"Content-Type": "application/json"}
        request = Request("POST", target, headers, json.dumps(body).encode())
        try:
            async with await transport.send(request) as response:
                return response.status, await response.read()
        finally:
            await transport.close()


@pytest.fixture
async def bench(cluster: Cluster, clock: Clock) -> Bench:
    cluster.configure(CONFIGURATIONS, "korder", "pods.korder.dev")
    bench = Bench(cluster, clock)
    await bench.server.cert_rotator.look()
    return bench


async def test_gates_answer_under_their_names_and_are_measured(bench: Bench) -> None:
    async with bench.running():
        status, body = await bench.review("/pods?timeout=5s")
        missing, _ = await bench.review("/nodes")

    assert (status, missing) == (200, 404)
    assert json.loads(body)["response"] == {"uid": "u-1", "allowed": True}
    labels = {"webhook": "pods", "operation": "CREATE", "result": "allowed"}
    assert bench.registry.get_sample_value("kubeloop_webhook_duration_seconds_count", labels) == 1


async def test_a_review_under_way_is_answered_although_the_server_stops(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group, bench.running() as serving:
        asked = group.create_task(bench.review("/slow"))
        await bench.slow.entered.wait()
        serving.cancel()
        await asyncio.sleep(0)
        assert not bench.server.ready
        bench.slow.go_on.set()

    status, body = asked.result()
    assert status == 200
    assert json.loads(body)["response"]["status"]["message"] == "thought about it"


async def test_it_is_ready_while_it_listens_with_a_valid_certificate(bench: Bench) -> None:
    assert not bench.server.ready
    async with bench.running():
        assert bench.server.ready
    assert not bench.server.ready


async def test_without_an_api_server_it_listens_and_is_not_ready(
    cluster: Cluster, clock: Clock
) -> None:
    cluster.configure(CONFIGURATIONS, "korder", "pods.korder.dev")
    bench = Bench(cluster, clock, Rule(Fault.UNREACHABLE))
    async with bench.running():
        assert not bench.server.ready
        cluster.overwrite(CONFIGURATIONS, "korder", b"", "pods.korder.dev")
        with pytest.raises(Unreachable):
            await bench.review("/pods")
