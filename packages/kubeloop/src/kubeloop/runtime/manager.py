"""Starts and stops everything a process of controllers runs, in the order that is safe.

Programs and tests build one, add controllers and other parts, and run it until told to stop. Start: probes and
metrics, informers, election, controllers. Stop: no new turns, the ones under way finish, Events leave, the lease is handed
back, and only then the watches and servers end.

A replica that loses its lease cuts off the turns under way and stands for election again, while informers and servers go on. All turns
of a term have ended before the next begins, so none of their writes can pass the guard then; their keys are reconciled again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
import random
from typing import NamedTuple, Protocol

import structlog

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from kubeloop.net.server import Reply, Server, text
from kubeloop.objects.meta import Key
from kubeloop.runtime import metrics as measuring
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.controller import Controller, Machine, Reconciler, Refused
from kubeloop.runtime.events import Recorder
from kubeloop.runtime.informer import Informers
from kubeloop.runtime.leader import USUAL, Leader, Terms
from kubeloop.runtime.watchdog import Activity, Watchdog

log = structlog.get_logger(__name__)


class PartEnded(Exception):
    """Something that must run as long as the manager does has stopped."""


class Address(NamedTuple):
    """Where to listen; an empty host means every interface."""

    host: str
    port: int


class Part(Protocol):
    """Something else that runs with the manager, whether it leads or not, such as a webhook server."""

    @property
    def ready(self) -> bool: ...

    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """How a manager runs: who it is, where it listens, and whether it shares its work with other replicas."""

    identity: str
    component: str = "kubeloop"
    """What Events name as their source."""
    metric_prefix: str = "kubeloop"
    lease: Key | None = None
    """The lease to lead by; without one this replica always acts."""
    terms: Terms = USUAL
    metrics: Address | None = None
    probes: Address | None = None
    measure_lag: bool = False
    """Whether to measure how late the event loop runs timers, which takes a timer of its own."""
    drain_seconds: float = 15.0
    """How long turns under way may take after a stop; with handing back the lease it stays within a pod's usual grace of 30 s."""


