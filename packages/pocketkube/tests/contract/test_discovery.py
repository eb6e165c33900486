"""What a server says about itself: groups, resources, schemas, version and health."""

from typing import Any

import pytest
from tests.contract.wire import Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def resources(server: Server, path: str) -> dict[str, dict[str, Any]]:
    found = (await server.get(path)).ok()
    assert found["kind"] == "APIResourceList"
    return {each["name"]: each for each in found["resources"]}


async def test_the_core_versions_are_listed(server: Server) -> None:
    found = (await server.get("/api")).ok()
    assert found["kind"] == "APIVersions"
    assert found["versions"] == ["v1"]
    assert found["serverAddressByClientCIDRs"][0]["clientCIDR"] == "0.0.0.0/0"


async def test_the_groups_are_listed_with_their_preferred_version(server: Server) -> None:
    found = (await server.get("/apis")).ok()
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    groups = {each["name"]: each for each in found["groups"]}
    assert groups["apps"] == {
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }
    assert groups["autoscaling"]["preferredVersion"]["version"] == "v2"
    assert {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "batch",
        "coordination.k8s.io",
        "events.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    } <= set(groups)


async def test_one_group_can_be_asked_for(server: Server) -> None:
    assert (await server.get("/apis/apps")).ok() == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


async def test_pods_are_described(server: Server) -> None:
    pods = (await resources(server, "/api/v1"))["pods"]
    pods.pop("storageVersionHash", None)
    assert pods == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
        "shortNames": ["po"],
        "categories": ["all"],
    }


async def test_nodes_and_namespaces_are_not_namespaced(server: Server) -> None:
    found = await resources(server, "/api/v1")
    assert not found["nodes"]["namespaced"]
    assert not found["namespaces"]["namespaced"]
    assert "deletecollection" not in found["namespaces"]["verbs"]


async def test_subresources_name_the_kind_they_take(server: Server) -> None:
    core = await resources(server, "/api/v1")
    eviction = core["pods/eviction"]
    assert (eviction["kind"], eviction["group"], eviction["version"]) == (
        "Eviction",
        "policy",
        "v1",
    )
    assert core["pods/binding"]["kind"] == "Binding"
    assert core["pods/status"]["verbs"] == ["get", "patch", "update"]
    token = core["serviceaccounts/token"]
    assert (token["kind"], token["group"]) == ("TokenRequest", "authentication.k8s.io")
    scale = (await resources(server, "/apis/apps/v1"))["deployments/scale"]
    assert (scale["kind"], scale["group"], scale["version"]) == ("Scale", "autoscaling", "v1")


async def test_resources_of_a_group_are_listed(server: Server) -> None:
    found = await resources(server, "/apis/apps/v1")
    assert {"deployments", "replicasets", "statefulsets", "daemonsets"} <= set(found)
    assert found["deployments"]["shortNames"] == ["deploy"]


async def test_reviews_can_only_be_created(server: Server) -> None:
    found = await resources(server, "/apis/authorization.k8s.io/v1")
    assert found["selfsubjectaccessreviews"]["verbs"] == ["create"]


async def test_a_group_nobody_knows_is_not_found(server: Server) -> None:
    answer = await server.get("/apis/nope.example.com/v1")
    assert (answer.status, answer.text) == (404, "404 page not found\n")


async def test_a_resource_nobody_knows_is_not_found(server: Server) -> None:
    answer = await server.get("/api/v1/nopes")
    answer.refused(404, "NotFound", "the server could not find the requested resource")


