"""The official Python client on `korder up`: typed and dynamic objects, every kind of patch, subresources, watches, tokens."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
import json
from pathlib import Path
import secrets
from typing import Any

from kubernetes import client as kube, config, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
import pytest
import yaml

from korder.testing.up import UpProcess

PATCHES = {
    "merge": ("application/merge-patch+json", {"data": {"b": "2", "a": None}}),
    "strategic merge": ("application/strategic-merge-patch+json", {"data": {"b": "2", "a": None}}),
    "JSON": (
        "application/json-patch+json",
        [
            {"op": "test", "path": "/data/a", "value": "1"},
            {"op": "move", "from": "/data/a", "path": "/data/b"},
            {"op": "replace", "path": "/data/b", "value": "2"},
        ],
    ),
}

WIDGETS = {
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.size",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "maximum": 9}},
                            },
                            "status": {
                                "type": "object",
                                "properties": {"size": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}

SHOP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "shop:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: shop}}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: one}, stringData: {key: value}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: seller}}
"""


@dataclass(frozen=True)
class Cluster:
    """The clients of one cluster, and a namespace in it."""

    api: Any
    namespace: str

    @property
    def core(self) -> Any:
        return kube.CoreV1Api(self.api)

    @property
    def apps(self) -> Any:
        return kube.AppsV1Api(self.api)

    @property
    def custom(self) -> Any:
        return kube.CustomObjectsApi(self.api)

    def config_map(self, name: str, **data: str) -> Any:
        body = kube.V1ConfigMap(metadata=kube.V1ObjectMeta(name=name), data=data)
        return self.core.create_namespaced_config_map(self.namespace, body)

    def pod(self, name: str, **spec: Any) -> Any:
        container = kube.V1Container(name="app", image="app:1")
        body = kube.V1Pod(
            metadata=kube.V1ObjectMeta(name=name, labels={"app": name}),
            spec=kube.V1PodSpec(containers=[container], **spec),
        )
        return self.core.create_namespaced_pod(self.namespace, body)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    up = UpProcess(tmp_path_factory.mktemp("up"), "--nodes", "3")
    asyncio.run(up.start())
    yield up
    asyncio.run(up.stop())
    assert "request failed" not in (up.folder / "up.log").read_text()


@pytest.fixture
def cluster(up: UpProcess) -> Iterator[Cluster]:
    with config.new_client_from_config(str(up.kubeconfig)) as api:
        cluster = Cluster(api, f"test-{secrets.token_hex(4)}")
        cluster.core.create_namespace({"metadata": {"name": cluster.namespace}})
        yield cluster
        cluster.core.delete_namespace(cluster.namespace)


@pytest.fixture
def widgets(cluster: Cluster) -> Iterator[tuple[str, str, str, str]]:
    """A kind of the test's own: where the client finds its objects."""
    definitions = kube.ApiextensionsV1Api(cluster.api)
    definitions.create_custom_resource_definition(WIDGETS)
    yield "example.org", "v1", cluster.namespace, "widgets"
    definitions.delete_custom_resource_definition("widgets.example.org")


async def until(check: Callable[[], Any], seconds: float = 20) -> Any:
    async with asyncio.timeout(seconds):
        while not (seen := check()):
            await asyncio.sleep(0.05)
    return seen


def refused(status: HTTPStatus, reason: str, ask: Callable[[], object]) -> str:
    """The message of a refusal, which must be this one."""
    with pytest.raises(ApiException) as caught:
        ask()
    stated = json.loads(caught.value.body)
    assert (caught.value.status, stated["reason"]) == (status, reason)
    return str(stated["message"])


def test_an_object_is_created_read_replaced_and_deleted(cluster: Cluster) -> None:
    made = cluster.config_map("settings", a="1")
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.data["a"] = "2"
    replaced = cluster.core.replace_namespaced_config_map("settings", cluster.namespace, made)
    assert replaced.data == {"a": "2"}
    stale = refused(
        HTTPStatus.CONFLICT,
        "Conflict",
        lambda: cluster.core.replace_namespaced_config_map("settings", cluster.namespace, made),
    )
    assert "the object has been modified" in stale
    cluster.core.delete_namespaced_config_map("settings", cluster.namespace)
    refused(
        HTTPStatus.NOT_FOUND,
        "NotFound",
        lambda: cluster.core.read_namespaced_config_map("settings", cluster.namespace),
    )


