"""Watches that go on whatever happens to them."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kubeloop.client import errors
from kubeloop.client.watch import Applied, Deleted, Event, Listed, Progress, Watcher
from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import AnswerLost, Request, Unreachable
from kubeloop.objects.core import CONFIG_MAPS

Make = Callable[..., Any]
HOUR = 3600.0


def obj(name: str, version: int, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version), **metadata}}


def line(type_: str, content: Any) -> bytes:
    return json.dumps({"type": type_, "object": content}).encode() + b"\n"


def added(name: str, version: int) -> bytes:
    return line("ADDED", obj(name, version))


def bookmark(version: int, *, complete: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if complete else {}
    return line("BOOKMARK", obj("", version, annotations=annotations))


def error(code: int, reason: str) -> bytes:
    return line("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": reason})


def listing(version: int, *names: str) -> Canned:
    items = [obj(name, version) for name in names]
    content = {"metadata": {"resourceVersion": str(version)}, "items": items}
    return Canned(200, json.dumps(content).encode())


def brief(event: Event[Any]) -> str:
    match event:
        case Listed(items, version):
            return f"listed {''.join(item.metadata.name for item in items)}@{version}"
        case Applied(found, version):
            return f"applied {found.metadata.name}@{version}"
        case Deleted(found, version):
            return f"deleted {found.metadata.name}@{version}"
        case Progress(version):
            return f"progress@{version}"
    raise AssertionError(event)


def query(request: Request) -> dict[str, str]:
    asked = parse_qs(urlsplit(request.target).query)
    return {name: values[0] for name, values in asked.items()}


def starts(wire: Any) -> list[str]:
    """Says of each request how it began: by pages, by streaming, or from a version."""

    def start(request: Request) -> str:
        asked = query(request)
        if "watch" not in asked:
            return "pages"
        return "stream" if "sendInitialEvents" in asked else f"from {asked['resourceVersion']}"

    return [start(request) for request in wire.requests]


@pytest.fixture
def follow(client: Make) -> Make:
    """Takes so many events from a watcher on a wire, and notes its troubles."""

    async def take(
        wire: Any, count: int, troubles: list[Exception] | None = None, **how: Any
    ) -> list[str]:
        watcher = Watcher(client(wire), CONFIG_MAPS, **how)
        noted = troubles if troubles is not None else []
        found: list[str] = []
        async with aclosing(watcher.events(noted.append)) as events:
            async for event in events:
                found.append(brief(event))
                if len(found) == count:
                    return found
        raise AssertionError("a watch has no end")

    return take


async def test_the_state_is_streamed_and_then_followed(
    script: Make, stream: Make, follow: Make
) -> None:
    state = added("a", 3) + added("b", 5) + bookmark(7, complete=True)
    changes = (
        line("MODIFIED", obj("a", 8)) + line("DELETED", obj("b", 9)) + bookmark(12) + added("c", 13)
    )
    wire = script(stream(state + changes, HOUR))
    assert await follow(wire, 5, namespace="shop", labels="x=y", fields="metadata.name=z") == [
        "listed ab@7",
        "applied a@8",
        "deleted b@9",
        "progress@12",
        "applied c@13",
    ]
    asked = query(wire.requests[0])
    assert 300 <= int(asked.pop("timeoutSeconds")) <= 600
    assert asked == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "labelSelector": "x=y",
        "fieldSelector": "metadata.name=z",
    }


async def test_changes_while_the_state_is_streamed_are_part_of_it(
    script: Make, stream: Make, follow: Make
) -> None:
    state = (
        added("a", 1)
        + added("b", 2)
        + bookmark(2)
        + line("DELETED", obj("a", 3))
        + line("MODIFIED", obj("b", 4))
        + bookmark(4, complete=True)
    )
    assert await follow(script(stream(state, HOUR)), 1) == ["listed b@4"]


async def test_a_server_that_refuses_streams_is_listed_for_good(
    script: Make, stream: Make, follow: Make
) -> None:
    wire = script(
        refusal(422, "Invalid"),
        listing(5, "a"),
        stream(error(410, "Expired")),
        listing(9, "b"),
        stream(added("c", 10), HOUR),
    )
    assert await follow(wire, 3) == ["listed a@5", "listed b@9", "applied c@10"]
    assert starts(wire) == ["stream", "pages", "from 5", "pages", "from 9"]


async def test_a_stream_that_fails_is_followed_by_pages_and_tried_again_next_time(
    script: Make, stream: Make, follow: Make
) -> None:
    wire = script(
        stream(added("a", 1), AnswerLost("reset")),
        listing(5, "a", "b"),
        stream(error(410, "Expired")),
        stream(added("a", 1) + bookmark(9, complete=True), HOUR),
    )
    assert await follow(wire, 2) == ["listed ab@5", "listed a@9"]
    assert starts(wire) == ["stream", "pages", "from 5", "stream"]


async def test_a_server_that_does_not_know_streams_is_noticed_by_its_silence(
    script: Make, stream: Make, follow: Make
) -> None:
    troubles: list[Exception] = []
    wire = script(stream(added("a", 1), HOUR), listing(5, "a"), stream(HOUR))
    assert await follow(wire, 1, troubles) == ["listed a@5"]
    assert [str(trouble) for trouble in troubles] == ["the server has been silent for 180 s"]


async def test_a_state_without_its_end_is_never_shown(
    script: Make, stream: Make, follow: Make
) -> None:
    wire = script(stream(added("a", 1) + bookmark(3)), listing(5, "a", "b"), stream(HOUR))
    assert await follow(wire, 1) == ["listed ab@5"]


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param((), id="the server ends the stream"),
        pytest.param((AnswerLost("reset"),), id="the connection breaks"),
        pytest.param((b'{"type":"ADDED","obj', AnswerLost("reset")), id="it breaks within a line"),
        pytest.param((b'{"type":"ADDED","object":{"metadata":{}}}',), id="without a line break"),
        pytest.param((HOUR,), id="it falls silent"),
        pytest.param((error(500, "InternalError"),), id="the server has trouble"),
        pytest.param((b"nonsense\n",), id="a line is damaged"),
    ],
)
async def test_a_watch_resumes_where_it_was(
    ending: tuple[Any, ...], script: Make, stream: Make, follow: Make
) -> None:
    wire = script(
        stream(bookmark(5, complete=True) + added("a", 6), *ending), stream(added("b", 7), HOUR)
    )
    assert await follow(wire, 3) == ["listed @5", "applied a@6", "applied b@7"]
    assert starts(wire) == ["stream", "from 6"]


async def test_a_bookmark_moves_the_place_to_resume_from(
    script: Make, stream: Make, follow: Make
) -> None:
    wire = script(stream(bookmark(5, complete=True) + bookmark(50)), stream(added("b", 51), HOUR))
    assert await follow(wire, 3) == ["listed @5", "progress@50", "applied b@51"]
    assert starts(wire) == ["stream", "from 50"]


@pytest.mark.parametrize(
    "expired",
    [
        pytest.param(lambda _: refusal(410, "Expired"), id="as an answer"),
        pytest.param(lambda stream: stream(error(410, "Expired")), id="in the stream"),
        pytest.param(lambda stream: stream(error(410, "Gone")), id="by another name"),
        pytest.param(lambda _: refusal(400, "BadRequest"), id="as a version it cannot read"),
    ],
)
async def test_a_version_that_is_too_old_means_to_begin_again(
    expired: Make, script: Make, stream: Make, follow: Make
) -> None:
    wire = script(
        stream(bookmark(5, complete=True)),
        expired(stream),
        stream(added("z", 90) + bookmark(99, complete=True), HOUR),
    )
    assert await follow(wire, 2) == ["listed @5", "listed z@99"]


async def test_trouble_is_reported_and_answered_with_growing_pauses(
    script: Make, stream: Make, follow: Make
) -> None:
    troubles: list[Exception] = []
    down = [refusal(503, "ServiceUnavailable")] * 8
    wire = script(stream(bookmark(5, complete=True)), *down, stream(added("a", 6), HOUR))
    await follow(wire, 2, troubles)
    assert {type(trouble) for trouble in troubles} == {errors.ServiceUnavailable}
    assert len(troubles) == len(down)
    pauses = [after - before for before, after in pairwise(wire.times)]
    assert pauses[1] <= 0.25
    assert 15 <= pauses[-1] <= 30


async def test_progress_makes_pauses_short_again(script: Make, stream: Make, follow: Make) -> None:
    down = [refusal(503, "ServiceUnavailable")] * 8
    wire = script(
        stream(bookmark(5, complete=True)),
        *down,
        stream(added("a", 6), AnswerLost("reset")),
        stream(added("b", 7), HOUR),
    )
    await follow(wire, 3)
    assert wire.times[-1] - wire.times[-2] <= 0.25


async def test_the_server_may_ask_for_a_longer_pause(
    script: Make, stream: Make, follow: Make, answer: Make
) -> None:
    busy = answer({}, 429, Retry_After="20")
    wire = script(stream(bookmark(5, complete=True)), busy, stream(added("a", 6), HOUR))
    await follow(wire, 2)
    assert wire.times[-1] - wire.times[-2] >= 20


async def test_a_server_that_ends_watches_at_once_is_not_hammered(
    script: Make, stream: Make, follow: Make
) -> None:
    troubles: list[Exception] = []
    ended = [stream() for _ in range(5)]
    wire = script(stream(bookmark(5, complete=True)), *ended, stream(added("a", 6), HOUR))
    await follow(wire, 2, troubles)
    assert [str(trouble) for trouble in troubles] == ["the server ended the watch at once"] * 5
    assert asyncio.get_running_loop().time() > 1


async def test_a_quiet_watch_that_ends_in_time_is_no_trouble(
    script: Make, stream: Make, follow: Make
) -> None:
    troubles: list[Exception] = []
    wire = script(stream(bookmark(5, complete=True)), stream(100.0), stream(added("a", 6), HOUR))
    await follow(wire, 2, troubles)
    assert (troubles, wire.times[-1]) == ([], 100)


async def test_an_unreachable_server_is_waited_for(
    script: Make, stream: Make, follow: Make
) -> None:
    troubles: list[Exception] = []
    wire = script(*[Unreachable("refused")] * 3, listing(5, "a"), stream(added("b", 6), HOUR))
    assert await follow(wire, 2, troubles) == ["listed a@5", "applied b@6"]
    assert all(isinstance(trouble, errors.Unreached) for trouble in troubles)


async def test_a_watch_whose_answer_does_not_begin_is_begun_again(
    script: Make, stream: Make, follow: Make
) -> None:
    async def hang(_: Request) -> None:
        await asyncio.sleep(HOUR)

    troubles: list[Exception] = []
    wire = script(stream(bookmark(5, complete=True)), hang, stream(added("a", 6), HOUR))
    assert await follow(wire, 2, troubles) == ["listed @5", "applied a@6"]
    assert [type(trouble) for trouble in troubles] == [errors.DeadlineExceeded]


async def test_streams_can_be_switched_off(script: Make, stream: Make, follow: Make) -> None:
    wire = script(listing(5, "a"), stream(added("b", 6), HOUR))
    assert await follow(wire, 2, streamed=False) == ["listed a@5", "applied b@6"]


async def test_patience_can_be_chosen(script: Make, stream: Make, follow: Make) -> None:
    wire = script(stream(bookmark(5, complete=True), HOUR), stream(added("a", 6), HOUR))
    await follow(wire, 2, silence=10)
    assert 10 <= wire.times[-1] <= 11


async def test_every_stream_is_closed(script: Make, stream: Make, follow: Make) -> None:
    streams = [
        stream(bookmark(5, complete=True), AnswerLost("reset")),
        stream(error(500, "InternalError")),
        stream(added("a", 6) + added("b", 7), HOUR),
    ]
    await follow(script(*streams), 2)
    assert [each.closed for each in streams] == [True] * 3


async def test_a_watch_that_is_begun_again_begins_with_the_state(
    script: Make, stream: Make, client: Make
) -> None:
    state = stream(added("a", 1) + bookmark(5, complete=True), HOUR)
    watcher = Watcher(client(script(state)), CONFIG_MAPS)
    for _ in range(2):
        async with aclosing(watcher.events()) as events:
            assert brief(await anext(events)) == "listed a@5"
