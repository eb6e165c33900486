"""Requests, persons, token requests and reviews to be put to a real server and to our door.

`{ns}` stands for the namespace of the test.
"""

from typing import Any

from pocketkube.apiserver.access.action import Action

Object = dict[str, Any]

REQUESTS = [
    ("GET", "/api/v1/namespaces/{ns}/pods", Action("list", "", "pods", "", "{ns}")),
    ("GET", "/api/v1/pods?watch=true", Action("watch", "", "pods")),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/log", Action("get", "", "pods", "log", "{ns}", "x")),
    ("GET", "/api/v1/namespaces/{ns}", Action("get", "", "namespaces", "", "{ns}", "{ns}")),
    ("GET", "/api/v1/nodes/a", Action("get", "", "nodes", name="a")),
    (
        "DELETE",
        "/apis/apps/v1/namespaces/{ns}/deployments",
        Action("deletecollection", "apps", "deployments", "", "{ns}"),
    ),
    ("GET", "/apis/none.io/v1/things/a%22b", Action("get", "none.io", "things", name='a"b')),
    ("GET", "/metrics", Action("get", path="/metrics")),
    ("GET", "/%3Cx%3E&y", Action("get", path="/<x>&y")),
    ("GET", "/healthz", Action("get", path="/healthz")),
    ("GET", "/apis", Action("get", path="/apis")),
]

PERSONS = [
    {"Impersonate_User": "alice"},
    {"Impersonate_User": "system:anonymous"},
    {"Impersonate_User": "carl"},
    {"Impersonate_User": "bob", "Impersonate_Group": "system:unauthenticated"},
    {"Impersonate_Group": "a"},
    {"Impersonate_Extra_X": "a", "Impersonate_Uid": "1"},
]

POD = {"kind": "Pod", "apiVersion": "v1", "name": "p"}

TOKEN_REQUESTS: list[Object] = [
    {"spec": {}},
    {"spec": {"audiences": ["a", "b"], "expirationSeconds": 600}},
    {"spec": {"expirationSeconds": 599}},
    {"spec": {"expirationSeconds": 2**32}},
    {"spec": {"expirationSeconds": 2**32 + 1}},
    {"spec": {"expirationSeconds": -1}},
    {"metadata": {"name": "x"}, "spec": {}},
    {"metadata": {"name": "default", "uid": "x"}, "spec": {}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}},
    {"spec": {"boundObjectRef": POD}},
    {"spec": {"boundObjectRef": POD, "expirationSeconds": 3607}},
    {"spec": {"boundObjectRef": POD | {"uid": "x"}}},
    {"spec": {"boundObjectRef": POD | {"name": "other"}}},
    {"spec": {"boundObjectRef": POD | {"kind": "Deployment", "apiVersion": "apps/v1"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "p"}}},
    {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}},
    {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}},
    {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nowhere"}}},
    {"spec": {"boundObjectRef": {}}},
]

PODS = {"verb": "list", "resource": "pods"}

PATH = {"verb": "get", "path": "/healthz"}

REVIEWS: list[tuple[str, Object]] = [
    ("selfsubjectaccessreviews", {}),
    ("selfsubjectaccessreviews", {"resourceAttributes": PODS}),
    ("selfsubjectaccessreviews", {"resourceAttributes": {}}),
    ("selfsubjectaccessreviews", {"resourceAttributes": PODS, "nonResourceAttributes": PATH}),
    ("selfsubjectaccessreviews", {"nonResourceAttributes": PATH}),
    ("selfsubjectaccessreviews", {"nonResourceAttributes": {}}),
    ("selfsubjectaccessreviews", {"resourceAttributes": PODS | {"labelSelector": {}}}),
    (
        "selfsubjectaccessreviews",
        {"resourceAttributes": PODS | {"fieldSelector": {"rawSelector": "a"}}},
    ),
    (
        "selfsubjectaccessreviews",
        {"resourceAttributes": PODS | {"labelSelector": {"rawSelector": "a=!!"}}},
    ),
    ("subjectaccessreviews", {"resourceAttributes": PODS}),
    ("subjectaccessreviews", {}),
    ("subjectaccessreviews", {"groups": ["system:masters"], "resourceAttributes": PODS}),
    (
        "subjectaccessreviews",
        {"user": "x", "uid": "1", "extra": {"a": ["b"]}, "nonResourceAttributes": PATH},
    ),
    (
        "subjectaccessreviews",
        {"user": "x", "groups": ["system:authenticated"], "nonResourceAttributes": PATH},
    ),
    ("localsubjectaccessreviews", {"user": "x", "resourceAttributes": PODS}),
    (
        "localsubjectaccessreviews",
        {"user": "last-comer", "resourceAttributes": PODS | {"namespace": "{ns}"}},
    ),
    ("localsubjectaccessreviews", {"user": "x", "nonResourceAttributes": PATH}),
    ("localsubjectaccessreviews", {}),
    ("selfsubjectrulesreviews", {}),
    ("selfsubjectrulesreviews", {"namespace": "{ns}"}),
    ("selfsubjectreviews", {}),
    ("tokenreviews", {}),
    ("tokenreviews", {"token": "abc"}),
    ("tokenreviews", {"token": "a.b.c", "audiences": ["x"]}),
]