@pytest.mark.parametrize(("content_type", "patch"), PATCHES.values(), ids=PATCHES)
def test_every_kind_of_patch_is_understood(
    cluster: Cluster, content_type: str, patch: object
) -> None:
    cluster.config_map("settings", a="1")
    patched = cluster.core.patch_namespaced_config_map(
        "settings", cluster.namespace, patch, _content_type=content_type
    )
    assert patched.data == {"b": "2"}


def test_what_is_applied_belongs_to_who_applied_it(cluster: Cluster, tmp_path: Path) -> None:
    dynamic = DynamicClient(cluster.api, cache_file=str(tmp_path / "kinds"))
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    wanted: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"a": "1"},
    }

    def apply(manager: str, **options: Any) -> Any:
        return dynamic.server_side_apply(
            maps, wanted, "settings", cluster.namespace, field_manager=manager, **options
        )

    assert apply("one").metadata.managedFields[0].operation == "Apply"
    wanted["data"] = {"a": "2"}
    with pytest.raises(ApiException, match='conflict with \\\\"one\\\\"'):
        apply("two")
    assert apply("two", force_conflicts=True).data.to_dict() == {"a": "2"}


def test_the_dynamic_client_discovers_and_reads_every_kind(
    cluster: Cluster, tmp_path: Path
) -> None:
    dynamic = DynamicClient(cluster.api, cache_file=str(tmp_path / "kinds"))
    assert dynamic.version["kubernetes"]["gitVersion"].startswith("v1.36")
    found = {kind.kind: kind for kind in dynamic.resources.search() if "list" in (kind.verbs or ())}
    lists = {name for name in found if name.endswith("List")}
    assert len(lists) > 60
    for name in lists:
        assert dynamic.get(found[name.removesuffix("List")]).kind == name
    orders = dynamic.resources.get(api_version="core.korder.dev/v1alpha1", kind="Order")
    assert orders.namespaced


def test_a_watch_tells_a_life_from_a_version_on(cluster: Cluster) -> None:
    maps = cluster.core.list_namespaced_config_map(cluster.namespace)
    cluster.config_map("one", a="1")
    cluster.core.patch_namespaced_config_map("one", cluster.namespace, {"data": {"a": "2"}})
    cluster.config_map("two")
    cluster.core.delete_namespaced_config_map("one", cluster.namespace)
    seen = []
    for event in watch.Watch().stream(
        cluster.core.list_namespaced_config_map,
        cluster.namespace,
        field_selector="metadata.name=one",
        resource_version=maps.metadata.resource_version,
        timeout_seconds=20,
    ):
        seen.append((event["type"], event["object"].data))
        if event["type"] == "DELETED":
            break
    assert seen == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]


def test_a_watch_ends_when_its_time_is_over(cluster: Cluster) -> None:
    events = watch.Watch().stream(
        cluster.core.list_namespaced_secret, cluster.namespace, timeout_seconds=1
    )
    assert list(events) == []


async def test_an_informer_knows_what_there_is(cluster: Cluster) -> None:
    cluster.config_map("before")
    # The period is also how long its thread may take to end.
    informer = SharedInformer(
        cluster.core.list_namespaced_config_map, cluster.namespace, resync_period=1
    )
    seen: list[tuple[str, str]] = []
    for kind in ("ADDED", "DELETED"):
        informer.add_event_handler(
            kind, lambda obj, kind=kind: seen.append((kind, obj.metadata.name))
        )
    informer.start()
    try:
        await until(lambda: ("ADDED", "before") in seen)
        cluster.config_map("after")
        cluster.core.delete_namespaced_config_map("before", cluster.namespace)
        await until(lambda: {("ADDED", "after"), ("DELETED", "before")} <= set(seen))
        assert f"{cluster.namespace}/after" in informer.cache.list_keys()
    finally:
        await asyncio.to_thread(informer.stop)


