"""The types are those of the real server: it publishes the same schemas, and reads what is sent in the same way."""

from collections.abc import AsyncIterator
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

from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net import http
from kubeloop.runtime.clock import Clock
from pocketkube.apiserver import types
from pocketkube.apiserver.types import reading, schemas, table
from pocketkube.apiserver.types.mismatch import Mismatch

SENT = runpy.run_path(str(Path(__file__).parents[1] / "embedded" / "sent_objects.py"))
MADE = runpy.run_path(str(Path(__file__).with_name("typed_objects.py")))
SEEDS = int(os.environ.get("KORDER_SEEDS", "20"))
AT_ONCE = 100
HACK = Path(__file__).parents[4] / "hack" / "controlplane"
NOT_OURS = {"x-kubernetes-group-version-kind", "x-kubernetes-unions"}
UNTYPED = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    "io.k8s.apimachinery.pkg.version.Info",
}
PATHS = {
    "Pod": ("v1", "/api/v1/namespaces/default/pods"),
    "Secret": ("v1", "/api/v1/namespaces/default/secrets"),
    "ConfigMap": ("v1", "/api/v1/namespaces/default/configmaps"),
    "Lease": ("coordination.k8s.io/v1", "/apis/coordination.k8s.io/v1/namespaces/default/leases"),
}


class Server:
    """The real one, asked in JSON."""

    def __init__(self, transport: http.Transport) -> None:
        self._transport = transport

    async def ask(self, path: str, body: Any = None, accept: str = "") -> tuple[int, Any]:
        headers = {
            "Content-Type": "application/json",
            "Accept": f"application/json{accept}",
        }
        request = http.Request("GET", path, headers)
        if body is not None:
            request = http.Request("POST", path, headers, json.dumps(body).encode())
        async with await self._transport.send(request) as response:
            return response.status, json.loads(await response.read())


@pytest.fixture
async def server(kubeconfig: Path, clock: Clock) -> AsyncIterator[Server]:
    transport = connect(load(str(kubeconfig), None), clock.now)
    yield Server(transport)
    await transport.close()


