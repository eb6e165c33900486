"""What quotas cost whoever writes an order: nothing that grows with the quotas and tickets of others, and little beside the way to a webhook.

`quota-verdict`: ten quotas that apply among 10, 100 and 1,000, with 100, 1,000 and 10,000 tickets; each request comes after a change of a ticket,
so that nothing can be remembered. `quota-admission`: reviews over HTTPS, one at a time, in turn to the gate of orders and to one that
always allows, both of the same server in a process of its own (`quotas_child`) that counts 100 quotas and 10,000 tickets.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
import gc
import json
from pathlib import Path
import random
from statistics import quantiles
import tempfile
from time import perf_counter, process_time

from bench.cluster import a_helper
from bench.crowd import HOME, crowd, tickets_of, wish, wishes
from bench.micro import FLAT, Tell
from bench.table import Row
from korder.api.reserve import GROUP, ORDERS, VERSION
from korder.reserve.quotas import delta as quota_delta
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.net import certificates
from kubeloop.net.certificates import Lifetime
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request
from kubeloop.net.ports import LOOPBACK, free_ports
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import SystemClock

QUOTAS = (10, 100, 1_000)
TICKETS = (100, 1_000, 10_000)
REQUESTS = 300
ROUNDS = 7
REVIEWS = 3_000
WARM_UP = 200
AT_THE_DOOR = (100, 10_000)
"""Quotas and tickets of `quota-admission`."""
_NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def verdict(tell: Tell) -> Iterator[Row]:
    """Processor time for a request, the dearest number of quotas and tickets against the cheapest."""
    tallies = {}
    for quotas in QUOTAS:
        for count in TICKETS:
            tell(f"quota-verdict: preparing {quotas} quotas and {count} tickets")
            tallies[quotas, count] = crowd(quotas, count)
    costs = dict.fromkeys(tallies, float("inf"))
    gc.collect()
    gc.disable()
    for reconcile in range(ROUNDS):
        tell(f"quota-verdict: round {reconcile + 1} of {ROUNDS}")
        for (quotas, count), quota_cache in tallies.items():
            costs[quotas, count] = min(costs[quotas, count], _asked(quota_cache, count))
    gc.enable()
    yield Row("quota-verdict", max(costs.values()), "us per request", min(costs.values()), FLAT)


def _asked(quota_cache: QuotaCache, count: int) -> float:
    """Microseconds for a request that follows a change."""
    changed = list(tickets_of(random.Random(count).choices(range(count), k=REQUESTS)))
    orders, place = wishes(REQUESTS), quota_cache.place(HOME)
    started = process_time()
    for order, ticket in zip(orders, changed, strict=True):
        quota_cache.ticket_changed(None, ticket)
        assert not quota_delta.judged(
            quota_cache, quota_delta.of_order(place, order, None, (), _NOON), _NOON
        )
    return (process_time() - started) / REQUESTS * 1e6


def admission(tell: Tell) -> Iterator[Row]:
    """The wait of one in a hundred reviews, against the same of a gate that always allows."""
    ours, bare = asyncio.run(_waits(tell))
    yield Row("quota-admission", _worst(ours), "ms", _worst(bare), 1.5)


async def _waits(tell: Tell) -> tuple[list[float], list[float]]:
    tell("quota-admission: preparing")
    with tempfile.TemporaryDirectory() as folder:
        trust = _certificate(Path(folder))
        (port,) = free_ports(1)
        async with a_helper("bench.quotas_child", folder, str(port), *map(str, AT_THE_DOOR)):
            transport = HttpTransport(f"https://{LOOPBACK}:{port}", tls=trust)
            try:
                await _in_order(transport, WARM_UP)
                tell(f"quota-admission: {REVIEWS} reviews each")
                ours, bare = await _in_order(transport, REVIEWS)
            finally:
                await transport.close()
    tell(f"quota-admission: p99 {_worst(ours):.2f} ms, {_worst(bare):.2f} ms")
    return ours, bare


async def _in_order(transport: HttpTransport, count: int) -> tuple[list[float], list[float]]:
    waits: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        body = json.dumps(_review(number)).encode()
        for path, noted in zip(("/reserve", "/always"), waits, strict=True):
            started = perf_counter()
            await _ask(transport, path, body)
            noted.append((perf_counter() - started) * 1e3)
    return waits


async def _ask(transport: HttpTransport, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with await transport.send(Request("POST", f"{path}?timeout=5s", headers, body)) as answer:
        said = json.loads(await answer.read())
    assert said["response"]["allowed"], said


def _review(number: int) -> JSON:
    """What an API server asks about a new order."""
    request: JSON = {
        "uid": f"review-{number}",
        "kind": {"group": GROUP, "version": VERSION, "kind": ORDERS.kind},
        "resource": {"group": GROUP, "version": VERSION, "resource": ORDERS.plural},
        "name": f"order-{number}",
        "namespace": HOME,
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": wish(number),
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _certificate(folder: Path) -> RotatingTls:
    """Writes a certificate for the server; gives whom to trust."""
    now = SystemClock().now()
    life = Lifetime(now - timedelta(hours=1), now + timedelta(days=1))
    authority = certificates.make_authority("bench", life)
    pair = certificates.issue(authority, [LOOPBACK], life)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return RotatingTls(lambda: ClientTls(ca_data=authority.certificate))


def _worst(waits: list[float]) -> float:
    return quantiles(waits, n=100)[98]
