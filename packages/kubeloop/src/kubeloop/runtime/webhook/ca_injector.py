"""Keeps `caBundle` of webhook configurations current, so that API servers trust the certificate we serve.

`webhook.cert_rotator` reads the configurations first, then learns what the bundle has to be, then writes under the version that
was read. In this order a replica that lags behind cannot overwrite what a faster one has published. A configuration that
does not exist is nobody's trouble: it gets its bundle when it comes.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import structlog

from kubeloop.client.client import Client
from kubeloop.client.errors import Conflict, NotFound
from kubeloop.objects.admission import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from kubeloop.objects.meta import JSON, Key, Kind
from kubeloop.objects.plan import PatchType

log = structlog.get_logger(__name__)

Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration
ConfigurationKind = Kind[Configuration]

_MUTATING = cast("ConfigurationKind", MUTATING_WEBHOOK_CONFIGURATIONS)
_VALIDATING = cast("ConfigurationKind", VALIDATING_WEBHOOK_CONFIGURATIONS)


@dataclass(frozen=True, slots=True)
class Found:
    """A configuration as it was read."""

    kind: ConfigurationKind
    configuration: Configuration

    def carries(self, bundle: bytes) -> bool:
        return not self._stale(bundle)

    def correction(self, bundle: bytes) -> list[JSON]:
        """Makes the patch that gives every webhook the bundle; places count only in the version that was read."""
        text = base64.b64encode(bundle).decode()
        return [
            {"op": "add", "path": f"/webhooks/{place}/clientConfig/caBundle", "value": text}
            for place in self._stale(bundle)
        ]

    def _stale(self, bundle: bytes) -> list[int]:
        return [
            place
            for place, webhook in enumerate(self.configuration.webhooks)
            if webhook.client_config.ca_bundle != bundle
        ]


class CaInjector:
    """The configurations of these names."""

    def __init__(
        self, client: Client, *, mutating: Sequence[str] = (), validating: Sequence[str] = ()
    ) -> None:
        self._client = client
        self._names = [
            *((_MUTATING, name) for name in mutating),
            *((_VALIDATING, name) for name in validating),
        ]

    async def find(self) -> list[Found]:
        """Reads the configurations that exist."""
        found: list[Found] = []
        for kind, name in self._names:
            try:
                found.append(Found(kind, await self._client.get(kind, Key("", name))))
            except NotFound:
                continue
        return found

    async def publish(self, found: Sequence[Found], bundle: bytes) -> bool:
        """Corrects what was found; false if somebody was faster and it is worth to look again soon."""
        undisturbed = True
        for one in found:
            if one.carries(bundle):
                continue
            try:
                await self._correct(one, bundle)
            except (Conflict, NotFound):
                undisturbed = False
        return undisturbed

    async def _correct(self, found: Found, bundle: bytes) -> None:
        metadata = found.configuration.metadata
        await self._client.patch(
            found.kind,
            Key("", metadata.name),
            found.correction(bundle),
            PatchType.JSON,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )
        log.info("caBundle published", resource=str(found.kind), name=metadata.name)
