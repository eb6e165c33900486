"""Sends a sequence to both servers, step by step, and tells where they first differ; then makes the sequence as short as it can.

Each sequence lives in a namespace of its own, so that many can run beside each other on one pair of servers. Nothing else may write there.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
import itertools
import json
from typing import Any

from tests.agreement.fuzzing.comparing import Names, difference, same_trouble
from tests.agreement.fuzzing.kinds import KINDS, Kind
from tests.agreement.fuzzing.step import Memory, Step, encoded
from tests.agreement.fuzzing.widgets import API_VERSION, DEFINITION
from tests.contract.wire import Answer, Server, Watch

Object = dict[str, Any]

SELECTIONS: tuple[Object, ...] = ({}, {"labelSelector": "tier"}, {"labelSelector": "app!=a"})
"""What the watches of a sequence select, in turns; `END` always belongs to it."""

END = "zz-end"
_CLIENT = {"User-Agent": "fuzzer/1"}


class Side:
    """One server during one sequence."""

    def __init__(self, server: Server, home: str) -> None:
        self.server = server
        self.home = home
        self.memory = Memory(home)
        self.names = Names()
        self._watches: list[tuple[Kind, Watch]] = []

    async def open(self, stack: AsyncExitStack, seed: int) -> None:
        """Makes the namespace and opens a watch for each kind."""
        made = await self.server.post("/api/v1/namespaces", {"metadata": {"name": self.home}})
        made.ok(201)
        account = f"/api/v1/namespaces/{self.home}/serviceaccounts"
        answer = await self.server.post(account, {"metadata": {"name": "default"}})
        version = answer.ok(201)["metadata"]["resourceVersion"]
        for index, kind in enumerate(KINDS):
            query = {**SELECTIONS[(seed + index) % len(SELECTIONS)], "resourceVersion": version}
            if kind.selector:
                query["labelSelector"] = kind.selector.replace("{home}", self.home)
            path = kind.collection.replace("{home}", self.home)
            watch = await stack.enter_async_context(self.server.watch(path, **query))
            self._watches.append((kind, watch))

    async def send(self, step: Step) -> Object:
        """The answer to a step, in a form that can be compared."""
        path, query, body = self.memory.filled(step)
        answer = await self.server.request(
            step.method,
            path,
            encoded(body),
            headers={**_CLIENT, "Content-Type": step.content},
            **query,
        )
        said = _said(answer)
        self.memory.note(step, answer.status, said)
        return {
            "code": answer.status,
            "warnings": sorted(map(self.names.plain, answer.warnings)),
            "body": self.names.plain(said),
        }

    async def seen(self) -> Object:
        """The events of all watches up to an object that is made to end them."""
        stated: Object = {}
        for kind, watch in self._watches:
            name = f"{self.home}-{END}" if kind.selector else END
            path = kind.collection.replace("{home}", self.home)
            (await self.server.post(path, _last(kind, name, self.home), headers=_CLIENT)).ok(201)
            events = await watch.until(
                lambda event, name=name: event["object"].get("metadata", {}).get("name") == name
            )
            stated[kind.resource] = [
                self.names.plain(event) for event in events if event["type"] != "BOOKMARK"
            ]
        return stated


def _said(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        return answer.body.decode(errors="replace")


def _last(kind: Kind, name: str, home: str) -> Object:
    labels = {"tier": "end", "part-of": home}
    body: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "labels": labels},
    }
    if kind.resource == "pods":
        body["spec"] = {"containers": [{"name": "main", "image": "x"}]}
    if kind.resource == "widgets":
        body["spec"] = {"size": 1}
    return body


def _message(answer: Object) -> str:
    return str(answer["body"].get("message", "")) if isinstance(answer["body"], dict) else ""


def _told_apart(theirs: Object, ours: Object) -> str:
    """The difference of two answers; if one is a refusal, with what they said.

    A client's mistake that the real server calls its own (500) is a client's mistake here, in the same words.
    """
    words = difference(theirs, ours)
    if words and theirs["code"] != ours["code"]:
        if (
            theirs["code"] == 500
            and 400 <= ours["code"] < 500
            and same_trouble(_message(theirs), _message(ours))
        ):
            return ""
        said = [
            json.dumps(side["body"].get("message", side["body"]))[:600] for side in (theirs, ours)
        ]
        return f"{theirs['code']} {said[0]} there, {ours['code']} {said[1]} here"
    return words


@dataclass(frozen=True, slots=True)
class Found:
    """A difference: after which request, and what differs."""

    seed: int
    steps: Sequence[Step]
    words: str

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.words}"]
        return "\n".join([*lines, *(f"    {_line(step)}" for step in self.steps)])


def _line(step: Step) -> str:
    query = "&".join(f"{key}={value}" for key, value in step.query.items())
    changes = f" {step.basis} with {step.edits}, else" if step.basis else ""
    return f"{step.method} {step.path}?{query} {step.content}{changes} {step.body}"


class Pair:
    """Two servers that should be the same.

    Args:
        theirs: The real one.
        ours: The one under test.
        token: Makes the names of namespaces new for each run on the same servers.
    """

    def __init__(self, theirs: Server, ours: Server, token: str) -> None:
        self._servers = theirs, ours
        self._homes: Iterator[str] = (f"f{token}-{number}" for number in itertools.count(10000))

    async def prepare(self) -> None:
        """Makes the definition that sequences use and waits until both serve it."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for server in self._servers:
            assert (await server.post(path, DEFINITION)).status in (201, 409)

            async def ask(server: Server = server) -> Answer:
                return await server.get(f"/apis/{API_VERSION}/namespaces/default/widgets")

            await server.until(ask, lambda answer: answer.status == 200)

    async def compare(self, seed: int, steps: Sequence[Step]) -> Found | None:
        """Sends a sequence to both; the first difference, if there is one."""
        home = next(self._homes)
        sides = [Side(server, home) for server in self._servers]
        async with AsyncExitStack() as stack:
            await asyncio.gather(*(side.open(stack, seed) for side in sides))
            for number, step in enumerate(steps):
                theirs, ours = await asyncio.gather(*(side.send(step) for side in sides))
                if words := _told_apart(theirs, ours):
                    return Found(seed, steps[: number + 1], words)
            try:
                theirs, ours = await asyncio.gather(*(side.seen() for side in sides))
            except TimeoutError:
                return Found(seed, steps, "a watch stayed silent")
        if words := difference(theirs, ours):
            return Found(seed, steps, f"watches: {words}")
        theirs, ours = (side.names.order() for side in sides)
        words = difference(theirs, ours)
        return Found(seed, steps, f"order of versions: {words}") if words else None

    async def shrink(self, found: Found) -> Found:
        """The same difference with fewer requests: each is left out, if a difference stays."""
        position = 0
        while position < len(found.steps) - (0 if "watches" in found.words else 1):
            fewer = [*found.steps[:position], *found.steps[position + 1 :]]
            shorter = await self.compare(found.seed, fewer)
            if shorter is None:
                position += 1
            else:
                found = shorter
        return found
