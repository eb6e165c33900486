"""A manager as a process of its own, on a wire on which five of a hundred requests go wrong: `faulty_manager.py KUBECONFIG LEASE IDENTITY`.

`test_race_scenarios` starts several, kills one and stops another. At its end it says which faults came.
"""

import asyncio
import random
import signal
import sys

import structlog

from korder.reserve.domain import add_reserve
from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.faults import Fault, FaultyTransport, Rule, watches
from kubeloop.net.http import Request
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.leader import Terms
from kubeloop.runtime.manager import Manager, Settings

log = structlog.get_logger(__name__)
FAULTS = (
    Fault.CONFLICT,
    Fault.TOO_MANY,
    Fault.BROKEN,
    Fault.UNREACHABLE,
    Fault.LOST_BEFORE,
    Fault.LOST_AFTER,
)
CHANCE = 0.05
TERMS = Terms(lease=10, renew=8, retry=1.0)
"""A crashed leader is replaced soon, but a machine may be slow."""


def may_fail(request: Request) -> bool:
    return not watches(request)


async def live(kubeconfig: str, lease: str, identity: str) -> None:
    """Stands for election, leads, and ends in peace when asked to."""
    clock, rng = SystemClock(), random.Random(identity)
    rules = [Rule(fault, may_fail, CHANCE / len(FAULTS)) for fault in FAULTS]
    wire = FaultyTransport(connect(load(kubeconfig), clock.now), rng, rules)
    settings = Settings(
        identity=identity,
        component="korder",
        metric_prefix="korder",
        lease=Key("kube-system", lease),
        terms=TERMS,
    )
    manager = Manager(Client(wire, rng=rng), settings, clock=clock, rng=rng)
    add_reserve(manager)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    try:
        await manager.run(stop)
    finally:
        await wire.close()
        log.info("ended", faults=sorted(wire.hits))


def main() -> None:
    asyncio.run(live(*sys.argv[1:]))


if __name__ == "__main__":
    main()
