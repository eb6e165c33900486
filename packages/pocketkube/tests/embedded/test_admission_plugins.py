"""The plugins of admission on a store in memory. That they speak like a real server is shown in tests/e2e."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
import random
from typing import Any

import pytest

from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation, Plugin
from pocketkube.apiserver.admission.plugins import default_plugins
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Conflict, Create, Key, Storage, Update, open_storage
from pocketkube.apiserver.view import View, decoded, draft

Object = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def kind(name: str, plural: str, group: str = "", *, namespaced: bool = True) -> Resource:
    return Resource(group, "v1", name, plural, Strategy(), namespaced=namespaced)


PODS = kind("Pod", "pods")
NAMESPACES = kind("Namespace", "namespaces", namespaced=False)
NODES = kind("Node", "nodes", namespaced=False)
CLAIMS = kind("PersistentVolumeClaim", "persistentvolumeclaims")
SECRETS = kind("Secret", "secrets")
CLASSES = kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False)
DEPLOYMENTS = kind("Deployment", "deployments", "apps")


class World:
    """A store and the chain before it; `create` and `update` do what the server's write path does."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.attempts = 0
        self.chain = Chain(default_plugins(View(storage), lambda: NOW, random.Random(1)))

    async def put(self, resource: Resource | str, obj: Object, namespace: str = "") -> None:
        stored = resource if isinstance(resource, str) else resource.stored
        meta = {**obj.get("metadata", {}), "namespace": namespace} if namespace else obj["metadata"]
        key = Key(stored, namespace, meta["name"])
        old = self.storage.get(key)
        made = draft({**obj, "metadata": meta})
        write = Create(key, made) if old is None else Update(key, made, old.version)
        await self.storage.write(write)

    def get(self, stored: str, name: str) -> Object:
        record = self.storage.get(Key(stored, "ns", name))
        assert record is not None
        return decoded(record)

    async def ask(
        self,
        resource: Resource,
        obj: Object | None,
        operation: Operation = Operation.CREATE,
        *,
        namespace: str = "ns",
        old: Object | None = None,
        subresource: str = "",
        name: str = "x",
        dry_run: bool = False,
        write: Callable[[Attributes], Awaitable[None]] | None = None,
    ) -> Attributes:
        """Runs the chain, and writes while it is admitted if told how."""
        if obj is not None:
            obj.setdefault("metadata", {}).setdefault("name", name)
        attributes = Attributes(
            operation,
            resource,
            namespace if resource.namespaced else "",
            name,
            User("me"),
            object=obj,
            old=old,
            subresource=subresource,
            dry_run=dry_run,
        )
        with self.chain.admission(attributes) as admission:
            await admission.mutate()
            await admission.validate()
            if write is not None:
                await write(attributes)
        return attributes

    async def create(
        self, resource: Resource, obj: Object, name: str, *, locks: bool = False
    ) -> None:
        """Writes with all that goes alongside, and begins again if somebody was faster."""

        async def write(attributes: Attributes) -> None:
            self.attempts += 1
            await asyncio.sleep(0)
            key = Key(resource.stored, "ns", name)
            await self.storage.write(Create(key, draft(obj)), *attributes.alongside)

        while True:
            try:
                if locks:
                    await self.ask(resource, obj, name=name, write=write)
                else:
                    await write(await self.ask(resource, obj, name=name))
            except Conflict:
                continue
            return


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_storage(None) as storage:
        world = World(storage)
        await world.put(NAMESPACES, {"metadata": {"name": "ns"}, "status": {"phase": "Active"}})
        await world.put("serviceaccounts", {"metadata": {"name": "default"}}, "ns")
        yield world


