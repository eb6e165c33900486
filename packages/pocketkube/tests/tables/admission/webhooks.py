"""What webhooks may answer, and when they are asked at all."""

import json
from typing import Any

from tests.tables.admission.words import (
    Answer,
    Case,
    M,
    Object,
    Raw,
    allow,
    answering,
    deny,
    hook,
    label,
    patch,
    rule,
)


def count(request: Object) -> Object:
    """Counts in a label how often it was asked."""
    labels = request["object"]["metadata"]["labels"]
    return patch(label("count", str(int(labels.get("count", 0)) + 1)))


def mark_if(wanted: str, key: str) -> Answer:
    def answer(request: Object) -> Object:
        labels = request["object"]["metadata"]["labels"]
        return patch(label(key, "seen")) if wanted in labels else {"allowed": True}

    return answer


def whole(**review: Any) -> Answer:
    """A review of one's own, with the right uid where it says so."""

    def answer(request: Object) -> Object:
        return json.loads(json.dumps({"review": review}).replace("$UID", request["uid"]))

    return answer


WEBHOOKS = (
    Case("allowed", (hook(allow),)),
    Case("denied", (hook(deny("no way")),)),
    Case("denied-with-a-code", (hook(deny("bad", code=422, reason="Invalid")),)),
    Case(
        "denied-with-a-reason-only",
        (hook(answering({"allowed": False, "status": {"reason": "Conflict", "code": 409}})),),
    ),
    Case("denied-without-words", (hook(answering({"allowed": False})),)),
    Case("denied-with-a-small-code", (hook(deny("odd", code=200, status="Success")),)),
    Case(
        "denied-with-details",
        (
            hook(
                deny(
                    "d",
                    code=422,
                    details={
                        "name": "n",
                        "kind": "k",
                        "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "f"}],
                    },
                )
            ),
        ),
    ),
    Case(
        "warned",
        (hook(answering({"allowed": True, "warnings": ["mind the gap", "and the other"]})),),
    ),
    Case(
        "denied-and-warned",
        (
            hook(
                answering(
                    {"allowed": False, "warnings": ["first"], "status": {"message": "second"}}
                )
            ),
        ),
    ),
    Case("patched", (hook(answering(patch(label("new", "yes"))), **M),)),
    Case(
        "patched-data",
        (hook(answering(patch({"op": "add", "path": "/data", "value": {"a": "b"}})), **M),),
    ),
    Case(
        "patched-in-vain",
        (hook(answering(patch({"op": "remove", "path": "/metadata/labels/none"})), **M),),
    ),
    Case(
        "patched-far-away",
        (hook(answering(patch({"op": "add", "path": "/none/labels/a", "value": 1})), **M),),
    ),
    Case(
        "patched-replace-missing",
        (hook(answering(patch({"op": "replace", "path": "/data/x", "value": "1"})), **M),),
        object={"data": {"a": "b"}},
    ),
    Case(
        "patched-test-fails",
        (hook(answering(patch({"op": "test", "path": "/metadata/name", "value": "1"})), **M),),
    ),
    Case(
        "patched-unknown-field",
        (
            hook(
                answering(patch({"op": "add", "path": "/other", "value": "1"}, label("k", "v"))),
                **M,
            ),
        ),
    ),
    Case("patched-by-a-validating-one", (hook(answering(patch(label("new", "yes")))),)),
    Case("patch-without-type", (hook(answering({"allowed": True, "patch": "W10="}), **M),)),
    Case(
        "type-without-patch", (hook(answering({"allowed": True, "patchType": "JSONPatch"}), **M),)
    ),
    Case(
        "strange-patch-type",
        (hook(answering({**patch(label("a", "b")), "patchType": "Merge"}), **M),),
    ),
    Case("type-on-validating", (hook(answering({"allowed": True, "patchType": "JSONPatch"})),)),
    Case(
        "wrong-uid",
        (
            hook(
                whole(
                    apiVersion="admission.k8s.io/v1",
                    kind="AdmissionReview",
                    response={"uid": "x", "allowed": True},
                )
            ),
        ),
    ),
    Case("no-response", (hook(whole(apiVersion="admission.k8s.io/v1", kind="AdmissionReview")),)),
    Case("failure-ignored", (hook(answering(Raw(500, b"oops")), failurePolicy="Ignore"),)),
    Case("status-500", (hook(answering(Raw(500, b"oops"))),)),
    Case("status-404", (hook(answering(Raw(404, b"gone"))),)),
    Case("status-403", (hook(answering(Raw(403, b"no"))),)),
    Case("silence", (hook(answering(None), timeoutSeconds=1),)),
    Case("silence-ignored", (hook(answering(None), timeoutSeconds=1, failurePolicy="Ignore"),)),
    Case("refused-connection", (hook(allow, clientConfig={"url": "https://127.0.0.1:1/x"}),)),
    Case(
        "unknown-service",
        (
            hook(
                allow,
                clientConfig={"service": {"namespace": "default", "name": "nope", "path": "/x"}},
            ),
        ),
    ),
    Case("dry-run", (hook(allow),), dry_run=True),
    Case(
        "dry-run-with-side-effects-allowed",
        (hook(allow, sideEffects="NoneOnDryRun"),),
        dry_run=True,
    ),
    Case("dry-run-patched", (hook(answering(patch(label("new", "yes"))), **M),), dry_run=True),
    Case("other-resource", (hook(deny("no"), rules=[rule("secrets")]),)),
    Case(
        "other-operation", (hook(deny("no"), rules=[rule("configmaps", operations=("UPDATE",))]),)
    ),
    Case("star-resources", (hook(deny("star"), rules=[rule("*")]),)),
    Case("star-star-resources", (hook(deny("stars"), rules=[rule("*/*", operations=("*",))]),)),
    Case("cluster-scope", (hook(deny("no"), rules=[rule("configmaps", scope="Cluster")]),)),
    Case("namespaced-scope", (hook(deny("yes"), rules=[rule("configmaps", scope="Namespaced")]),)),
    Case(
        "update",
        (hook(deny("u"), rules=[rule("configmaps", operations=("UPDATE",))]),),
        operation="UPDATE",
        change={"data": {"a": "c"}},
        object={"data": {"a": "b"}},
    ),
    Case(
        "update-patched",
        (
            hook(
                answering(patch({"op": "add", "path": "/data/x", "value": "y"})),
                rules=[rule("configmaps", operations=("UPDATE",))],
                **M,
            ),
        ),
        operation="UPDATE",
        change={"data": {"a": "c"}},
        object={"data": {"a": "b"}},
    ),
    Case(
        "delete",
        (hook(deny("d"), rules=[rule("configmaps", operations=("DELETE",))]),),
        operation="DELETE",
    ),
    Case(
        "delete-patched",
        (
            hook(
                answering(patch(label("a", "b"))),
                rules=[rule("configmaps", operations=("DELETE",))],
                **M,
            ),
        ),
        operation="DELETE",
    ),
    Case(
        "condition-true",
        (
            hook(
                deny("c"),
                matchConditions=[
                    {"name": "a", "expression": "object.metadata.name == 'condition-true'"}
                ],
            ),
        ),
    ),
    Case(
        "condition-false",
        (
            hook(
                deny("c"),
                matchConditions=[{"name": "a", "expression": "request.operation == 'UPDATE'"}],
            ),
        ),
    ),
    Case(
        "condition-fails",
        (
            hook(
                deny("c"), matchConditions=[{"name": "a", "expression": "object.data.none == 'x'"}]
            ),
        ),
    ),
    Case(
        "condition-fails-ignored",
        (
            hook(
                deny("c"),
                failurePolicy="Ignore",
                matchConditions=[{"name": "a", "expression": "object.data.none == 'x'"}],
            ),
        ),
    ),
    Case(
        "condition-fails-but-other-false",
        (
            hook(
                deny("c"),
                matchConditions=[
                    {"name": "a", "expression": "object.data.none == 'x'"},
                    {"name": "b", "expression": "false"},
                ],
            ),
        ),
    ),
    Case(
        "two-conditions-fail",
        (
            hook(
                deny("c"),
                matchConditions=[
                    {"name": "a", "expression": "object.data.none == 'x'"},
                    {"name": "b", "expression": "object.data.other == 'x'"},
                ],
            ),
        ),
    ),
    Case(
        "condition-on-user",
        (
            hook(
                deny("c"),
                matchConditions=[
                    {
                        "name": "a",
                        "expression": "'system:masters' in request.userInfo.groups && request.userInfo.username != 'nobody'",
                    }
                ],
            ),
        ),
    ),
    Case(
        "condition-authorizer",
        (
            hook(
                deny("c"),
                matchConditions=[
                    {
                        "name": "a",
                        "expression": "authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()",
                    }
                ],
            ),
        ),
    ),
    Case(
        "serial",
        (
            hook(answering(patch(label("a", "1"))), name="a.korder.dev", **M),
            hook(mark_if("a", "b"), name="b.korder.dev", **M),
        ),
    ),
    Case(
        "asked-again",
        (
            hook(mark_if("late", "first"), name="a.korder.dev", reinvocationPolicy="IfNeeded", **M),
            hook(answering(patch(label("late", "1"))), name="b.korder.dev", **M),
        ),
    ),
    Case(
        "not-asked-again",
        (
            hook(mark_if("late", "first"), name="a.korder.dev", **M),
            hook(answering(patch(label("late", "1"))), name="b.korder.dev", **M),
        ),
    ),
    Case(
        "asked-twice-only",
        (
            hook(count, name="a.korder.dev", reinvocationPolicy="IfNeeded", **M),
            hook(count, name="b.korder.dev", reinvocationPolicy="IfNeeded", **M),
        ),
    ),
    Case("both-deny", (hook(deny("a"), name="a.korder.dev"), hook(allow, name="b.korder.dev"))),
    Case(
        "old-reviews",
        (
            hook(
                whole(response={"uid": "x", "allowed": False, "status": {"message": "beta"}}),
                admissionReviewVersions=["v1beta1", "v1"],
            ),
        ),
    ),
    Case(
        "namespace-not-selected",
        (
            hook(
                deny("n"),
                namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}},
            ),
        ),
    ),
)


