"""Controllers that requeue their keys without rest, on virtual time: they slow down, and everything else goes on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
import random

import pytest
from structlog.testing import capture_logs

from kubeloop.client.client import Client
from kubeloop.objects.core import CONFIG_MAPS, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import NOTHING, Patch, Plan
from kubeloop.runtime.clock import VirtualClock, VirtualLoop
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.pacing import FREE_REPEATS
from kubeloop.testing.memory import MemoryServer

LEASE = Key("korder-system", "korder-manager")
MAPS, OTHERS = "/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/pods"
KEY = Key("ns", "spinning")
Reconcile = Callable[[Key, datetime], Plan | Awaitable[Plan]]


class Bench:
    """A manager that leads, on a server in memory with one ConfigMap and one Pod."""

    def __init__(self) -> None:
        self.server = MemoryServer()
        self.clock = VirtualClock()
        self.manager = Manager(
            Client(self.server.connect("manager"), rng=random.Random(1)),
            Settings(identity="one", lease=LEASE, measure_lag=True),
            clock=self.clock,
            rng=random.Random(1),
        )
        self.maps = self.manager.informers.of(CONFIG_MAPS)
        self.pods = self.manager.informers.of(PODS)
        self.locks = 0
        meta = {"name": KEY.name, "namespace": KEY.namespace}
        self.server.create(MAPS, {"metadata": {**meta}, "data": {"n": "0"}})
        self.server.create(OTHERS, {"metadata": {**meta}, "spec": {"containers": []}})

    def control(self, reconcile: Reconcile, workers: int = 16) -> None:
        """Adds the controller under test."""

        def counted(key: Key, now: datetime) -> Plan | Awaitable[Plan]:
            self.locks += 1
            return reconcile(key, now)

        self.spinning = self.manager.controller("spinning", counted, workers=workers)
        self.spinning.follow(self.maps)

    def paused(self) -> float:
        value = self.manager.metrics.registry.get_sample_value(
            "kubeloop_requeue_pauses_total", {"controller": "spinning"}
        )
        return value or 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.manager.run(stop))
            try:
                yield
            finally:
                stop.set()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def counted_up(bench: Bench, key: Key) -> Plan:
    """A write that changes the object every time."""
    found = bench.maps.reader.get(key)
    assert found is not None
    body = {"data": {"n": str(int(found.data["n"]) + 1)}}
    version = found.metadata.resource_version
    return Plan().then(Patch(CONFIG_MAPS, key, body, resource_version=version))


def a_time_that_has_come(_: Bench) -> Reconcile:
    return lambda _, now: Plan().requeue(now)


def a_time_that_comes_in_a_millisecond(_: Bench) -> Reconcile:
    return lambda _, now: Plan().requeue(now + timedelta(milliseconds=1))


def adding_itself(bench: Bench) -> Reconcile:
    def reconcile(key: Key, _: datetime) -> Plan:
        bench.spinning.queue.add(key)
        return NOTHING

    return reconcile


def adding_itself_from_a_coroutine(bench: Bench) -> Reconcile:
    async def reconcile(key: Key, _: datetime) -> Plan:
        bench.spinning.queue.add(key)
        return NOTHING

    return reconcile


def two_keys_that_add_each_other(bench: Bench) -> Reconcile:
    def reconcile(key: Key, _: datetime) -> Plan:
        bench.spinning.queue.add(Key("ns", "other") if key == KEY else KEY)
        return NOTHING

    return reconcile


def writing_every_time(bench: Bench) -> Reconcile:
    return lambda key, _: counted_up(bench, key)


@pytest.mark.parametrize("workers", [1, 16])
@pytest.mark.parametrize(
    "spin",
    [
        a_time_that_has_come,
        a_time_that_comes_in_a_millisecond,
        adding_itself,
        adding_itself_from_a_coroutine,
        two_keys_that_add_each_other,
        writing_every_time,
    ],
)
async def test_a_controller_that_spins_slows_down_while_others_go_on_and_the_lease_is_kept(
    bench: Bench, spin: Callable[[Bench], Reconcile], workers: int
) -> None:
    bench.control(spin(bench), workers)
    seen = []

    def other(key: Key, now: datetime) -> Plan:
        seen.append(now)
        return NOTHING

    bench.manager.controller("other", other).follow(bench.pods)
    async with bench.running():
        await asyncio.sleep(60)
        before, seen[:] = bench.locks, []
        for second in range(60):
            changed = bench.clock.now()
            bench.server.merge(f"{OTHERS}/{KEY.name}", {"spec": {"round": second}})
            await asyncio.sleep(1)
            assert (seen.pop() - changed).total_seconds() < 0.1
            assert bench.manager.leading
        spun = bench.locks - before
    keys = 2 if spin is two_keys_that_add_each_other else 1
    assert spun <= 61 * keys * (1 if keys == 1 else FREE_REPEATS)
    lag = bench.manager.metrics.registry.get_sample_value("kubeloop_event_loop_lag_seconds_sum")
    assert lag == 0


async def test_reconciles_that_follow_own_writes_are_not_slowed_down(bench: Bench) -> None:
    steps = 40

    def reconcile(key: Key, _: datetime) -> Plan:
        found = bench.maps.reader.get(key)
        done = found is None or int(found.data["n"]) % steps == 0
        return NOTHING if done else counted_up(bench, key)

    bench.control(reconcile)
    async with bench.running():
        for begun in range(5):
            await asyncio.sleep(1)
            before, first = bench.clock.now(), str(begun * steps + 1)
            bench.server.merge(f"{MAPS}/{KEY.name}", {"data": {"n": first}})
            while int(bench.server.objects[f"{MAPS}/{KEY.name}"]["data"]["n"]) % steps:  # type: ignore[index, call-overload, arg-type]
                await asyncio.sleep(0.001)
            assert (bench.clock.now() - before).total_seconds() < 0.2
    assert bench.paused() == 0


async def test_a_key_is_not_slowed_down_by_writes_for_other_keys(bench: Bench) -> None:
    """As with an order whose tickets all change: it is reconciled at once after the last of them."""
    for number in range(200):
        meta: JSON = {"name": f"pod-{number}", "namespace": "ns"}
        bench.server.create(OTHERS, {"metadata": meta, "spec": {"containers": []}})
    is_open, seen = False, []

    def write(key: Key, _: datetime) -> Plan:
        pod = bench.pods.reader.get(key)
        if pod is None or not is_open or pod.status.phase == "Running":
            return NOTHING
        return Plan().then(Patch(PODS, key, {"status": {"phase": "Running"}}))

    def count(_: Key, now: datetime) -> Plan:
        done = [pod for pod in bench.pods.reader.all() if pod.status.phase == "Running"]
        seen.append((len(done), now))
        return NOTHING

    writing = bench.manager.controller("writing", write, workers=1)
    bench.control(count)
    bench.spinning.follow(bench.pods, lambda _: (KEY,))
    async with bench.running():
        await asyncio.sleep(5)
        is_open, begun = True, bench.clock.now()
        for number in range(200):
            writing.queue.add(Key("ns", f"pod-{number}"))
        await asyncio.sleep(5)
    counted = next(now for number, now in seen if number == 200)
    assert (counted - begun).total_seconds() < 0.5
    assert bench.paused() == 0


async def test_a_change_from_outside_does_not_wait_for_the_pause(bench: Bench) -> None:
    looked = []

    def reconcile(_: Key, now: datetime) -> Plan:
        looked.append(now)
        return Plan().requeue(now)

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(60.5)
        changed = bench.clock.now()
        bench.server.merge(f"{MAPS}/{KEY.name}", {"data": {"n": "9"}})
        await asyncio.sleep(0.05)
        assert (looked[-1] - changed).total_seconds() < 0.05


async def test_a_key_that_has_rested_starts_over(bench: Bench) -> None:
    spin = True
    bench.control(lambda _, now: Plan().requeue(now) if spin else NOTHING)
    async with bench.running():
        await asyncio.sleep(60)
        spin = False
        await asyncio.sleep(60)
        before, pauses = bench.locks, bench.paused()
        spin = True
        bench.server.merge(f"{MAPS}/{KEY.name}", {"data": {"n": "9"}})
        await asyncio.sleep(0.004)
        assert bench.locks - before == FREE_REPEATS + 1
        assert bench.paused() - pauses == 1


async def test_a_key_that_looks_again_every_few_milliseconds_is_not_paused(bench: Bench) -> None:
    async def reconcile(_: Key, now: datetime) -> Plan:
        await asyncio.sleep(0.001)
        return Plan().requeue(now + timedelta(milliseconds=20))

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(60)
    assert bench.locks > 1_000
    assert bench.paused() == 0


async def test_the_log_names_a_key_without_rest_once_in_a_series(bench: Bench) -> None:
    spin = True
    bench.control(lambda _, now: Plan().requeue(now) if spin else NOTHING)
    with capture_logs() as lines:
        async with bench.running():
            await asyncio.sleep(60)
            spin = False
            await asyncio.sleep(60)
            spin = True
            bench.server.merge(f"{MAPS}/{KEY.name}", {"data": {"n": "9"}})
            await asyncio.sleep(60)
    stated = [line for line in lines if line["event"] == "key requeued without rest"]
    assert [(line["controller"], line["key"]) for line in stated] == [("spinning", str(KEY))] * 2


def blocking(seconds: float) -> None:
    """Computes for a while, as far as the virtual clock can see."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.jump(loop.time() + seconds)


