"""The two sides of the comparison of admission: a real API server with a real webhook server, and the embedded one.

Both carry out a `Case` of tests.tables.admission and give an `Outcome`; nothing is normalised but names, ids and addresses that
cannot be the same.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import json
import random
import re
from typing import Any

from tests.tables.admission.words import Case

from kubeloop.net.http import Request, Transport, Unreachable
from kubeloop.net.in_process import InProcessTransport
from kubeloop.net.server import Reply
from kubeloop.runtime.clock import Clock
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.webhooks import Endpoint
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.storage import open_storage

Object = dict[str, Any]

REGISTRATION = "admissionregistration.k8s.io/v1"
PLURALS = {"ConfigMap": "configmaps", "Pod": "pods", "Secret": "secrets"}
CREATED = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
_RANDOM = re.compile(r"(kube-api-access-|part-generated-)[a-z0-9]{5}")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")


@dataclass(slots=True)
class Outcome:
    """What became of a write."""

    refusal: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    labels: Object = field(default_factory=dict)
    data: Object = field(default_factory=dict)
    finalizers: list[str] = field(default_factory=list)
    pod: Object = field(default_factory=dict)
    asked: list[Object] = field(default_factory=list)


def outcome(
    case: Case,
    refusal: Object,
    obj: Object | None,
    warnings: Sequence[str],
    asked: Sequence[Object],
) -> Outcome:
    made = Outcome(warnings=[*warnings], asked=[_comparable(each) for each in asked])
    if refusal:
        made.refusal = {
            key: refusal[key]
            for key in ("code", "reason", "message", "details", "status")
            if key in refusal
        }
        made.refusal["message"] = _UID.sub("UID", made.refusal.get("message", ""))
        details = made.refusal.get("details") or {}
        for cause in details.get("causes") or ():
            cause["message"] = _UID.sub("UID", cause.get("message", ""))
    elif obj and case.operation != "DELETE":
        made.labels = obj["metadata"].get("labels") or {}
        made.data = obj.get("data") or {}
        made.finalizers = obj["metadata"].get("finalizers") or []
        spec = obj.get("spec") or {}
        made.pod = {key: spec[key] for key in ("schedulingGates", "nodeSelector") if key in spec}
        if spec:
            made.pod["containers"] = [
                {k: each[k] for k in ("name", "env", "command") if k in each}
                for each in spec["containers"]
            ]
            made.pod["tolerations"] = [
                t for t in spec.get("tolerations") or () if not t["key"].startswith("node.")
            ]
    return made


def _comparable(request: Object) -> Object:
    """A review's request without what cannot agree: ids, times and who owns what."""
    made = json.loads(_RANDOM.sub(r"\1XXXXX", json.dumps(request)))
    made["uid"] = "UID" if made["uid"] else ""
    for obj in (made.get("object"), made.get("oldObject")):
        if obj:
            for member in ("uid", "creationTimestamp", "managedFields", "resourceVersion"):
                obj["metadata"].pop(member, None)
    made.get("options", {}).pop("fieldManager", None) if made.get("options") else None
    made["userInfo"].pop("extra", None)
    return made


def configured(case: Case, namespace: str, url: str, authority: bytes) -> list[tuple[str, Object]]:
    """Everything a case needs to be configured, with the plural of each."""
    selector = {"matchLabels": {"case": case.name}}
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    name = f"{namespace}-{case.name}"
    made: list[tuple[str, Object]] = [
        ("secrets", _param(each, case, namespace)) for each in case.params
    ]
    for mutating in (True, False):
        kind = "Mutating" if mutating else "Validating"
        webhooks = [
            {
                "name": each.name,
                "clientConfig": {
                    "url": f"{url}/{case.name}/{place}",
                    "caBundle": b64encode(authority).decode(),
                },
                "rules": [CREATED],
                "objectSelector": selector,
                "namespaceSelector": here,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **({"reinvocationPolicy": "Never"} if mutating else {}),
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "timeoutSeconds": 10,
                **each.settings,
            }
            for place, each in enumerate(case.hooks)
            if each.mutating is mutating
        ]
        if webhooks:
            made.append(
                (
                    f"{kind.lower()}webhookconfigurations",
                    _registered(f"{kind}WebhookConfiguration", name, webhooks=webhooks),
                )
            )
    for place, each in enumerate(case.policies):
        made += _policy(each, f"{name}-{place}", case, selector, here)
    return made


