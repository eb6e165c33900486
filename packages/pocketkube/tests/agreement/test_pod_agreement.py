"""The rules for pods and workloads against a real API server: same verdict, same words, same stored object."""

import asyncio
from collections.abc import Callable
import json
from pathlib import Path
import re
import runpy
from typing import Any

import pytest
from tests.tables.pods.changed_workloads import MADE_AND_CHANGED
from tests.tables.pods.changes import CHANGES
from tests.tables.pods.specs import PODS
from tests.tables.pods.statuses import STATUSES
from tests.tables.pods.words import POD
from tests.tables.pods.workloads import MADE, WORKLOADS

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from pocketkube.apiserver.kinds import catalogue

HERE = Path(__file__).parent
SIDES = runpy.run_path(str(HERE / "agreeing.py"))
STRATEGIES = {
    (each.api_version, each.kind): each.strategy for each in catalogue.builtin() if not each.virtual
}
ADMISSION = "no preemption policy that is known", "a bad account"
"""Pods that are refused before their rules are asked."""

LANES = 8
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|0{36}")
Object = dict[str, Any]
Ask = Callable[..., Any]


@pytest.fixture
def ask(client: Client) -> Ask:
    """Sends JSON and returns code and body."""

    async def send(method: str, path: str, body: Object | None = None) -> tuple[int, Object]:
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, {"Content-Type": "application/json"}, data)
        async with await client._sender.transport.send(request) as answer:
            return answer.status, json.loads(await answer.read())

    return send


class Sides:
    """One kind on both sides."""

    def __init__(self, ask: Ask, namespace: str, example: Object) -> None:
        self.ask, self.namespace, self.example = ask, namespace, example
        version, kind = example["apiVersion"], example["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        self.path = f"{root}/namespaces/{namespace}/{kind.lower()}s"
        self.ours = SIDES["Ours"](STRATEGIES[version, kind])

    async def create(self, label: str, case: Object) -> str:
        obj = SIDES["changed"](self.example, case)
        code, body = await self.ask("POST", f"{self.path}?dryRun=All", obj)
        return compared(label, code, body, *self.ours.create(obj, self.namespace))

    async def change(self, label: str, name: str, first: Object, then: Object) -> str:
        example = SIDES["changed"](self.example, {**first, "metadata.name": name})
        code, old = await self.ask("POST", self.path, example)
        assert code == 201, (label, old)
        path = f"{self.path}/{name}"
        while True:
            _, old = await self.ask("GET", path)
            obj = SIDES["changed"](old, then)
            code, body = await self.ask("PUT", f"{path}?dryRun=All", obj)
            if code != 409:  # no controller was faster
                return compared(label, code, body, *self.ours.update(obj, old))

    async def report(self, label: str, name: str, case: tuple[Object, Object, Object]) -> str:
        first, before, then = case
        example = SIDES["changed"](self.example, {**first, "metadata.name": name})
        code, old = await self.ask("POST", self.path, example)
        assert code == 201, (label, old)
        path = f"{self.path}/{name}/status"
        while True:
            _, old = await self.ask("GET", path)
            if before:
                code, old = await self.ask("PUT", path, SIDES["changed"](old, before))
                if code == 409:
                    continue
            obj = SIDES["changed"](old, then)
            code, body = await self.ask("PUT", f"{path}?dryRun=All", obj)
            if code != 409:  # no controller was faster
                return compared(label, code, body, *self.ours.status(obj, old))


def compared(label: str, code: int, body: Object, made: Object, causes: Any) -> str:
    """The difference, if there is one; a cause that the real server repeats is told once here."""
    if code == 422:
        theirs = {tuple(UID.sub("U", text) for text in one) for one in SIDES["causes_of"](body)}
        mine = {tuple(UID.sub("U", text) for text in one) for one in causes}
        return "" if theirs == mine else f"{label}: server {theirs - mine}\n   ours {mine - theirs}"
    if code not in (200, 201):
        return f"{label}: server {code} {body.get('message')}"
    if causes:
        return f"{label}: server accepts it, ours {causes}"
    stored, kept = shown(body), shown(made)
    return "" if stored == kept else f"{label}: server {stored}\n   ours {kept}"


def shown(obj: Object) -> str:
    """What must be the same: without names, times and ids that each side makes up."""
    meta = {name: obj["metadata"].get(name) for name in ("labels", "annotations", "generation")}
    kept = {**obj, "metadata": meta}
    kept.pop("apiVersion", None)
    for one in (kept.get("status") or {}).get("conditions") or ():
        one.pop("lastTransitionTime", None)
    return UID.sub("U", json.dumps(kept, sort_keys=True))


async def in_lanes(jobs: list[Any]) -> list[str]:
    """Runs comparisons side by side; returns the differences."""
    gate = asyncio.Semaphore(LANES)

    async def one(job: Any) -> str:
        async with gate:
            return str(await job)

    return [stated for stated in await asyncio.gather(*map(one, jobs)) if stated]


async def test_new_pods_are_judged_and_completed_alike(ask: Ask, namespace: str) -> None:
    sides = Sides(ask, namespace, POD)
    cases = {label: case for label, case in PODS.items() if label not in ADMISSION}
    assert not await in_lanes([sides.create(*each) for each in cases.items()])


async def test_changes_of_pods_are_judged_alike(ask: Ask, namespace: str) -> None:
    sides = Sides(ask, namespace, POD)
    jobs = [
        sides.change(label, f"case-{number}", *case)
        for number, (label, case) in enumerate(CHANGES.items())
    ]
    assert not await in_lanes(jobs)


@pytest.mark.parametrize("kind", WORKLOADS)
async def test_workloads_are_judged_and_completed_alike(
    ask: Ask, namespace: str, kind: str
) -> None:
    example = {**WORKLOADS[kind], "metadata": {"name": "case"}}
    sides = Sides(ask, namespace, example)
    jobs = [sides.create(*each) for each in MADE[kind].items()]
    jobs += [
        sides.change(label, f"case-{number}", *case)
        for number, (label, case) in enumerate(MADE_AND_CHANGED[kind].items())
    ]
    assert not await in_lanes(jobs)


@pytest.mark.parametrize("kind", STATUSES)
async def test_reports_about_pods_and_workloads_are_judged_alike(
    ask: Ask, namespace: str, kind: str
) -> None:
    example = {"Pod": POD, **WORKLOADS}[kind]
    if kind == "Job":  # one that no controller works on
        example = SIDES["changed"](example, {"spec.managedBy": "a.b/c", "spec.suspend": False})
    sides = Sides(ask, namespace, {**example, "metadata": {"labels": {"app": "a"}}})
    jobs = [
        sides.report(label, f"case-{number}", case)
        for number, (label, case) in enumerate(STATUSES[kind].items())
    ]
    assert not await in_lanes(jobs)