class Manager:
    """One process of controllers."""

    def __init__(
        self, client: Client, settings: Settings, *, clock: Clock, rng: random.Random
    ) -> None:
        self.clock = clock
        self._settings = settings
        self._leader = settings.lease and Leader(
            client, settings.lease, settings.identity, clock=clock, rng=rng, terms=settings.terms
        )
        acting = client.with_guard(self._leader.guard) if self._leader else client
        self.metrics = measuring.Metrics(prefix=settings.metric_prefix)
        self.informers = Informers(client, self.metrics)
        self._recorder = Recorder(
            acting,
            clock,
            self.metrics,
            component=settings.component,
            instance=settings.identity,
        )
        self._activity = Activity(clock)
        self._machine = Machine(
            acting, self.informers, self._recorder, self.metrics, clock, rng, self._activity
        )
        self._controllers: list[Controller] = []
        self._parts: list[Part] = []
        self._elected: list[Callable[[], None]] = []
        self._servers: list[Server] = []
        self.ports: list[int] = []
        """Where the probes and metrics servers listen, in that order, once the manager runs."""
        self._show()

    @property
    def leading(self) -> bool:
        """Whether this replica may act right now."""
        return self._leader is None or self._leader.leading

    @property
    def client(self) -> Client:
        """Asks the server itself, for the rare question that the caches cannot answer; writes belong into plans."""
        return self._machine.client

    def controller(
        self, name: str, reconcile: Reconciler, *, workers: int = 16, refused: Refused | None = None
    ) -> Controller:
        """Adds a controller; tell it what to follow before the manager runs.

        `refused` decides what follows when the server says no to a step of its plans.
        """
        controller = Controller(name, reconcile, self._machine, workers=workers, refused=refused)
        self._controllers.append(controller)
        return controller

    def add(self, part: Part) -> None:
        """Adds a part that runs from start to stop."""
        self._parts.append(part)

    def on_elected(self, begin: Callable[[], None]) -> None:
        """Calls `begin` before the first turn of each term: what was learnt of the cluster before may have changed under another leader."""
        self._elected.append(begin)

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set, then drains; a replica that loses its lease stands for election again."""
        try:
            await self._listen()
            async with asyncio.TaskGroup() as group:
                below = [group.create_task(part) for part in self._background()]
                try:
                    await self._work(stop)
                finally:
                    for task in below:
                        task.cancel()
        except BaseExceptionGroup as trouble:
            raise _cause(trouble) from None
        finally:
            for server in self._servers:
                await server.stop(grace=1.0)

    def _background(self) -> list[Coroutine[None, None, None]]:
        informers = [informer.run() for informer in self.informers]
        watchdog = Watchdog(self.clock, self.metrics, self._activity)
        measuring_lag = [watchdog.run()] if self._settings.measure_lag else []
        return [*informers, self._recorder.run(), *measuring_lag, *map(_for_ever, self._parts)]

    async def _work(self, stop: asyncio.Event) -> None:
        if not await _unless(stop, self.informers.wait_until_synced()):
            return
        log.info("synced", informers=len(tuple(self.informers)))
        while not stop.is_set():
            await self._serve_term(stop)
        if self._leader is not None:
            await self._leader.release()

    async def _serve_term(self, stop: asyncio.Event) -> None:
        """Waits to lead, and runs the controllers as long as this replica does."""
        if self._leader is not None:
            log.info("waiting to lead", lease=str(self._settings.lease))
            if not await _unless(stop, self._leader.elect()):
                return
        for begin in self._elected:
            begin()
        async with asyncio.TaskGroup() as group:
            authority = group.create_task(self._hold_authority())
            await self._control(stop, authority)
            authority.cancel()

    async def _hold_authority(self) -> None:
        """Ends when this replica must not act any more."""
        if self._leader is None:
            await asyncio.Event().wait()
        else:
            await self._leader.keep()

    async def _control(self, stop: asyncio.Event, authority: asyncio.Task[None]) -> None:
        """Runs the controllers until told to stop or the authority ends, and returns when no turn is under way."""
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(controller.run()) for controller in self._controllers]
            await _unless(stop, asyncio.wait((authority,)))
            if stop.is_set():
                await self._drain(running)
            for task in running:
                task.cancel()

    async def _drain(self, running: Collection[asyncio.Task[None]]) -> None:
        """Lets the controllers finish their turns, as long as this replica leads."""
        for controller in self._controllers:
            controller.queue.close()
        try:
            async with asyncio.timeout(self._settings.drain_seconds if self.leading else 0):
                if running:
                    await asyncio.wait(running)
                await self._recorder.flush()
        except TimeoutError:
            log.warning("turns cut off", leading=self.leading)

    async def _listen(self) -> None:
        endpoints = (
            (self._settings.probes, {"/healthz": self._healthz, "/readyz": self._readyz}),
            (self._settings.metrics, {"/metrics": self._scrape}),
        )
        for address, routes in endpoints:
            if address is not None:
                server = Server(routes, address.host or None, address.port)
                self.ports.append(await server.start())
                self._servers.append(server)
                log.info("listening", port=self.ports[-1], paths=" ".join(routes))

    async def _healthz(self, _: Request) -> Reply:
        return text(200, "ok")

    async def _readyz(self, _: Request) -> Reply:
        missing = [f"{i.kind} ({i.trouble or 'listing'})" for i in self.informers if not i.synced]
        missing += [type(part).__name__ for part in self._parts if not part.ready]
        return text(503, "not ready: " + ", ".join(missing)) if missing else text(200, "ok")

    async def _scrape(self, _: Request) -> Reply:
        return Reply(200, self.metrics.render(), {"Content-Type": measuring.TEXT})

    def _show(self) -> None:
        self.metrics.leading.set_function(lambda: float(self.leading))
        self.metrics.observe(
            f"{self.metrics.prefix}_objects",
            "Objects in the cache, by resource.",
            "resource",
            self._count_objects,
        )
        self.metrics.observe(
            f"{self.metrics.prefix}_queue_depth",
            "Names ready to be worked on, by controller.",
            "controller",
            lambda: {c.name: float(len(c.queue)) for c in self._controllers},
        )
        self.metrics.observe(
            f"{self.metrics.prefix}_queue_delayed",
            "Names that wait for an instant or for another try, by controller.",
            "controller",
            lambda: {c.name: float(c.queue.delayed) for c in self._controllers},
        )
        self.metrics.observe(
            f"{self.metrics.prefix}_turns_active",
            "Turns under way, by controller.",
            "controller",
            lambda: {c.name: float(c.queue.active) for c in self._controllers},
        )

    def _count_objects(self) -> dict[str, float]:
        counts: dict[str, float] = {}
        for informer in self.informers:
            name = str(informer.kind)
            counts[name] = counts.get(name, 0.0) + len(informer.reader)
        return counts


async def _for_ever(part: Part) -> None:
    await part.run()
    raise PartEnded(f"{type(part).__name__} has ended by itself")


def _cause(trouble: BaseExceptionGroup) -> BaseException:
    """Takes a single error out of the groups around it, so that callers meet it by its own type."""
    cause: BaseException = trouble
    while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
        cause = cause.exceptions[0]
    return cause


async def _unless(stop: asyncio.Event, work: Awaitable[object]) -> bool:
    """Waits for `work` and says whether it ended before `stop` was set."""
    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(stop.wait())
        working = group.create_task(_await(work))
        await asyncio.wait((stopping, working), return_when=asyncio.FIRST_COMPLETED)
        finished = working.done()
        stopping.cancel()
        working.cancel()
    return finished and not stop.is_set()


async def _await(work: Awaitable[object]) -> None:
    await work
