"""Leader election on a Lease, after which nothing is sent that another leader might not expect.

`korder manager --leader-elect` runs it; the guard it offers is asked by the client right before the bytes of every write
leave. Two rules make it safe without trusting anybody's wall clock. A candidate takes a lease only after *it* has seen the
same record unchanged for the whole lease duration. A leader's authority ends `renew` seconds (less than the lease) after
the *start* of its last successful renewal, by its own monotonic clock: a process that was stopped and wakes up late finds
itself without authority before it can send anything. Election saves work; safety of the data rests on preconditions.
"""

import asyncio
from dataclasses import dataclass
import random

import structlog

from kubeloop.client.client import Client
from kubeloop.client.errors import AlreadyExists, Conflict, Fenced, KubeError, NotFound
from kubeloop.objects import instant
from kubeloop.objects.core import LEASES, Lease
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds: how long a lease lasts, how long a leader acts without renewing, how often it renews or a candidate looks."""

    lease: int = 15
    renew: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry < self.renew < self.lease:
            raise ValueError(
                f"terms must grow: retry {self.retry} < renew {self.renew} < lease {self.lease}"
            )


USUAL = Terms()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A version of the lease and when this candidate saw it first."""

    version: str
    since: float


def may_take(lease: Lease, seen: Sighting, now: float, identity: str) -> bool:
    """Says whether nobody else can hold the lease any more, judged by what this candidate saw itself."""
    free = lease.spec.holder_identity in (None, "", identity)
    return free or now - seen.since >= (lease.spec.lease_duration_seconds or 0)


class Leader:
    """Stands for election and leads until it cannot be sure any more."""

    def __init__(
        self,
        client: Client,
        key: Key,
        identity: str,
        *,
        clock: Clock,
        rng: random.Random,
        terms: Terms = USUAL,
    ) -> None:
        # Its own slots and short tries: neither busy controllers nor one hung connection may cost the lease.
        self._candidate = client.with_slots(2).with_deadline(terms.renew / 4)
        self._client = self._candidate.with_guard(self.guard)
        self._key = key
        self._identity = identity
        self._clock = clock
        self._rng = rng
        self._terms = terms
        self._until = float("-inf")
        self._version = ""

    @property
    def leading(self) -> bool:
        """Whether this replica may act right now."""
        return self._clock.monotonic() < self._until

    def guard(self) -> None:
        """Holds a write back unless the authority to send it still stands."""
        if not self.leading:
            raise Fenced(f"{self._identity} does not hold the lease {self._key}")

    async def elect(self) -> None:
        """Waits until this replica leads."""
        seen = Sighting("", 0.0)
        while not self.leading:
            try:
                seen = await self._stand(seen)
            except (Conflict, AlreadyExists):
                log.debug("another candidate was faster", lease=str(self._key))
            except NotFound as error:
                log.warning("election delayed", lease=str(self._key), error=f"{error}; create it")
            except KubeError as error:
                log.warning("election delayed", lease=str(self._key), error=str(error))
            if not self.leading:
                await asyncio.sleep(self._terms.retry * self._rng.uniform(0.8, 1.2))
        log.info("leading", lease=str(self._key), identity=self._identity)

    async def keep(self) -> None:
        """Renews until the authority is lost or given up."""
        while True:
            await asyncio.sleep(self._terms.retry)
            if not self.leading:
                break
            try:
                async with asyncio.timeout(self._until - self._clock.monotonic()):
                    await self._renew()
            except (Conflict, NotFound) as error:
                log.warning("lease taken", lease=str(self._key), reason=str(error))
                break
            except (KubeError, TimeoutError) as error:
                log.warning("renewal failed", lease=str(self._key), error=str(error))
        self._until = float("-inf")
        log.warning("no longer leading", lease=str(self._key), identity=self._identity)

    async def release(self) -> None:
        """Hands the lease back, if it is ours, so that the next candidate need not wait for its end."""
        self._until = float("-inf")
        try:
            lease = await self._candidate.get(LEASES, self._key)
            if lease.spec.holder_identity == self._identity:
                await self._candidate.patch(
                    LEASES,
                    self._key,
                    {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}},
                    resource_version=lease.metadata.resource_version,
                )
        except KubeError as error:
            log.info("lease not released", lease=str(self._key), error=str(error))

    async def _stand(self, seen: Sighting) -> Sighting:
        try:
            lease = await self._client.get(LEASES, self._key)
        except NotFound:
            await self._seize(None)
            return seen
        now = self._clock.monotonic()
        if lease.metadata.resource_version != seen.version:
            seen = Sighting(lease.metadata.resource_version, now)
        if may_take(lease, seen, now, self._identity):
            await self._seize(lease)
        return seen

    async def _seize(self, lease: Lease | None) -> None:
        """Takes the lease; the authority counts from before the request."""
        started = self._clock.monotonic()
        now = instant.render_micro(self._clock.now())
        transitions = 0 if lease is None else (lease.spec.lease_transitions or 0) + 1
        spec: dict[str, JSON] = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._terms.lease,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }
        if lease is None:
            meta: JSON = {"namespace": self._key.namespace, "name": self._key.name}
            taken = await self._candidate.create(LEASES, {"metadata": meta, "spec": spec})
        else:
            read = lease.metadata.resource_version
            taken = await self._candidate.patch(
                LEASES, self._key, {"spec": spec}, resource_version=read
            )
        self._version = taken.metadata.resource_version
        self._until = started + self._terms.renew

    async def _renew(self) -> None:
        started = self._clock.monotonic()
        renewed: dict[str, JSON] = {"renewTime": instant.render_micro(self._clock.now())}
        try:
            await self._write(renewed)
        except Conflict:
            lease = await self._client.get(LEASES, self._key)
            if lease.spec.holder_identity != self._identity:
                raise
            # It is still ours: the answer to an earlier renewal was lost, or somebody edited a label.
            self._version = lease.metadata.resource_version
            await self._write(renewed)
        if (
            self.leading
        ):  # an authority that has lapsed meanwhile stays lost: something may have been held back
            self._until = started + self._terms.renew

    async def _write(self, spec: dict[str, JSON]) -> None:
        lease = await self._client.patch(
            LEASES, self._key, {"spec": spec}, resource_version=self._version
        )
        self._version = lease.metadata.resource_version