def _operation(name: str, *operations: Object) -> Case:
    """A patch of a webhook on an object with a list and a map; not stored, because of the finalizers."""
    return Case(
        f"patch-{name}",
        (hook(answering(patch(*operations)), **M),),
        object={"data": {"a": "1", "b": "2"}, "metadata": {"finalizers": ["x.y/a", "x.y/b"]}},
        dry_run=True,
    )


def _at(op: str, path: str, *value: Any, **more: Any) -> Object:
    return {"op": op, "path": path, **({"value": value[0]} if value else {}), **more}


LIST = "/metadata/finalizers"
PATCHES = (
    _operation("replace", _at("replace", "/data/a", "9")),
    _operation("replace-without-parent", _at("replace", "/none/a", "9")),
    _operation("replace-past-the-end", _at("replace", f"{LIST}/7", "x.y/z")),
    _operation("remove", _at("remove", "/data/a")),
    _operation("remove-without-parent", _at("remove", "/none/a")),
    _operation("remove-past-the-end", _at("remove", f"{LIST}/7")),
    _operation("remove-item", _at("remove", f"{LIST}/0")),
    _operation("add-at-the-end", _at("add", f"{LIST}/-", "x.y/c")),
    _operation("add-first", _at("add", f"{LIST}/0", "x.y/c")),
    _operation("add-past-the-end", _at("add", f"{LIST}/7", "x.y/c")),
    _operation("add-no-index", _at("add", f"{LIST}/one", "x.y/c")),
    _operation("add-into-a-text", _at("add", "/data/a/b", "x")),
    _operation("move", _at("move", "/data/c", **{"from": "/data/a"})),
    _operation("move-nothing", _at("move", "/data/c", **{"from": "/data/none"})),
    _operation("move-from-nowhere", _at("move", "/data/c", **{"from": "/none/none"})),
    _operation("copy", _at("copy", "/data/c", **{"from": "/data/a"})),
    _operation("copy-from-nowhere", _at("copy", "/data/c", **{"from": "/none/none"})),
    _operation("test", _at("test", "/data/a", "1"), _at("add", "/data/c", "3")),
    _operation("test-fails", _at("test", "/data/a", "2"), _at("add", "/data/c", "3")),
    _operation("test-nothing-is-null", _at("test", "/data/none", None), _at("add", "/data/c", "3")),
    _operation("test-nothing-is-something", _at("test", "/data/none", "1")),
    _operation("test-without-parent", _at("test", "/none/none", "1")),
    _operation("unknown", _at("twist", "/data/a", "1")),
    _operation("without-a-path", {"op": "add", "value": "1"}),
    _operation(
        "whole",
        _at(
            "replace",
            "",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "patch-whole", "labels": {"a": "b"}},
            },
        ),
    ),
    _operation("escaped", _at("add", "/metadata/labels/x.y~1z", "1")),
    _operation("two", _at("add", "/data/c", "3"), _at("remove", "/data/none")),
)
