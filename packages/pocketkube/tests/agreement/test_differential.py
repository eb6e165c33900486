"""Random sequences of requests: a kube-apiserver and the embedded server give the same answers and tell the same events.

A sequence is made from its seed alone (see `fuzzing.requests`). Seeds that once told the servers apart are kept in `fuzzing.kept`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
import os
import secrets

import pytest
from tests.agreement.fuzzing.kept import KEPT
from tests.agreement.fuzzing.requests import sequence
from tests.agreement.fuzzing.running import Found, Pair
from tests.contract.wire import Server
import yaml

from kubeloop.net.client import HttpTransport
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.testing.apiserver import embedded_server

SEQUENCES = 100
SOAK_SEQUENCES = 100 * int(os.environ.get("KORDER_SEEDS", "20"))
SOAK_STARTS_AT = 1_000
LANES = 8
"""Sequences that run beside each other."""

SHRUNK = 5
"""Differences that are made short before they are told."""


@pytest.fixture(scope="module")
def lonely_plane() -> Iterator[ControlPlane]:
    """A kube-apiserver on its etcd, told of a controller manager that never comes: nothing moves but what the sequences move."""
    plane = ControlPlane(
        without={"kube-scheduler"}, flags={"kube-apiserver": ["--allow-privileged=true"]}
    )

    async def start() -> None:
        await plane.etcd.start()
        await plane.apiserver.start()

    asyncio.run(start())
    yield plane
    asyncio.run(plane.stop())


async def _nothing() -> None:
    pass


@pytest.fixture
async def pair(lonely_plane: ControlPlane) -> AsyncIterator[Pair]:
    user = yaml.safe_load(lonely_plane.kubeconfig().read_text())["users"][0]["user"]
    tls = RotatingTls(lambda: ClientTls(ca_file=str(lonely_plane.folder / "ca.crt")))
    transport = HttpTransport(lonely_plane.server, tls=tls, compress=False)
    async with embedded_server(SystemClock()) as embedded:
        theirs = Server(transport, user["token"], _nothing)
        ours = Server(embedded.transport(), embedded.admin_token, _nothing)
        pair = Pair(theirs, ours, secrets.token_hex(2))
        await pair.prepare()
        yield pair
    await transport.close()


async def differences(pair: Pair, seeds: Iterable[int]) -> str:
    """All seeds that tell the servers apart, and the shortest sequences of the first of them."""
    left = iter(seeds)
    found: list[Found] = []

    async def lane() -> None:
        for seed in left:
            difference = await pair.compare(seed, sequence(seed))
            if difference is not None:
                found.append(difference)

    async with asyncio.TaskGroup() as group:
        for _ in range(LANES):
            group.create_task(lane())
    if not found:
        return ""
    found.sort(key=lambda each: each.seed)
    shown = [str(await pair.shrink(each)) for each in found[:SHRUNK]]
    return "\n\n".join([f"seeds {[each.seed for each in found]}", *shown])


@pytest.mark.timeout(300)
async def test_random_sequences_are_answered_alike(pair: Pair) -> None:
    stated = await differences(pair, range(SEQUENCES))
    assert not stated, stated


@pytest.mark.timeout(300)
async def test_seeds_that_once_differed_agree(pair: Pair) -> None:
    stated = await differences(pair, KEPT)
    assert not stated, stated


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_thousands_of_sequences_are_answered_alike(pair: Pair) -> None:
    stated = await differences(pair, range(SOAK_STARTS_AT, SOAK_STARTS_AT + SOAK_SEQUENCES))
    assert not stated, stated
