"""Admission of the embedded server against a real one: the same refusals in the same words, the same changes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
import json
from pathlib import Path
import random
import runpy
from typing import Any

import msgspec
import pytest

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from kubeloop.objects import resources
from kubeloop.objects.core import CONFIG_MAPS, PODS, SECRETS
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.plan import AnyKind
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation
from pocketkube.apiserver.admission.plugins import default_plugins
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Key, Storage, open_storage
from pocketkube.apiserver.view import View, draft
from pocketkube.objects import quota_usage
from pocketkube.objects.provisions import PERSISTENT_VOLUME_CLAIMS, SERVICES

CASES = runpy.run_path(str(Path(__file__).parent / "admission_cases.py"))
PATIENCE = 10.0
"""Seconds in which a real server's plugins must have heard of what was set up."""
Object = dict[str, Any]

KINDS = {
    kind: Resource("", "v1", kind, plural, Strategy())
    for kind, plural in {
        "Pod": "pods",
        "Service": "services",
        "PersistentVolumeClaim": "persistentvolumeclaims",
        "ConfigMap": "configmaps",
        "Secret": "secrets",
        "ReplicationController": "replicationcontrollers",
    }.items()
}
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", Strategy(), namespaced=False)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", Strategy())
STORED = {
    "namespaces": "/api/v1/namespaces",
    "serviceaccounts": "/api/v1/serviceaccounts",
    "limitranges": "/api/v1/limitranges",
    "resourcequotas": "/api/v1/resourcequotas",
    "pods": "/api/v1/pods",
    "priorityclasses.scheduling.k8s.io": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "runtimeclasses.node.k8s.io": "/apis/node.k8s.io/v1/runtimeclasses",
    "storageclasses.storage.k8s.io": "/apis/storage.k8s.io/v1/storageclasses",
}
FIXTURES: tuple[Object, ...] = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "admission-polite"},
        "value": 10,
        "preemptionPolicy": "Never",
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "admission-box"},
        "handler": "box",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {
            "nodeSelector": {"box": "yes"},
            "tolerations": [{"key": "box", "operator": "Exists"}],
        },
    },
)


class Both:
    """A namespace on a real server, and its likeness in memory with our plugins before it."""

    def __init__(
        self, client: Client, control_plane: ControlPlane, storage: Storage, clock: Clock
    ) -> None:
        self._transport = client._sender.transport
        self._plane = control_plane
        self._storage = storage
        plugins = default_plugins(View(storage), clock.now, random.Random(1))
        self.chain = Chain(plugins)

    async def apply(self, *objects: Object) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        await self._plane.kubectl("apply", "-f", "-", input=json.dumps(listed))

    async def ask(
        self, method: str, path: str, body: Object | None = None
    ) -> tuple[int, Object, str]:
        request = Request(
            method, path, {"Content-Type": "application/json"}, json.dumps(body or {}).encode()
        )
        async with await self._transport.send(request) as answer:
            warning = answer.headers.get("Warning", "")
            return answer.status, json.loads(await answer.read()), warning

    async def copy(self) -> None:
        """Takes over what is stored on the real server."""
        for resource, path in STORED.items():
            _, listed, _ = await self.ask("GET", path)
            for obj in listed["items"]:
                meta = obj["metadata"]
                key = Key(resource, meta.get("namespace", ""), meta["name"])
                if self._storage.get(key) is None:
                    await self._storage.write(Create(key, draft(obj)))

    async def compare(self, namespace: str, obj: Object, resource: Resource | None = None) -> str:
        resource = resource or KINDS[obj["kind"]]
        obj = deepcopy(obj)
        obj["metadata"] |= {"name": "x", "namespace": namespace}
        root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
        path = f"{root}/namespaces/{namespace}/{resource.plural}?dryRun=All"
        code, theirs, warned = await self.ask("POST", path, obj)
        attributes = Attributes(
            Operation.CREATE, resource, namespace, "x", User("me"), object=obj, dry_run=True
        )
        try:
            with self.chain.admission(attributes) as admission:
                await admission.mutate()
                await admission.validate()
        except Refused as refused:
            mine = msgspec.to_builtins(refused.status)
            theirs.pop("metadata", None)
            return "" if _ordered(mine) == _ordered(theirs) else f"server {theirs}\n   ours {mine}"
        if code >= 300:
            return f"server {theirs}\n   ours: accepted"
        if not _warned_alike(warned, attributes.warnings):
            return f"server warns {warned}\n   ours {attributes.warnings}"
        return _difference(theirs, attributes.object or {})


def _warned_alike(theirs: str, mine: list[str]) -> bool:
    """Only one of several warnings comes through, and other rooms of the server warn too."""
    if theirs and "PodSecurity" not in theirs:
        return True
    return bool(theirs) == bool(mine) and all(each.replace('"', '\\"') in theirs for each in mine)


