"""Faults happen as planned, and only then."""

import random

import pytest

from kubeloop.net.faults import Fault, FaultyTransport, Rule, writes
from kubeloop.net.http import AnswerLost, Request, Unreachable
from kubeloop.testing.memory import MemoryServer

POST = Request("POST", "/api/v1/namespaces/ns/configmaps", body=b'{"metadata":{"name":"a"}}')
GET = Request("GET", "/api/v1/namespaces/ns/configmaps")


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


def wire(server: MemoryServer, *rules: Rule) -> FaultyTransport:
    return FaultyTransport(server.connect(), random.Random(1), list(rules))


async def test_an_answer_lost_before_leaves_nothing_and_one_lost_after_leaves_the_object(
    server: MemoryServer,
) -> None:
    with pytest.raises(AnswerLost):
        await wire(server, Rule(Fault.LOST_BEFORE)).send(POST)
    assert server.objects == {}
    with pytest.raises(AnswerLost):
        await wire(server, Rule(Fault.LOST_AFTER)).send(POST)
    assert len(server.objects) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [(Fault.CONFLICT, 409), (Fault.TOO_MANY, 429), (Fault.BROKEN, 500), (Fault.EXPIRED, 410)],
)
async def test_a_refusal_does_not_reach_the_server(
    server: MemoryServer, fault: Fault, code: int
) -> None:
    answer = await wire(server, Rule(fault)).send(POST)
    assert answer.status == code
    assert server.writes == []


async def test_a_rule_hits_only_what_it_matches_and_as_often_as_it_says(
    server: MemoryServer,
) -> None:
    faulty = wire(server, Rule(Fault.UNREACHABLE, writes, times=1))
    assert (await faulty.send(GET)).status == 200
    with pytest.raises(Unreachable):
        await faulty.send(POST)
    assert (await faulty.send(POST)).status == 200
    assert faulty.hits == {Fault.UNREACHABLE: 1}


async def test_a_cut_body_breaks_off(server: MemoryServer) -> None:
    for index in range(100):
        server.create("/api/v1/namespaces/ns/configmaps", {"metadata": {"name": f"object-{index}"}})
    answer = await wire(server, Rule(Fault.CUT)).send(GET)
    with pytest.raises(AnswerLost):
        await answer.read()
