"""Requests as tables: what is asked, and how that looks on the wire."""

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from hypothesis import given, strategies as st
import pytest

from kubeloop.client import request
from kubeloop.client.bodies import Preconditions
from kubeloop.client.request import Deletion, FieldValidation, Options, Page, Propagation, Selection
from kubeloop.net.http import Request
from kubeloop.objects.core import CONFIG_MAPS, LEASES, NODES, PODS, ConfigMap
from kubeloop.objects.meta import Key, ObjectMeta
from kubeloop.objects.plan import PatchType

POD = Key("shop", "web-0")
BOTH = Preconditions(uid="u1", resource_version="7")


def body(built: Request) -> Any:
    return json.loads(built.body)


@pytest.mark.parametrize(
    ("built", "method", "target"),
    [
        pytest.param(
            request.get(PODS, POD), "GET", "/api/v1/namespaces/shop/pods/web-0", id="a core object"
        ),
        pytest.param(
            request.get(LEASES, Key("shop", "lead")),
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/shop/leases/lead",
            id="an object of a group",
        ),
        pytest.param(
            request.get(NODES, Key("", "n1")), "GET", "/api/v1/nodes/n1", id="cluster-wide"
        ),
        pytest.param(
            request.get(PODS, POD, "status", "0"),
            "GET",
            "/api/v1/namespaces/shop/pods/web-0/status?resourceVersion=0",
            id="a subresource, from the cache",
        ),
        pytest.param(
            request.list_page(PODS, Selection(), Page()), "GET", "/api/v1/pods", id="everything"
        ),
        pytest.param(
            request.list_page(
                PODS,
                Selection("shop", "app in (a,b),!c", "spec.nodeName=n1"),
                Page(500, "a+b/=="),
            ),
            "GET",
            "/api/v1/namespaces/shop/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21c"
            "&fieldSelector=spec.nodeName%3Dn1&limit=500&continue=a%2Bb%2F%3D%3D",
            id="a page of a selection",
        ),
        pytest.param(
            request.list_page(
                PODS,
                Selection(),
                Page(resource_version="9", resource_version_match="NotOlderThan"),
            ),
            "GET",
            "/api/v1/pods?resourceVersion=9&resourceVersionMatch=NotOlderThan",
            id="not older than",
        ),
        pytest.param(
            request.watch(PODS, Selection("shop"), resource_version="9", timeout_seconds=300),
            "GET",
            "/api/v1/namespaces/shop/pods?watch=true&allowWatchBookmarks=true"
            "&resourceVersion=9&timeoutSeconds=300",
            id="a watch from a version",
        ),
        pytest.param(
            request.watch(NODES, Selection(), initial_events=True),
            "GET",
            "/api/v1/nodes?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan",
            id="a streamed list",
        ),
        pytest.param(
            request.create(PODS, {"metadata": {"namespace": "shop"}}),
            "POST",
            "/api/v1/namespaces/shop/pods",
            id="a create with its namespace in the body",
        ),
        pytest.param(
            request.create(
                PODS,
                {},
                "shop",
                Options(
                    dry_run=True, field_manager="korder", field_validation=FieldValidation.STRICT
                ),
            ),
            "POST",
            "/api/v1/namespaces/shop/pods?dryRun=All&fieldManager=korder&fieldValidation=Strict",
            id="a dry run",
        ),
        pytest.param(
            request.replace(NODES, {"metadata": {"name": "n1"}}, "status"),
            "PUT",
            "/api/v1/nodes/n1/status",
            id="a replace of a status",
        ),
        pytest.param(
            request.patch(
                PODS, POD, {}, PatchType.APPLY, options=Options(field_manager="k", force=True)
            ),
            "PATCH",
            "/api/v1/namespaces/shop/pods/web-0?fieldManager=k&force=true",
            id="an apply with force",
        ),
        pytest.param(
            request.patch(PODS, POD, {}, PatchType.MERGE, options=Options(force=True)),
            "PATCH",
            "/api/v1/namespaces/shop/pods/web-0",
            id="force means nothing to other patches",
        ),
        pytest.param(
            request.post(PODS, POD, "eviction", {}),
            "POST",
            "/api/v1/namespaces/shop/pods/web-0/eviction",
            id="an eviction",
        ),
        pytest.param(
            request.delete(PODS, POD), "DELETE", "/api/v1/namespaces/shop/pods/web-0", id="a delete"
        ),
        pytest.param(
            request.delete_collection(PODS, Selection("shop", "a=b")),
            "DELETE",
            "/api/v1/namespaces/shop/pods?labelSelector=a%3Db",
            id="a delete of many",
        ),
    ],
)
def test_a_request_has_its_method_and_target(built: Request, method: str, target: str) -> None:
    assert (built.method, built.target) == (method, target)


@pytest.mark.parametrize("type_", PatchType, ids=lambda type_: type_.name.lower())
def test_a_patch_says_its_dialect(type_: PatchType) -> None:
    built = request.patch(PODS, POD, [] if type_ is PatchType.JSON else {}, type_)
    assert built.headers["Content-Type"] == type_.value


