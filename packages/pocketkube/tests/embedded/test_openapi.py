"""OpenAPI: what kubectl looks up there before it writes."""

from collections.abc import Iterator, Mapping
import json
from typing import Any

import pytest

from pocketkube.apiserver.kinds import custom
from pocketkube.apiserver.kinds.builtin import Builtin
from pocketkube.apiserver.kinds.resource import Resource, Subresource
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.serving.openapi import OpenAPI

PROTO = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PART = "get", "patch", "update"


class Custom(Strategy):
    strategic = False

    def __init__(self, **spec: Any) -> None:
        self._spec = spec

    def schema(self) -> Mapping[str, Any]:
        spec = {"type": "object", "properties": self._spec}
        return {"type": "object", "properties": {"spec": spec}}


def builtin(group: str, version: str, kind: str, plural: str, **rest: Any) -> Resource:
    api_version = f"{group}/{version}" if group else version
    return Resource(group, version, kind, plural, Builtin(api_version, kind), **rest)


PODS = builtin(
    "",
    "v1",
    "Pod",
    "pods",
    subresources=(
        Subresource("status", "Pod", PART),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
    ),
)
DEPLOYMENTS = builtin("apps", "v1", "Deployment", "deployments")
REVIEWS = builtin(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    namespaced=False,
    verbs=("create",),
    virtual=True,
)
THINGS = Resource("test.dev", "v1", "Thing", "things", Custom(size={"type": "integer"}))
SERVED = (PODS, DEPLOYMENTS, REVIEWS, THINGS)
API = OpenAPI(SERVED)
GROUPS = ("api/v1", "apis/apps/v1", "apis/authorization.k8s.io/v1", "apis/test.dev/v1")


def document(path: str, accept: str = "application/json", api: OpenAPI = API) -> Any:
    found = api.find(path, accept)
    assert found is not None
    return json.loads(found.body)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_the_index_leads_to_every_group() -> None:
    index = document("/openapi/v3", "application/json, */*")["paths"]
    assert tuple(index) == GROUPS
    for entry in index.values():
        path, _, query = entry["serverRelativeURL"].partition("?")
        found = API.find(path)
        assert found is not None
        assert query == f"hash={found.hash}"


@pytest.mark.parametrize("group", GROUPS)
def test_everything_referred_to_is_there(group: str) -> None:
    found = document(f"/openapi/v3/{group}")
    there = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert set(references(found)) <= there


def test_everything_referred_to_is_there_in_the_second_version_too() -> None:
    found = document("/openapi/v2")
    there = {f"#/definitions/{name}" for name in found["definitions"]}
    assert set(references(found)) <= there


def test_kubectl_leaves_validation_to_the_server() -> None:
    for group, path in (
        ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}"),
        ("apis/test.dev/v1", "/apis/test.dev/v1/namespaces/{namespace}/things/{name}"),
    ):
        patch = document(f"/openapi/v3/{group}")["paths"][path]["patch"]
        assert {"dryRun", "fieldValidation"} <= {each["name"] for each in patch["parameters"]}
        assert patch["x-kubernetes-action"] == "patch"


