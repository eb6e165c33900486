"""The kinds of Kubernetes against a real API server: same verdict, same words, same stored object, same tables."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
import json
from pathlib import Path
import random
import runpy
from typing import Any

import pytest
from tests.tables.kinds import CREATES
from tests.tables.kinds.updates import UPDATES

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import catalogue, serviceaddresses
from pocketkube.apiserver.kinds.printing import custom
from pocketkube.apiserver.kinds.resource import Resource

HERE = Path(__file__).parent
SHOWN = runpy.run_path(str(HERE / "table_objects.py"))["OBJECTS"]
RESOURCES = {
    f"{each.plural}.{each.group}" if each.group else each.plural: each
    for each in catalogue.builtin()
}
LANES = 8
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
Object = dict[str, Any]


class Real:
    """The API server, answering with a code and a JSON body."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    async def ask(
        self, method: str, path: str, body: Object | None = None, accept: str = "application/json"
    ) -> tuple[int, Object]:
        headers = {"Content-Type": "application/json", "Accept": accept}
        content = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, headers, content)
        async with await self._client._sender.transport.send(request) as answer:
            text = await answer.read()
            is_json = text.startswith(b"{")  # a path nobody knows is answered with a page
            return answer.status, json.loads(text) if is_json else {"message": text.decode()}

    def path(self, resource: Resource, name: str = "") -> str:
        base = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
        inside = f"/namespaces/{self.namespace}" if resource.namespaced else ""
        return f"{base}{inside}/{resource.plural}" + (f"/{name}" if name else "")

    async def forget(self, resource: Resource, obj: Object) -> None:
        path = self.path(resource, obj["metadata"]["name"])
        if obj["metadata"].get("finalizers"):
            await self.ask("PUT", path, {**obj, "metadata": {**obj["metadata"], "finalizers": []}})
        await self.ask("DELETE", path, {"gracePeriodSeconds": 0})


@pytest.fixture
def real(client: Client, namespace: str) -> Real:
    return Real(client, namespace)


def filled(obj: Object, namespace: str, name: str) -> Object:
    text = json.dumps(obj).replace("NAMESPACE", namespace).replace("NAME", f"{namespace}-{name}")
    made: Object = json.loads(text)
    return made


def judged(
    resource: Resource, sent: Object, namespace: str, old: Object | None = None
) -> tuple[Object, list[Cause]]:
    """What our side makes of an object, and what it says about it."""
    obj, strategy = deepcopy(sent), resource.strategy
    strategy.read(obj)
    meta = obj["metadata"]
    if resource.namespaced:
        meta["namespace"] = namespace
    strategy.default(obj)
    if resource.stored == "services":
        refused = serviceaddresses.assign(obj, old, serviceaddresses.Taken(), random.Random(0))
        if refused:
            return obj, refused
    if old is None:
        strategy.before_create(obj)
        return obj, strategy.check_create(obj)
    for member in ("uid", "creationTimestamp", "resourceVersion", "generation"):
        if member in old["metadata"]:
            meta.setdefault(member, old["metadata"][member])
    strategy.before_update(obj, old)
    return obj, strategy.check_update(obj, old)


def shown(obj: Object) -> Object:
    """What both sides must agree on: no ids, no instants, no addresses, no taints that admission adds."""
    meta = obj["metadata"]
    bare = {
        key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind")
    }
    bare = deepcopy(bare)
    spec = bare.get("spec") or {}
    if spec.get("clusterIP") not in (None, "None"):
        spec["clusterIP"] = spec["clusterIPs"] = "given"
    (bare.get("status") or {}).pop("lastPhaseTransitionTime", None)
    taints = [
        each for each in spec.get("taints", ()) if each["key"] != "node.kubernetes.io/not-ready"
    ]
    if "taints" in spec:
        spec["taints"] = taints
    return {
        **bare,
        "spec": {key: value for key, value in spec.items() if value != []},
        "labels": meta.get("labels"),
        "generation": meta.get("generation"),
    }


def difference(code: int, answer: Object, obj: Object, causes: list[Cause]) -> str:
    mine = {(each.reason, each.field, each.message) for each in causes}
    if code in (200, 201):
        if mine:
            return f"accepted, but ours says {mine}"
        return "" if shown(answer) == shown(obj) else f"{shown(answer)}\n   ours {shown(obj)}"
    found = answer.get("details", {}).get("causes", ())
    theirs = {(each["reason"], each["field"], each["message"]) for each in found}
    return "" if code == 422 and theirs == mine else f"{code} {answer['message']}\n   ours {mine}"


