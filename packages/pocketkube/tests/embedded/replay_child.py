"""Sends one long sequence of requests to a fresh server in virtual time and says every answer and every line of the watches.

`test_replay` runs it in two processes and compares. With the argument `warm` another server has lived in the process before.
"""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
import json
import random
import sys
from typing import Any

from tests.embedded.random_requests import RandomRequests

from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from kubeloop.net.server import Reply
from kubeloop.runtime.clock import VirtualClock, VirtualLoop
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

RANDOM = 150
HOME = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WATCHED = (
    f"{HOME}/pods",
    f"{HOME}/configmaps",
    "/api/v1/namespaces",
    f"{HOME}/events",
    f"{HOME}/resourcequotas",
    f"{APPS}/deployments",
    f"{RBAC}/clusterroles",
    CRDS,
)
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {"requests": {"memory": "1Gi", "cpu": "100m"}, "limits": {"cpu": "1"}},
}
LABELS = {"z": "1", "app": "web", "m": "2"}
Step = tuple[str, str, Any] | tuple[str, str, Any, str]


def story() -> Iterator[Step]:
    """A bit of everything."""
    yield from _rules()
    yield from _workloads()
    yield from _access()
    yield from _custom()
    yield "DELETE", f"{HOME}/configmaps?labelSelector=app=web", None
    yield "DELETE", "/api/v1/namespaces/team", None
    for path in ("/api/v1", "/apis", "/apis/example.com/v1", "/openapi/v3", "/openapi/v2"):
        yield "GET", path, None
    yield "GET", f"{HOME}/pods?limit=2", None


def _rules() -> Iterator[Step]:
    yield "POST", "/api/v1/namespaces", {"metadata": {"name": "team", "labels": LABELS}}
    yield "POST", f"{HOME}/serviceaccounts", {"metadata": {"name": "default"}}
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    hooks = [
        {
            "name": f"{name}.example.com",
            "clientConfig": {"url": f"https://hooks.test/{name}"},
            "rules": [{**rule, "resources": ["configmaps", "pods"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in ("label", "warn")
    ]
    for plural, asked in (("mutating", hooks), ("validating", hooks[1:])):
        target = f"{ADMISSION}/{plural}webhookconfigurations"
        yield "POST", target, {"metadata": {"name": "h"}, "webhooks": asked}
    hard = {"pods": "3", "requests.cpu": "1", "requests.memory": "9Gi", "count/configmaps": "50"}
    yield "POST", f"{HOME}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    used = dict.fromkeys(hard, "0")
    yield (
        "PATCH",
        f"{HOME}/resourcequotas/q/status",
        {"status": {"hard": hard, "used": used}},
        MERGE,
    )
    policy = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["configmaps"]}]},
        "validations": [
            {
                "expression": "object.data.all(k, k != 'bad')",
                "messageExpression": "string(object.data)",
            }
        ],
    }
    yield (
        "POST",
        f"{ADMISSION}/validatingadmissionpolicies",
        {"metadata": {"name": "p"}, "spec": policy},
    )
    bound = {"policyName": "p", "validationActions": ["Deny", "Audit"]}
    yield (
        "POST",
        f"{ADMISSION}/validatingadmissionpolicybindings",
        {"metadata": {"name": "p"}, "spec": bound},
    )


def _workloads() -> Iterator[Step]:
    for number in range(8):
        data = {name: str(number) for name in ("z", "b", "y", "c")}
        yield (
            "POST",
            f"{HOME}/configmaps",
            {"metadata": {"generateName": "m-", "labels": LABELS}, "data": data},
        )
        yield "PATCH", f"{HOME}/configmaps/applied?fieldManager=f{number}&force=true", {
            "apiVersion": "v1", "kind": "ConfigMap", "data": {f"k{number}": "v", "shared": str(number)},
        }, APPLY  # fmt: skip
    yield (
        "POST",
        f"{HOME}/configmaps",
        {"metadata": {"name": "n"}, "data": {"bad": "1", "a": "2", "q": "3"}},
    )
    for name in ("a", "b", "c", "d"):
        meta = {"name": name, "labels": LABELS}
        yield "POST", f"{HOME}/pods", {"metadata": meta, "spec": {"containers": [CONTAINER]}}
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    yield "POST", f"{HOME}/pods/a/binding", {"metadata": {"name": "a"}, "target": target}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    yield (
        "POST",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {"metadata": {"name": "b"}, "spec": budget},
    )
    for name in ("a", "b"):
        yield (
            "POST",
            f"{HOME}/pods/{name}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}},
        )
    yield "DELETE", f"{HOME}/pods/c?gracePeriodSeconds=5", None
    spec = {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
    }
    yield "POST", f"{APPS}/deployments", {"metadata": {"name": "d"}, "spec": spec}
    yield "PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": 3}}, MERGE
    yield (
        "POST",
        f"{APPS}/deployments",
        {"metadata": {"name": "bad"}, "spec": {**spec, "template": {}}},
    )
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    for name in ("s", "t"):
        yield (
            "POST",
            f"{HOME}/services",
            {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}},
        )