def test_one_of_two_is_elected(cluster: Cluster) -> None:
    def candidate(name: str) -> LeaderElection:
        lock = LeaseLock("boss", cluster.namespace, name)
        lock.api_instance = kube.CoordinationV1Api(cluster.api)
        return LeaderElection(Config(lock, 17, 15, 5, print, None))

    first, second = candidate("first"), candidate("second")
    assert first.try_acquire_or_renew()
    assert not second.try_acquire_or_renew()
    assert first.try_acquire_or_renew()
    lease = kube.CoordinationV1Api(cluster.api).read_namespaced_lease("boss", cluster.namespace)
    assert lease.spec.holder_identity == "first"


def test_a_list_comes_in_pages(cluster: Cluster) -> None:
    for number in range(7):
        cluster.config_map(f"page-{number}")
    names, more, rest = [], None, []
    while more != "":
        page = cluster.core.list_namespaced_config_map(
            cluster.namespace, limit=3, _continue=more, label_selector="!none"
        )
        names += [item.metadata.name for item in page.items]
        more = page.metadata._continue or ""
        rest.append(page.metadata.remaining_item_count)
    assert [name for name in names if name.startswith("page-")] == [f"page-{n}" for n in range(7)]
    assert rest[-1] is None


async def test_pods_run_and_are_found_by_their_fields(cluster: Cluster) -> None:
    cluster.pod("one")
    cluster.pod("parked", scheduling_gates=[kube.V1PodSchedulingGate(name="example.org/wait")])

    def found(fields: str) -> list[str]:
        pods = cluster.core.list_namespaced_pod(cluster.namespace, field_selector=fields)
        return [pod.metadata.name for pod in pods.items]

    await until(lambda: found("status.phase=Running") == ["one"])
    assert found("status.phase!=Running,spec.nodeName=") == ["parked"]
    cluster.core.delete_collection_namespaced_pod(cluster.namespace, label_selector="app=one")
    await until(lambda: not found("metadata.name=one"))


async def test_a_pod_is_bound_and_its_status_written(cluster: Cluster) -> None:
    cluster.pod("mine", scheduler_name="nobody")
    binding = kube.V1Binding(
        metadata=kube.V1ObjectMeta(name="mine"),
        target=kube.V1ObjectReference(kind="Node", name="node-2", api_version="v1"),
    )
    # The server answers with a Status, which is not the Binding that the client expects back.
    cluster.core.create_namespaced_pod_binding(
        "mine", cluster.namespace, binding, _preload_content=False
    )

    def read() -> Any:
        return cluster.core.read_namespaced_pod_status("mine", cluster.namespace)

    await until(lambda: read().status.phase == "Running")
    assert read().spec.node_name == "node-2"
    cluster.core.patch_namespaced_pod_status(
        "mine", cluster.namespace, {"status": {"phase": "Succeeded"}}
    )
    assert read().status.phase == "Succeeded"


async def test_files_of_many_documents_are_created(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP)
    utils.create_from_yaml(cluster.api, str(path), namespace=cluster.namespace)
    place = ("shop", cluster.namespace)
    await until(lambda: cluster.apps.read_namespaced_deployment(*place).status.ready_replicas == 2)
    secret = cluster.core.read_namespaced_secret("one", cluster.namespace)
    assert secret.data == {"key": "dmFsdWU="}
    utils.create_from_yaml(cluster.api, str(path), namespace=cluster.namespace, apply=True)
    with pytest.raises(utils.FailToCreateError) as caught:
        utils.create_from_yaml(cluster.api, str(path), namespace=cluster.namespace)
    assert {failure.status for failure in caught.value.api_exceptions} == {HTTPStatus.CONFLICT}


