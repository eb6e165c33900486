"""Protobuf is read as the programs of Kubernetes write it: random objects from its own Go types, and all that a server has."""

import base64
from copy import deepcopy
from importlib import resources
import json
import os
from pathlib import Path
import random
import runpy
import shutil
import subprocess
from typing import Any

import pytest
from tests.tables.kinds import CREATES

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from pocketkube.apiserver import types
from pocketkube.apiserver.kinds import catalogue
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.types import protobuf, reading, table

RESOURCES = {each.stored: each for each in catalogue.builtin()}
MADE = runpy.run_path(str(Path(__file__).with_name("typed_objects.py")))
SEEDS = int(os.environ.get("KORDER_SEEDS", "20"))
HACK = Path(__file__).parents[4] / "hack" / "controlplane"
META = table.package("meta/v1.ObjectMeta")

Object = dict[str, Any]


def run(program: str, given: str = "") -> str:
    """What one of our own Go programs writes, if there are Go and the modules of Kubernetes."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go")
    ran = subprocess.run(  # noqa: S603 our own program
        [go, "run", "-trimpath", f"./{program}"],
        cwd=HACK,
        env={**os.environ, "CGO_ENABLED": "0", "GOPROXY": "off"},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if "GOPROXY=off" in ran.stderr:
        pytest.skip("needs the Go modules of Kubernetes")
    assert not ran.returncode, ran.stderr
    return ran.stdout


def ours(body: bytes) -> Any:
    """What we read from a body, in the form in which it would be stored."""
    obj = protobuf.decode(body, "", "")
    assert reading.of_kind(obj["apiVersion"], obj["kind"])(obj) == []
    return obj


@pytest.mark.timeout(900)
def test_the_numbers_are_what_their_program_writes() -> None:
    assert run("protobuf") == resources.files(types).joinpath("protobuf.txt").read_text("utf-8")


@pytest.mark.timeout(900)
def test_random_objects_of_all_kinds_are_read_as_they_were_written() -> None:
    rng = random.Random(1)
    kinds = sorted(each for each in table.kinds() if table.package(table.kind(*each).name) != META)
    sent = [MADE["an_object"](rng, *kind) for kind in kinds for _ in range(SEEDS)]
    answered = run("encode", "\n".join(map(json.dumps, sent))).splitlines()
    checked = 0
    for line in filter(None, answered):
        encoded, _, text = line.partition(" ")
        stored = json.loads(text)
        reading.of_kind(stored["apiVersion"], stored["kind"])(stored)
        assert ours(base64.b64decode(encoded)) == stored
        checked += 1
    assert checked > len(sent) / 2


async def ask(
    client: Client, method: str, path: str, body: Object | None = None, accept: str = ""
) -> tuple[int, bytes]:
    headers = {"Content-Type": "application/json", "Accept": accept or "application/json"}
    content = b"" if body is None else json.dumps(body).encode()
    request = Request(method, path, headers, content)
    async with await client._sender.transport.send(request) as answer:
        return answer.status, await answer.read()


def path_of(resource: Resource, namespace: str = "") -> str:
    base = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    inside = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
    return f"{base}{inside}/{resource.plural}"


def canonical(resource: Resource, listed: Object) -> list[Object]:
    items = deepcopy(listed.get("items") or [])
    for item in items:
        item.update(kind=resource.kind, apiVersion=resource.api_version)
        resource.strategy.read(item)
    return [dict(sorted(item.items())) for item in items]


async def both(client: Client, resource: Resource) -> tuple[list[Object], list[Object]]:
    """The same instant of all objects of a kind, as JSON and as protobuf."""
    code, stated = await ask(client, "GET", path_of(resource))
    assert code == 200, stated
    listed = json.loads(stated)
    version = listed["metadata"]["resourceVersion"]
    path = f"{path_of(resource)}?resourceVersionMatch=Exact&resourceVersion={version}"
    _, encoded = await ask(client, "GET", path, accept=protobuf.MEDIA_TYPE)
    read = protobuf.decode(encoded, "", "")
    assert read["kind"] == f"{resource.kind}List"
    return canonical(resource, listed), canonical(resource, read)


async def create_all(client: Client, namespace: str) -> list[str]:
    """Creates what can be created of the table of kinds; returns the paths."""
    made: list[str] = []
    for index, (_, name, sent) in enumerate(CREATES):
        resource = RESOURCES.get(name)
        if resource is None or resource.virtual or resource.plural == "namespaces":
            continue
        text = json.dumps(sent).replace("NAMESPACE", namespace)
        obj = json.loads(text.replace("NAME", f"{namespace}-{index}"))
        if obj["metadata"].get("name") == "x":
            obj["metadata"]["name"] = f"{namespace}-{index}"
        obj["metadata"].pop("finalizers", None)
        code, answer = await ask(client, "POST", path_of(resource, namespace), obj)
        if code == 201:
            stored = json.loads(answer)["metadata"]["name"]
            made.append(f"{path_of(resource, namespace)}/{stored}")
    return made


def listable() -> list[Resource]:
    return [each for each in RESOURCES.values() if not each.virtual and "list" in each.verbs]


async def test_objects_are_the_same_in_protobuf(client: Client, namespace: str) -> None:
    made = await create_all(client, namespace)
    try:
        assert len(made) > 40
        wrong, compared = [], 0
        for resource in listable():
            theirs, mine = await both(client, resource)
            compared += len(theirs)
            wrong += [f"{a}\n{b}\n" for a, b in zip(theirs, mine, strict=True) if a != b]
        assert not wrong, "\n".join(wrong)
        assert compared > 150
    finally:
        for path in made:
            await ask(client, "DELETE", path, {"gracePeriodSeconds": 0})