async def in_lanes(work: list[Callable[[], Awaitable[str]]]) -> list[str]:
    """Does all of it, a few things at a time; returns what somebody has to say."""
    found: list[str] = []
    lanes = asyncio.Semaphore(LANES)

    async def one(job: Callable[[], Awaitable[str]]) -> None:
        async with lanes:
            found.append(await job())

    async with asyncio.TaskGroup() as tasks:
        for job in work:
            tasks.create_task(one(job))
    return [each for each in found if each]


async def test_new_objects_get_the_same_verdict(real: Real) -> None:
    wrong = []
    for index, (label, name, sent) in enumerate(CREATES):
        resource, obj = RESOURCES[name], filled(sent, real.namespace, str(index))
        code, answer = await real.ask("POST", real.path(resource), obj)
        if code == 201:
            await real.forget(resource, answer)
        mine, causes = judged(resource, obj, real.namespace)
        stated = difference(code, answer, mine, causes)
        wrong += [f"{label}: {stated}"] if stated else []
    assert not wrong, "\n".join(wrong)


async def test_changed_objects_get_the_same_verdict(real: Real) -> None:
    wrong = []
    for index, (label, name, first, second) in enumerate(UPDATES):
        resource = RESOURCES[name]
        before, after = (filled(each, real.namespace, f"u{index}") for each in (first, second))
        code, old = await real.ask("POST", real.path(resource), before)
        assert code == 201, f"{label}: {old['message']}"
        if not resource.strategy.unconditional:
            after["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        path = real.path(resource, old["metadata"]["name"])
        code, answer = await real.ask("PUT", path, after)
        await real.forget(resource, old)
        mine, causes = judged(resource, after, real.namespace, old)
        stated = difference(code, answer, mine, causes)
        wrong += [f"{label}: {stated}"] if stated else []
    assert not wrong, "\n".join(wrong)


async def made(real: Real, index: int, name: str, sent: Object) -> Resource:
    resource, obj = RESOURCES[name], filled(sent, real.namespace, f"t{index}")
    code, answer = await real.ask("POST", real.path(resource), obj)
    assert code == 201, f"{name} {obj['metadata']['name']}: {answer['message']}"
    if obj.get("status") and resource.strategy.has_status:
        answer["status"] = {**answer.get("status", {}), **obj["status"]}
        del answer["metadata"]["resourceVersion"]
        path = real.path(resource, answer["metadata"]["name"]) + "/status"
        code, answer = await real.ask("PUT", path, answer)
        assert code == 200, f"{name} {obj['metadata']['name']}: {answer['message']}"
    return resource


async def rows_that_differ(real: Real, resource: Resource) -> list[str]:
    path = f"{real.path(resource)}?includeObject=Object"
    _, table = await real.ask("GET", path, accept=AS_TABLE)
    now = datetime.now(UTC)  # noqa: TID251 ages are reckoned by the server's clock
    theirs = [
        (each["name"], each["type"], each["format"], each["priority"])
        for each in table["columnDefinitions"]
    ]
    ours = [(each.name, each.type, each.format, each.priority) for each in resource.printer.columns]
    wrong = [] if theirs == ours else [f"columns {theirs}\n   ours {ours}"]
    for row in table["rows"] or ():
        cells = resource.printer.cells(row["object"], now)
        conditions = resource.printer.conditions(row["object"])
        if (cells, conditions) != (row["cells"], row.get("conditions", [])):
            wrong.append(f"{row['cells']} {row.get('conditions')}\n   ours {cells} {conditions}")
    return wrong


async def test_tables_show_the_same(real: Real) -> None:
    resources = {}
    for index, (name, sent) in enumerate(SHOWN):
        resources[name] = await made(real, index, name, sent)
    wrong = []
    for name, resource in resources.items():
        for _ in range(3):  # a second may pass between both looks at the clock
            found = await rows_that_differ(real, resource)
            if not found:
                break
        wrong += [f"{name}: {each}" for each in found]
    for index, (name, sent) in enumerate(SHOWN):
        if not RESOURCES[name].namespaced:
            await real.forget(RESOURCES[name], filled(sent, real.namespace, f"t{index}"))
    assert not wrong, "\n".join(wrong)


COLUMNS = [
    ("Text", "string", ".spec.text"),
    ("Number", "integer", ".spec.number"),
    ("Whole", "integer", ".spec.fraction"),
    ("Fraction", "number", ".spec.fraction"),
    ("Truth", "boolean", ".spec.truth"),
    ("When", "date", ".spec.when"),
    ("Never", "date", ".spec.text"),
    ("As text", "string", ".spec.number"),
    ("Truth as text", "string", ".spec.truth"),
    ("Object", "string", ".spec.object"),
    ("List", "string", ".spec.list"),
    ("First", "string", ".spec.list[0]"),
    ("Last", "string", ".spec.list[-1]"),
    ("Far", "string", ".spec.list[7]"),
    ("All", "string", ".spec.list[*]"),
    ("Ready", "string", '.spec.conditions[?(@.type=="Ready")].status'),
    ("Other", "string", '.spec.conditions[?(@.type!="Ready")].status'),
    ("Absent", "string", '.spec.conditions[?(@.type=="Absent")].status'),
    ("Label", "string", ".metadata.labels.example\\.com/a"),
    ("Key", "string", ".metadata.labels['example\\.com/a']"),
    ("Missing", "string", ".spec.missing.member"),
    ("Wrong", "integer", ".spec.text"),
    ("Age", "date", ".metadata.creationTimestamp"),
]
SHOWABLE = {
    "metadata": {"name": "full", "labels": {"example.com/a": "labelled"}},
    "spec": {
        "text": "some text",
        "number": 7,
        "fraction": 2.5,
        "truth": True,
        "when": "2026-01-01T00:00:00Z",
        "object": {"b": 1, "a": "<x>"},
        "list": ["one", "two", "three"],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Else", "status": "False"}],
    },
}


def columned(group: str) -> Object:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    columns = [{"name": name, "type": kind, "jsonPath": path} for name, kind, path in COLUMNS]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free}}},
        "additionalPrinterColumns": columns,
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def test_tables_of_custom_kinds_show_the_same(real: Real) -> None:
    crd, definitions = (
        columned(f"{real.namespace}.example.com"),
        RESOURCES["customresourcedefinitions.apiextensions.k8s.io"],
    )
    code, answer = await real.ask("POST", real.path(definitions), crd)
    assert code == 201, answer["message"]
    version = crd["spec"]["versions"][0]
    printer = custom.printer(version["additionalPrinterColumns"])
    thing = replace(
        definitions,
        group=crd["spec"]["group"],
        plural="things",
        kind="Thing",
        namespaced=True,
        printer=printer,
    )
    for sent in (SHOWABLE, {"metadata": {"name": "empty"}}):
        body = {"apiVersion": thing.api_version, "kind": "Thing", **sent}
        for _ in range(100):  # until the definition is served
            code, answer = await real.ask("POST", real.path(thing), body)
            if code == 201:
                break
            await asyncio.sleep(0.1)
        assert code == 201, answer["message"]
    wrong = await rows_that_differ(real, thing) and await rows_that_differ(real, thing)
    await real.forget(definitions, crd)
    assert not wrong, "\n".join(wrong)