def _access() -> Iterator[Step]:
    yield "POST", f"{HOME}/serviceaccounts", {"metadata": {"name": "robot"}}
    yield (
        "POST",
        f"{HOME}/serviceaccounts/robot/token",
        {"spec": {"audiences": ["z", "a"], "expirationSeconds": 3600}},
    )
    noted = {"kubernetes.io/service-account.name": "robot"}
    yield (
        "POST",
        f"{HOME}/secrets",
        {
            "metadata": {"name": "t", "annotations": noted},
            "type": "kubernetes.io/service-account-token",
        },
    )
    yield "GET", f"{HOME}/secrets/t", None
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{name}": "true" for name in ("view", "edit")}
    rules = [
        {"verbs": ["list", "get"], "apiGroups": ["example.com", "a"], "resources": ["widgets"]}
    ]
    yield (
        "POST",
        f"{RBAC}/clusterroles",
        {"metadata": {"name": "w", "labels": labels}, "rules": rules},
    )
    who = {"user": "jane", "groups": ["z", "a", "system:authenticated"]}
    asked = {"verb": "get", "resource": "pods", "namespace": "default"}
    review = "/apis/authorization.k8s.io/v1"
    yield "POST", f"{review}/subjectaccessreviews", {"spec": {**who, "resourceAttributes": asked}}
    yield "POST", f"{review}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
    yield "GET", f"{RBAC}/clusterroles/admin", None


def _custom() -> Iterator[Step]:
    properties = {
        "size": {"type": "integer", "maximum": 9},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
    }
    checks = [{"rule": "self.size > 1", "message": "small"}]
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["size", "color"],
        "x-kubernetes-validations": checks,
    }
    names = {
        "plural": "widgets",
        "kind": "Widget",
        "shortNames": ["w", "v"],
        "categories": ["z", "all"],
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    yield "POST", CRDS, {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    for number in range(4):
        meta = {"name": f"w{number}", "finalizers": ["example.com/z", "example.com/a"]}
        yield (
            "POST",
            WIDGETS,
            {
                "apiVersion": "example.com/v1",
                "kind": "Widget",
                "metadata": meta,
                "size": number,
                "unknown": {"z": 1, "a": 2},
            },
        )
    yield (
        "POST",
        WIDGETS,
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "x"},
            "size": 10,
            "color": "green",
        },
    )
    yield "DELETE", WIDGETS, None
    yield "GET", f"{WIDGETS}?limit=1", None


async def judge(request: Request) -> Reply:
    """Labels what it is asked to label, and warns."""
    asked = json.loads(request.body)["request"]
    answer: dict[str, Any] = {"uid": asked["uid"], "allowed": True, "warnings": [asked["uid"]]}
    if request.target.startswith("/label") and (asked.get("object") or {}).get("kind"):
        path = "/metadata/annotations"
        patch = [{"op": "add", "path": path, "value": {"hook": asked["uid"]}}]
        answer |= {
            "patchType": "JSONPatch",
            "patch": b64encode(json.dumps(patch).encode()).decode(),
        }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
    return Reply(200, json.dumps(review).encode(), {"Content-Type": "application/json"})


class Session:
    """One server and everything it is asked."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._headers = {"Authorization": f"Bearer {server.admin_token}"}
        self.stated: list[str] = []

    async def send(self, request: Request) -> None:
        async with await self._server.transport().send(request) as response:
            body = await response.read()
        asked = f"{request.method} {request.target}"
        self.stated.append(f"{asked} {response.status} {[*response.headers.items()]} {body!r}")

    async def watch(self, path: str) -> None:
        target = f"{path}?watch=1&allowWatchBookmarks=1&timeoutSeconds=4000"
        await self.send(Request("GET", target, self._headers))

    async def play(self, seed: int) -> None:
        for method, target, body, *media in story():
            headers = {**self._headers, "Content-Type": media[0] if media else "application/json"}
            sent = b"" if body is None else json.dumps(body).encode()
            await self.send(Request(method, target, headers, sent))
            await asyncio.sleep(1)
        await asyncio.gather(*(self._race(number) for number in range(20)))
        registry = self._server.api.world.registry
        requests = RandomRequests(registry.all, self._server.admin_token, random.Random(seed))
        for request in requests.first():
            await self.send(request)
        for _ in range(RANDOM):
            async with asyncio.timeout(100):
                await self.send(requests.next())

    async def _race(self, number: int) -> None:
        headers = {**self._headers, "Content-Type": MERGE}
        body = json.dumps({"data": {f"race{number}": ""}}).encode()
        await self.send(Request("PATCH", f"{HOME}/configmaps/applied", headers, body))


async def play(seed: int) -> list[str]:
    clock = VirtualClock()
    async with embedded_server(clock, seed, lambda _: InProcessTransport(judge)) as server:
        session = Session(server)
        async with asyncio.TaskGroup() as group:
            for path in WATCHED:
                group.create_task(session.watch(path))
            await session.play(seed)
    return session.stated


def main() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        if "warm" in sys.argv:
            runner.run(play(2))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        for line in runner.run(play(1)):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
