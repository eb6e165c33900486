"""The server of `quota-admission`: the gates of a manager that counts many quotas and tickets, and one that always allows.

It says a line when it listens, and ends when its input does. Nothing of a cluster is there: the certificate comes from files.
"""

import asyncio
import logging
from pathlib import Path
import random
import sys

from prometheus_client import CollectorRegistry
import structlog
import uvloop

from bench.crowd import crowd
from korder.reserve.admission import webhook
from korder.reserve.admission.webhook import Counted
from kubeloop.client.client import Client
from kubeloop.net.client import HttpTransport
from kubeloop.net.ports import LOOPBACK
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_sources import FileSource
from kubeloop.runtime.webhook.server import Settings, WebhookServer


async def main(folder: Path, port: int, quotas: int, tickets: int) -> None:
    """Serves until the input ends."""
    clock = SystemClock()
    counted = Counted(crowd(quotas, tickets), tuple, lambda _: None)
    nobody = Client(HttpTransport(f"http://{LOOPBACK}"), rng=random.Random(0))
    gates = webhook.by_path(clock, counted, system_classes=False)
    server = WebhookServer(
        {**gates, "always": lambda _: review.allow()},
        FileSource(folder / "tls.crt", folder / "tls.key", None, clock),
        CaInjector(nobody),
        settings=Settings(LOOPBACK, port, metric_prefix="korder"),
        registry=CollectorRegistry(),
        clock=clock,
    )
    async with asyncio.TaskGroup() as group:
        serving_it = group.create_task(server.run())
        while not server.ready:
            await asyncio.sleep(0.05)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        serving_it.cancel()


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    uvloop.run(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