def _ordered(status: Object) -> Object:
    """Several causes in one message come in the order of names here and by chance there."""
    start, bracket, causes = status["message"].partition("[")
    listed = bracket and causes.endswith("]")
    return {**status, "message": (start, sorted(causes[:-1].split(", ")))} if listed else status


def _difference(theirs: Object, mine: Object) -> str:
    """What a plugin may have set is compared; the name of the token's volume is chance."""
    if theirs["kind"] != "Pod":
        kept = theirs["metadata"].get("finalizers"), mine["metadata"].get("finalizers")
        return "" if kept[0] == kept[1] else f"finalizers: {kept}"
    for member in SET:
        seen, made = (_unnamed(each["spec"].get(member)) for each in (theirs, mine))
        if seen != made:
            return f"spec.{member}: server {seen}\n   ours {made}"
    for member in ("initContainers", "containers"):
        for seen, made in zip(
            theirs["spec"].get(member, ()), mine["spec"].get(member, ()), strict=True
        ):
            for part in ("resources", "volumeMounts"):
                if _unnamed(seen.get(part) or {}) != _unnamed(made.get(part) or {}):
                    return f"{member}.{part}: server {seen.get(part)}\n   ours {made.get(part)}"
    notes = theirs["metadata"].get("annotations"), mine["metadata"].get("annotations")
    return "" if notes[0] == notes[1] else f"annotations: server {notes[0]}\n   ours {notes[1]}"


SET = (
    "serviceAccountName",
    "serviceAccount",
    "imagePullSecrets",
    "volumes",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "tolerations",
    "nodeSelector",
    "overhead",
)


