"""A real API server asks our webhook server over TLS, before, while and after its authority is replaced."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
import contextlib
from datetime import datetime, timedelta
import ssl
from typing import Any

from prometheus_client import CollectorRegistry
import pytest
from tests.e2e.waiting import accepted

from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError, Invalid, KubeError
from kubeloop.net import certificates
from kubeloop.objects.admission import MUTATING_WEBHOOK_CONFIGURATIONS, AdmissionRequest
from kubeloop.objects.core import CONFIG_MAPS, ConfigMap
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_sources import SecretSource
from kubeloop.runtime.webhook.review import Verdict
from kubeloop.runtime.webhook.rotation import Policy
from kubeloop.runtime.webhook.server import Settings, WebhookServer

HOST = "127.0.0.1"
UNTRUE = (KubeError, AssertionError)
FLOWS = 4
SLOW = Policy(frozenset({HOST}))
QUICK = Policy(
    frozenset({HOST}),
    authority_life=timedelta(seconds=24),
    certificate_life=timedelta(seconds=15),
    settle=timedelta(seconds=2),
)
"""A new authority after 16 seconds, its first certificate two later, the end of the old authority after 24."""


class Judge:
    """A gate that paints what has no colour, refuses red, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[AdmissionRequest] = []

    def __call__(self, request: AdmissionRequest) -> Verdict:
        self.asked.append(request)
        assert isinstance(request.object, dict)
        data = request.object.get("data")
        if not isinstance(data, dict):
            return review.allow(
                patch=[{"op": "add", "path": "/data", "value": {"colour": "green"}}],
                warnings=["painted green"],
            )
        if data.get("colour") == "red":
            return review.deny("must not be red", field="data.colour", code=422, reason="Invalid")
        if data.get("colour") == "broken":
            raise LookupError("no such colour")
        return review.allow()


class Bench:
    """Replicas of a webhook server that share a Secret and a configuration, in a namespace of their own."""

    def __init__(self, client: Client, clock: Clock, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.judges: list[Judge] = []
        self.clock = clock

    def replica(self, policy: Policy) -> WebhookServer:
        self.judges.append(Judge())
        secret = Key(self.namespace, "webhook-certificate")
        return WebhookServer(
            {"colours": self.judges[-1]},
            SecretSource(self.client, secret, policy, self.clock),
            CaInjector(self.client, mutating=[self.namespace]),
            settings=Settings(HOST, 0, look_every=timedelta(seconds=0.5)),
            registry=CollectorRegistry(),
            clock=self.clock,
        )

    @contextlib.asynccontextmanager
    async def running(self, policy: Policy, replicas: int = 1) -> AsyncIterator[list[int]]:
        """Runs replicas and registers each of them; registration says nothing about trust."""
        servers = [self.replica(policy) for _ in range(replicas)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.run()) for server in servers]
            ports = [await server.port() for server in servers]
            await self.client.create(MUTATING_WEBHOOK_CONFIGURATIONS, self._configuration(ports))
            try:
                await accepted(self.all_are_asked, UNTRUE)
                assert all(server.ready for server in servers)
                yield ports
            finally:
                await self.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, Key("", self.namespace))
                for task in tasks:
                    task.cancel()

    def _configuration(self, ports: list[int]) -> dict[str, JSON]:
        return {
            "metadata": {"name": self.namespace},
            "webhooks": [
                {
                    "name": f"colours-{number}.korder.dev",
                    "clientConfig": {"url": f"https://{HOST}:{port}/colours"},
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["configmaps"],
                        }
                    ],
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": self.namespace}
                    },
                    "objectSelector": {"matchLabels": {"judged": "yes"}},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "timeoutSeconds": 5,
                    "failurePolicy": "Fail",
                }
                for number, port in enumerate(ports)
            ],
        }

    async def all_are_asked(self) -> None:
        """Fails as long as the API server does not know or not trust one of the replicas."""
        before = [len(judge.asked) for judge in self.judges]
        await self.create("knock", dry_run=True)
        assert all(
            len(judge.asked) > asked for judge, asked in zip(self.judges, before, strict=True)
        )

    async def create(
        self, name: str, colour: str | None = None, *, dry_run: bool = False
    ) -> ConfigMap:
        body: dict[str, Any] = {
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"judged": "yes"}}
        }
        if colour is not None:
            body["data"] = {"colour": colour}
        return await self.client.create(CONFIG_MAPS, body, dry_run=dry_run)

    async def bundle(self) -> bytes:
        key = Key("", self.namespace)
        found = await self.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, key)
        (bundle,) = {webhook.client_config.ca_bundle for webhook in found.webhooks}
        return bundle or b""


