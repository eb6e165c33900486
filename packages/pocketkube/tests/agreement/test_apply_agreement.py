"""Patches and field ownership: after random writes the real API server and our pure functions agree on everything.

Each step is sent to the server and reckoned by us from the object the server had before. Defaults are not ours to know,
so what we make of a patch goes to the server as a dry run first: the answer must be what the step itself gives. Then the
owners we write down must be the server's, except for times.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
import json
import os
from pathlib import Path
import random
import runpy
from typing import Any

import pytest

from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net import http
from kubeloop.objects import instant, patch as plain
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.apiserver.managed_fields import apply, endpoints, refusals, strategic
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.managed_fields.lastapplied import ANNOTATION

SEEDS = int(os.environ.get("KORDER_SEEDS", "20"))
LATER = datetime(2099, 1, 1, tzinfo=UTC)
MANAGERS = ("kubectl", "alice", "bob")
STEPS = 10
AT_ONCE = 8

Object = dict[str, Any]
Rng = random.Random

MADE = runpy.run_path(str(Path(__file__).with_name("apply_objects.py")))
SCHEMA: Object = MADE["SCHEMA"]
CRD: Object = MADE["CRD"]


@dataclass(frozen=True)
class Species:
    """A kind to write to, with what makes its objects."""

    main: Endpoint
    path: str
    body: Callable[[Rng], Object]
    status: Endpoint | None = None
    status_body: Callable[[Rng], Object] = field(default=MADE["thing_status"])
    strategic: bool = True


SPECIES = {
    "configmaps": Species(
        endpoints.builtin("v1", "ConfigMap"),
        "/api/v1/namespaces/default/configmaps",
        MADE["configmap"],
    ),
    "services": Species(
        endpoints.builtin("v1", "Service"), "/api/v1/namespaces/default/services", MADE["service"]
    ),
    "deployments": Species(
        endpoints.builtin("apps/v1", "Deployment"),
        "/apis/apps/v1/namespaces/default/deployments",
        MADE["deployment"],
        endpoints.builtin("apps/v1", "Deployment", "status"),
        MADE["deployment_status"],
    ),
    "a custom kind": Species(
        endpoints.custom("agreement.test/v1", "Thing", SCHEMA, has_status=True),
        "/apis/agreement.test/v1/namespaces/default/things",
        MADE["thing"],
        endpoints.custom("agreement.test/v1", "Thing", SCHEMA, "status", has_status=True),
        strategic=False,
    ),
}


@dataclass(frozen=True)
class Answer:
    code: int
    body: Object


class Server:
    """The real one, asked in JSON."""

    def __init__(self, transport: http.Transport) -> None:
        self._transport = transport

    async def ask(
        self, method: str, path: str, body: Object, kind: str = "json", **query: str
    ) -> Answer:
        target = path + "?" + "&".join(f"{key}={value}" for key, value in query.items())
        headers = {"Content-Type": f"application/{kind}", "Accept": "application/json"}
        request = http.Request(method, target, headers, json.dumps(body).encode())
        async with await self._transport.send(request) as response:
            return Answer(response.status, json.loads(await response.read()))


def bare(obj: Object) -> Object:
    """What users see of an object: without owners and what every write changes."""
    hidden = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "name")
    kept = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return {**obj, "metadata": kept}


def owners(obj: Object) -> dict[tuple[str, str, str], Object]:
    """Who owns what; entries of the same second may stand in any order."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): dict(entry)
        for entry in obj["metadata"].get("managedFields") or []
    }