async def test_field_selectors_name_the_same_fields(real: Real) -> None:
    fields = sorted({field for each in RESOURCES.values() for field in each.strategy.selectable})

    async def look(resource: Resource, field: str) -> str:
        path = f"{real.path(resource)}?fieldSelector={field}%3Dx&limit=1"
        code, answer = await real.ask("GET", path)
        ours = 200 if field in resource.strategy.selectable else 400
        sentence = resource.strategy.unselectable(field)
        if code != ours:
            return f"{resource.api_version} {resource.plural} {field}: {code}, ours {ours}"
        if code == 400 and sentence not in answer["message"]:
            return f"{resource.plural} {field}: {answer['message']}, ours {sentence}"
        return ""

    jobs: list[Callable[[], Awaitable[str]]] = [
        lambda resource=each, field=field: look(resource, field)
        for each in RESOURCES.values()
        for field in fields
        if not each.virtual
    ]
    wrong = await in_lanes(jobs)
    assert not wrong, "\n".join(wrong)


async def test_discovery_lists_the_same_resources(real: Real) -> None:
    versions = dict.fromkeys(each.api_version for each in RESOURCES.values())
    wrong = []
    for version in versions:
        _, answer = await real.ask("GET", f"/apis/{version}" if "/" in version else "/api/v1")
        theirs = {each["name"]: each for each in answer["resources"]}
        for each in RESOURCES.values():
            if each.api_version != version:
                continue
            found = theirs[each.plural]
            expected = {
                "name": each.plural,
                "singularName": each.singular,
                "namespaced": each.namespaced,
                "kind": each.kind,
                "verbs": list(each.verbs),
                **({"shortNames": list(each.short_names)} if each.short_names else {}),
                **({"categories": list(each.categories)} if each.categories else {}),
            }
            found.pop("storageVersionHash", None)
            wrong += [] if found == expected else [f"{found}\n   ours {expected}"]
            for part in each.subresources:
                found = theirs[f"{each.plural}/{part.name}"]
                same = found["kind"] == part.kind and found["verbs"] == list(part.verbs)
                wrong += [] if same else [f"{found}\n   ours {part}"]
    assert not wrong, "\n".join(wrong)
