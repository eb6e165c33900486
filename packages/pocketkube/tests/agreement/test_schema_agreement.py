"""The embedded server's schema engine against a real API server: same verdict, same words, same stored object."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
import json
from pathlib import Path
import random
import runpy
from typing import Any, cast

import pytest
from tests.tables.mistakes import MISTAKES
from tests.tables.mistakes.near_misses import NEAR_MISSES

from korder.install import crds as manifests
from kubeloop.client.client import Client
from kubeloop.net.http import Request
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.schemas import crds, structural

HERE = Path(__file__).parent
TABLE = {"MISTAKES": MISTAKES, "NEAR_MISSES": NEAR_MISSES}
CEL = runpy.run_path(str(HERE / "cel_expressions.py"))
CRD_MISTAKES = runpy.run_path(str(HERE / "bad_definitions.py"))["MISTAKES"]
RANDOM = runpy.run_path(str(HERE / "random_objects.py"))
LANES = 8
Object = dict[str, Any]
Causes = list[tuple[str, str, str]]


class Kind:
    """One custom resource on both sides."""

    def __init__(self, crd: Object) -> None:
        self.crd = crd
        spec = crd["spec"]
        version = spec["versions"][0]
        self.name, self.group = spec["names"]["kind"], spec["group"]
        self.namespaced = spec["scope"] == "Namespaced"
        self.plural = spec["names"]["plural"]
        self.has_status = "status" in version.get("subresources", {})
        scale = version.get("subresources", {}).get("scale")
        self.base = f"/apis/{self.group}/{version['name']}"
        self.schema = structural.compile_schema(
            version["schema"]["openAPIV3Schema"],
            structural.Scale(scale["specReplicasPath"], scale["statusReplicasPath"])
            if scale
            else None,
        )

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        middle = f"/namespaces/{namespace}" if self.namespaced else ""
        return "/".join(p for p in (f"{self.base}{middle}/{self.plural}", name, subresource) if p)


KINDS = {crd["spec"]["names"]["kind"]: Kind(crd) for crd in cast("Any", manifests.all_crds())}
WIDGET = Kind(RANDOM["CRD"])


class Real:
    """The API server, answering with a code and a JSON body."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    async def ask(self, method: str, path: str, body: Object, **query: str) -> tuple[int, Object]:
        text = "&".join(f"{key}={value}" for key, value in query.items())
        request = Request(
            method,
            f"{path}?{text}",
            {"Content-Type": "application/json"},
            json.dumps(body).encode(),
        )
        async with await self._client._sender.transport.send(request) as answer:
            return answer.status, json.loads(await answer.read())

    async def placed(self, kind: Kind, obj: Object, name: str) -> Object:
        made = deepcopy(obj)
        made["metadata"] = {**made.get("metadata", {}), "name": name}
        if kind.namespaced:
            made["metadata"]["namespace"] = self.namespace
        return made


def causes_of(status: Object) -> Causes:
    found = status.get("details", {}).get("causes", ())
    return sorted((c["reason"], c["field"], c["message"]) for c in found)


def ours(causes: Iterable[fielderrors.Cause]) -> Causes:
    return sorted((c.reason, c.field, c.message) for c in causes)


def bare(obj: Object) -> Object:
    """Without what a server makes up."""
    return {key: value for key, value in obj.items() if key != "metadata"}


def compared(label: str, kind: Kind, answer: tuple[int, Object], obj: Object, causes: Any) -> str:
    code, body = answer
    mine = ours(causes)
    if code == 422:
        if causes_of(body) != mine:
            return f"{label}: server {causes_of(body)}\n   ours {mine}"
        if len(mine) == 1:
            name = body["details"]["name"]
            status = fielderrors.invalid_status(kind.name, kind.group, name, causes)
            return (
                ""
                if status.message == body["message"]
                else f"{label}: {body['message']}\n   {status.message}"
            )
        return ""
    if code not in (200, 201):
        return f"{label}: {code} {body}"
    if mine:
        return f"{label}: accepted by the server, ours {mine}"
    return "" if bare(body) == bare(obj) else f"{label}: stored {bare(body)}\n   ours {bare(obj)}"


