"""Controllers on a server in memory: plans in order, own writes read back, conflicts and failures come again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
import random

import pytest
from structlog.testing import capture_logs

from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError, NotFound
from kubeloop.net.faults import Fault, FaultyTransport, Rule, writes
from kubeloop.objects import codec
from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, PODS, ConfigMap
from kubeloop.objects.meta import JSON, Key, key_of, owner_reference
from kubeloop.objects.plan import NOTHING, Create, Delete, Emit, Patch, Plan, Post, Step
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.controller import Refused
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.store import by_owner
from kubeloop.testing.memory import MemoryServer, Stored
from pocketkube.testing.apiserver import embedded_server

PARENTS = "/api/v1/namespaces/ns/configmaps"
CHILDREN = "/api/v1/namespaces/ns/pods"
Reconciler = Callable[[Key, datetime], Plan]


def a_parent(name: str) -> Stored:
    meta = {"name": name, "namespace": "ns"}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {}}


class Bench:
    """A manager on a server in memory, with a wire that can misbehave."""

    def __init__(self, seed: int = 1) -> None:
        self.server = MemoryServer()
        self.clock = VirtualClock()
        self.wire = FaultyTransport(
            self.server.connect("manager"), random.Random(seed), slowness=0.2
        )
        self.manager = Manager(
            Client(self.wire, rng=random.Random(seed)),
            Settings(identity="one", drain_seconds=5),
            clock=self.clock,
            rng=random.Random(seed),
        )
        self.parents = self.manager.informers.of(CONFIG_MAPS)
        self.children = self.manager.informers.of(PODS)
        self.children.add_index("owner", by_owner)

    def control(self, reconcile: Reconciler) -> None:
        controller = self.manager.controller("test", reconcile)
        controller.follow(self.parents)
        controller.follow(
            self.children,
            lambda pod: [Key("ns", ref.name) for ref in pod.metadata.owner_references],
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.manager.run(stop))
            try:
                yield
            finally:
                stop.set()

    def child_of(self, parent: ConfigMap, index: int = 0) -> Create:
        name = f"{parent.metadata.name}-{index}"
        ref = codec.plain(owner_reference(CONFIG_MAPS, parent))
        return Create(
            PODS, {"metadata": {"name": name, "namespace": "ns", "ownerReferences": [ref]}}
        )

    def written(self, method: str, path: str) -> int:
        return sum(w[1:] == (method, path) for w in self.server.writes)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def one_child_then_status(bench: Bench) -> Reconciler:
    """The smallest real controller: each parent gets one child and then says so."""

    def reconcile(key: Key, _: datetime) -> Plan:
        parent = bench.parents.reader.get(key)
        if parent is None:
            return NOTHING
        if not bench.children.reader.where("owner", parent.metadata.uid):
            return Plan().then(bench.child_of(parent))
        if "done" in parent.data:
            return NOTHING
        meta = parent.metadata
        return Plan().then(
            Patch(
                CONFIG_MAPS, key, {"data": {"done": "yes"}}, resource_version=meta.resource_version
            )
        )

    return reconcile


async def test_two_writes_per_object_although_the_watch_lags(bench: Bench) -> None:
    for i in range(50):
        bench.server.create(PARENTS, a_parent(f"p{i}"))
    bench.control(one_child_then_status(bench))
    async with bench.running():
        bench.server.lag = 2.0
        await asyncio.sleep(60)
        assert len(bench.server.writes) == 100
        assert sum(path.startswith(CHILDREN) for path in bench.server.objects) == 50


@pytest.mark.parametrize("seed", range(10))
async def test_faults_on_the_wire_neither_lose_nor_double_anything(seed: int) -> None:
    bench = Bench(seed)
    for i in range(30):
        bench.server.create(PARENTS, a_parent(f"p{i}"))
    bench.control(one_child_then_status(bench))
    faults = (
        Fault.LOST_BEFORE,
        Fault.LOST_AFTER,
        Fault.CONFLICT,
        Fault.TOO_MANY,
        Fault.BROKEN,
        Fault.SLOW,
    )
    bench.wire.rules += [Rule(fault, writes, chance=0.1) for fault in faults]
    async with bench.running():
        bench.server.lag = 0.5
        await asyncio.sleep(300)
        parents = [obj for path, obj in bench.server.objects.items() if path.startswith(PARENTS)]
        assert all(parent["data"] == {"done": "yes"} for parent in parents)
        assert sum(path.startswith(CHILDREN) for path in bench.server.objects) == 30
        assert len(bench.wire.hits) == len(faults)


async def test_stages_are_applied_in_order_and_a_failing_one_ends_the_plan(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    locks: list[datetime] = []

    def reconcile(key: Key, now: datetime) -> Plan:
        locks.append(now)
        parent = bench.parents.reader.get(key)
        assert parent is not None
        missing = Patch(PODS, Key("ns", "not-there"), {"data": {}})
        first = tuple(bench.child_of(parent, i) for i in range(3))
        if bench.children.reader.get(Key("ns", "p-0")):
            return NOTHING
        return Plan().then(*first).then(missing).then(bench.child_of(parent, 9))

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(5)
        names = sorted(
            path.rsplit("/", 1)[1] for path in bench.server.objects if path.startswith(CHILDREN)
        )
        assert names == ["p-0", "p-1", "p-2"]
        assert len(locks) == 2


async def test_lanes_follow_the_stages_and_fail_each_for_itself(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))

    def reconcile(key: Key, _: datetime) -> Plan:
        parent = bench.parents.reader.get(key)
        assert parent is not None
        missing = Patch(PODS, Key("ns", "not-there"), {"data": {}})
        if bench.children.reader.get(Key("ns", "p-2")):
            return NOTHING
        stuck = Plan().then(missing).then(bench.child_of(parent, 9))
        free = Plan().then(bench.child_of(parent, 1)).then(bench.child_of(parent, 2))
        return Plan().then(bench.child_of(parent, 0)).beside(stuck, free)

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(5)
        names = sorted(
            path.rsplit("/", 1)[1] for path in bench.server.objects if path.startswith(CHILDREN)
        )
        assert names == ["p-0", "p-1", "p-2"]


async def test_lanes_are_not_begun_when_a_stage_fails(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))

    def reconcile(key: Key, _: datetime) -> Plan:
        parent = bench.parents.reader.get(key)
        assert parent is not None
        missing = Patch(PODS, Key("ns", "not-there"), {"data": {}})
        return Plan().then(missing).beside(Plan().then(bench.child_of(parent, 1)))

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(5)
        assert not [path for path in bench.server.objects if path.startswith(CHILDREN)]


async def test_a_turn_is_taken_again_at_the_instant_the_plan_names(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    locks: list[datetime] = []

    def reconcile(_: Key, now: datetime) -> Plan:
        locks.append(now)
        return Plan().requeue(locks[0] + timedelta(hours=len(locks)) if len(locks) < 4 else None)

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(86_400)
        assert locks == [locks[0] + timedelta(hours=i) for i in range(4)]


async def test_a_turn_that_raises_is_taken_again_and_counted(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    locks: list[Key] = []

    def reconcile(key: Key, _: datetime) -> Plan:
        locks.append(key)
        if len(locks) < 4:
            raise RuntimeError("a bug")
        return NOTHING

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(60)
        assert len(locks) == 4
        scrape = bench.manager.metrics.render().decode()
        assert (
            'kubeloop_reconciliation_errors_total{controller="test",error_type="RuntimeError"} 3.0'
            in scrape
        )
        assert (
            'kubeloop_reconciliation_duration_seconds_count{controller="test",result="success"} 1.0'
            in scrape
        )


async def test_deleting_what_is_already_gone_or_replaced_is_done(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    bench.server.create(CHILDREN, {"metadata": {"name": "successor", "namespace": "ns"}})
    results: list[Plan] = []

    def reconcile(key: Key, _: datetime) -> Plan:
        plan = Plan().then(
            Delete(PODS, Key("ns", "never-was"), "uid-x"),
            Delete(PODS, Key("ns", "successor"), "uid-of-predecessor"),
        )
        results.append(plan)
        return plan

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(60)
        assert len(results) == 1
        assert f"{CHILDREN}/successor" in bench.server.objects


async def test_a_deleted_child_is_not_deleted_twice_while_the_watch_lags(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    bench.server.create(CHILDREN, {"metadata": {"name": "victim", "namespace": "ns"}})

    def reconcile(key: Key, now: datetime) -> Plan:
        victims = [
            Delete(PODS, key_of(pod), pod.metadata.uid) for pod in bench.children.reader.all()
        ]
        return Plan().then(*victims).requeue(now + timedelta(milliseconds=100))

    bench.control(reconcile)
    async with bench.running():
        bench.server.lag = 10
        await asyncio.sleep(5)
        assert bench.written("DELETE", f"{CHILDREN}/victim") == 1


async def test_an_action_on_a_subresource_meets_exactly_the_object_that_was_read(
    bench: Bench,
) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    for name in ("known", "replaced"):
        bench.server.create(CHILDREN, {"metadata": {"name": name, "namespace": "ns"}})

    def reconcile(key: Key, _: datetime) -> Plan:
        known = bench.children.reader.get(Key("ns", "known"))
        assert known is not None
        target = {"target": {"name": "node-1"}}
        return Plan().then(
            *(
                Post(PODS, Key("ns", name), "binding", target, known.metadata.uid)
                for name in ("known", "replaced")
            )
        )

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(5)
        objects = bench.server.objects
        assert objects[f"{CHILDREN}/known"]["spec"] == {"nodeName": "node-1"}
        assert "spec" not in objects[f"{CHILDREN}/replaced"]


async def test_notices_become_events_and_repetitions_a_series(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    locks = 0

    def reconcile(key: Key, now: datetime) -> Plan:
        nonlocal locks
        locks += 1
        parent = bench.parents.reader.get(key)
        assert parent is not None
        emit = Emit(CONFIG_MAPS, parent, "Waiting", "no room on any node")
        return Plan().tell(emit).requeue(now + timedelta(seconds=30) if locks < 5 else None)

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(300)
        events = [obj for path, obj in bench.server.objects.items() if "/events/" in path]
        assert len(events) == 1
        assert (events[0]["reason"], events[0]["note"]) == ("Waiting", "no room on any node")
        assert events[0]["series"]["count"] == 5


async def test_what_was_done_is_reported_although_another_step_of_the_plan_was_not(
    bench: Bench,
) -> None:
    """The next turn finds it done and would never tell of it."""
    bench.server.create(PARENTS, a_parent("p"))
    locks = 0

    def reconcile(key: Key, _: datetime) -> Plan:
        nonlocal locks
        locks += 1
        parent = bench.parents.reader.get(key)
        if parent is None or locks > 1:
            return NOTHING
        done = bench.child_of(parent)
        failing = Patch(CONFIG_MAPS, key, {"data": {}}, resource_version="1000")
        later = bench.child_of(parent, 1)
        stated = [
            Emit(CONFIG_MAPS, parent, word, word, after=step)
            for word, step in (("Done", done), ("Failed", failing), ("Later", later), ("All", None))
        ]
        return Plan().then(done, failing).then(later).tell(*stated)

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(5)
        objects = bench.server.objects.items()
        assert [obj["reason"] for path, obj in objects if "/events/" in path] == ["Done"]


async def test_a_flood_of_different_notices_about_one_object_is_held_back(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))

    def reconcile(key: Key, _: datetime) -> Plan:
        parent = bench.parents.reader.get(key)
        assert parent is not None
        return Plan().tell(*(Emit(CONFIG_MAPS, parent, "Noise", f"number {i}") for i in range(100)))

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(10)
        assert sum("/events/" in path for path in bench.server.objects) == 25
        assert (
            'kubeloop_events_total{outcome="dropped"} 75.0'
            in bench.manager.metrics.render().decode()
        )


async def test_a_flood_is_over_in_time_although_the_clock_was_set_back(bench: Bench) -> None:
    bench.server.create(PARENTS, a_parent("p"))
    locks = 0

    def reconcile(key: Key, _: datetime) -> Plan:
        nonlocal locks
        locks += 1
        parent = bench.parents.reader.get(key)
        assert parent is not None
        return Plan().tell(
            *(Emit(CONFIG_MAPS, parent, "Noise", f"{locks}, {i}") for i in range(30))
        )

    bench.control(reconcile)
    async with bench.running():
        await asyncio.sleep(10)
        bench.clock.jump(timedelta(days=-30))
        await asyncio.sleep(900)
        bench.server.merge(f"{PARENTS}/p", {"data": {"touched": "true"}})
        await asyncio.sleep(10)
        assert sum("/events/" in path for path in bench.server.objects) == 50


async def test_stopping_lets_a_turn_finish_but_begins_no_new_one(bench: Bench) -> None:
    for name in ("a", "b"):
        bench.server.create(PARENTS, a_parent(name))
    begun: list[str] = []
    ended: list[str] = []

    async def reconcile(key: Key, _: datetime) -> Plan:
        begun.append(key.name)
        await asyncio.sleep(3)
        ended.append(key.name)
        return Plan().requeue(bench.clock.now())

    bench.control(reconcile)  # type: ignore[arg-type]
    async with bench.running():
        await asyncio.sleep(1)
    assert sorted(begun) == sorted(ended) == ["a", "b"]


async def test_a_namespace_that_ends_is_no_failure() -> None:
    clock, rng, stop = VirtualClock(), random.Random(1), asyncio.Event()
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
        await client.delete(NAMESPACES, Key("", "ns"))  # and nobody finishes what this begins
        manager = Manager(client, Settings(identity="one"), clock=clock, rng=rng)
        wanted = Plan().then(Create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "ns"}}))
        tries: list[datetime] = []

        def reconcile(key: Key, now: datetime) -> Plan:
            tries.append(now)
            return wanted if key.name == "ns" else NOTHING

        manager.controller("test", reconcile).follow(manager.informers.of(NAMESPACES))
        with capture_logs() as logged:
            group.create_task(manager.run(stop))
            await asyncio.sleep(60)
            stop.set()
            await asyncio.sleep(0)
    assert len(tries) > 5
    assert {entry["log_level"] for entry in logged} <= {"debug", "info"}


@pytest.mark.parametrize("answers", [True, False], ids=["answered", "left to the runtime"])
async def test_a_refusal_is_answered_by_the_controller_if_it_wants_to(answers: bool) -> None:
    clock, rng, stop = VirtualClock(), random.Random(1), asyncio.Event()
    tries: list[datetime] = []
    stated = Plan().then(
        Create(CONFIG_MAPS, {"metadata": {"name": "told", "namespace": "default"}})
    )

    def reconcile(key: Key, now: datetime) -> Plan:
        if key.name != "default":
            return NOTHING
        tries.append(now)
        bad = {"metadata": {"name": "Not A Name", "namespace": "default"}}
        return Plan().then(Create(CONFIG_MAPS, bad))

    def refused(key: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        assert isinstance(step, Create)
        assert "Not A Name" in error.message
        again = now + timedelta(seconds=20)
        return (stated if len(tries) == 1 else Plan()).requeue(again) if answers else None

    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        manager = Manager(client, Settings(identity="one"), clock=clock, rng=rng)
        controller = manager.controller("test", reconcile, refused=refused)
        controller.follow(manager.informers.of(NAMESPACES))
        with capture_logs() as logged:
            group.create_task(manager.run(stop))
            await asyncio.sleep(50)
            stop.set()
            await asyncio.sleep(0)
        if answers:
            assert (await client.get(CONFIG_MAPS, Key("default", "told"))).metadata.uid
        else:
            with pytest.raises(NotFound):
                await client.get(CONFIG_MAPS, Key("default", "told"))
    assert answers == (len(tries) == 3)
    assert answers == ("warning" not in {entry["log_level"] for entry in logged})


@asynccontextmanager
async def refusing(reconcile: Reconciler, refused: Refused) -> AsyncIterator[Client]:
    """A controller that looks at namespaces, on a server that says no."""
    clock, rng, stop = VirtualClock(), random.Random(1), asyncio.Event()
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        manager = Manager(client, Settings(identity="one"), clock=clock, rng=rng)
        controller = manager.controller("test", reconcile, refused=refused)
        controller.follow(manager.informers.of(NAMESPACES))
        group.create_task(manager.run(stop))
        try:
            yield client
        finally:
            stop.set()


def a_map(name: str) -> Create:
    return Create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})


def name_of(step: Step) -> str:
    assert isinstance(step, Create)
    return codec.convert(step.body, CONFIG_MAPS.model).metadata.name


@pytest.mark.parametrize(
    ("others", "locks"),
    [
        pytest.param((), 1, id="refusals only"),
        pytest.param((a_map("kube-root-ca.crt"),) * 2, 2, id="a conflict comes again all the same"),
        pytest.param((a_map("Nobody"),), 2, id="so does a refusal that nobody answers"),
    ],
)
async def test_all_refusals_of_a_stage_are_answered_in_one_turn(
    others: tuple[Step, ...], locks: int
) -> None:
    """Each of many that are refused costs one try, and not as many as there are others."""
    looks: list[datetime] = []

    def reconcile(key: Key, now: datetime) -> Plan:
        if key.name != "default":
            return NOTHING
        looks.append(now)
        bad = (a_map(f"No-{n}") for n in range(40))
        return Plan().then(*bad, *others) if len(looks) == 1 else NOTHING

    def refused(_: Key, step: Step, __: ApiError, ___: datetime) -> Plan | None:
        name = name_of(step)
        return None if name == "Nobody" else Plan().then(a_map(f"told-{name.lower()}"))

    async with refusing(reconcile, refused) as client:
        await asyncio.sleep(5)
        names = {each.metadata.name for each in (await client.list(CONFIG_MAPS, "default")).items}
    assert {f"told-no-{n}" for n in range(40)} <= names
    assert len(looks) == locks


async def test_a_silent_answer_in_one_lane_is_none_to_the_refusal_in_another() -> None:
    looks: list[datetime] = []

    def reconcile(key: Key, now: datetime) -> Plan:
        if key.name != "default":
            return NOTHING
        looks.append(now)
        lanes = (Plan().then(a_map(name)) for name in ("No-1", "No-2"))
        return Plan().beside(*lanes) if len(looks) == 1 else NOTHING

    def refused(_: Key, step: Step, __: ApiError, ___: datetime) -> Plan | None:
        return Plan() if name_of(step) == "No-1" else Plan().then(a_map("told"))

    async with refusing(reconcile, refused) as client:
        await asyncio.sleep(5)
        assert await client.get(CONFIG_MAPS, Key("default", "told"))
    assert len(looks) == 1


async def test_of_several_answers_about_one_object_the_first_is_enough() -> None:
    """An order that makes many tickets says once that they are refused."""
    looks: list[datetime] = []

    def reconcile(key: Key, now: datetime) -> Plan:
        if key.name != "default":
            return NOTHING
        looks.append(now)
        return Plan().then(a_map("No-1"), a_map("No-2")) if len(looks) == 1 else NOTHING

    def refused(_: Key, step: Step, __: ApiError, ___: datetime) -> Plan | None:
        body: JSON = {"metadata": {"annotations": {"refused": name_of(step)}}}
        return Plan().then(Patch(CONFIG_MAPS, Key("default", "book"), body))

    async with refusing(reconcile, refused) as client:
        await client.create(CONFIG_MAPS, a_map("book").body)
        await asyncio.sleep(5)
        book = await client.get(CONFIG_MAPS, Key("default", "book"))
    assert book.metadata.annotations == {"refused": "No-1"}
    assert len(looks) == 1