async def test_a_deployment_is_scaled_and_its_pods_evicted(cluster: Cluster) -> None:
    wanted = yaml.safe_load_all(SHOP)
    utils.create_from_yaml(cluster.api, yaml_objects=wanted, namespace=cluster.namespace)
    place = ("shop", cluster.namespace)
    await until(lambda: cluster.apps.read_namespaced_deployment(*place).status.ready_replicas == 2)
    budgets = kube.PolicyV1Api(cluster.api)

    def allowed() -> int:
        status = budgets.read_namespaced_pod_disruption_budget(*place).status
        return (status.disruptions_allowed if status.current_healthy else None) or 0

    pods = cluster.core.list_namespaced_pod(cluster.namespace).items
    name = pods[0].metadata.name
    eviction = kube.V1Eviction(metadata=kube.V1ObjectMeta(name=name))

    def evict() -> None:
        cluster.core.create_namespaced_pod_eviction(
            name, cluster.namespace, eviction, _preload_content=False
        )

    stated = refused(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", evict)
    assert "disruption budget" in stated
    scale = cluster.apps.read_namespaced_deployment_scale(*place)
    scale.spec.replicas = 3
    cluster.apps.replace_namespaced_deployment_scale(*place, scale)
    await until(lambda: allowed() == 1)
    evict()
    await until(lambda: cluster.apps.read_namespaced_deployment(*place).status.ready_replicas == 3)
    pods = cluster.core.list_namespaced_pod(cluster.namespace).items
    assert name not in {pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}


def test_custom_objects_are_checked_scaled_and_have_a_status(
    cluster: Cluster, widgets: tuple[str, str, str, str]
) -> None:
    custom = cluster.custom
    widget = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "one"}}
    custom.create_namespaced_custom_object(*widgets, {**widget, "spec": {"size": 3}})
    stated = refused(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Invalid",
        lambda: custom.patch_namespaced_custom_object(*widgets, "one", {"spec": {"size": 10}}),
    )
    assert "spec.size" in stated
    custom.patch_namespaced_custom_object_scale(*widgets, "one", {"spec": {"replicas": 5}})
    custom.patch_namespaced_custom_object_status(*widgets, "one", {"status": {"size": 5}})
    found = custom.get_namespaced_custom_object(*widgets, "one")
    assert (found["spec"], found["status"]) == ({"size": 5}, {"size": 5})
    scale = custom.get_namespaced_custom_object_scale(*widgets, "one")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (5, 5)
    custom.delete_collection_namespaced_custom_object(*widgets)
    assert custom.list_namespaced_custom_object(*widgets)["items"] == []


def test_a_service_account_may_do_what_its_role_allows(cluster: Cluster, up: UpProcess) -> None:
    place = cluster.namespace
    cluster.core.create_namespaced_service_account(place, {"metadata": {"name": "reader"}})
    request = kube.AuthenticationV1TokenRequest(spec=kube.V1TokenRequestSpec(audiences=[]))
    token = cluster.core.create_namespaced_service_account_token("reader", place, request)
    settings = kube.Configuration()
    config.load_kube_config(str(up.kubeconfig), client_configuration=settings)
    settings.api_key = {"authorization": f"Bearer {token.status.token}"}
    settings.refresh_api_key_hook = None
    with kube.ApiClient(settings) as api:
        reader = Cluster(api, place)
        stated = refused(
            HTTPStatus.FORBIDDEN,
            "Forbidden",
            lambda: reader.core.list_namespaced_config_map(place),
        )
        assert f'User "system:serviceaccount:{place}:reader" cannot list' in stated
        rights = kube.RbacAuthorizationV1Api(cluster.api)
        rule = kube.V1PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list"])
        rights.create_namespaced_role(place, {"metadata": {"name": "read"}, "rules": [rule]})
        rights.create_namespaced_role_binding(
            place,
            {
                "metadata": {"name": "read"},
                "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": place}],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "read",
                },
            },
        )
        reader.core.list_namespaced_config_map(place)
        refused(HTTPStatus.FORBIDDEN, "Forbidden", lambda: reader.config_map("no"))
        review = kube.AuthenticationV1Api(api).create_self_subject_review(
            kube.V1SelfSubjectReview()
        )
        assert review.status.user_info.username == f"system:serviceaccount:{place}:reader"
