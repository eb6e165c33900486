"""How calls wait, retry and give up; time is virtual, so waiting costs nothing."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kubeloop.client import errors
from kubeloop.client.client import Client
from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import NotListening, Request, Unreachable
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Key

POD = {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "u1"}}
KEY = Key("shop", "web")

Make = Callable[..., Any]


def now() -> float:
    return asyncio.get_running_loop().time()


async def forever(_: Request) -> Canned:
    await asyncio.sleep(10_000)
    raise AssertionError("nobody waits that long")


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
async def test_a_read_is_tried_again_when_the_server_has_trouble(
    code: int, script: Make, client: Make, answer: Make
) -> None:
    wire = script(refusal(code, ""), refusal(code, ""), answer(POD))
    pod = await client(wire).get(PODS, KEY)
    assert pod.metadata.name == "web"
    assert len(wire.requests) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 409, 410, 422])
async def test_a_read_that_is_refused_is_not_tried_again(
    code: int, script: Make, client: Make
) -> None:
    wire = script(refusal(code, ""))
    with pytest.raises(errors.ApiError):
        await client(wire).get(PODS, KEY)
    assert len(wire.requests) == 1


async def test_a_read_survives_lost_connections(
    script: Make, client: Make, answer: Make, lost: Exception
) -> None:
    wire = script(Unreachable("no route"), lost, answer(POD))
    assert (await client(wire).get(PODS, KEY)).metadata.uid == "u1"


async def test_the_server_says_how_long_to_wait(script: Make, client: Make, answer: Make) -> None:
    wire = script(answer({}, 429, Retry_After="7"), answer(POD))
    await client(wire).get(PODS, KEY)
    assert 7 < wire.times[1] - wire.times[0] < 8


async def test_pauses_grow_and_differ(script: Make, client: Make) -> None:
    wire = script(refusal(503, ""))
    with pytest.raises(errors.ServiceUnavailable):
        await client(wire, deadline=30).get(PODS, KEY)
    pauses = [after - before for before, after in pairwise(wire.times)]
    assert 0.05 <= pauses[0] <= 0.1
    assert 2.5 <= pauses[-1] <= 5
    assert len(set(pauses)) == len(pauses)


async def test_a_deadline_ends_retries_with_the_last_error_and_no_useless_waiting(
    script: Make, client: Make
) -> None:
    wire = script(Unreachable("10.0.0.1: Connection refused"))
    with pytest.raises(errors.Unreached, match="Connection refused") as caught:
        await client(wire, deadline=30).get(PODS, KEY)
    assert isinstance(caught.value.__cause__, Unreachable)
    assert now() < 30


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [(NotListening("refused"), False), (Unreachable("no route"), True)],
    ids=["nobody listens", "there is no way"],
)
async def test_who_does_not_wait_hears_at_once_that(
    script: Make, client: Make, answer: Make, trouble: Unreachable, waits: bool
) -> None:
    wire = script(trouble, answer(POD))
    hurried = client(wire, deadline=30).without_waiting()
    if waits:
        assert (await hurried.get(PODS, KEY)).metadata.uid == "u1"
    else:
        with pytest.raises(errors.Unreached, match="refused"):
            await hurried.get(PODS, KEY)
        assert now() == 0


async def test_a_server_that_never_answers_costs_the_deadline_and_no_more(
    script: Make, client: Make
) -> None:
    wire = script(refusal(503, "ServiceUnavailable"), forever)
    with pytest.raises(
        errors.DeadlineExceeded,
        match=r"GET /api/v1/namespaces/shop/pods/web: no answer within 30 s, after this: injected",
    ):
        await client(wire).get(PODS, KEY)
    assert now() == 30


async def test_a_write_that_never_answers_has_an_unknown_outcome(
    script: Make, client: Make
) -> None:
    with pytest.raises(errors.UnknownOutcome):
        await client(script(forever)).patch(PODS, KEY, {})


async def test_a_write_that_never_left_has_not_happened(client: Make) -> None:
    class Stuck:
        async def send(self, *_: object) -> None:
            await asyncio.sleep(10_000)

    with pytest.raises(errors.DeadlineExceeded):
        await client(Stuck()).patch(PODS, KEY, {})


async def test_another_deadline_can_be_asked_for(script: Make, client: Make) -> None:
    with pytest.raises(errors.DeadlineExceeded):
        await client(script(forever)).with_deadline(2).get(PODS, KEY)
    assert now() == 2


@pytest.mark.parametrize(
    ("first", "tries"),
    [
        pytest.param(Unreachable("x"), 2, id="no connection"),
        pytest.param(Canned(429, b"{}", {"Retry-After": "1"}), 2, id="429 with a time"),
        pytest.param(Canned(503, b"{}", {"Retry-After": "1"}), 2, id="503 with a time"),
        pytest.param(Canned(429, b"{}"), 1, id="429 without a time, as an eviction gets"),
        pytest.param(Canned(503, b"{}"), 1, id="503 without a time"),
        pytest.param(Canned(500, b"{}"), 1, id="500"),
        pytest.param(Canned(409, b"{}", {"Retry-After": "1"}), 1, id="a conflict"),
    ],
)
async def test_a_write_is_tried_again_only_if_the_server_has_not_acted(
    first: Any, tries: int, script: Make, client: Make, answer: Make
) -> None:
    wire = script(first, answer({}))
    call = client(wire).post(PODS, KEY, "eviction", {})
    if tries == 1:
        with pytest.raises(errors.ApiError):
            await call
        assert len(wire.requests) == 1
    else:
        await call
        assert wire.requests[-1].method == "POST"


async def test_a_server_error_with_a_time_is_a_doubtful_write(
    script: Make, client: Make, answer: Make
) -> None:
    timeout = Canned(500, b'{"kind":"Status","reason":"ServerTimeout"}', {"Retry-After": "1"})
    wire = script(timeout, answer(POD))
    assert (await client(wire).create(PODS, POD)).metadata.uid == "u1"
    assert [request.method for request in wire.requests] == ["POST", "GET"]


async def test_so_many_are_in_flight_and_no_more(client: Make, answer: Make) -> None:
    flying = highest = 0

    class Slow:
        async def send(self, _: Request, guard: Callable[[], None]) -> Canned:
            nonlocal flying, highest
            guard()
            flying += 1
            highest = max(highest, flying)
            await asyncio.sleep(1)
            flying -= 1
            return answer(POD)

    api = client(Slow(), limit=4)
    await asyncio.gather(*(api.get(PODS, KEY) for _ in range(12)))
    assert (highest, now()) == (4, 3)


async def test_the_deadline_includes_the_wait_for_a_slot(client: Make) -> None:
    class Silent:
        async def send(self, _: Request, __: Callable[[], None]) -> Canned:
            await asyncio.sleep(10**6)
            raise AssertionError

    api = client(Silent(), limit=1, deadline=30)
    async with asyncio.TaskGroup() as group:
        hung = [group.create_task(api.get(PODS, KEY)) for _ in range(20)]
        await asyncio.sleep(0)
        with pytest.raises(errors.DeadlineExceeded):
            await api.with_deadline(5).get(PODS, KEY)
        assert now() == 5
        for task in hung:
            task.cancel()


async def test_a_call_that_waits_to_try_again_holds_up_nobody(
    script: Make, client: Make, answer: Make
) -> None:
    wire = script(answer({}, 429, Retry_After="10"), answer(POD))
    api = client(wire, limit=1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(api.get(PODS, KEY))
        tasks.create_task(api.get(PODS, KEY))
    assert wire.times[:2] == [0, 0]


async def test_a_twin_shares_the_slots(client: Make, answer: Make) -> None:
    class Slow:
        async def send(self, _: Request, guard: Callable[[], None]) -> Canned:
            guard()
            await asyncio.sleep(1)
            return answer(POD)

    api: Client = client(Slow(), limit=1)
    await asyncio.gather(
        api.get(PODS, KEY), api.with_guard(lambda: None).get(PODS, KEY), api.get(PODS, KEY)
    )
    assert now() == 3


class NotTheLeader(Exception):
    pass


async def test_a_guard_holds_writes_back_and_lets_reads_pass(
    script: Make, client: Make, answer: Make
) -> None:
    leads = True

    def guard() -> None:
        if not leads:
            raise NotTheLeader("the lease is over")

    wire = script(answer(POD))
    free: Client = client(wire)
    fenced = free.with_guard(guard)
    await fenced.patch(PODS, KEY, {})
    leads = False
    with pytest.raises(errors.Fenced, match="the lease is over"):
        await fenced.patch(PODS, KEY, {})
    await free.patch(PODS, KEY, {})
    await fenced.get(PODS, KEY)
    assert [request.method for request in wire.requests] == ["PATCH", "PATCH", "GET"]


async def test_a_guard_is_asked_again_for_each_try(script: Make, client: Make) -> None:
    asked: list[float] = []
    wire = script(Canned(503, b"{}", {"Retry-After": "1"}))
    with pytest.raises(errors.ServiceUnavailable):
        await client(wire, guard=lambda: asked.append(now())).patch(PODS, KEY, {})
    assert asked == wire.times
    assert len(asked) > 2


async def test_a_guard_that_closes_on_a_doubtful_write_leaves_it_unknown(
    script: Make, client: Make, lost: Exception
) -> None:
    answers = iter((None, errors.Fenced("over")))

    def guard() -> None:
        if refusal_ := next(answers):
            raise refusal_

    with pytest.raises(errors.UnknownOutcome, match="over"):
        await client(script(lost), guard=guard).patch(PODS, KEY, {})


async def test_requests_say_who_asks(script: Make, client: Make, answer: Make) -> None:
    wire = script(answer(POD))
    await client(wire, user_agent="korder/1.2").get(PODS, KEY)
    assert wire.requests[0].headers == {"Accept": "application/json", "User-Agent": "korder/1.2"}


async def test_an_answer_that_is_no_json_is_not_taken_for_an_object(
    script: Make, client: Make
) -> None:
    with pytest.raises(errors.Undecodable, match="not JSON"):
        await client(script(Canned(200, b"<html>"))).get(PODS, KEY)


async def test_an_answer_of_another_shape_is_not_taken_for_an_object(
    script: Make, client: Make, answer: Make
) -> None:
    with pytest.raises(errors.Undecodable, match=r"\$\.metadata\.name"):
        await client(script(answer({"metadata": {"name": 5}}))).get(PODS, KEY)
