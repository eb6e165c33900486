"""Keeps a server's certificate and the trust of API servers in it alive: look, publish, load, wait, look again.

`webhook.server` runs one. Every look is complete in itself, so it does not matter what was missed between two of them;
`wake` makes the next one come at once and fits as a handler of informers. Looks that fail are repeated soon, while the
certificate that was loaded last goes on serving.
"""

import asyncio
from datetime import datetime, timedelta

import structlog

from kubeloop.client.errors import KubeError
from kubeloop.net import certificates
from kubeloop.net.certificates import BadCertificate, Pair
from kubeloop.net.server_tls import ServerTls
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook.ca_injector import CaInjector, Found
from kubeloop.runtime.webhook.cert_sources import Source, Unavailable

log = structlog.get_logger(__name__)

EVERY = timedelta(minutes=1)
SOON = timedelta(seconds=5)
_MOST_DOUBLINGS = 10


class CertRotator:
    """Feeds one `ServerTls`."""

    def __init__(
        self,
        source: Source,
        bundles: CaInjector,
        tls: ServerTls,
        clock: Clock,
        *,
        every: timedelta = EVERY,
    ) -> None:
        self._source = source
        self._bundles = bundles
        self._tls = tls
        self._clock = clock
        self._every = every
        self._wake = asyncio.Event()
        self._carried: tuple[bytes, datetime] | None = None
        self._failures = 0

    @property
    def valid(self) -> bool:
        """Whether a certificate is loaded and good at this moment."""
        pair = self._tls.pair
        return pair is not None and self._clock.now() in certificates.lifetime(pair.certificate)

    def requeue(self, *_: object) -> None:
        """Asks for a look at once, because something changed."""
        self._wake.set()

    async def run(self) -> None:
        """Looks until cancelled."""
        while True:
            self._wake.clear()
            timer = self._clock.call_at(await self.look(), self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    async def look(self) -> datetime:
        """Brings certificate and bundles up to date and says when to look again."""
        try:
            until = await self._look()
        except (KubeError, Unavailable, BadCertificate, OSError) as error:
            log.warning("certificates not up to date", error=str(error), valid=self.valid)
            until = None
        now = self._clock.now()
        if until is not None:
            self._failures = 0
            return min(until, now + self._every)
        self._failures += 1
        return now + min(SOON * (1 << min(self._failures - 1, _MOST_DOUBLINGS)), self._every)

    async def _look(self) -> datetime | None:
        """Does everything that can be done now; None if something is left to do soon."""
        found = await self._find()
        served = await self._source.current(lambda bundle: self._carried_since(found, bundle))
        try:
            # Who is ready should be trusted, so the first certificate comes after its bundle; but better one that is not trusted than none.
            published = await self._publish(found, served.bundle)
        finally:
            self._load(served.pair)
        return served.until if published else None

    async def _publish(self, found: list[Found] | None, bundle: bytes | None) -> bool:
        if bundle is None:
            return True
        return found is not None and await self._bundles.publish(found, bundle)

    def _load(self, pair: Pair) -> None:
        if pair != self._tls.pair:
            self._tls.load(pair)
            end = certificates.lifetime(pair.certificate).end
            log.info("certificate loaded", valid_until=end.isoformat())

    async def _find(self) -> list[Found] | None:
        try:
            return await self._bundles.find()
        except KubeError as error:
            # Serving comes first; without a view of the configurations only a change of authority has to wait.
            log.warning("webhook configurations cannot be read", error=str(error))
            return None

    def _carried_since(self, found: list[Found] | None, bundle: bytes) -> datetime | None:
        """Says since when all configurations have been seen with this bundle at every look."""
        if found is None or not all(one.carries(bundle) for one in found):
            self._carried = None
            return None
        if self._carried is None or self._carried[0] != bundle:
            self._carried = (bundle, self._clock.now())
        return self._carried[1]