def _param(written: Mapping[str, Any], case: Case, namespace: str) -> Object:
    meta = written["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        **written,
        "metadata": {**meta, "name": f"{meta['name']}-{case.name}", "namespace": namespace},
    }


def _policy(
    given: Any, name: str, case: Case, selector: Object, here: Object
) -> Iterable[tuple[str, Object]]:
    kind = "Mutating" if given.mutating else "Validating"
    constraints = {
        "resourceRules": [CREATED],
        **given.spec.get("matchConstraints", {}),
        "matchPolicy": "Equivalent",
        "objectSelector": selector,
        "namespaceSelector": here,
    }
    spec = {
        "failurePolicy": "Fail",
        **({"reinvocationPolicy": "Never"} if given.mutating else {}),
        **given.spec,
        "matchConstraints": constraints,
    }
    yield f"{kind.lower()}admissionpolicies", _registered(f"{kind}AdmissionPolicy", name, spec=spec)
    for number, binding in enumerate(given.bindings):
        written = json.loads(json.dumps(binding).replace("{case}", case.name))
        if "matchResources" in written:
            written["matchResources"] = {
                "namespaceSelector": {},
                "objectSelector": {},
                "matchPolicy": "Equivalent",
                **written["matchResources"],
            }
        yield (
            f"{kind.lower()}admissionpolicybindings",
            _registered(
                f"{kind}AdmissionPolicyBinding",
                f"{name}-{number}",
                spec={"policyName": name, **written},
            ),
        )


def _registered(kind: str, name: str, **body: Any) -> Object:
    return {"apiVersion": REGISTRATION, "kind": kind, "metadata": {"name": name}, **body}


def written(case: Case, namespace: str) -> Object:
    """The object that is written first."""
    meta = {
        **case.object.get("metadata", {}),
        "name": case.name,
        "namespace": namespace,
        "labels": {"case": case.name},
    }
    return {"apiVersion": "v1", "kind": case.kind, **case.object, "metadata": meta}


