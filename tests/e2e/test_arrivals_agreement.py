"""kube-scheduler and ours, fed the same histories of arrivals on a real control plane: as many pods wait in the end.

Compared is the number of pods that wait for a place when both have come to rest. In every history it must be the same within 2 %
of its pods, which is one pod of eighty, and over all histories within 2 % of those who wait. Only histories are taken whose outcome
is not left to chance (see `chance`), because on others kube-scheduler does not agree with itself either. Our scheduler is fed twice:
on the same control plane, and, in virtual time, on the embedded one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import os
import random

import pytest
from tests.e2e.arrivals.chance import fair_histories
from tests.e2e.arrivals.feeding import Feeder, Rest, prepare
from tests.e2e.arrivals.histories import History
from tests.e2e.arrivals.lookout import a_lookout

from korder.kube.client import Client
from korder.kube.connect import open_client
from korder.runtime.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from korder.testing.controlplane import ControlPlane
from korder.testing.embedded import embedded_server
from korder.testing.nodes import simulated_nodes
from korder.testing.scheduler import running_scheduler

THEIRS, OURS = "default-scheduler", "ours"
WITHIN = 0.02
FEW = 10
MANY = 10 * int(os.environ.get("KORDER_SEEDS", "20"))


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane with kube-scheduler, where a pod needs no service account and nobody looks after nodes."""
    plane = ControlPlane(without=("kube-controller-manager",))
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many pods a history has in the end, and how many of them wait with each scheduler."""

    seed: int
    pods: int
    theirs: int
    ours: int
    embedded: int

    @property
    def agrees(self) -> bool:
        return all(
            abs(waiting - self.theirs) <= WITHIN * self.pods
            for waiting in (self.ours, self.embedded)
        )


@asynccontextmanager
async def feeding(client: Client, clock: Clock) -> AsyncIterator[Callable[[str, History], Feeder]]:
    """Our scheduler and simulated machines on a server, to which histories can be fed; says who feeds which scheduler."""
    await prepare(client)
    async with (
        simulated_nodes(client, {}, clock=clock) as machines,
        a_lookout(client, clock) as lookout,
        running_scheduler(client, clock=clock, name=OURS),
    ):

        def a_feeder(scheduler: str, history: History) -> Feeder:
            prefix = f"{scheduler}-{history.seed}-"
            return Feeder(client, lookout, machines, scheduler, prefix)

        yield a_feeder


async def on_a_real_plane(
    plane: ControlPlane, histories: Iterable[History]
) -> list[tuple[Rest, Rest]]:
    """How things stand after each history with kube-scheduler, and with ours."""
    clock = SystemClock()
    config, rng = str(plane.kubeconfig()), random.Random(0)
    async with (
        open_client(config, now=clock.now, rng=rng) as client,
        feeding(client, clock) as a_feeder,
    ):
        return [
            (
                await a_feeder(THEIRS, history).play(history),
                await a_feeder(OURS, history).play(history),
            )
            for history in histories
        ]


async def on_the_embedded_plane(histories: Iterable[History]) -> list[Rest]:
    """How things stand after each history with our scheduler in virtual time."""
    clock = VirtualClock()
    async with (
        embedded_server(clock) as server,
        feeding(server.client(), clock) as a_feeder,
    ):
        return [await a_feeder(OURS, history).play(history) for history in histories]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(FEW, id="a few histories", marks=pytest.mark.timeout(1800)),
        pytest.param(MANY, id="many histories", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_as_many_pods_wait_with_our_scheduler_as_with_kube_scheduler(
    plane: ControlPlane, number: int
) -> None:
    histories = list(fair_histories(number))
    real = asyncio.run(on_a_real_plane(plane, histories))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        embedded = runner.run(on_the_embedded_plane(histories))
    verdicts = [
        Verdict(history.seed, theirs.pods, theirs.waiting, ours.waiting, virtual.waiting)
        for history, (theirs, ours), virtual in zip(histories, real, embedded, strict=True)
    ]
    assert [verdict for verdict in verdicts if not verdict.agrees] == []
    total = sum(verdict.theirs for verdict in verdicts)
    for waiting in (sum(v.ours for v in verdicts), sum(v.embedded for v in verdicts)):
        assert abs(waiting - total) <= WITHIN * total