@given(name=st.text(min_size=1), labels=st.text())
def test_whatever_is_in_a_name_or_selector_arrives_unchanged(name: str, labels: str) -> None:
    path = urlsplit(request.get(PODS, Key("shop", name)).target).path
    assert unquote(path.rpartition("/")[2]) == name
    query = urlsplit(request.list_page(PODS, Selection(labels=labels), Page()).target).query
    assert parse_qs(query).get("labelSelector", [""]) == [labels]


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: request.get(PODS, Key("", "x")), id="no namespace"),
        pytest.param(lambda: request.get(PODS, Key("shop", "")), id="no name"),
        pytest.param(lambda: request.create(PODS, {}), id="no namespace for a new object"),
        pytest.param(lambda: request.delete_collection(PODS, Selection()), id="all namespaces"),
    ],
)
def test_an_incomplete_address_is_refused_before_it_hits_something_else(build: Any) -> None:
    with pytest.raises(ValueError, match=r"pods"):
        build()


def test_an_object_says_what_it_is() -> None:
    typed = ConfigMap(metadata=ObjectMeta(name="a", namespace="shop"), data={"k": "v"})
    assert body(request.create(CONFIG_MAPS, typed)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "shop"},
        "data": {"k": "v"},
    }


def test_what_an_object_says_of_itself_stays() -> None:
    said = {"apiVersion": "v2", "kind": "Other", "metadata": {"namespace": "shop"}}
    assert body(request.create(CONFIG_MAPS, said)) == said


@pytest.mark.parametrize(
    ("subresource", "api_version", "kind"),
    [
        ("eviction", "policy/v1", "Eviction"),
        ("binding", "v1", "Binding"),
        ("token", "authentication.k8s.io/v1", "TokenRequest"),
    ],
)
def test_the_body_of_a_subresource_has_its_own_kind(
    subresource: str, api_version: str, kind: str
) -> None:
    assert body(request.post(PODS, POD, subresource, {})) == {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web-0", "namespace": "shop"},
    }


def test_a_scale_is_replaced_as_a_scale() -> None:
    scale = {"metadata": {"name": "a", "namespace": "shop"}, "spec": {"replicas": 3}}
    assert body(request.replace(PODS, scale, "scale"))["kind"] == "Scale"


def test_an_applied_object_carries_its_address() -> None:
    built = request.patch(NODES, Key("", "n1"), {"spec": {}}, PatchType.APPLY)
    assert body(built) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "spec": {},
    }


def test_an_applied_object_may_say_its_name_itself() -> None:
    built = request.patch(NODES, Key("", "n1"), {"metadata": {"name": "n2"}}, PatchType.APPLY)
    assert body(built)["metadata"] == {"name": "n2"}


@pytest.mark.parametrize("type_", [PatchType.MERGE, PatchType.STRATEGIC])
def test_a_merge_patch_carries_preconditions_in_its_metadata(type_: PatchType) -> None:
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"x": None}}
    built = request.patch(PODS, POD, patch, type_, preconditions=BOTH)
    assert body(built) == {
        "metadata": {"labels": {"a": "b"}, "uid": "u1", "resourceVersion": "7"},
        "spec": {"x": None},
    }
    assert patch == {"metadata": {"labels": {"a": "b"}}, "spec": {"x": None}}


def test_an_apply_carries_preconditions_in_its_metadata() -> None:
    built = request.patch(PODS, POD, {}, PatchType.APPLY, preconditions=BOTH)
    assert body(built)["metadata"] == {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": "7",
    }


def test_a_json_patch_tests_its_preconditions_first() -> None:
    operation = {"op": "remove", "path": "/spec/x"}
    built = request.patch(PODS, POD, [operation], PatchType.JSON, preconditions=BOTH)
    assert body(built) == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        operation,
    ]


def test_a_patch_without_preconditions_is_sent_as_it_is() -> None:
    assert body(request.patch(PODS, POD, {"a": 1}, PatchType.MERGE)) == {"a": 1}


@pytest.mark.parametrize(
    ("deletion", "options"),
    [
        pytest.param(Deletion(), {}, id="plain"),
        pytest.param(
            Deletion(Preconditions(uid="u1")), {"preconditions": {"uid": "u1"}}, id="only this one"
        ),
        pytest.param(
            Deletion(BOTH),
            {"preconditions": {"uid": "u1", "resourceVersion": "7"}},
            id="only in this state",
        ),
        pytest.param(Deletion(grace_seconds=0), {"gracePeriodSeconds": 0}, id="at once"),
        pytest.param(
            Deletion(propagation=Propagation.FOREGROUND),
            {"propagationPolicy": "Foreground"},
            id="children first",
        ),
        pytest.param(Deletion(dry_run=True), {"dryRun": ["All"]}, id="dry run"),
    ],
)
def test_a_delete_says_how(deletion: Deletion, options: dict[str, Any]) -> None:
    assert body(request.delete(PODS, POD, deletion)) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        **options,
    }