@pytest.mark.timeout(900)
def test_the_table_is_what_its_program_writes() -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go")
    ran = subprocess.run(  # noqa: S603 our own program
        [go, "run", "-trimpath", "./types"],
        cwd=HACK,
        env={**os.environ, "CGO_ENABLED": "0", "GOPROXY": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "GOPROXY=off" in ran.stderr:
        pytest.skip("needs the Go modules of Kubernetes")
    assert ran.stdout == resources.files(types).joinpath("types.txt").read_text("utf-8")


def plain(schema: Any) -> Any:
    """A schema without prose, with references written in one way."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: sorted(value) if key == "required" and isinstance(value, list) else plain(value)
        for key, value in schema.items()
        if key not in NOT_OURS and not (key == "description" and isinstance(value, str))
    }
    if isinstance(referring := kept.get("allOf"), list):
        return {**kept, **referring[0], "allOf": None}
    return {**kept, "allOf": None} if "$ref" in kept else kept


def ours(version: int) -> dict[str, Any]:
    roots = ("meta/v1.WatchEvent", *(table.kind(*each).name for each in table.kinds()))
    return {
        schemas.openapi_name(name): plain(schemas.definition(name, version))
        for name in schemas.closure(roots)
    }


def check(theirs: dict[str, Any], version: int) -> None:
    own = ours(version)
    of_kubernetes = {name for name in theirs if name.startswith("io.k8s.")} - UNTYPED
    assert of_kubernetes <= own.keys()
    differing = {
        name: (theirs[name], own[name])
        for name in of_kubernetes
        if plain(theirs[name]) != own[name]
    }
    assert not differing


async def test_the_schemas_are_those_of_the_server(server: Server) -> None:
    _, index = await server.ask("/openapi/v3")
    theirs: dict[str, Any] = {}
    for path in index["paths"]:
        if path.startswith("api"):
            _, document = await server.ask(f"/openapi/v3/{path}")
            theirs |= document.get("components", {}).get("schemas", {})
    check(theirs, 3)


async def test_so_are_those_of_the_second_version(server: Server) -> None:
    _, document = await server.ask("/openapi/v2")
    check(document["definitions"], 2)


def ours_of(api_version: str, kind: str, body: Any) -> str | None:
    try:
        unknown = reading.of_kind(api_version, kind)(json.loads(json.dumps(body)))
    except Mismatch as mismatch:
        return str(mismatch)
    return SENT["unknown"](*unknown) if unknown else None


@pytest.mark.parametrize(("kind", "body", "message"), SENT["ROWS"])
async def test_what_is_sent_is_read_alike(
    server: Server, kind: str, body: Any, message: str | None
) -> None:
    api_version, path = PATHS[kind]
    metadata = body.get("metadata", {})
    named = {"name": "typed", **metadata} if isinstance(metadata, dict) else metadata
    whole = {"apiVersion": api_version, "kind": kind, **body, "metadata": named}
    code, answer = await server.ask(f"{path}?dryRun=All&fieldValidation=Strict", whole)
    if code == 400:
        said = f'{kind} in version "v1" cannot be handled as a {kind}: {message}'
        assert answer["message"] == said
        assert ours_of(api_version, kind, whole) == message
    else:
        assert message is None
        assert ours_of(api_version, kind, whole) is None
        assert code == 422 or read_alike(api_version, answer)


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_random_objects_are_read_alike(server: Server, seed: int) -> None:
    rng = random.Random(seed)
    created = [each async for each in discovered(server) if "create" in each[1]["verbs"]]
    for _ in range(AT_ONCE):
        api_version, resource = rng.choice(created)
        kind = resource["responseKind"]["kind"]
        body = MADE["an_object"](rng, api_version, kind)
        code, answer = await server.ask(
            f"{where(api_version, resource)}?dryRun=All&fieldValidation=Strict", body
        )
        said = f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind}'
        stated = answer["message"] if code == 400 and answer["message"].startswith(said) else None
        ours = ours_of(api_version, kind, body)
        assert stated == (None if ours is None else f"{said}: {ours}"), body


@pytest.mark.parametrize(("sent", "kept"), SENT["QUANTITIES"].items())
async def test_a_quantity_comes_back_alike(server: Server, sent: str, kept: str) -> None:
    limits = {"type": "Container", "max": {"example.com/x": sent}}
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "typed"},
        "spec": {"limits": [limits]},
    }
    path = "/api/v1/namespaces/default/limitranges?dryRun=All"
    code, answer = await server.ask(path, body)
    assert (code, answer["spec"]["limits"][0]["max"]) == (201, {"example.com/x": kept})


def read_alike(api_version: str, stored: Any) -> bool:
    """Whether reading finds nothing to change in what a server wrote."""
    again = deepcopy(stored)
    unknown = reading.of_kind(api_version, stored["kind"])(again)
    return not unknown and again == stored


async def test_whatever_the_server_has_is_kept_as_it_is(server: Server) -> None:
    checked = 0
    async for api_version, resource in discovered(server):
        kind = resource["responseKind"]["kind"]
        if "list" in resource["verbs"]:
            _, found = await server.ask(where(api_version, resource, ""))
            for item in found["items"]:
                assert read_alike(api_version, {"apiVersion": api_version, "kind": kind, **item})
                checked += 1
    assert checked > 50


async def discovered(server: Server) -> AsyncIterator[tuple[str, Any]]:
    """All resources of Kubernetes; each is known to the table."""
    known = set(table.kinds())
    for root in ("/api", "/apis"):
        _, found = await server.ask(
            root, accept=";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        )
        for group in found["items"]:
            prefix = f"{name}/" if (name := group["metadata"].get("name")) else ""
            for version in group["versions"]:
                api_version = prefix + version["version"]
                for resource in version["resources"]:
                    if (api_version, resource["responseKind"]["kind"]) in known:
                        yield api_version, resource
                    else:
                        assert not prefix.endswith("k8s.io/")


def where(api_version: str, resource: Any, namespace: str = "/namespaces/default") -> str:
    root = "/apis/" if "/" in api_version else "/api/"
    middle = namespace if resource["scope"] == "Namespaced" else ""
    return f"{root}{api_version}{middle}/{resource['resource']}"