async def in_its_first_step(_: Key, now: datetime) -> Plan:
    blocking(3)
    return NOTHING


async def after_an_await(_: Key, now: datetime) -> Plan:
    await asyncio.sleep(0.1)
    blocking(3)
    return NOTHING


async def after_an_error(_: Key, now: datetime) -> Plan:
    try:
        async with asyncio.timeout(0.1):
            await asyncio.Event().wait()
    except TimeoutError:
        blocking(3)
    raise RuntimeError


def without_any_await(_: Key, now: datetime) -> Plan:
    blocking(3)
    return NOTHING


@pytest.mark.parametrize(
    "reconcile", [without_any_await, in_its_first_step, after_an_await, after_an_error]
)
async def test_the_watchdog_names_the_key_that_blocked_the_loop(
    bench: Bench, reconcile: Reconcile
) -> None:
    bench.control(reconcile)
    with capture_logs() as lines:
        async with bench.running():
            await asyncio.sleep(6)
    blocked = next(line for line in lines if line["event"] == "event loop was blocked")
    assert (blocked["controller"], blocked["key"]) == ("spinning", str(KEY))
    assert 2.5 <= blocked["seconds"] <= blocked["step_seconds"] == 3
    sample = bench.manager.metrics.registry.get_sample_value
    late = sample("kubeloop_event_loop_lag_seconds_count") or 0
    assert late - (sample("kubeloop_event_loop_lag_seconds_bucket", {"le": "1.0"}) or 0) >= 1


async def test_the_watchdog_blames_no_key_for_what_else_blocks_the_loop(bench: Bench) -> None:
    bench.control(lambda *_: NOTHING)
    with capture_logs() as lines:
        async with bench.running():
            await asyncio.sleep(1)
            blocking(3)
            await asyncio.sleep(1)
    (blocked,) = (line for line in lines if line["event"] == "event loop was blocked")
    assert "key" not in blocked
    assert blocked["log_level"] == "info"
