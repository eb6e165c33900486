"""The rules for pods and workloads against a real API server: same verdict, same words, same stored object."""

import asyncio
from collections.abc import Callable
import json
from pathlib import Path
import re
import runpy
from typing import Any

import pytest

from korder.embedded.apiserver.kinds import catalogue
from korder.kube.client import Client
from korder.net.http import Request

HERE = Path(__file__).parent
TABLE = runpy.run_path(str(HERE / "pod_specs.py"))
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
        for _ in range(5):
            _, old = await self.ask("GET", path)
            obj = SIDES["changed"](old, then)
            code, body = await self.ask("PUT", f"{path}?dryRun=All", obj)
            if code != 409:  # a controller was faster
                break
        return compared(label, code, body, *self.ours.update(obj, old))

    async def report(self, label: str, name: str, case: tuple[Object, Object, Object]) -> str:
        first, before, then = case
        example = SIDES["changed"](self.example, {**first, "metadata.name": name})
        code, old = await self.ask("POST", self.path, example)
        assert code == 201, (label, old)
        path = f"{self.path}/{name}/status"
        for _ in range(20):
            _, old = await self.ask("GET", path)
            if before:
                code, old = await self.ask("PUT", path, SIDES["changed"](old, before))
                if code == 409:
                    continue
            obj = SIDES["changed"](old, then)
            code, body = await self.ask("PUT", f"{path}?dryRun=All", obj)
            if code != 409:  # a controller was faster
                break
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
    theirs, mine = shown(body), shown(made)
    return "" if theirs == mine else f"{label}: server {theirs}\n   ours {mine}"


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

    return [told for told in await asyncio.gather(*map(one, jobs)) if told]


async def test_new_pods_are_judged_and_completed_alike(ask: Ask, namespace: str) -> None:
    sides = Sides(ask, namespace, TABLE["POD"])
    cases = {label: case for label, case in TABLE["PODS"].items() if label not in ADMISSION}
    assert not await in_lanes([sides.create(*each) for each in cases.items()])


async def test_changes_of_pods_are_judged_alike(ask: Ask, namespace: str) -> None:
    sides = Sides(ask, namespace, TABLE["POD"])
    jobs = [
        sides.change(label, f"case-{number}", *case)
        for number, (label, case) in enumerate(TABLE["CHANGES"].items())
    ]
    assert not await in_lanes(jobs)


@pytest.mark.parametrize("kind", TABLE["WORKLOADS"])
async def test_workloads_are_judged_and_completed_alike(
    ask: Ask, namespace: str, kind: str
) -> None:
    example = {**TABLE["WORKLOADS"][kind], "metadata": {"name": "case"}}
    sides = Sides(ask, namespace, example)
    jobs = [sides.create(*each) for each in TABLE["MADE"][kind].items()]
    jobs += [
        sides.change(label, f"case-{number}", *case)
        for number, (label, case) in enumerate(TABLE["MADE_AND_CHANGED"][kind].items())
    ]
    assert not await in_lanes(jobs)


@pytest.mark.parametrize("kind", TABLE["STATUSES"])
async def test_reports_about_pods_and_workloads_are_judged_alike(
    ask: Ask, namespace: str, kind: str
) -> None:
    example = {"Pod": TABLE["POD"], **TABLE["WORKLOADS"]}[kind]
    if kind == "Job":  # one that no controller works on
        example = SIDES["changed"](example, {"spec.managedBy": "a.b/c", "spec.suspend": False})
    sides = Sides(ask, namespace, {**example, "metadata": {"labels": {"app": "a"}}})
    jobs = [
        sides.report(label, f"case-{number}", case)
        for number, (label, case) in enumerate(TABLE["STATUSES"][kind].items())
    ]
    assert not await in_lanes(jobs)