async def handshake(port: int, trusted: bytes) -> bytes:
    """Connects as an API server that trusts this bundle would, and returns the certificate it is shown."""
    context = ssl.create_default_context(cadata=trusted.decode())
    _, writer = await asyncio.open_connection(HOST, port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()
    return ssl.DER_cert_to_PEM_cert(shown).encode()


@pytest.fixture
def bench(client: Client, clock: Clock, namespace: str) -> Bench:
    return Bench(client, clock, namespace)


async def test_a_real_api_server_obeys_our_verdicts(bench: Bench) -> None:
    async with bench.running(SLOW):
        painted = await bench.create("plain")
        assert painted.data == {"colour": "green"}

        assert (await bench.create("blue", "blue")).data == {"colour": "blue"}

        with pytest.raises(
            Invalid, match=r"denied the request: data\.colour: must not be red"
        ) as no:
            await bench.create("red", "red")
        assert [cause.field for cause in no.value.causes] == ["data.colour"]

        with pytest.raises(ApiError, match="could not judge the request: LookupError") as broken:
            await bench.create("broken", "broken")
        assert broken.value.code == 500


async def test_a_gate_sees_who_asks_and_whether_it_is_only_a_dry_run(bench: Bench) -> None:
    async with bench.running(SLOW):
        await bench.create("dry", dry_run=True)
        await bench.create("wet")

        (judge,) = bench.judges
        dry, wet = judge.asked[-2:]
        assert (dry.name, dry.dry_run) == ("dry", True)
        assert (wet.name, bool(wet.dry_run)) == ("wet", False)
        assert wet.namespace == bench.namespace
        assert wet.user_info.username


async def test_a_bundle_that_somebody_breaks_is_repaired(bench: Bench) -> None:
    async with bench.running(SLOW):
        right = await bench.bundle()
        wrong = certificates.make_authority("other", certificates.lifetime(right)).certificate
        path = "/webhooks/0/clientConfig/caBundle"
        overwrite: JSON = [{"op": "replace", "path": path, "value": b64encode(wrong).decode()}]
        key = Key("", bench.namespace)
        await bench.client.patch(MUTATING_WEBHOOK_CONFIGURATIONS, key, overwrite, PatchType.JSON)

        async def is_right() -> None:
            assert await bench.bundle() == right

        await accepted(is_right, UNTRUE)
        await accepted(bench.all_are_asked, UNTRUE)


@pytest.mark.slow
async def test_no_request_fails_while_the_authority_is_replaced(bench: Bench) -> None:
    """Neither the real API server nor one that is half a second behind may meet a certificate it does not trust."""
    authorities: set[bytes] = set()
    served: set[bytes] = set()

    async def flow(end: datetime) -> int:
        requests = 0
        while bench.clock.now() < end:
            await bench.create("flow", dry_run=True)
            requests += 1
        return requests

    async with bench.running(QUICK, replicas=2) as ports:
        lagging = await bench.bundle()
        first = certificates.split(lagging)[-1]
        end = certificates.lifetime(first).end + timedelta(seconds=2)
        async with asyncio.TaskGroup() as group:
            flows = [group.create_task(flow(end)) for _ in range(FLOWS)]
            while bench.clock.now() < end:
                bundle = await bench.bundle()
                for port in ports:
                    served.add(await handshake(port, bundle))
                    served.add(await handshake(port, lagging))
                authorities |= set(certificates.split(bundle))
                lagging = bundle
                await asyncio.sleep(0.5)
        left = certificates.split(await bench.bundle())

    requests = sum(task.result() for task in flows)
    assert requests > 100
    assert all(len(judge.asked) >= requests for judge in bench.judges)
    assert len(authorities) >= 2
    assert first not in left
    assert any(not certificates.issued_by(certificate, first) for certificate in served)
