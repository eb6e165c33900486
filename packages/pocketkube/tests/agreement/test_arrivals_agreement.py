"""kube-scheduler and ours, fed the same histories of arrivals on a real control plane: as many pods wait in the end.

Compared is the number of pods that wait for a place when both have come to rest. In every history it must be the same within 2 %
of its pods, which is one pod of eighty, and over all histories within 2 % of those who wait. Only histories are taken whose outcome
is not left to chance (see `chance`), because on others kube-scheduler does not agree with itself either. Our scheduler is fed twice:
on a control plane like kube-scheduler's, and, in virtual time, on the embedded one.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
import os
import random

import pytest
from tests.agreement.arrivals.chance import fair_histories
from tests.agreement.arrivals.feeding import Feeder, Rest, prepare
from tests.agreement.arrivals.histories import History
from tests.agreement.arrivals.observer import an_observer

from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.runtime.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.testing.apiserver import embedded_server
from pocketkube.testing.nodes import simulated_nodes
from pocketkube.testing.scheduler import running_scheduler

WITHIN = 0.02
FEW = 10
IMPATIENT = {"kube-scheduler": ["--pod-max-in-unschedulable-pods-duration=10s"]}
"""Lets kube-scheduler look again at whoever waits for more than ten seconds, and not only after five minutes. An event wakes only those
pods whom it may help past the filter that refused them: one that lacks room, and may push others aside since a spread changed, sleeps on."""
MANY = 10 * int(os.environ.get("KORDER_SEEDS", "20"))


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


async def fed(client: Client, clock: Clock, histories: Iterable[History]) -> list[Rest]:
    """Feeds histories to whoever schedules on a server, on simulated machines, and says how things stand after each."""
    await prepare(client)
    async with (
        simulated_nodes(client, {}, clock=clock) as machines,
        an_observer(client, clock) as observer,
    ):
        return [await Feeder(client, observer, machines, history).play() for history in histories]


async def with_kube_scheduler(histories: Iterable[History]) -> list[Rest]:
    """On a real control plane."""
    clock = SystemClock()
    async with (
        ControlPlane(without=("kube-controller-manager",), flags=IMPATIENT) as plane,
        open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(0)) as client,
    ):
        return await fed(client, clock, histories)


async def with_ours(histories: Iterable[History]) -> list[Rest]:
    """On a real control plane too, in place of kube-scheduler."""
    clock = SystemClock()
    async with (
        ControlPlane(without=("kube-controller-manager", "kube-scheduler")) as plane,
        open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(0)) as client,
        running_scheduler(client, clock=clock),
    ):
        return await fed(client, clock, histories)


async def with_both(histories: Iterable[History]) -> tuple[list[Rest], list[Rest]]:
    async with asyncio.TaskGroup() as group:
        theirs = group.create_task(with_kube_scheduler(histories))
        ours = group.create_task(with_ours(histories))
    return theirs.result(), ours.result()


async def with_ours_in_virtual_time(histories: Iterable[History]) -> list[Rest]:
    """On an embedded API server."""
    clock = VirtualClock()
    async with (
        embedded_server(clock) as server,
        running_scheduler(server.client(), clock=clock),
    ):
        return await fed(server.client(), clock, histories)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(FEW, id="a few histories", marks=pytest.mark.timeout(1800)),
        pytest.param(MANY, id="many histories", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_as_many_pods_wait_with_our_scheduler_as_with_kube_scheduler(
    number: int,
) -> None:
    histories = list(fair_histories(number))
    theirs, ours = asyncio.run(with_both(histories))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        embedded = runner.run(with_ours_in_virtual_time(histories))
    verdicts = [
        Verdict(history.seed, a.pods, a.waiting, b.waiting, c.waiting)
        for history, a, b, c in zip(histories, theirs, ours, embedded, strict=True)
    ]
    assert [verdict for verdict in verdicts if not verdict.agrees] == []
    total = sum(verdict.theirs for verdict in verdicts)
    for waiting in (sum(v.ours for v in verdicts), sum(v.embedded for v in verdicts)):
        assert abs(waiting - total) <= WITHIN * total
