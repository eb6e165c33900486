"""An API server in memory, and what webhooks keep in it."""

import base64
from dataclasses import dataclass, field
import random
from typing import cast

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import FaultyTransport, Rule
from kubeloop.objects.meta import JSON, Key
from kubeloop.testing.memory import MemoryServer

Stored = dict[str, JSON]

SECRET = Key("korder-system", "korder-webhook-tls-secret")
SECRETS = "/api/v1/namespaces/korder-system/secrets"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@dataclass
class Cluster:
    """What a test of the certificate rotator sees of the world."""

    server: MemoryServer = field(default_factory=MemoryServer)

    def client(self, *rules: Rule, seed: int = 0) -> Client:
        wire = FaultyTransport(self.server.connect(), random.Random(seed), list(rules))
        return Client(wire, rng=random.Random(seed))

    def configure(self, plural: str, name: str, *webhooks: str) -> None:
        """Registers webhooks, as an installation does it: without a bundle."""
        content: Stored = {
            "metadata": {"name": name},
            "webhooks": [
                {"name": webhook, "clientConfig": {"url": "https://127.0.0.1"}}
                for webhook in webhooks
            ],
        }
        self.server.create(f"{ADMISSION}/{plural}", content)

    def overwrite(self, plural: str, name: str, bundle: bytes, *webhooks: str) -> None:
        """Does what a careless administrator does."""
        text = base64.b64encode(bundle).decode()
        entries: JSON = [
            {"name": webhook, "clientConfig": {"url": "https://127.0.0.1", "caBundle": text}}
            for webhook in webhooks
        ]
        self.server.merge(f"{ADMISSION}/{plural}/{name}", {"webhooks": entries})

    def bundles(self) -> list[bytes | None]:
        """Every bundle that is published, webhook by webhook."""
        found: list[bytes | None] = []
        for path, content in sorted(self.server.objects.items()):
            if path.startswith(ADMISSION):
                for webhook in cast("list[Stored]", content["webhooks"]):
                    text = cast("Stored", webhook["clientConfig"]).get("caBundle")
                    found.append(None if text is None else base64.b64decode(str(text)))
        return found

    def secret(self) -> dict[str, bytes]:
        stored = self.server.objects[f"{SECRETS}/{SECRET.name}"]
        data = cast("dict[str, str]", stored["data"])
        return {name: base64.b64decode(text) for name, text in data.items()}

    def ever_stored(self, name: str) -> set[bytes]:
        """Everything that was ever in the Secret under this name."""
        path = f"{SECRETS}/{SECRET.name}"
        versions = (stored for _, _, changed, stored in self.server.log if changed == path)
        texts = (cast("dict[str, str]", stored["data"])[name] for stored in versions)
        return {base64.b64decode(text) for text in texts if text}

    def put_secret(self, data: dict[str, bytes]) -> None:
        content: Stored = {
            "metadata": {"name": SECRET.name, "namespace": SECRET.namespace},
            "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
        }
        self.server.create(SECRETS, content)

    @property
    def writes(self) -> int:
        return len(self.server.writes)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
