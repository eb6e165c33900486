"""An API server in memory that also knows JSON patches, and what webhooks keep in it."""

import base64
from dataclasses import dataclass, field
import random
from typing import cast

import msgspec
import pytest

from korder.api import patch
from korder.api.meta import JSON, Key
from korder.kube.client import Client
from korder.net.http import Guard, Request, Response
from korder.testing.faults import Canned, FaultyTransport, Rule, refusal
from korder.testing.memory import Connection, MemoryServer

Stored = dict[str, JSON]

SECRET = Key("korder-system", "korder-webhook-tls-secret")
SECRETS = "/api/v1/namespaces/korder-system/secrets"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
JSON_PATCH = "application/json-patch+json"


@dataclass
class Cluster:
    """What a test of the keeper sees of the world."""

    server: MemoryServer = field(default_factory=MemoryServer)

    def client(self, *rules: Rule, seed: int = 0) -> Client:
        wire = FaultyTransport(Patching(self.server.connect()), random.Random(seed), list(rules))
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


@dataclass
class Patching:
    """Turns a JSON patch into what the server in memory understands."""

    inner: Connection

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if request.headers.get("Content-Type") != JSON_PATCH:
            return await self.inner.send(request, guard)
        if guard is not None:
            guard()
        server, path = self.inner.server, request.target.partition("?")[0]
        if path not in server.objects:
            return refusal(404, "NotFound")
        try:
            changed = patch.apply_json(server.objects[path], msgspec.json.decode(request.body))
        except patch.PatchFailed:
            return refusal(422, "Invalid")
        server.writes.append((self.inner.caller, "PATCH", path))
        content = {
            name: part for name, part in cast("Stored", changed).items() if name != "metadata"
        }
        return Canned(200, msgspec.json.encode(server.merge(path, content)))

    async def close(self) -> None:
        """Nothing is held."""


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