def _unnamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unnamed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unnamed(inner) for inner in value]
    random_name = isinstance(value, str) and value.startswith("kube-api-access-")
    return "kube-api-access-?" if random_name and value != "kube-api-access-mine" else value


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A plane that lets privileged containers through to the standards."""
    plane = ControlPlane(flags={"kube-apiserver": ("--allow-privileged=true",)})
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane) -> Path:
    return control_plane.kubeconfig()


@pytest.fixture
async def both(client: Client, control_plane: ControlPlane, clock: Clock) -> AsyncIterator[Both]:
    async with open_storage(None) as storage:
        both = Both(client, control_plane, storage, clock)
        await both.apply(*FIXTURES)
        yield both


async def _all(
    both: Both, namespace: str, cases: dict[str, Object], resource: Resource | None = None
) -> str:
    """What differs once the real server knows what was set up: its plugins hear of it a little later."""
    await both.copy()
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while wrong := await _differences(both, namespace, cases, resource):
        if loop.time() > end:
            break
        await asyncio.sleep(0.05)
    return "\n".join(f"{label}: {stated}" for label, stated in wrong.items())


async def _differences(
    both: Both, namespace: str, cases: dict[str, Object], resource: Resource | None
) -> dict[str, str]:
    compared = {label: await both.compare(namespace, obj, resource) for label, obj in cases.items()}
    return {label: stated for label, stated in compared.items() if stated}


def _label(control_plane: ControlPlane, namespace: str, **labels: str) -> Any:
    said = [
        f"pod-security.kubernetes.io/{key.replace('_', '-')}={value}"
        for key, value in labels.items()
    ]
    return control_plane.kubectl("label", "--overwrite", "namespace", namespace, *said)


@pytest.mark.parametrize(
    "labels",
    [
        {"enforce": "restricted"},
        {"enforce": "baseline"},
        {"enforce": "restricted", "enforce_version": "v1.24"},
        {"enforce": "baseline", "enforce_version": "v1.18"},
        {"enforce": "baseline", "enforce_version": "v1.30"},
        {"warn": "restricted", "audit": "restricted"},
        {"enforce": "baseline", "warn": "restricted", "warn_version": "v1.99"},
    ],
    ids=lambda labels: " ".join(f"{key}={value}" for key, value in labels.items()),
)
async def test_pods_meet_the_same_standards(
    both: Both, control_plane: ControlPlane, namespace: str, labels: dict[str, str]
) -> None:
    await _label(control_plane, namespace, **labels)
    assert await _all(both, namespace, CASES["STANDARDS"]) == ""


async def test_templates_are_warned_about_alike(
    both: Both, control_plane: ControlPlane, namespace: str
) -> None:
    await _label(control_plane, namespace, enforce="restricted")
    deployments = {}
    for label, pod in CASES["STANDARDS"].items():
        template = {**pod, "metadata": {**pod["metadata"], "labels": {"a": "b"}}}
        deployments[label] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {key: template[key] for key in ("metadata", "spec")},
            },
        }
    assert await _all(both, namespace, deployments, DEPLOYMENTS) == ""


async def test_limit_ranges_agree(both: Both, namespace: str) -> None:
    limits: list[Object] = [
        {
            "type": "Container",
            "min": {"cpu": "100m"},
            "max": {"cpu": "1", "memory": "1Gi"},
            "default": {"cpu": "500m", "memory": "128Mi"},
            "defaultRequest": {"cpu": "250m", "memory": "64Mi"},
            "maxLimitRequestRatio": {"cpu": "4"},
        },
        {"type": "Pod", "max": {"cpu": "1500m"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "2Mi"}, "max": {"storage": "9Gi"}},
    ]
    await both.apply(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "r", "namespace": namespace},
            "spec": {"limits": limits},
        }
    )
    claims = {label: obj for label, obj in CASES["OTHERS"].items() if "claim" in label}
    stated = await _all(both, namespace, {**CASES["LIMITED"], **claims})
    assert stated == ""


async def test_priorities_agree(both: Both, namespace: str) -> None:
    assert await _all(both, namespace, CASES["PRIORITIES"]) == ""


async def test_accounts_tolerations_and_runtimes_agree(both: Both, namespace: str) -> None:
    def account(name: str, meta: Object | None = None, **members: Any) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace, **(meta or {})},
            **members,
        }

    strict = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    await both.apply(
        account("builder", imagePullSecrets=[{"name": "pull"}]),
        account("shy", automountServiceAccountToken=False),
        account("strict", strict, secrets=[{"name": "mine"}]),
    )
    assert await _all(both, namespace, CASES["ACCOUNTS"]) == ""


SCOPES: dict[str, Object] = {
    "all": {
        "hard": {
            "pods": "2",
            "requests.cpu": "1",
            "limits.cpu": "2",
            "memory": "1Gi",
            "limits.memory": "2Gi",
            "requests.nvidia.com/gpu": "2",
            "hugepages-2Mi": "4Mi",
            "services": "1",
            "services.nodeports": "1",
            "services.loadbalancers": "0",
            "requests.storage": "10Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
            "count/secrets": "0",
            "configmaps": "1",
        }
    },
    "besteffort": {"hard": {"pods": "0"}, "scopes": ["BestEffort"]},
    "notbesteffort": {"hard": {"pods": "1", "cpu": "500m"}, "scopes": ["NotBestEffort"]},
    "terminating": {"hard": {"pods": "0"}, "scopes": ["Terminating"]},
    "notterminating": {"hard": {"pods": "0"}, "scopes": ["NotTerminating"]},
    "abroad": {"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]},
    "class": {
        "hard": {"pods": "0"},
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["admission-polite"]}
            ]
        },
    },
    "noclass": {
        "hard": {"pods": "0"},
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "NotIn", "values": ["admission-polite"]}
            ]
        },
    },
}


@pytest.mark.parametrize("scope", SCOPES)
async def test_quotas_agree(
    both: Both, control_plane: ControlPlane, namespace: str, scope: str
) -> None:
    await both.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": namespace},
            "spec": SCOPES[scope],
        }
    )
    wait = ("wait", "-n", namespace, "--for=jsonpath={.status.used.pods}=0", "resourcequota/q")
    await control_plane.kubectl(*wait)
    assert await _all(both, namespace, {**CASES["QUOTAS"], **CASES["OTHERS"]}) == ""


async def test_usage_is_counted_like_kube_controller_manager_counts_it(
    both: Both, client: Client, control_plane: ControlPlane, namespace: str, clock: Clock
) -> None:
    made = [*CASES["QUOTAS"].values(), *CASES["OTHERS"].values()]
    named = [
        {**obj, "metadata": {"name": f"x{number}", "namespace": namespace}}
        for number, obj in enumerate(made)
    ]
    hard = dict.fromkeys(
        (*SCOPES["all"]["hard"], "count/pods", "requests.memory", "requests.hugepages-2Mi"), "99"
    )
    quotas = [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {**spec, "hard": hard if name == "all" else spec["hard"]},
        }
        for name, spec in SCOPES.items()
    ]
    await both.apply(*named)
    await both.apply(*quotas)
    for name in SCOPES:
        stated = "--for=jsonpath={.status.used.pods}"
        await control_plane.kubectl("wait", "-n", namespace, stated, f"resourcequota/{name}")
    kinds: tuple[AnyKind, ...] = (PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS, SECRETS, CONFIG_MAPS)
    listed = {str(kind): (await client.list(kind, namespace)).items for kind in kinds}
    for quota in (await client.list(RESOURCE_QUOTAS, namespace)).items:
        ours = quota_usage.counted(quota.spec, listed.__getitem__, listed, clock.now())
        assert resources.render(ours) == quota.status.used, quota.metadata.name


async def test_a_missing_namespace_is_reported_alike(both: Both) -> None:
    assert await _all(both, "nowhere", {"any": CASES["pod"]()}) == ""