async def each(work: Iterable[Callable[[], Awaitable[str]]]) -> list[str]:
    stated: list[str] = []
    todo = iter(work)

    async def lane() -> None:
        stated.extend([await one() for one in todo])

    async with asyncio.TaskGroup() as group:
        for _ in range(LANES):
            group.create_task(lane())
    return [line for line in stated if line]


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> None:
    folder = HERE.parents[3] / "manifests" / "crds"
    asyncio.run(control_plane.kubectl("apply", "--server-side", "-f", str(folder)))
    asyncio.run(control_plane.kubectl("apply", "-f", "-", input=json.dumps(WIDGET.crd)))
    asyncio.run(control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all"))


@pytest.fixture
def real(client: Client, namespace: str) -> Real:
    return Real(client, namespace)


async def created(real: Real, kind: Kind, obj: Object, name: str, label: str) -> str:
    sent = await real.placed(kind, obj, name)
    path = kind.path(real.namespace)
    mine = deepcopy(sent)
    unknown = kind.schema.shape(mine)
    if kind.has_status:
        mine.pop("status", None)
    strict, answer = await real.ask("POST", path, sent, dryRun="All", fieldValidation="Strict")
    if unknown or strict == 400:
        wanted = fielderrors.strict_decoding(unknown)
        if strict != 400 or not answer["message"].endswith(wanted):
            return f"{label}: server {strict} {answer['message']}\n   ours {wanted}"
        strict, answer = await real.ask("POST", path, sent, dryRun="All", fieldValidation="Ignore")
    return compared(label, kind, (strict, answer), mine, kind.schema.check_create(mine))


async def updated(
    real: Real,
    kind: Kind,
    before: Object,
    after: Object,
    name: str,
    label: str,
    status: bool = False,
) -> str:
    first = await real.placed(kind, before, name)
    path = kind.path(real.namespace, name)
    code, made = await real.ask("POST", kind.path(real.namespace), first)
    if code != 201:
        return f"{label}: {made['message']}"
    try:
        if "status" in first and kind.has_status:
            first["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
            _, made = await real.ask("PUT", f"{path}/status", first)
        sent = await real.placed(kind, after, name)
        sent["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        old, new = deepcopy(made), deepcopy(sent)
        kind.schema.shape(new)
        answer = await real.ask("PUT", f"{path}/status" if status else path, sent, dryRun="All")
        if status:
            rest = {member: value for member, value in old.items() if member != "status"}
            new = {**rest, **({"status": new["status"]} if "status" in new else {})}
            return compared(label, kind, answer, new, kind.schema.check_status(new, old))
        if kind.has_status:
            new.pop("status", None)
            new |= {"status": old["status"]} if "status" in old else {}
        return compared(label, kind, answer, new, kind.schema.check_update(new, old))
    finally:
        await real.ask("DELETE", path, {})


@pytest.mark.parametrize("table", ["MISTAKES", "NEAR_MISSES"])
async def test_every_row_of_the_table_gets_the_servers_answer(
    installed: None, real: Real, table: str
) -> None:
    def work(number: int, row: Any) -> Callable[[], Awaitable[str]]:
        kind, name = KINDS[row.after["kind"]], f"agree-{number}-{real.namespace}"
        if row.before is None:
            return lambda: created(real, kind, row.after, name, row.id)
        return lambda: updated(real, kind, row.before, row.after, name, row.id, row.status)

    differences = await each(work(number, row) for number, row in enumerate(TABLE[table]))
    assert not differences, f"{len(differences)} differ:\n" + "\n".join(differences)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_random_objects_get_the_servers_answer(
    installed: None, real: Real, seed: int
) -> None:
    rng = random.Random(seed)

    def new(number: int) -> Callable[[], Awaitable[str]]:
        obj = RANDOM["some"](rng, wrong=rng.choice([0.0, 0.02, 0.1, 0.3]))
        return lambda: created(
            real, WIDGET, obj, f"new-{number}", f"{seed}/{number} {json.dumps(obj)}"
        )

    def change(number: int) -> Callable[[], Awaitable[str]] | None:
        before = RANDOM["some"](rng, wrong=0.0)
        if "spec" not in before or WIDGET.schema.check_create(_shaped(before)):
            return None
        after = RANDOM["changed"](rng, before)
        label = f"{seed}/{number} {json.dumps(before)} -> {json.dumps(after)}"
        return lambda: updated(real, WIDGET, before, after, f"old-{number}", label)

    changes = [made for number in range(100) if (made := change(number)) is not None]
    differences = await each([*(new(number) for number in range(100)), *changes])
    assert len(changes) > 50
    assert not differences, f"{len(differences)} differ:\n" + "\n".join(differences)


def _shaped(obj: Object) -> Object:
    made = deepcopy(obj)
    WIDGET.schema.shape(made)
    return made


def _rules_of(sources: Iterable[str]) -> Object:
    """A definition with one rule for each expression, which holds for one number only."""
    crd = deepcopy(RANDOM["CRD"])
    crd["metadata"]["name"] = "formulas.agree.korder.dev"
    crd["spec"]["names"] = {
        "plural": "formulas",
        "singular": "formula",
        "kind": "Formula",
        "listKind": "FormulaList",
    }
    rules = [{"rule": f"self.number != {n} || ({text})"} for n, text in enumerate(sources)]
    number = {"type": "integer"}
    spec = {"type": "object", "properties": {"number": number}, "x-kubernetes-validations": rules}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "properties": {"spec": spec},
    }
    return cast("Object", crd)


async def test_expressions_come_to_what_the_server_makes_of_them(
    control_plane: ControlPlane, real: Real
) -> None:
    sources = [text for text in CEL["EXPRESSIONS"] if text not in CEL["ONLY_EMBEDDED"]]
    kind = Kind(_rules_of(sources))
    await control_plane.kubectl("apply", "-f", "-", input=json.dumps(kind.crd))
    await control_plane.kubectl(
        "wait", "--for=condition=Established", "crd", kind.crd["metadata"]["name"]
    )

    def work(number: int, text: str) -> Callable[[], Awaitable[str]]:
        obj = {
            "apiVersion": kind.base.removeprefix("/apis/"),
            "kind": "Formula",
            "spec": {"number": number},
        }
        return lambda: created(real, kind, obj, f"formula-{number}", text)

    differences = await each(work(number, text) for number, text in enumerate(sources))
    assert not differences, f"{len(differences)} differ:\n" + "\n".join(differences)


@pytest.mark.parametrize("mistake", CRD_MISTAKES)
async def test_a_wrong_definition_is_refused_in_the_servers_words(real: Real, mistake: str) -> None:
    crd = CRD_MISTAKES[mistake]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    code, answer = await real.ask("POST", path, crd, dryRun="All")
    mine = deepcopy(crd)
    crds.fill_defaults(mine)
    assert code == 422, answer
    assert ours(crds.check(mine)) == causes_of(answer)