def a_pod(**spec: Any) -> Object:
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def message(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.status.message


def test_what_is_dynamic_stands_before_the_quota() -> None:
    webhook = Plugin()
    view: Any = None
    names = [
        type(each).__name__
        for each in default_plugins(view, lambda: NOW, random.Random(1), (webhook,))
    ]
    assert names[0] == "NamespaceLifecycle"
    assert names[-2:] == ["Plugin", "ResourceQuota"]


class TestNamespaces:
    async def test_nothing_is_made_where_there_is_none(self, world: World) -> None:
        with pytest.raises(Refused, match=r'^namespaces "nowhere" not found$') as refused:
            await world.ask(SECRETS, {}, namespace="nowhere")
        assert refused.value.status.code == 404

    async def test_nothing_is_made_in_one_that_goes(self, world: World) -> None:
        goes = {"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}}
        await world.put(NAMESPACES, goes)
        with pytest.raises(Refused) as refused:
            await world.ask(SECRETS, {})
        status = refused.value.status
        assert (status.code, status.details and status.details.causes[0].reason) == (
            403,
            "NamespaceTerminating",
        )
        await world.ask(SECRETS, {}, Operation.UPDATE, old={"metadata": {"name": "x"}})

    @pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
    async def test_some_never_go(self, world: World, name: str) -> None:
        with pytest.raises(Refused, match="this namespace may not be deleted"):
            await world.ask(NAMESPACES, None, Operation.DELETE, name=name)

    async def test_others_go(self, world: World) -> None:
        await world.ask(NAMESPACES, None, Operation.DELETE, name="ns")


class TestPods:
    async def test_a_pod_is_completed(self, world: World) -> None:
        pod = a_pod()
        await world.ask(PODS, pod)
        spec = pod["spec"]
        (volume,) = spec["volumes"]
        (mount,) = spec["containers"][0]["volumeMounts"]
        assert mount["name"] == volume["name"]
        assert volume["name"].startswith("kube-api-access-")
        assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
        assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        assert {each["tolerationSeconds"] for each in spec["tolerations"]} == {300}

    async def test_the_default_account_is_waited_for(self, world: World) -> None:
        await world.put(NAMESPACES, {"metadata": {"name": "young"}})
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(world.ask(PODS, a_pod(), namespace="young"))
            await asyncio.sleep(0.5)
            assert not asking.done()
            await world.put("serviceaccounts", {"metadata": {"name": "default"}}, "young")

    async def test_it_is_not_waited_for_for_ever(self, world: World) -> None:
        await world.put(NAMESPACES, {"metadata": {"name": "young"}})
        with pytest.raises(Refused, match=r'serviceaccount "default" not found$'):
            await world.ask(PODS, a_pod(), namespace="young")

    async def test_an_update_keeps_the_priority(self, world: World) -> None:
        old = a_pod(priority=7, preemptionPolicy="Never")
        pod = a_pod()
        await world.ask(PODS, pod, Operation.UPDATE, old=old)
        assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (7, "Never")

    async def test_the_default_class_is_used_and_there_is_only_one(self, world: World) -> None:
        default = {"metadata": {"name": "d"}, "globalDefault": True, "value": 5}
        await world.put(CLASSES, default)
        pod = a_pod()
        await world.ask(PODS, pod)
        assert (pod["spec"]["priorityClassName"], pod["spec"]["priority"]) == ("d", 5)
        with pytest.raises(Refused, match="PriorityClass d is already marked as default"):
            await world.ask(CLASSES, {"globalDefault": True, "value": 1}, name="e")
        await world.ask(CLASSES, {**default, "value": 5}, Operation.UPDATE, name="d", old=default)

    async def test_binding_a_pod_tells_it_its_zone(self, world: World) -> None:
        labels = {"topology.kubernetes.io/zone": "z", "other": "o"}
        await world.put(NODES, {"metadata": {"name": "n", "labels": labels}})
        binding: Object = {"target": {"kind": "Node", "name": "n"}}
        await world.ask(PODS, binding, subresource="binding")
        assert binding["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}

    async def test_defaults_of_a_limit_range_are_noted(self, world: World) -> None:
        limit = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}
        spec = {"limits": [limit]}
        await world.put("limitranges", {"metadata": {"name": "l"}, "spec": spec}, "ns")
        pod = a_pod()
        await world.ask(PODS, pod)
        assert pod["spec"]["containers"][0]["resources"] == {
            "limits": {"cpu": "1"},
            "requests": {"cpu": "500m"},
        }
        assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
        )


async def test_a_new_node_is_tainted_once(world: World) -> None:
    node: Object = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    for _ in range(2):
        await world.ask(NODES, node)
    assert [each["key"] for each in node["spec"]["taints"]] == ["k", "node.kubernetes.io/not-ready"]


async def test_a_claim_gets_the_youngest_default_class_and_a_finalizer(world: World) -> None:
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name, born in (("a", "2026-01-01"), ("c", "2026-01-02"), ("b", "2026-01-02")):
        meta = {"name": name, "annotations": mark, "creationTimestamp": f"{born}T00:00:00Z"}
        await world.put("storageclasses.storage.k8s.io", {"metadata": meta})
    claim: Object = {"spec": {}}
    await world.ask(CLAIMS, claim)
    assert claim["spec"]["storageClassName"] == "b"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


class TestStandards:
    async def label(self, world: World, **labels: str) -> None:
        named = {f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
        await world.put(NAMESPACES, {"metadata": {"name": "ns", "labels": named}})

    async def test_a_pod_that_violates_is_refused(self, world: World) -> None:
        await self.label(world, enforce="baseline")
        with pytest.raises(Refused) as refused:
            await world.ask(PODS, a_pod(hostNetwork=True))
        assert message(refused) == (
            'pods "x" is forbidden: violates PodSecurity "baseline:latest": '
            "host namespaces (hostNetwork=true)"
        )

    async def test_a_template_is_only_warned_about(self, world: World) -> None:
        await self.label(world, enforce="baseline")
        template = {"spec": {"template": a_pod(hostPID=True)}}
        attributes = await world.ask(DEPLOYMENTS, template)
        assert attributes.warnings == [
            'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
        ]

    async def test_an_update_that_changes_no_image_is_let_through(self, world: World) -> None:
        await self.label(world, enforce="baseline")
        pod = a_pod(hostPID=True)
        await world.ask(PODS, pod, Operation.UPDATE, old=a_pod())
        pod["spec"]["containers"][0]["image"] = "other"
        with pytest.raises(Refused, match="violates PodSecurity"):
            await world.ask(PODS, pod, Operation.UPDATE, old=a_pod())

    async def test_a_namespace_that_becomes_stricter_names_its_offenders(
        self, world: World
    ) -> None:
        for name in ("b", "a", "c"):
            await world.put(PODS, {"metadata": {"name": name}, **_spec(hostPID=True)}, "ns")
        await world.put(PODS, {"metadata": {"name": "d"}, **_spec(hostIPC=True, volumes=[])}, "ns")
        await world.put(PODS, {"metadata": {"name": "e"}, **_spec()}, "ns")
        labels = {"pod-security.kubernetes.io/enforce": "baseline"}
        new = {"metadata": {"name": "ns", "labels": labels}}
        old = {"metadata": {"name": "ns"}}
        attributes = await world.ask(NAMESPACES, new, Operation.UPDATE, old=old, name="ns")
        assert attributes.warnings == [
            'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 3 other pods): host namespaces",
        ]
        back = await world.ask(NAMESPACES, old, Operation.UPDATE, old=new, name="ns")
        assert back.warnings == []

    @pytest.mark.parametrize(
        ("label", "value", "why"),
        [
            ("enforce", "strict", "must be one of privileged, baseline, restricted"),
            ("warn-version", "1.2", 'must be "latest" or "v1.x"'),
        ],
    )
    async def test_labels_are_checked(self, world: World, label: str, value: str, why: str) -> None:
        labels = {f"pod-security.kubernetes.io/{label}": value}
        with pytest.raises(Refused) as refused:
            await world.ask(NAMESPACES, {"metadata": {"name": "n", "labels": labels}}, name="n")
        assert refused.value.status.code == 422
        assert message(refused).endswith(f'Invalid value: "{value}": {why}')


def _spec(**spec: Any) -> Object:
    return {"spec": a_pod(**spec)["spec"]}


def a_quota(hard: Object, used: Object | None = None, **spec: Any) -> Object:
    status = {"hard": hard} if used is None else {"hard": hard, "used": used}
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": status}


class TestQuotas:
    @pytest.mark.parametrize("locks", [False, True], ids=["all at once", "one after the other"])
    async def test_writers_that_race_do_not_pass_the_limit(self, world: World, locks: bool) -> None:
        await world.put("resourcequotas", a_quota({"pods": "5"}, {"pods": "0"}), "ns")
        answers = await asyncio.gather(
            *(world.create(PODS, a_pod(), f"p{number}", locks=locks) for number in range(20)),
            return_exceptions=True,
        )
        refused = [each for each in answers if isinstance(each, Refused)]
        assert len(refused) == 15
        assert refused[0].status.message.endswith(
            "exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5"
        )
        assert len(world.storage.page("pods", "ns").records) == 5
        assert world.get("resourcequotas", "q")["status"]["used"] == {"pods": "5"}
        assert (world.attempts == 5) == locks

    async def test_what_is_not_known_is_not_charged(self, world: World) -> None:
        await world.put("resourcequotas", a_quota({"pods": "5", "count/secrets": "1"}), "ns")
        with pytest.raises(Refused, match=r"status unknown for quota: q, resources: pods$"):
            await world.ask(PODS, a_pod())

    async def test_a_dry_run_is_judged_but_not_charged(self, world: World) -> None:
        await world.put("resourcequotas", a_quota({"secrets": "1"}, {"secrets": "0"}), "ns")
        assert (await world.ask(SECRETS, {}, dry_run=True)).alongside == []
        assert len((await world.ask(SECRETS, {})).alongside) == 1

    async def test_a_larger_claim_is_charged_with_the_difference(self, world: World) -> None:
        quota = a_quota({"requests.storage": "10Gi"}, {"requests.storage": "8Gi"})
        await world.put("resourcequotas", quota, "ns")
        old, new, huge = (
            {"metadata": {}, "spec": {"resources": {"requests": {"storage": size}}}}
            for size in ("2Gi", "3Gi", "5Gi")
        )
        (write,) = (await world.ask(CLAIMS, new, Operation.UPDATE, old=old)).alongside
        assert b'"used":{"requests.storage":"9Gi"}' in write.draft.tail
        with pytest.raises(Refused, match=r"requested: requests.storage=3Gi, used: .*=8Gi"):
            await world.ask(CLAIMS, huge, Operation.UPDATE, old=old)
        assert (await world.ask(CLAIMS, old, Operation.UPDATE, old=new)).alongside == []

    async def test_what_a_status_says_is_charged_but_never_refused(self, world: World) -> None:
        quota = a_quota({"requests.storage": "10Gi"}, {"requests.storage": "9Gi"})
        await world.put("resourcequotas", quota, "ns")
        old, new = (
            {"metadata": {}, "spec": {"resources": {"requests": {"storage": size}}}}
            for size in ("2Gi", "5Gi")
        )
        (write,) = (
            await world.ask(CLAIMS, new, Operation.UPDATE, old=old, subresource="status")
        ).alongside
        assert b'"used":{"requests.storage":"12Gi"}' in write.draft.tail

    async def test_a_pod_that_changes_its_scope_is_charged_there(self, world: World) -> None:
        quota = a_quota({"pods": "0"}, {"pods": "0"}, scopes=["Terminating"])
        await world.put("resourcequotas", quota, "ns")
        await world.ask(PODS, a_pod(), Operation.UPDATE, old=a_pod())
        with pytest.raises(Refused, match="exceeded quota: q, requested: pods=1"):
            await world.ask(PODS, a_pod(activeDeadlineSeconds=1), Operation.UPDATE, old=a_pod())

    async def test_several_quotas_are_charged_together_or_not_at_all(self, world: World) -> None:
        wide = a_quota({"pods": "9"}, {"pods": "0"})
        await world.put("resourcequotas", {**wide, "metadata": {"name": "a"}}, "ns")
        await world.put("resourcequotas", a_quota({"pods": "1"}, {"pods": "0"}), "ns")
        await world.create(PODS, a_pod(), "p")
        with pytest.raises(Refused, match="exceeded quota: q"):
            await world.create(PODS, a_pod(), "r")
        used = [world.get("resourcequotas", name)["status"]["used"] for name in ("a", "q")]
        assert used == [{"pods": "1"}, {"pods": "1"}]
