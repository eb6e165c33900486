"""The two sides of the comparison of admission: a real API server with a real webhook server, and our plugins in memory.

Both carry out an `webhook_cases.Case` and give an `Outcome`; nothing is normalised but names, ids and addresses that
cannot be the same.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import itertools
import json
import re
from typing import Any, Self

from korder.api import codec
from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.admission.attributes import Attributes, Chain, Operation
from korder.embedded.apiserver.admission.policies import MutatingPolicies, ValidatingPolicies
from korder.embedded.apiserver.admission.webhooks import (
    Caller,
    Endpoint,
    MutatingWebhooks,
    ValidatingWebhooks,
    by_endpoints,
)
from korder.embedded.apiserver.kinds.resource import Resource
from korder.embedded.apiserver.kinds.strategy import Strategy
from korder.embedded.apiserver.ownership import endpoints
from korder.embedded.apiserver.refusal import Refused
from korder.embedded.apiserver.storage import Create, Draft, Key, Storage
from korder.embedded.apiserver.view import View
from korder.net.http import Request, Transport, Unreachable
from korder.net.server import Reply

Object = dict[str, Any]
Case = Any
"""One of `webhook_cases`, which is loaded beside this file and not imported."""

REGISTRATION = "admissionregistration.k8s.io/v1"
PLURALS = {"ConfigMap": "configmaps", "Pod": "pods", "Secret": "secrets"}
CREATED = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
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
    elif obj is not None and case.operation != "DELETE":
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
    made = json.loads(json.dumps(request))
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
            await asyncio.sleep(3)
            return Reply(500)
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


class Real:
    """A real API server, spoken to over HTTP so that nothing of its answers is lost."""

    def __init__(
        self, transport: Transport, namespace: str, answering: Answering, url: str, authority: bytes
    ) -> None:
        self._transport = transport
        self._namespace = namespace
        self._answering = answering
        self._where = url, authority
        self._made: list[str] = []

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, Object, list[str]]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        data = b"" if body is None else json.dumps(body).encode()
        async with await self._transport.send(Request(method, path, headers, data)) as answer:
            text = await answer.read()
            warnings = answer.headers.getall("Warning", [])  # type: ignore[attr-defined]
            return (
                answer.status,
                json.loads(text),
                [re.sub(r'^299 - "(.*)"$', r"\1", each) for each in warnings],
            )

    async def user(self) -> User:
        """Who we are to it."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        _, answer, _ = await self.send(
            "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
        )
        found = answer["status"]["userInfo"]
        return User(found["username"], tuple(found.get("groups", ())), found.get("uid", ""))

    async def configure(self, cases: Iterable[Case], probes: Sequence[Case]) -> None:
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


_MEMBERS = frozenset({"apiVersion", "kind", "metadata", "data", "spec"})


class Kind(Strategy):
    """As much of a kind as admission asks for."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def endpoint(self, subresource: str = "") -> endpoints.Endpoint:
        return endpoints.builtin("v1", self._kind, subresource)

    def read(self, obj: Object) -> list[str]:
        unknown = [each for each in obj if each not in _MEMBERS]
        spec = obj.get("spec") or {}
        for each in unknown:
            del obj[each]
        if spec.pop("nope", None):
            unknown.append("spec.nope")
        return unknown


RESOURCES = {kind: Resource("", "v1", kind, plural, Kind(kind)) for kind, plural in PLURALS.items()}


class Ours:
    """Our plugins over a storage in memory; webhooks are called in-process."""

    def __init__(self, storage: Storage, namespace: str, answering: Answering, user: User) -> None:
        self._user = user
        self._storage = storage
        self._namespace = namespace
        self._answering = answering
        view, numbers = View(storage), itertools.count()
        caller = Caller(by_endpoints(view), self._connect)
        asking = {"ask_for": lambda _: lambda _: (True, "")}
        self._chain = Chain(
            [
                MutatingPolicies(view, self._find, **asking),
                MutatingWebhooks(
                    view,
                    caller,
                    lambda: f"{next(numbers):08}-0000-0000-0000-000000000000",
                    **asking,
                ),
                ValidatingPolicies(view, self._find, **asking),
                ValidatingWebhooks(
                    view,
                    caller,
                    lambda: f"{next(numbers):08}-0000-0000-0000-000000000000",
                    **asking,
                ),
            ]
        )

    async def configure(self, cases: Iterable[Case], url: str = "https://127.0.0.1:2") -> None:
        meta = {"name": self._namespace, "labels": {"kubernetes.io/metadata.name": self._namespace}}
        await self._store("namespaces", {"metadata": meta, "status": {"phase": "Active"}})
        for case in cases:
            for plural, obj in configured(case, self._namespace, url, b"authority"):
                await self._store(
                    plural if plural == "secrets" else f"{plural}.admissionregistration.k8s.io", obj
                )

    async def carry_out(self, case: Case) -> Outcome:
        obj = written(case, self._namespace)
        attributes = self._attributes(case, "CREATE", obj)
        refusal = await self._run(attributes)
        if case.operation != "CREATE":
            old = attributes.object
            attributes = self._attributes(
                case,
                case.operation,
                {**obj, **case.change} if case.operation == "UPDATE" else None,
                old,
            )
            refusal = await self._run(attributes)
        asked = self._answering.asked.get(case.name, ())
        return outcome(case, refusal, attributes.object, attributes.warnings, asked)

    def _attributes(
        self, case: Case, operation: str, obj: Object | None, old: Object | None = None
    ) -> Attributes:
        kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}[
            operation
        ]
        options: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if case.dry_run:
            options["dryRun"] = ["All"]
        return Attributes(
            Operation(operation),
            RESOURCES[case.kind],
            self._namespace,
            case.name,
            self._user,
            obj,
            old,
            dry_run=case.dry_run,
            options=options,
        )

    async def _run(self, attributes: Attributes) -> Object:
        try:
            await self._chain.mutate(attributes)
            await self._chain.validate(attributes)
        except Refused as refused:
            return json.loads(json.dumps(codec.plain(refused.status)))
        return {}

    async def _store(self, resource: str, obj: Object) -> None:
        key = Key(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        meta = {**obj["metadata"], "resourceVersion": "VERSION"}
        head, tail = json.dumps({**obj, "metadata": meta}).encode().split(b"VERSION")
        await self._storage.write(Create(key, Draft(head, tail)))

    def _find(self, api_version: str, kind: str) -> Resource | None:
        return RESOURCES.get(kind) if api_version == "v1" else None

    def _connect(self, endpoint: Endpoint) -> Transport:
        return InProcess(self._answering, endpoint)


class InProcess:
    """A transport into a handler."""

    def __init__(self, handler: Answering, endpoint: Endpoint) -> None:
        self._handler = handler
        self._endpoint = endpoint

    async def send(self, request: Request, guard: Any = None) -> "Answered":
        if self._endpoint.address.endswith(":1"):
            raise Unreachable(f"{self._endpoint.address}: Connection refused")
        return Answered(await self._handler(request))

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class Answered:
    """A reply as a response."""

    reply: Reply

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.reply.headers

    async def read(self) -> bytes:
        return self.reply.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.reply.body

    async def close(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass
