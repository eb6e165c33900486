"""Where the serving certificate comes from: a Secret that all replicas share and renew, or files that somebody else renews.

`webhook.cert_rotator` asks its source again and again; `webhook.rotation` decides for the Secret. Replicas need no leader for this:
every write carries the version that was read, so of two that renew at once one wins and the other reads what the winner
wrote. A Secret that holds something else than an authority is left alone.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import structlog

from kubeloop.client.client import Client
from kubeloop.client.errors import AlreadyExists, Conflict, NotFound
from kubeloop.net import certificates
from kubeloop.net.certificates import BadCertificate, Pair
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import rotation
from kubeloop.runtime.webhook.rotation import Material, Policy, Wait

log = structlog.get_logger(__name__)

Published = Callable[[bytes], datetime | None]
"""Says since when every webhook configuration has carried exactly this bundle, as far as is known."""

FILES_EVERY = timedelta(seconds=10)
_MOST_STEPS = 20


class Unavailable(Exception):
    """There is no certificate to serve; the message says why."""


@dataclass(frozen=True, slots=True)
class Served:
    """What to show in handshakes, whom API servers shall trust (None: others tell them), and when to ask again."""

    pair: Pair
    bundle: bytes | None
    until: datetime


class Source(Protocol):
    """Gives the certificate of the moment."""

    async def current(self, published: Published) -> Served: ...


class SecretSource:
    """A certificate of our own authority, both kept in a Secret."""

    def __init__(self, client: Client, key: Key, policy: Policy, clock: Clock) -> None:
        self._client = client
        self._key = key
        self._policy = policy
        self._clock = clock

    async def current(self, published: Published) -> Served:
        """Takes every step that is due; raises `Unavailable` if the Secret is not ours or does not come to rest."""
        material, version = await self._read()
        for _ in range(_MOST_STEPS):
            now = self._clock.now()
            step = rotation.next_step(material, self._policy, now, published(material.bundle))
            if isinstance(step, Wait):
                return Served(material.served, material.bundle, step.until)
            material = rotation.take(step, material, self._policy, now)
            try:
                version = await self._write(material, version)
            except (AlreadyExists, Conflict):
                material, version = await self._read()
            else:
                log.info("certificates renewed", secret=str(self._key), step=type(step).__name__)
        raise Unavailable(f"Secret {self._key} was changed by others {_MOST_STEPS} times in a row")

    async def _read(self) -> tuple[Material, str]:
        try:
            secret = await self._client.get(SECRETS, self._key)
        except NotFound:
            return Material(), ""
        if secret.data and rotation.AUTHORITY_KEY not in secret.data:
            raise Unavailable(
                f"Secret {self._key} holds something else than the authority of our webhooks: "
                "remove it or choose another name"
            )
        return rotation.read(secret.data), secret.metadata.resource_version

    async def _write(self, material: Material, version: str) -> str:
        data: dict[str, JSON] = {
            name: base64.b64encode(value).decode()
            for name, value in rotation.write(material).items()
        }
        if version:
            secret = await self._client.patch(
                SECRETS, self._key, {"data": data}, resource_version=version
            )
        else:
            secret = await self._client.create(SECRETS, self._secret(data))
        return secret.metadata.resource_version

    def _secret(self, data: dict[str, JSON]) -> dict[str, JSON]:
        return {
            "metadata": {
                "namespace": self._key.namespace,
                "name": self._key.name,
                "labels": {"app.kubernetes.io/managed-by": "korder"},
            },
            "type": "Opaque",
            "data": data,
        }


class FileSource:
    """A certificate from files, read again while we run; `authority` is who signed it, if we are to publish that."""

    def __init__(self, certificate: Path, key: Path, authority: Path | None, clock: Clock) -> None:
        self._certificate = certificate
        self._key = key
        self._authority = authority
        self._clock = clock
        self._good: tuple[Pair, bytes | None] | None = None

    async def current(self, published: Published) -> Served:  # noqa: ARG002  whoever writes the files has to care
        """Reads the files; raises `Unavailable` if they have never been usable."""
        try:
            self._good = self._read()
        except (OSError, BadCertificate) as error:
            if self._good is None:
                raise Unavailable(f"{self._certificate} cannot be served: {error}") from error
            # Perhaps caught between the new certificate and its key.
            log.warning("certificate files unusable", error=str(error))
        pair, bundle = self._good
        return Served(pair, bundle, self._clock.now() + FILES_EVERY)

    def _read(self) -> tuple[Pair, bytes | None]:
        pair = Pair(self._certificate.read_bytes(), self._key.read_bytes())
        if not certificates.belong_together(pair):
            raise BadCertificate(f"{self._key} is the key of another certificate")
        if self._authority is None:
            return pair, None
        return pair, certificates.bundle(certificates.split(self._authority.read_bytes()))
