"""Leaders that lose their lease: by sleeping past it, where the audit log of the API server is the judge, and by outages of the API server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest
from tests.e2e.capacity import FULL_RUN, Figures, count_claims, log
from tests.e2e.installation import managed
from tests.e2e.stage import a_stage, a_world
from tests.e2e.waiting import accepted

from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import KubeError, NotFound
from kubeloop.objects import instant
from kubeloop.objects.core import CONFIG_MAPS, LEASES, PODS
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane

CHILD = Path(__file__).with_name("leader_child.py")
SEEDS = int(os.environ.get("KORDER_SEEDS", "20"))
COUNTERS = 4


class Write(NamedTuple):
    """A line of the audit log."""

    received: datetime
    code: int
    verb: str
    what: str


@asynccontextmanager
async def a_manager(
    kubeconfig: Path, lease: Key, name: str
) -> AsyncIterator[subprocess.Popen[bytes]]:
    command = [sys.executable, CHILD, kubeconfig, lease.namespace, lease.name, name]
    process = subprocess.Popen(command)  # noqa: ASYNC220, S603
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


async def leader_of(client: Client, lease: Key, but: str = "") -> str:
    """Waits for a holder other than `but`."""
    async with asyncio.timeout(100):
        while True:
            try:
                holder = (await client.get(LEASES, lease)).spec.holder_identity
            except NotFound:
                holder = None
            if holder and holder != but:
                return holder
            await asyncio.sleep(0.05)


async def progress(client: Client, namespace: str) -> int:
    counters = [
        await client.get(CONFIG_MAPS, Key(namespace, f"counter-{i}")) for i in range(COUNTERS)
    ]
    return sum(int(counter.data["count"]) for counter in counters)


async def more_progress(client: Client, namespace: str) -> None:
    before = await progress(client, namespace)
    async with asyncio.timeout(100):
        while await progress(client, namespace) < before + 10:
            await asyncio.sleep(0.05)


def writes_of(plane: ControlPlane, name: str, namespace: str) -> list[Write]:
    return [
        Write(
            instant.parse(line["requestReceivedTimestamp"]),
            line["responseStatus"]["code"],
            line["verb"],
            f"{line['objectRef']['resource']}/{line['objectRef'].get('name', '')}",
        )
        for line in plane.audit_lines()
        if line["userAgent"] == name
        and line["verb"] not in ("get", "list", "watch")
        and line["objectRef"].get("namespace") == namespace
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="four times"),
        pytest.param(range(4, 4 + SEEDS), id="many times", marks=pytest.mark.soak),
    ],
)
async def test_a_leader_that_slept_past_its_lease_sends_nothing_that_counts(
    control_plane: ControlPlane,
    kubeconfig: Path,
    client: Client,
    namespace: str,
    clock: Clock,
    seeds: range,
) -> None:
    for i in range(COUNTERS):
        meta = {"name": f"counter-{i}", "namespace": namespace}
        await client.create(CONFIG_MAPS, {"metadata": meta, "data": {"count": "0"}})
    for reconcile in seeds:
        rng = random.Random(reconcile)
        names = (f"one-{reconcile}", f"two-{reconcile}")
        # A lease of its own: nobody waits until that of the last turn, whose holder was killed, has run out.
        lease = Key(namespace, f"election-{reconcile}")
        async with (
            a_manager(kubeconfig, lease, names[0]) as one,
            a_manager(kubeconfig, lease, names[1]) as two,
        ):
            processes = dict(zip(names, (one, two), strict=True))
            sleeper = await leader_of(client, lease)
            await more_progress(client, namespace)
            await asyncio.sleep(rng.uniform(0, 0.5))

            processes[sleeper].send_signal(signal.SIGSTOP)
            asleep = clock.now()
            await leader_of(client, lease, but=sleeper)
            await more_progress(client, namespace)
            awake = clock.now()
            processes[sleeper].send_signal(signal.SIGCONT)
            await more_progress(client, namespace)
            await asyncio.sleep(2)
            assert processes[sleeper].poll() is None
            assert await leader_of(client, lease) != sleeper

        written = writes_of(control_plane, sleeper, namespace)
        assert sum(write.code < 300 and write.received < asleep for write in written) > 20
        late = [write for write in written if write.received >= awake]
        assert len(late) <= COUNTERS + 1, late
        assert all(write.code == 409 for write in late), late
        successor = writes_of(control_plane, next(n for n in names if n != sleeper), namespace)
        taken = min(
            w.received for w in successor if w.code < 300 and w.what.startswith("configmaps")
        )
        assert all(write.received < taken for write in written if write.code < 300)


OUTAGES = ("paused", "killed")
WATCHED_AGAIN_WITHIN_SECONDS = 90
"""Two of the longest pauses between watches, and some: a server that was started again has forgotten what watches continue from."""
OUTAGE_SECONDS = 7
"""Longer than the children of these tests act without renewing, shorter than their lease."""


async def test_a_leader_stands_for_election_again_after_an_outage_of_the_api_server(
    a_control_plane: Callable[..., Awaitable[ControlPlane]], clock: Clock
) -> None:
    """Twice: the server does not answer, and it is gone. The process stays the same, and goes on with its work."""
    plane = await a_control_plane(without=("kube-scheduler", "kube-controller-manager"))
    lease, config = Key("default", "election"), plane.kubeconfig()
    async with open_client(str(config), now=clock.now, rng=random.Random(0)) as client:
        for i in range(COUNTERS):
            meta = {"name": f"counter-{i}", "namespace": "default"}
            await client.create(CONFIG_MAPS, {"metadata": meta, "data": {"count": "0"}})
        async with a_manager(config, lease, "only") as process:
            for outage in OUTAGES:
                await leader_of(client, lease)
                await more_progress(client, "default")
                acquired = (await client.get(LEASES, lease)).spec.acquire_time
                await interrupt(plane, outage, OUTAGE_SECONDS)
                resumed = clock.monotonic()
                await acquired_again(client, lease, acquired)
                await more_progress(client, "default")
                log.info("figures", outage=outage, back=round(clock.monotonic() - resumed, 1))
                assert process.poll() is None


async def interrupt(plane: ControlPlane, outage: str, seconds: float) -> None:
    """Takes the API server away for some seconds."""
    if outage == "paused":
        plane.apiserver.pause()
        await asyncio.sleep(seconds)
        plane.apiserver.resume()
    else:
        plane.apiserver.kill()
        await asyncio.sleep(seconds)
        await plane.apiserver.start()


async def acquired_again(client: Client, lease: Key, before: datetime | None) -> None:
    """Waits until a new term has begun."""
    async with asyncio.timeout(100):
        while (await client.get(LEASES, lease)).spec.acquire_time == before:
            await asyncio.sleep(0.05)


@pytest.mark.skipif(not FULL_RUN, reason="the terms of a manager are long")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("outage", OUTAGES)
async def test_claims_are_served_after_an_outage_that_cost_the_manager_its_lease(
    tmp_path: Path, outage: str
) -> None:
    async with (
        a_world() as world,
        managed(world.plane, tmp_path) as manager,
        a_stage(world) as stage,
    ):
        await stage.add_nodes(cpu="4")
        await stage.reserve(*(stage.ticket(f"t{n}") for n in range(4)))
        pid = manager.pid
        await interrupt(world.plane, outage, 13)
        began = asyncio.get_running_loop().time()
        await accepted(lambda: stage.all(PODS), KubeError)
        figures = Figures()
        await stage.put(*(stage.asking(f"web-{n}") for n in range(4)))
        await count_claims(stage, figures, 4, began, within=WATCHED_AGAIN_WITHIN_SECONDS)
        log.info("figures", outage=outage, back=round(asyncio.get_running_loop().time() - began, 1))
        figures.check()
        assert manager.pid == pid
        assert "no longer leading" in manager.log.read_text()