@pytest.mark.parametrize(("resource", "strategic"), [(PODS, True), (THINGS, False)])
def test_kubectl_learns_which_patches_there_are(resource: Resource, strategic: bool) -> None:
    group = "apis/test.dev/v1" if resource is THINGS else "api/v1"
    path = f"/{group}/namespaces/{{namespace}}/{resource.plural}/{{name}}"
    patch = document(f"/openapi/v3/{group}")["paths"][path]["patch"]
    assert (
        "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    ) is strategic
    assert patch["x-kubernetes-group-version-kind"]["kind"] == resource.kind


def test_lists_say_how_they_are_merged() -> None:
    schemas = document("/openapi/v3/api/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert {key: value for key, value in containers.items() if key.startswith("x-")} == {
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }


def test_operations_are_those_of_the_resource() -> None:
    reviews = document("/openapi/v3/apis/authorization.k8s.io/v1")["paths"]
    assert set(reviews["/apis/authorization.k8s.io/v1/subjectaccessreviews"]) == {
        "post",
        "parameters",
    }
    pods = document("/openapi/v3/api/v1")["paths"]
    eviction = pods["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert eviction["x-kubernetes-group-version-kind"] == {
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
    }
    assert pods["/api/v1/pods"]["get"]["operationId"] == "listCoreV1PodForAllNamespaces"


def test_no_two_operations_have_the_same_name() -> None:
    for group in GROUPS:
        paths = document(f"/openapi/v3/{group}")["paths"].values()
        names = [
            operation["operationId"]
            for path in paths
            for method, operation in path.items()
            if method != "parameters"
        ]
        assert len(names) == len(set(names))


def test_a_custom_kind_is_described_by_its_schema() -> None:
    thing = document("/openapi/v3/apis/test.dev/v1")["components"]["schemas"]["dev.test.v1.Thing"]
    assert thing["properties"]["spec"]["properties"] == {"size": {"type": "integer"}}
    assert thing["x-kubernetes-group-version-kind"] == [
        {"group": "test.dev", "kind": "Thing", "version": "v1"}
    ]


def test_a_definition_hands_on_its_schema() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "string"}}}
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Thing", "plural": "things", "listKind": "Things"}
    spec = {"group": "test.dev", "scope": "Cluster", "names": names, "versions": [version]}
    found = document("/openapi/v3/apis/test.dev/v1", api=OpenAPI(custom.resources({"spec": spec})))
    described = found["components"]["schemas"]
    assert described["dev.test.v1.Thing"]["properties"]["spec"] == {"type": "string"}
    assert "dev.test.v1.Things" in described
    assert "/apis/test.dev/v1/things/{name}" in found["paths"]


def test_the_second_version_leaves_out_what_it_cannot_say() -> None:
    strategy = Custom(
        a={"nullable": True, "type": "string"},
        b={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"c": {}}},
        d={"anyOf": [{"type": "string"}], "type": "array", "items": {"type": "string"}},
    )
    api = OpenAPI([Resource("test.dev", "v1", "Thing", "things", strategy)])
    thing = document("/openapi/v2", api=api)["definitions"]["dev.test.v1.Thing"]
    assert thing["properties"]["spec"]["properties"] == {
        "a": {},
        "b": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "d": {"type": "array", "items": {"type": "string"}},
    }


def test_what_did_not_change_is_made_once() -> None:
    changed = Resource("test.dev", "v1", "Thing", "things", Custom(size={"type": "string"}))
    before = OpenAPI(SERVED)
    pods, things = (before.find(f"/openapi/v3/{group}") for group in ("api/v1", "apis/test.dev/v1"))
    after = OpenAPI([PODS, DEPLOYMENTS, changed], before.documents)
    assert after.find("/openapi/v3/api/v1") is pods
    assert after.find("/openapi/v3/apis/test.dev/v1") != things
    assert "apis/authorization.k8s.io/v1" not in document("/openapi/v3", api=after)["paths"]


@pytest.mark.parametrize("path", ["/openapi/v3/apis/unheard/v1", "/openapi", "/openapi/v4"])
def test_there_is_nothing_else(path: str) -> None:
    assert API.find(path) is None


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/openapi/v2", "text/html"),
        ("/openapi/v3/api/v1", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"),
    ],
)
def test_a_form_we_do_not_have_is_refused(path: str, accept: str) -> None:
    with pytest.raises(Refused) as refused:
        API.find(path, accept)
    assert refused.value.status.code == 406


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that holds nothing but texts and messages."""
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        tag, length = number(), number()
        assert tag & 7 == 2
        yield tag >> 3, message[place : place + length]
        place += length


def test_kubectl_gets_the_second_version_as_a_protocol_buffer() -> None:
    found = API.find("/openapi/v2", PROTO)
    assert found is not None
    assert found.media == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    top = dict(fields(found.body))
    definitions = {
        dict(fields(each))[1].decode(): dict(fields(each))[2] for _, each in fields(top[9])
    }
    assert {*definitions} == {*document("/openapi/v2")["definitions"]}
    thing = dict(fields(definitions["dev.test.v1.Thing"]))
    assert b"x-kubernetes-group-version-kind" in thing[31]
    properties = {dict(fields(each))[1].decode() for _, each in fields(thing[25])}
    assert properties == {"apiVersion", "kind", "metadata", "spec"}
    paths = {dict(fields(each))[1].decode() for _, each in fields(top[8])}
    assert paths == {*document("/openapi/v2")["paths"]}
