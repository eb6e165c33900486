"""What benchmarks measure with: names of rows, lanes of a bare client, and a witness."""

import asyncio

from bench.__main__ import BENCHMARKS
from bench.cluster import IN_FLIGHT, a_witness, in_lanes

from kubeloop.objects.core import NODES, Node
from kubeloop.runtime.clock import Clock
from pocketkube.testing.apiserver import embedded_server


def test_no_two_rows_have_one_name() -> None:
    names = [name for names in BENCHMARKS for name in names]
    assert len(set(names)) == len(names)


async def test_a_bare_client_does_everything_once_and_as_much_at_a_time_as_it_may() -> None:
    done: list[int] = []
    under_way = most = 0

    async def work(item: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(1.0)
        under_way -= 1
        done.append(item)

    await in_lanes(work, range(100))
    assert sorted(done) == list(range(100))
    assert most == IN_FLIGHT


async def test_a_witness_notes_what_is_as_wished_and_nothing_else(clock: Clock) -> None:
    def is_marked(node: Node) -> bool:
        return "mark" in node.metadata.labels

    async with embedded_server(clock) as server:
        client = server.client()
        await client.create(NODES, {"metadata": {"name": "before", "labels": {"mark": ""}}})
        async with a_witness(client, NODES, "", is_marked) as witness:
            await client.create(NODES, {"metadata": {"name": "plain"}})
            await client.create(NODES, {"metadata": {"name": "after", "labels": {"mark": ""}}})
            last = await witness.all(2)
        assert witness.seen.keys() == {"before", "after"}
        assert last == witness.seen["after"]