class Answering:
    """Answers reviews as the cases say, at `/<case>/<number of the hook>`, and remembers what it was asked."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = {case.name: case for case in cases}
        self.asked: dict[str, list[Object]] = {}

    async def __call__(self, request: Request) -> Reply:
        _, name, place = request.target.partition("?")[0].split("/")
        review = json.loads(request.body)
        self.asked.setdefault(name, []).append(review["request"])
        answer = self._cases[name].hooks[int(place)].answer(review["request"])
        if answer is None:
            return await _silence()
        if not isinstance(answer, dict):
            return Reply(answer.status, answer.body, {"Content-Type": "text/plain"})
        envelope = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview"}
        body = (
            answer["review"]
            if "review" in answer
            else {**envelope, "response": {"uid": review["request"]["uid"], **answer}}
        )
        if review["apiVersion"].endswith("v1beta1"):
            body = {**envelope, **body}
        return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


async def _silence() -> Reply:
    """Waits until whoever asked has given up and the server stops."""
    nothing: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    return await nothing


class Side:
    """An API server, spoken to as HTTP is, so that nothing of its answers is lost."""

    def __init__(
        self, transport: Transport, namespace: str, answering: Answering, url: str, authority: bytes
    ) -> None:
        self._transport = transport
        self._namespace = namespace
        self._answering = answering
        self._where = url, authority
        self._made: list[str] = []

    async def send(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Object, list[str]]:
        headers = {"Content-Type": media, "Accept": "application/json"}
        data = b"" if body is None else json.dumps(body).encode()
        async with await self._transport.send(Request(method, path, headers, data)) as answer:
            text = await answer.read()
            warnings = ", ".join(answer.headers.getall("Warning", []))  # type: ignore[attr-defined]
            return answer.status, json.loads(text), _WARNING.findall(warnings)

    async def user(self) -> User:
        """Who we are to it."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        _, answer, _ = await self.send(
            "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
        )
        found = answer["status"]["userInfo"]
        return User(found["username"], tuple(found.get("groups", ())), found.get("uid", ""))

    async def configure(self, cases: Iterable[Case], probes: Sequence[Case] = ()) -> None:
        """Configures all cases, and waits until the last of each kind, the probes, have an effect."""
        for case in (*cases, *probes):
            for plural, obj in configured(case, self._namespace, *self._where):
                home = (
                    f"/api/v1/namespaces/{self._namespace}/{plural}"
                    if plural == "secrets"
                    else f"/apis/{REGISTRATION}/{plural}"
                )
                status, answer, _ = await self.send("POST", home, obj)
                assert status == 201, (case.name, answer)
                self._made.append(f"{home}/{obj['metadata']['name']}")
        for case in probes:
            async with asyncio.timeout(60):
                while not (await self._write(case))[0]:
                    await self.send("DELETE", self._path(case, case.name))
                    await asyncio.sleep(0.2)

    async def clean(self) -> None:
        for path in self._made:
            await self.send("DELETE", path)

    async def carry_out(self, case: Case) -> Outcome:
        refusal, obj, warnings = await self._write(case)
        for _ in range(25):
            if not (case.params and "no params found" in refusal.get("message", "")):
                break
            await asyncio.sleep(0.2)
            refusal, obj, warnings = await self._write(case)
        return outcome(case, refusal, obj, warnings, self._answering.asked.get(case.name, ()))

    def _path(self, case: Case, name: str = "") -> str:
        home = f"/api/v1/namespaces/{self._namespace}/{PLURALS[case.kind]}"
        return f"{home}/{name}" if name else home

    async def _write(self, case: Case) -> tuple[Object, Object, list[str]]:
        for step in case.steps:
            body = json.loads(json.dumps(step.body).replace("{ns}", self._namespace))
            path = step.path.replace("{ns}", self._namespace)
            status, answer, warnings = await self.send(step.method, path, body, step.media)
        if case.steps:
            return (answer, {}, warnings) if status >= 400 else ({}, {}, warnings)
        query = "?dryRun=All" if case.dry_run else ""
        obj = written(case, self._namespace)
        status, answer, warnings = await self.send("POST", self._path(case) + query, obj)
        if case.operation == "UPDATE":
            status, answer, warnings = await self.send(
                "PUT", self._path(case, case.name) + query, {**obj, **case.change}
            )
        elif case.operation == "DELETE":
            status, answer, warnings = await self.send(
                "DELETE", self._path(case, case.name) + query
            )
        return (answer, {}, warnings) if status >= 400 else ({}, answer, warnings)


class Hooks:
    """Webhooks in the same process; nobody listens on port 1."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    def connect(self, endpoint: Endpoint) -> Transport:
        if endpoint.address.endswith(":1"):
            return InProcessTransport(self._refuse)
        return InProcessTransport(self._answering)

    async def _refuse(self, _: Request) -> Reply:
        raise Unreachable("Connection refused")


@asynccontextmanager
async def embedded(
    namespace: str, answering: Answering, url: str, user: User, clock: Clock
) -> AsyncIterator[Side]:
    """The embedded API server, with the namespace and without sockets."""
    rng = random.Random(1)
    made = keys.make(clock.now(), rng.randbytes)
    surroundings = Surroundings(
        access=access.Settings(made.signing_key, {"token": user}), connect=Hooks(answering).connect
    )
    async with open_storage(None) as storage:
        server = assemble(storage, surroundings, now=clock.now, rng=rng)
        await server.start()
        transport = InProcessTransport(server.handle, {"Authorization": "Bearer token"})
        side = Side(transport, namespace, answering, url, b"authority")
        await side.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        account = {"metadata": {"name": "default"}}
        await side.send("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
        yield side
        await server.close()
