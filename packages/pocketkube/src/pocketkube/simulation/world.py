"""One run: server, machines, processes, script and auditor in one loop, on one virtual clock, from one seed.

    simulate(Setup) -> Outcome

Tests, the shrinker and `korder simulate` call it. After the script has been played the faults end and the cluster comes to rest; what
must be true at rest is asked then. A broken promise ends the run at once. Nothing here reads the real clock, and garbage is
collected at fixed points of the history, so that finalizers cannot run at moments that depend on anything but the seed; what was there
before the run is not looked at.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
import gc
import random

from kubeloop.client.client import Client
from kubeloop.client.watch import SILENCE
from kubeloop.net.in_process import InProcessTransport
from kubeloop.runtime.clock import VirtualClock
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access, impersonation
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.server import ApiServer, Settings
from pocketkube.apiserver.serving.expiry import Expiry
from pocketkube.apiserver.storage import Change as Changed, Event, Storage, open_storage
from pocketkube.apiserver.view import decoded
from pocketkube.nodes.machines import Machines
from pocketkube.simulation import script
from pocketkube.simulation.auditing.audit import Audit
from pocketkube.simulation.auditing.invariant import Invariant
from pocketkube.simulation.changes import Change
from pocketkube.simulation.fault_plan import Chance, Luck, Planned, Strike, UnluckyTransport
from pocketkube.simulation.journal import Journal, Sink, checksum
from pocketkube.simulation.loop import SimulatedLoop
from pocketkube.simulation.player import Player
from pocketkube.simulation.processes import Process, Program
from pocketkube.simulation.programs import cluster_programs
from pocketkube.simulation.script import Apply, Manifest, Step
from pocketkube.simulation.wire import CALLER, Wire

START = datetime(2026, 1, 1, tzinfo=UTC)
_SERVER = Settings(bookmark_seconds=SILENCE - 30.0)
"""Bookmarks are most of what happens in a quiet hour; but a watch without any counts as dead, and begins anew with all there is."""
COLLECT_EVERY = 20_000
"""Commits after which garbage is collected."""
_YOUNG = 1
"""The generation of garbage in which a run of few commits leaves everything: to look there is enough before the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that makes a run what it is.

    Attributes:
        seed: All chance comes from it.
        present: Manifests of what is there before anything runs, such as definitions of further kinds.
        script: What is done to the cluster, and when.
        length: Simulated seconds until faults end.
        settle: Simulated seconds after that, in which the cluster comes to rest.
        programs: What runs beside scheduler, controllers and machines.
        kinds: API version and kind of what only these programs make, so that garbage of these kinds is collected.
        luck: Which requests are struck by faults; None for nobody's.
        crashes: Crash points at which a process ends, each with how often it is passed before.
        start: The wall clock at the beginning.
        observers: Told of every commit.
        invariants: What is promised; a fresh set, because invariants remember.
        replay: The command that plays this run again, for the report of a violation.
        sink: Gets every line of the journal.
    """

    seed: int
    present: Sequence[Manifest] = ()
    script: Sequence[Step] = ()
    length: float
    settle: float = 600.0
    programs: Sequence[Program] = ()
    kinds: Collection[tuple[str, str]] = ()
    luck: Luck | None = None
    crashes: Sequence["CrashPoint"] = ()
    start: datetime = START
    observers: Sequence["Observer"] = ()
    invariants: Sequence[Invariant] = ()
    replay: str = ""
    sink: Sink | None = None


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A place, and which visit to it is the last: 0 is the first visit."""

    place: str
    nth: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has shown.

    Attributes:
        digest: Names the journal; runs with the same digest are the same.
        violation: The promise that was broken, its name first; empty if none was.
        report: All about it, to be read.
        writes: How many objects were written.
        strikes: The faults that happened, as a plan.
        places: The crash points that were passed, with how often.
        ended_after: Simulated seconds.
    """

    digest: str
    violation: str
    writes: int
    lines: int
    strikes: tuple[Strike, ...]
    places: dict[str, int] = field(default_factory=dict)
    ended_after: float = 0.0
    report: str = ""


class Broken(Exception):
    """A promise was broken; the run is over."""


Observer = Callable[[Change], None]
"""Raises `Broken` to end the run."""


def simulate(setup: Setup) -> Outcome:
    """Plays one run to its end."""
    gc.collect(_YOUNG)
    gc.disable()
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
            return runner.run(_World(setup).run())
    finally:
        gc.unfreeze()
        gc.enable()


class _World:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._clock = VirtualClock(setup.start)
        self._machines = Machines()
        self._strikes: list[Strike] = []
        self._places: dict[str, int] = {}
        self._crashes = {(point.place, point.nth) for point in setup.crashes}
        self._luck = setup.luck or Planned(())
        self._processes: dict[str, Process] = {}
        self._report = ""
        self._over: asyncio.Future[str] | None = None

    async def run(self) -> Outcome:
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self._journal = Journal(loop.time, self._setup.sink)
        self._audit = Audit(
            self._setup.invariants,
            self._clock,
            self._journal,
            self._report_violation,
            seed=self._setup.seed,
            replay=self._setup.replay,
        )
        rng = random.Random(f"{self._setup.seed} server")
        made = keys.make(self._clock.now(), rng.randbytes)
        settings = access.Settings(made.signing_key, {made.admin_token: access.ADMIN})
        async with open_storage(None) as storage:
            server = assemble(
                storage,
                Surroundings(access=settings, settings=_SERVER),
                now=self._clock.now,
                rng=rng,
            )
            storage.observe(self._committed)
            await server.start()
            try:
                violation = await self._history(storage, server, made.admin_token)
            finally:
                await server.close()
        return Outcome(
            digest=self._journal.digest,
            violation=violation,
            writes=self._journal.writes,
            lines=self._journal.lines,
            strikes=tuple(self._strikes),
            places=self._places,
            ended_after=loop.time(),
            report=self._report,
        )

    async def _history(self, storage: Storage, server: ApiServer, token: str) -> str:
        transport = InProcessTransport(server.handle, {"Authorization": f"Bearer {token}"})
        kinds = script.kinds(self._setup.script) | frozenset(self._setup.kinds)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(Expiry(storage).run())]
            player = self._player(transport, group)
            await player.play([Step(0.0, Apply(each)) for each in self._setup.present])
            for program in (*cluster_programs(self._machines, kinds), *self._setup.programs):
                process = self._process(program, transport, group)
                tasks.append(group.create_task(self._supervise(process)))
            tasks.append(group.create_task(self._play(player)))
            assert self._over is not None  # noqa: S101  it was made above
            violation = await self._over
            for task in tasks:
                task.cancel()
        return violation

    def _process(
        self, program: Program, transport: InProcessTransport, group: asyncio.TaskGroup
    ) -> Process:
        if program.user:
            transport = transport.with_headers(impersonation.headers_for(program.user))
        unlucky = UnluckyTransport(
            transport, program.name, self._luck, self._journal, self._strikes
        )

        def connect(process: Process) -> Wire:
            def crashes(place: str) -> bool:
                return self._visit(process, place)

            rng = random.Random(f"{self._setup.seed} wire {program.name}")
            return Wire(
                program.name, transport, group, rng=rng, journal=self._journal, crashes=crashes
            )

        process = Process(
            program,
            unlucky,
            connect,
            clock=VirtualClock(self._setup.start),
            seed=self._setup.seed,
            journal=self._journal,
        )
        self._processes[program.name] = process
        return process

    async def _supervise(self, process: Process) -> None:
        await process.run()
        self._end(f"{process.name} broke: {process.broken!r}")

    def _player(self, transport: InProcessTransport, group: asyncio.TaskGroup) -> Player:
        rng = random.Random(f"{self._setup.seed} user")
        wire = Wire("user", transport, group, rng=rng, journal=self._journal)
        client = Client(wire, rng=rng, user_agent="user", field_manager="user")
        return Player(client, self._machines, self._processes, group, self._journal)

    async def _play(self, player: Player) -> None:
        await player.play(self._setup.script)
        await asyncio.sleep(max(0.0, self._setup.length - asyncio.get_running_loop().time()))
        if isinstance(self._luck, Chance):
            self._luck.ended = True
        await asyncio.sleep(self._setup.settle)
        self._audit.rest()
        self._end("")

    def _visit(self, process: Process, place: str) -> bool:
        """Passes a crash point; says whether the process ends there."""
        nth = self._places.get(place, 0)
        self._places[place] = nth + 1
        if (place, nth) not in self._crashes:
            return False
        process.crash()
        return True

    def _committed(self, event: Event) -> None:
        record, by = event.record, CALLER.get()
        key = record.key
        where = f"{key.namespace}/{key.name}" if key.namespace else key.name
        stated = f"{key.resource} {where} v{record.version} {event.change} {checksum(record.value)}"
        self._journal.note(by, "=", stated)
        self._journal.writes += 1
        change = Change(
            at=self._clock.now(),
            version=record.version,
            resource=key.resource,
            namespace=key.namespace,
            name=key.name,
            before=decoded(event.previous) if event.previous is not None else None,
            after=decoded(record) if event.change is not Changed.DELETED else None,
            by=by,
        )
        try:
            for observer in self._setup.observers:
                observer(change)
            self._audit.note(change)
        except Broken as broken:
            self._end(str(broken))
        if self._journal.writes % COLLECT_EVERY == 0:
            gc.collect()

    def _report_violation(self, violation: str, report: str) -> None:
        self._report = self._report or report
        self._end(violation)

    def _end(self, violation: str) -> None:
        assert self._over is not None  # noqa: S101  the run has begun
        if not self._over.done():
            self._over.set_result(violation)
