"""Informers on a server in memory: the store equals the server, whatever happens to the watch."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import Fault, FaultyTransport, Rule, watches
from kubeloop.objects.core import CONFIG_MAPS, ConfigMap
from kubeloop.objects.meta import Key, Kind, Object
from kubeloop.runtime.informer import Informer, Informers, ReadAsLess, Scope
from kubeloop.runtime.metrics import Metrics
from kubeloop.runtime.store import Change
from kubeloop.testing.memory import MemoryServer, Stored

PATH = "/api/v1/namespaces/ns/configmaps"


def a_config_map(name: str, value: str = "", **labels: str) -> Stored:
    meta = {"name": name, "namespace": "ns", "labels": dict(labels)}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"value": value}}


@asynccontextmanager
async def informed(
    transport: FaultyTransport,
    scope: Scope = Scope(),  # noqa: B008
) -> AsyncIterator[Informer[ConfigMap]]:
    client = Client(transport, rng=random.Random(1))
    informer = Informer(client, CONFIG_MAPS, Metrics(), scope=scope)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.wait_until_synced()
        yield informer
        task.cancel()


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


@pytest.fixture
def transport(server: MemoryServer) -> FaultyTransport:
    return FaultyTransport(server.connect(), random.Random(1))


def values(informer: Informer[ConfigMap]) -> dict[str, str]:
    return {obj.metadata.name: obj.data["value"] for obj in informer.reader.all()}


async def test_it_shows_what_is_there_and_what_changes(
    server: MemoryServer, transport: FaultyTransport
) -> None:
    server.create(PATH, a_config_map("a", "1"))
    async with informed(transport) as informer:
        assert values(informer) == {"a": "1"}
        server.merge(f"{PATH}/a", {"data": {"value": "2"}})
        server.create(PATH, a_config_map("b", "1"))
        await asyncio.sleep(1)
        assert values(informer) == {"a": "2", "b": "1"}
        server.delete(f"{PATH}/a", {})
        await asyncio.sleep(1)
        assert values(informer) == {"b": "1"}


async def test_a_broken_watch_resumes_without_a_list(
    server: MemoryServer, transport: FaultyTransport
) -> None:
    async with informed(transport) as informer:
        server.create(PATH, a_config_map("a"))
        await asyncio.sleep(1)
        server.break_watches()
        server.create(PATH, a_config_map("b"))
        await asyncio.sleep(60)
        assert set(values(informer)) == {"a", "b"}
        assert informer._metrics.lists.labels("configmaps")._value.get() == 1


async def test_after_a_gap_it_lists_again_and_reports_the_differences(
    server: MemoryServer, transport: FaultyTransport
) -> None:
    for name in ("kept", "gone"):
        server.create(PATH, a_config_map(name))
    async with informed(transport) as informer:
        changes: list[Change[ConfigMap]] = []
        informer.on_change(changes.append)
        changes.clear()
        transport.rules.append(Rule(Fault.UNREACHABLE, times=5))
        server.break_watches()
        server.delete(f"{PATH}/gone", {})
        server.create(PATH, a_config_map("new"))
        server.compact()
        await asyncio.sleep(300)
        assert set(values(informer)) == {"kept", "new"}
        stated = {
            (change.old and change.old.metadata.name, change.new and change.new.metadata.name)
            for change in changes
        }
        assert stated == {("gone", None), (None, "new")}


async def test_a_late_handler_hears_of_everything_that_is_there(
    server: MemoryServer, transport: FaultyTransport
) -> None:
    server.create(PATH, a_config_map("a"))
    async with informed(transport) as informer:
        heard: list[str] = []
        informer.on_change(lambda change: heard.append(change.objects[0].metadata.name))
        assert heard == ["a"]


async def test_one_bad_handler_does_not_stop_the_others(
    server: MemoryServer, transport: FaultyTransport
) -> None:
    async with informed(transport) as informer:
        heard: list[str] = []
        informer.on_change(lambda _: 1 / 0)  # type: ignore[arg-type]
        informer.on_change(lambda change: heard.append(change.objects[0].metadata.name))
        server.create(PATH, a_config_map("a"))
        await asyncio.sleep(1)
        assert heard == ["a"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_object_that_does_not_fit_is_named_and_its_last_readable_state_kept(
    server: MemoryServer, transport: FaultyTransport, when: str
) -> None:
    server.create(PATH, a_config_map("good"))
    server.create(PATH, a_config_map("odd"))
    if when == "before":
        server.merge(f"{PATH}/odd", {"data": {"value": 5}})
    async with informed(transport) as informer:
        if when == "after":
            assert set(values(informer)) == {"good", "odd"}
            server.merge(f"{PATH}/odd", {"data": {"value": 5}})
            await asyncio.sleep(1)
        assert set(values(informer)) == ({"good", "odd"} if when == "after" else {"good"})
        assert list(informer.unreadable) == [Key("ns", "odd")]
        assert informer._metrics.unreadable.labels("configmaps")._value.get() == 1
        server.merge(f"{PATH}/odd", {"data": {"value": "mended"}})
        await asyncio.sleep(1)
        assert values(informer)["odd"] == "mended"
        assert informer.unreadable == {}


@pytest.mark.parametrize(
    ("scope", "visible"),
    [
        pytest.param(Scope(), True, id="everything"),
        pytest.param(Scope(namespace="ns", labels="app=x"), True, id="within"),
        pytest.param(Scope(labels="app=y"), False, id="other label"),
        pytest.param(Scope(namespace="other"), False, id="other namespace"),
        pytest.param(Scope(fields="metadata.name=a"), False, id="fields cannot be judged"),
    ],
)
async def test_our_own_write_is_shown_only_where_the_watch_will_show_it(
    server: MemoryServer, transport: FaultyTransport, scope: Scope, visible: bool
) -> None:
    async with informed(transport, scope) as informer:
        server.lag = 3600
        written = server.create(PATH, a_config_map("a", app="x"))
        client = Client(server.connect(), rng=random.Random(1))
        informer.wrote(await client.get(CONFIG_MAPS, Key("ns", "a")))
        assert written["kind"] == "ConfigMap"
        assert (informer.reader.get(Key("ns", "a")) is not None) == visible


async def test_our_own_write_is_not_shown_if_it_was_read_as_less(server: MemoryServer) -> None:
    """Who only needs metadata reads all kinds as objects; others must still find what they know."""
    client = Client(server.connect(), rng=random.Random(1))
    informers = Informers(client, Metrics())
    maps = informers.of(CONFIG_MAPS)
    server.create(PATH, a_config_map("a", "b"))
    bare = Kind("", "v1", "ConfigMap", "configmaps", Object)
    informers.wrote(bare, await client.get(bare, Key("ns", "a")))
    assert maps.reader.get(Key("ns", "a")) is None
    informers.wrote(CONFIG_MAPS, await client.get(CONFIG_MAPS, Key("ns", "a")))
    assert values(maps) == {"a": "b"}


async def test_whoever_reads_more_of_a_kind_must_ask_first(server: MemoryServer) -> None:
    informers = Informers(Client(server.connect(), rng=random.Random(1)), Metrics())
    bare = Kind("", "v1", "ConfigMap", "configmaps", Object)
    whole = informers.of(CONFIG_MAPS)
    assert informers.of(bare) is whole

    others = Informers(Client(server.connect(), rng=random.Random(1)), Metrics())
    others.of(bare)
    with pytest.raises(ReadAsLess, match="configmaps is already read as Object: ask earlier"):
        others.of(CONFIG_MAPS)


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_the_wire_does_the_store_ends_equal_to_the_server(seed: int) -> None:
    rng = random.Random(seed)
    server = MemoryServer()
    transport = FaultyTransport(server.connect(), rng, slowness=1)
    transport.rules += [
        Rule(fault, chance=0.05)
        for fault in (Fault.UNREACHABLE, Fault.TOO_MANY, Fault.BROKEN, Fault.SLOW)
    ]
    transport.rules += [Rule(fault, watches, chance=0.4) for fault in (Fault.CUT, Fault.EXPIRED)]
    async with informed(transport) as informer:
        snapshot: dict[str, str] = {}

        def note(change: Change[ConfigMap]) -> None:
            name = change.objects[0].metadata.name
            if change.new is None:
                del snapshot[name]
            else:
                snapshot[name] = change.new.data["value"]

        informer.on_change(note)
        names = [f"n{i}" for i in range(20)]
        for step in range(400):
            name = rng.choice(names)
            path = f"{PATH}/{name}"
            if path not in server.objects:
                server.create(PATH, a_config_map(name, str(step)))
            elif rng.random() < 0.4:
                server.delete(path, {})
            else:
                server.merge(path, {"data": {"value": str(step)}})
            await asyncio.sleep(rng.expovariate(5))
            if rng.random() < 0.1:
                server.break_watches()
            if rng.random() < 0.02:
                server.compact()
        transport.rules.clear()
        await asyncio.sleep(600)
        expected = {
            obj["metadata"]["name"]: obj["data"]["value"] for obj in server.objects.values()
        }  # type: ignore[index, call-overload]
        assert values(informer) == expected
        assert snapshot == expected
        assert sum(transport.hits.values()) > 10