async def test_everything_can_be_asked_for_at_once(server: Server) -> None:
    answer = await server.get("/apis", headers={"Accept": AGGREGATED})
    found = answer.ok()
    assert (found["kind"], found["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    assert answer.headers["Content-Type"] == AGGREGATED
    groups = {each["metadata"]["name"]: each for each in found["items"]}
    version = groups["apps"]["versions"][0]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    deployments = {each["resource"]: each for each in version["resources"]}["deployments"]
    assert deployments["responseKind"]["kind"] == "Deployment"
    assert deployments["scope"] == "Namespaced"
    assert deployments["singularResource"] == "deployment"
    scale = {each["subresource"]: each for each in deployments["subresources"]}["scale"]
    assert scale["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


async def test_the_core_group_can_be_asked_for_at_once(server: Server) -> None:
    found = (await server.get("/api", headers={"Accept": AGGREGATED})).ok()
    version = found["items"][0]["versions"][0]
    pods = {each["resource"]: each for each in version["resources"]}["pods"]
    assert {"log", "status", "binding", "eviction"} <= {
        each["subresource"] for each in pods["subresources"]
    }
    assert pods["categories"] == ["all"]


async def test_an_unchanged_discovery_is_not_sent_again(server: Server) -> None:
    first = await server.get("/api", headers={"Accept": AGGREGATED})
    headers = {"Accept": AGGREGATED, "If-None-Match": first.headers["ETag"]}
    again = await server.get("/api", headers=headers)
    assert (again.status, again.body) == (304, b"")


async def test_a_client_may_fall_back_to_the_plain_form(server: Server) -> None:
    found = await server.get("/apis", headers={"Accept": f"{AGGREGATED},application/json"})
    assert found.ok()["kind"] == "APIGroupDiscoveryList"
    wishes = (
        "application/json;g=apidiscovery.k8s.io;v=v99;as=APIGroupDiscoveryList,application/json"
    )
    assert (await server.get("/apis", headers={"Accept": wishes})).ok()["kind"] == "APIGroupList"


async def test_the_version_is_reported(server: Server) -> None:
    version = (await server.get("/version")).ok()
    assert version["major"] == "1"
    assert version["gitVersion"].startswith("v1.")
    assert {"minor", "gitVersion", "gitCommit", "buildDate", "goVersion", "platform"} <= set(
        version
    )


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_is_one_word(server: Server, path: str) -> None:
    answer = await server.get(path)
    assert (answer.status, answer.text) == (200, "ok")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_is_reported_at_length(server: Server, path: str) -> None:
    answer = await server.get(path, verbose="")
    assert "[+]ping ok\n" in answer.text
    assert answer.text.endswith(f"{path.strip('/')} check passed\n")


async def test_one_check_can_be_asked_for(server: Server) -> None:
    assert (await server.get("/livez/ping")).text == "ok"


async def test_the_root_lists_paths(server: Server) -> None:
    paths = (await server.get("/")).ok()["paths"]
    assert {"/api", "/apis", "/version", "/openapi/v2"} <= set(paths)


async def test_a_path_nobody_knows_is_not_found(server: Server) -> None:
    answer = await server.get("/nothing/here")
    assert (answer.status, answer.text) == (404, "404 page not found\n")


async def test_schemas_are_served_as_swagger(server: Server) -> None:
    found = (await server.get("/openapi/v2")).ok()
    assert found["swagger"] == "2.0"
    deployment = found["definitions"]["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "kind": "Deployment", "version": "v1"}
    ]
    spec = found["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"


async def test_swagger_names_the_parameters_that_kubectl_asks_for(server: Server) -> None:
    paths = (await server.get("/openapi/v2")).ok()["paths"]
    patch = paths["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "",
        "kind": "ConfigMap",
        "version": "v1",
    }


async def test_schemas_are_served_by_group_and_version(server: Server) -> None:
    paths = (await server.get("/openapi/v3")).ok()["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/batch/v1"} <= set(paths)
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/apps/v1?hash=")
    path, _, digest = url.partition("?hash=")
    answer = await server.get(path, hash=digest)
    document = answer.ok()
    assert document["openapi"].startswith("3.0")
    assert "io.k8s.api.apps.v1.Deployment" in document["components"]["schemas"]
    assert "/apis/apps/v1/namespaces/{namespace}/deployments" in document["paths"]


async def test_schemas_nobody_knows_are_not_found(server: Server) -> None:
    assert (await server.get("/openapi/v3/apis/nope/v1")).status == 404


async def test_an_unchanged_schema_is_not_sent_again(server: Server) -> None:
    first = await server.get("/openapi/v3/apis/batch/v1")
    headers = {"If-None-Match": first.headers["ETag"]}
    assert (await server.get("/openapi/v3/apis/batch/v1", headers=headers)).status == 304


async def test_a_form_nobody_serves_is_not_acceptable(server: Server) -> None:
    answer = await server.get("/api/v1/namespaces", headers={"Accept": "text/html"})
    answer.refused(
        406,
        "NotAcceptable",
        None,
    )