class Sequence:
    """One object and the writes to it."""

    def __init__(self, server: Server, species: Species, seed: str) -> None:
        self.server = server
        self.species = species
        self.rng = random.Random(seed)
        self.name = f"o{seed.encode().hex()}"[-60:]
        self.live: Object | None = None
        self.log: list[object] = [seed]
        self.outcomes: list[str] = []

    async def run(self) -> None:
        for _ in range(STEPS):
            await self.step()

    async def step(self) -> None:
        if self.live is None:
            await self.rng.choice((self.create, self.apply_main))()
            return
        writes = [self.update, self.merge, self.apply_main, self.apply_main, self.apply_main]
        if self.species.strategic:
            writes.append(self.merge_strategically)
        if self.species.status:
            writes += [self.apply_status, self.merge_status]
        await self.rng.choice(writes)()

    def whole(self, body: Object) -> Object:
        endpoint = self.species.main
        meta = {**body.pop("metadata", {}), "name": self.name, "namespace": "default"}
        return {
            "apiVersion": endpoint.api_version,
            "kind": endpoint.kind,
            "metadata": meta,
            **body,
        }

    def a_body(self) -> Object:
        return self.whole({"metadata": MADE["metadata"](self.rng), **self.species.body(self.rng)})

    def remembering(self, body: Object) -> Object:
        """A body as kubectl's client-side apply sends it, now and then."""
        if self.rng.random() < 0.3:
            annotations = {**body["metadata"].get("annotations", {}), ANNOTATION: json.dumps(body)}
            body["metadata"]["annotations"] = annotations
        return body

    async def create(self) -> None:
        body, manager = self.remembering(self.a_body()), self.rng.choice(MANAGERS)
        self.log.append(("create", manager, body))
        answer = await self.server.ask("POST", self.species.path, body, fieldManager=manager)
        self.check_update(self.species.main, answer, body, manager)

    async def update(self) -> None:
        assert self.live
        body, manager = self.remembering(self.a_body()), self.rng.choice(MANAGERS)
        body["metadata"]["resourceVersion"] = self.live["metadata"]["resourceVersion"]
        sent = self.rng.choice(("theirs", "none", "none", "reset"))
        if sent == "theirs":
            body["metadata"]["managedFields"] = self.live["metadata"].get("managedFields")
        elif sent == "reset" and self.rng.random() < 0.3:
            body["metadata"]["managedFields"] = self.rng.choice(([], [{}]))
        self.log.append(("update", manager, body))
        answer = await self.server.ask("PUT", self.path(), body, fieldManager=manager)
        self.check_update(self.species.main, answer, body, manager)

    async def merge(self) -> None:
        assert self.live
        patch = MADE["holes"](
            self.rng, {"metadata": MADE["metadata"](self.rng), **self.species.body(self.rng)}
        )
        await self.patched(self.species.main, patch, plain.apply_merge(self.live, patch), "merge")

    async def merge_status(self) -> None:
        assert self.live
        patch = MADE["holes"](self.rng, {"status": self.species.status_body(self.rng)})
        patched = plain.apply_merge(self.live, patch)
        assert self.species.status
        await self.patched(self.species.status, patch, patched, "merge")

    async def merge_strategically(self) -> None:
        assert self.live
        patch = MADE["holes"](
            self.rng, {"metadata": MADE["metadata"](self.rng), **self.species.body(self.rng)}
        )
        patch = MADE["directed"](self.rng, patch)
        try:
            patched = strategic.patch(self.species.main.structure, self.live, deepcopy(patch))
        except strategic.StrategicRefused as refused:
            self.log.append(("strategic", patch))
            kind = "strategic-merge-patch+json"
            answer = await self.server.ask("PATCH", self.path(), patch, kind, fieldManager="x")
            self.same((answer.code, answer.body["message"]), (refused.code, str(refused)))
            self.outcomes.append("strategic refused")
            return
        await self.patched(self.species.main, patch, patched, "strategic-merge")

    async def patched(self, endpoint: Endpoint, patch: Object, ours: Any, kind: str) -> None:
        manager = self.rng.choice(MANAGERS)
        self.log.append((kind, endpoint.subresource, manager, patch))
        foretold = await self.foretold(endpoint, ours)
        path = self.path(endpoint.subresource)
        answer = await self.server.ask(
            "PATCH", path, patch, f"{kind}-patch+json", fieldManager=manager
        )
        if answer.code == 200:
            self.same(bare(answer.body), foretold)
        self.check_update(endpoint, answer, ours, manager)

    async def foretold(self, endpoint: Endpoint, ours: Object) -> Object | None:
        """What the server makes of our object: defaults, and nothing of what this endpoint does not change."""
        body = deepcopy(ours)
        if self.live is None:
            answer = await self.server.ask("POST", self.species.path, body, dryRun="All")
        else:
            body["metadata"]["resourceVersion"] = self.live["metadata"]["resourceVersion"]
            path = self.path(endpoint.subresource)
            answer = await self.server.ask("PUT", path, body, dryRun="All")
        return bare(answer.body) if answer.code in (200, 201) else None

    def check_update(self, endpoint: Endpoint, answer: Answer, asked: Object, manager: str) -> None:
        if answer.code not in (200, 201):
            assert answer.code == 422, (answer, self.log)
            self.outcomes.append("invalid")
            return
        sent = asked["metadata"].get("managedFields")
        stored = deepcopy(answer.body)
        stored["metadata"].pop("managedFields", None)
        if sent is not None:
            stored["metadata"]["managedFields"] = sent
        self.settle(answer, apply.update(endpoint, self.live, stored, manager, LATER), "update")

    async def apply_main(self) -> None:
        await self.applied(self.species.main, self.a_body())

    async def apply_status(self) -> None:
        assert self.species.status
        body = self.whole({"status": self.species.status_body(self.rng)})
        await self.applied(self.species.status, body)

    async def applied(self, endpoint: Endpoint, body: Object) -> None:
        manager, force = self.rng.choice(MANAGERS), self.rng.random() < 0.4
        self.log.append(("apply", endpoint.subresource, manager, force, body))
        foretold, ours, failure = None, None, None
        try:
            ours = apply.apply(endpoint, self.live, body, manager, LATER, force=force)
            foretold = await self.foretold(endpoint, ours)
        except refusals.ApplyConflict as conflict:
            failure = conflict
        answer = await self.server.ask(
            "PATCH",
            self.path(endpoint.subresource),
            body,
            "apply-patch+yaml",
            fieldManager=manager,
            force=str(force).lower(),
        )
        if failure or answer.code == 409:
            self.check_conflict(answer, failure)
        elif answer.code == 422:
            self.outcomes.append("invalid")
        else:
            assert answer.code in (200, 201), (answer, self.log)
            assert ours is not None
            self.same(bare(answer.body), foretold)
            managed = ours["metadata"].get("managedFields")
            stored = deepcopy(answer.body)
            stored["metadata"]["managedFields"] = managed
            self.settle(answer, stored, "applied")

    def check_conflict(self, answer: Answer, conflict: refusals.ApplyConflict | None) -> None:
        assert conflict is not None, (answer, self.log)
        causes = [
            {"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field}
            for cause in conflict.causes
        ]
        status = answer.body
        self.same((answer.code, status["reason"]), (409, "Conflict"))
        self.same(status["message"], str(conflict))
        key = json.dumps
        self.same(sorted(status["details"]["causes"], key=key), sorted(causes, key=key))
        self.outcomes.append("conflict")

    def settle(self, answer: Answer, ours: Object, outcome: str) -> None:
        if self.live is not None:
            ours = apply.keep_times(self.live, ours)
        stated, reckoned = owners(answer.body), owners(ours)
        for manager, entry in reckoned.items():
            if entry.get("time") == instant.render(LATER):
                entry["time"] = stated.get(manager, {}).get("time", "missing")
        self.same(stated, reckoned)
        self.live = answer.body
        self.outcomes.append(outcome)

    def path(self, subresource: str = "") -> str:
        return f"{self.species.path}/{self.name}" + (f"/{subresource}" if subresource else "")

    def same(self, theirs: object, ours: object) -> None:
        assert theirs == ours, json.dumps(self.log, indent=1, default=str)


@pytest.fixture
async def server(a_control_plane: Callable[..., Any]) -> AsyncIterator[Server]:
    plane: ControlPlane = await a_control_plane(
        without=("kube-scheduler", "kube-controller-manager")
    )
    await plane.kubectl("create", "-f", "-", input=json.dumps(CRD))
    await plane.kubectl("wait", "--for=condition=Established", f"crd/{CRD['metadata']['name']}")
    transport = connect(load(str(plane.kubeconfig()), None), lambda: datetime.now(UTC))  # noqa: TID251
    yield Server(transport)
    await transport.close()


THING = SPECIES["a custom kind"]


def a_thing(**spec: Any) -> Object:
    return {
        "apiVersion": "agreement.test/v1",
        "kind": "Thing",
        "metadata": {"name": "refused", "namespace": "default"},
        "spec": spec,
    }


BAD_CONFIGURATIONS: dict[str, Object] = {
    "another kind": {**a_thing(), "kind": "Other"},
    "another version": {**a_thing(), "apiVersion": "agreement.test/v2"},
    "no type at all": {"metadata": {"name": "refused"}},
    "owners of its own": {**a_thing(), "metadata": {"name": "refused", "managedFields": []}},
    "a value twice in a set": a_thing(tags=["a", "a"]),
    "a key twice in a list": a_thing(items=[{"name": "a"}, {"name": "a"}]),
    "the same key by default": a_thing(ports=[{"port": 1}, {"port": 1, "protocol": "TCP"}]),
    "an item without its key": a_thing(items=[{"value": "a"}]),
    "a null among objects": a_thing(items=[None]),
    "a text among objects": a_thing(items=["a"]),
    "a null in a set": a_thing(tags=[None]),
    "an object in a set": a_thing(tags=[{"a": "b"}]),
}


async def test_configurations_are_refused_in_the_same_words(server: Server) -> None:
    for what, body in BAD_CONFIGURATIONS.items():
        path, kind = f"{THING.path}/refused", "apply-patch+yaml"
        answer = await server.ask("PATCH", path, body, kind, fieldManager="a")
        with pytest.raises(refusals.ApplyRefused) as refused:
            apply.apply(THING.main, None, body, "a", LATER)
        stated = (refused.value.code, str(refused.value))
        assert (answer.code, answer.body["message"]) == stated, what
    answer = await server.ask("PATCH", f"{THING.path}/refused", a_thing(), "apply-patch+yaml")
    with pytest.raises(refusals.ApplyRefused) as refused:
        apply.apply(THING.main, None, a_thing(), "", LATER)
    assert (answer.code, answer.body["message"]) == (refused.value.code, str(refused.value))


def in_metadata(**metadata: Any) -> Object:
    return {"metadata": metadata}


BAD_PATCHES: dict[str, Object] = {
    "an object that says merge": {"data": {"$patch": "merge"}},
    "an object with an unknown directive": {"data": {"$patch": "x", "a": "1"}},
    "an item with an unknown directive": in_metadata(ownerReferences=[{"$patch": "x", "uid": "u"}]),
    "an item without its key": in_metadata(ownerReferences=[{"name": "x"}]),
    "a deletion without a key": in_metadata(ownerReferences=[{"$patch": "delete"}]),
    "an item that says merge": in_metadata(ownerReferences=[{"$patch": "merge", "uid": "u"}]),
    "more than is retained": {"data": {"$retainKeys": ["b"], "a": "x"}},
    "a text of keys to retain": {"data": {"$retainKeys": "b"}},
    "a text as the order": in_metadata(**{"$setElementOrder/finalizers": "x"}),
    "an order of nothing": in_metadata(**{"$setElementOrder": ["x"]}),
    "a deletion from nothing": in_metadata(**{"$deleteFromPrimitiveList": ["x"]}),
    "a list in a list": in_metadata(finalizers=[["a"]]),
    "an object among texts": in_metadata(finalizers=[{"a": 1}]),
    "an order without the item": in_metadata(
        **{"$setElementOrder/finalizers": ["a/b"], "finalizers": ["c/d"]}
    ),
}


async def test_strategic_patches_are_refused_in_the_same_words(server: Server) -> None:
    maps = SPECIES["configmaps"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "uid": "u"}
    body = {
        "metadata": {"name": "refused", "finalizers": ["a/b"], "ownerReferences": [owner]},
        "data": {"a": "x"},
    }
    live = (await server.ask("POST", maps.path, body)).body
    for what, patch in BAD_PATCHES.items():
        path, kind = f"{maps.path}/refused", "strategic-merge-patch+json"
        answer = await server.ask("PATCH", path, patch, kind)
        with pytest.raises(strategic.StrategicRefused) as refused:
            strategic.patch(maps.main.structure, live, patch)
        stated = (refused.value.code, str(refused.value))
        assert (answer.code, answer.body["message"]) == stated, what


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(25), id="100 sequences"),
        pytest.param(range(25, 25 + 25 * SEEDS), id="many sequences", marks=pytest.mark.soak),
    ],
)
async def test_random_writes_leave_the_same_objects_and_owners(
    server: Server, seeds: range
) -> None:
    sequences = [
        Sequence(server, species, f"{name} {seed}")
        for seed in seeds
        for name, species in SPECIES.items()
    ]
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(sequence: Sequence) -> None:
        async with gate:
            await sequence.run()

    async with asyncio.TaskGroup() as group:
        for sequence in sequences:
            group.create_task(run(sequence))
    seen = {outcome for sequence in sequences for outcome in sequence.outcomes}
    assert {"update", "applied", "conflict"} <= seen
