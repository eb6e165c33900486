"""Writes that webhooks and policies have a say in: what is configured, what webhooks answer, what is written.

`test_webhook_agreement` puts every case before a real API server and before our plugins and compares. Each case sees only
objects that carry its name in the label `case`; `{case}` in a name stands for it.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import json
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that is no review."""

    status: int = 200
    body: bytes = b""


Answer = Callable[[Object], Any]
"""Takes the request of a review; gives the response without its uid, a whole review, Raw, or None to keep silent."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook."""

    answer: Answer
    mutating: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "hook.korder.dev"


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its bindings; `selected` says whether the case's label is added to what it matches."""

    spec: Mapping[str, Any]
    mutating: bool = False
    bindings: tuple[Mapping[str, Any], ...] = ({"validationActions": ["Deny"]},)


@dataclass(frozen=True, slots=True)
class Case:
    """One write."""

    name: str
    hooks: tuple[Hook, ...] = ()
    policies: tuple[Policy, ...] = ()
    object: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "ConfigMap"
    operation: str = "CREATE"
    change: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    params: tuple[Mapping[str, Any], ...] = ()
    steps: tuple["Step", ...] = ()
    """Requests in place of the write of the object; the last one counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `{ns}` in it is the namespace."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    media: str = "application/json"


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE",), **more: Any) -> Object:
    groups = ["*"] if "*" in resources else [""]
    return {
        "apiGroups": groups,
        "apiVersions": ["v1"],
        "operations": [*operations],
        "resources": [*resources],
        **more,
    }


def patch(*operations: Object) -> Object:
    encoded = b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}


def label(key: str, value: str) -> Object:
    return {"op": "add", "path": f"/metadata/labels/{key}", "value": value}


def allow(_: Object) -> Object:
    return {"allowed": True}


def answering(response: Any) -> Answer:
    return lambda _: response


def deny(message: str, **status: Any) -> Answer:
    return answering({"allowed": False, "status": {"message": message, **status}})


def hook(
    answer: Answer, *, mutating: bool = False, name: str = "hook.korder.dev", **settings: Any
) -> Hook:
    return Hook(answer, mutating, settings, name)


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


M = {"mutating": True}
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


def policy(
    *validations: Object, mutations: tuple[Object, ...] = (), bindings: Any = None, **spec: Any
) -> Policy:
    made = {
        **spec,
        **({"mutations": [*mutations]} if mutations else {"validations": [*validations]}),
    }
    default = {} if mutations else {"validationActions": ["Deny"]}
    return Policy(made, bool(mutations), tuple(bindings or (default,)))


def must(expression: str, **more: Any) -> Object:
    return {"expression": expression, **more}


def applying(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def operating(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


SECRET = {"apiVersion": "v1", "kind": "Secret"}
"""A real server finds no ConfigMaps as parameters: its informer of them looks elsewhere."""
A_PARAM = {"metadata": {"name": "param", "annotations": {"limit": "3"}}}
POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
PODS = {"matchConstraints": {"resourceRules": [rule("pods")]}}


def _by_name(**more: Any) -> Object:
    return {
        "validationActions": ["Deny"],
        "paramRef": {"name": "param-{case}", "parameterNotFoundAction": "Deny", **more},
    }


POLICIES = (
    Case("vap-true", policies=(policy(must("object.metadata.name != 'x'")),)),
    Case("vap-false", policies=(policy(must("object.metadata.name == 'x'")),)),
    Case("vap-message", policies=(policy(must("false", message="not today")),)),
    Case(
        "vap-message-expression",
        policies=(
            policy(
                must("false", message="not today", messageExpression="'no ' + object.metadata.name")
            ),
        ),
    ),
    Case(
        "vap-message-expression-fails",
        policies=(
            policy(must("false", message="not today", messageExpression="object.data.none + 'x'")),
        ),
    ),
    Case("vap-message-of-blanks", policies=(policy(must("false", messageExpression="' '")),)),
    Case("vap-reason-forbidden", policies=(policy(must("false", reason="Forbidden")),)),
    Case("vap-reason-too-large", policies=(policy(must("false", reason="RequestEntityTooLarge")),)),
    Case("vap-fails", policies=(policy(must("object.data.none == 'a'")),)),
    Case(
        "vap-fails-ignored",
        policies=(policy(must("object.data.none == 'a'"), failurePolicy="Ignore"),),
    ),
    Case("vap-false-with-ignore", policies=(policy(must("false"), failurePolicy="Ignore"),)),
    Case(
        "vap-two-fail", policies=(policy(must("false", message="a"), must("false", message="b")),)
    ),
    Case(
        "vap-warns",
        policies=(
            policy(must("false", message="hm"), bindings=({"validationActions": ["Warn"]},)),
        ),
    ),
    Case(
        "vap-warns-and-audits",
        policies=(
            policy(
                must("false", message="hm"), bindings=({"validationActions": ["Warn", "Audit"]},)
            ),
        ),
    ),
    Case(
        "vap-audits",
        policies=(
            policy(must("false", message="hm"), bindings=({"validationActions": ["Audit"]},)),
        ),
    ),
    Case("vap-dyn", policies=(policy(must("object.metadata.labels['case'].contains('vap')")),)),
    Case(
        "vap-optional",
        policies=(policy(must("object.?data.x.orValue('') == 'y'", message="x is not y")),),
    ),
    Case(
        "vap-variable",
        policies=(
            policy(
                must("variables.n == 'vap-variable' && variables.m > 3"),
                variables=[
                    {"name": "n", "expression": "object.metadata.name"},
                    {"name": "m", "expression": "size(variables.n)"},
                ],
            ),
        ),
    ),
    Case(
        "vap-variable-fails",
        policies=(
            policy(
                must("variables.n == 'a'"),
                variables=[{"name": "n", "expression": "object.data.none"}],
            ),
        ),
    ),
    Case(
        "vap-variable-fails-untouched",
        policies=(
            policy(
                must("has(object.data) && variables.n == 'a'", message="m"),
                variables=[{"name": "n", "expression": "object.data.none"}],
            ),
        ),
    ),
    Case(
        "vap-variable-of-variable-fails",
        policies=(
            policy(
                must("variables.m == 'a'"),
                variables=[
                    {"name": "n", "expression": "object.data.none"},
                    {"name": "m", "expression": "variables.n + 'b'"},
                ],
            ),
        ),
    ),
    Case(
        "vap-condition-false",
        policies=(
            policy(
                must("false"),
                matchConditions=[{"name": "a", "expression": "object.metadata.name == 'x'"}],
            ),
        ),
    ),
    Case(
        "vap-condition-fails",
        policies=(
            policy(
                must("true"),
                matchConditions=[{"name": "a", "expression": "object.data.none == 'x'"}],
            ),
        ),
    ),
    Case(
        "vap-condition-fails-ignored",
        policies=(
            policy(
                must("false"),
                failurePolicy="Ignore",
                matchConditions=[{"name": "a", "expression": "object.data.none == 'x'"}],
            ),
        ),
    ),
    Case(
        "vap-request",
        policies=(
            policy(
                must(
                    "request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.name == 'vap-request' && request.userInfo.username != '' && !request.dryRun && request.options.kind == 'CreateOptions'",
                    messageExpression="request.name + request.userInfo.username",
                )
            ),
        ),
    ),
    Case(
        "vap-namespace",
        policies=(
            policy(
                must(
                    "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace && namespaceObject.status.phase == 'Active'"
                )
            ),
        ),
    ),
    Case(
        "vap-old-object",
        policies=(
            policy(
                must("oldObject.data.a == object.data.a", message="a is fixed"),
                matchConstraints={"resourceRules": [rule("configmaps", operations=("UPDATE",))]},
            ),
        ),
        operation="UPDATE",
        object={"data": {"a": "b"}},
        change={"data": {"a": "c"}},
    ),
    Case("vap-old-object-on-create", policies=(policy(must("oldObject == null")),)),
    Case("vap-old-member-on-create", policies=(policy(must("oldObject.data.a == 'b'")),)),
    Case(
        "vap-delete",
        policies=(
            policy(
                must("object == null && oldObject.metadata.name == 'x'", message="stay"),
                matchConstraints={"resourceRules": [rule("configmaps", operations=("DELETE",))]},
            ),
        ),
        operation="DELETE",
    ),
    Case(
        "vap-params",
        policies=(
            policy(
                must(
                    "size(object.metadata.name) <= int(params.metadata.annotations.limit)",
                    messageExpression="'longer than ' + params.metadata.annotations.limit",
                ),
                paramKind=SECRET,
                bindings=(_by_name(),),
            ),
        ),
        params=(A_PARAM,),
    ),
    Case(
        "vap-params-kind",
        policies=(
            policy(
                must("params.kind == 'Secret' && params.apiVersion == 'v1'"),
                paramKind=SECRET,
                bindings=(_by_name(),),
            ),
        ),
        params=(A_PARAM,),
    ),
    Case(
        "vap-params-missing",
        policies=(
            policy(
                must("true"),
                paramKind=SECRET,
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "paramRef": {"name": "none", "parameterNotFoundAction": "Deny"},
                    },
                ),
            ),
        ),
    ),
    Case(
        "vap-params-missing-allowed",
        policies=(
            policy(
                must("false"),
                paramKind=SECRET,
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "paramRef": {"name": "none", "parameterNotFoundAction": "Allow"},
                    },
                ),
            ),
        ),
    ),
    Case(
        "vap-params-missing-ignored",
        policies=(
            policy(
                must("true"),
                failurePolicy="Ignore",
                paramKind=SECRET,
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "paramRef": {"name": "none", "parameterNotFoundAction": "Deny"},
                    },
                ),
            ),
        ),
    ),
    Case(
        "vap-params-not-referenced",
        policies=(policy(must("params != null", message="no params"), paramKind=SECRET),),
    ),
    Case(
        "vap-params-unknown-kind",
        policies=(
            policy(
                must("true"),
                paramKind={"apiVersion": "v1", "kind": "Unheard"},
                bindings=(_by_name(),),
            ),
        ),
    ),
    Case(
        "vap-params-unknown-group-kind",
        policies=(
            policy(
                must("true"),
                paramKind={"apiVersion": "un.heard/v1", "kind": "Of"},
                bindings=(_by_name(),),
            ),
        ),
    ),
    Case(
        "vap-params-selected",
        policies=(
            policy(
                must(
                    "params.metadata.annotations.limit == '9'",
                    messageExpression="'limit ' + params.metadata.annotations.limit",
                ),
                paramKind=SECRET,
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "paramRef": {
                            "selector": {"matchLabels": {"used-by": "selected"}},
                            "parameterNotFoundAction": "Deny",
                        },
                    },
                ),
            ),
        ),
        params=(
            {
                "metadata": {
                    "name": "p",
                    "labels": {"used-by": "selected"},
                    "annotations": {"limit": "4"},
                }
            },
        ),
    ),
    Case(
        "vap-excluded",
        policies=(
            policy(
                must("false"),
                matchConstraints={
                    "resourceRules": [rule("configmaps")],
                    "excludeResourceRules": [rule("configmaps", resourceNames=["vap-excluded"])],
                },
            ),
        ),
    ),
    Case(
        "vap-named",
        policies=(
            policy(
                must("false"),
                matchConstraints={"resourceRules": [rule("configmaps", resourceNames=["other"])]},
            ),
        ),
    ),
    Case(
        "vap-binding-elsewhere",
        policies=(
            policy(
                must("false"),
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "matchResources": {"namespaceSelector": {"matchLabels": {"none": "such"}}},
                    },
                ),
            ),
        ),
    ),
    Case(
        "vap-binding-other-resource",
        policies=(
            policy(
                must("false"),
                bindings=(
                    {
                        "validationActions": ["Deny"],
                        "matchResources": {"resourceRules": [rule("secrets")]},
                    },
                ),
            ),
        ),
    ),
    Case(
        "vap-two-bindings",
        policies=(
            policy(
                must("false", message="m"),
                bindings=({"validationActions": ["Warn"]}, {"validationActions": ["Deny"]}),
            ),
        ),
    ),
    Case(
        "vap-authorizer",
        policies=(
            policy(
                must(
                    "!authorizer.group('apps').resource('deployments').namespace('default').check('create').allowed()",
                    message="too mighty",
                ),
            ),
        ),
    ),
    Case(
        "vap-authorizer-request",
        policies=(
            policy(
                must("!authorizer.requestResource.check('create').allowed()", message="too mighty"),
            ),
        ),
    ),
    Case(
        "vap-annotations",
        policies=(policy(must("true"), auditAnnotations=[{"key": "k", "valueExpression": "'v'"}]),),
    ),
    Case(
        "vap-annotations-fail",
        policies=(
            policy(
                must("true"),
                auditAnnotations=[{"key": "k", "valueExpression": "object.data.none + 'v'"}],
            ),
        ),
    ),
    Case("vap-index", policies=(policy(must("object.metadata.name.split('-')[7] == 'a'")),)),
    Case("vap-division", policies=(policy(must("1 / (size(object.metadata.name) - 12) == 1")),)),
    Case(
        "map-labels",
        policies=(
            policy(
                mutations=(applying("Object{metadata: Object.metadata{labels: {'new': 'label'}}}"),)
            ),
        ),
    ),
    Case(
        "map-data",
        policies=(policy(mutations=(applying("Object{data: {'a': object.metadata.name}}"),)),),
        object={"data": {"b": "c"}},
    ),
    Case(
        "map-json-patch",
        policies=(
            policy(
                mutations=(
                    operating(
                        "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('korder.dev/x'), value: 'y'}]"
                    ),
                )
            ),
        ),
    ),
    Case(
        "map-json-patch-annotations",
        policies=(
            policy(
                mutations=(
                    operating(
                        "!has(object.metadata.annotations) ? [JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}] : [JSONPatch{op: 'add', path: '/metadata/annotations/a', value: 'b'}]"
                    ),
                )
            ),
        ),
    ),
    Case(
        "map-json-patch-object",
        policies=(
            policy(
                mutations=(
                    operating("[JSONPatch{op: 'add', path: '/data', value: Object.data{x: 'y'}}]"),
                )
            ),
        ),
    ),
    Case(
        "map-json-patch-fails",
        policies=(policy(mutations=(operating("[JSONPatch{op: 'remove', path: '/data/none'}]"),)),),
    ),
    Case(
        "map-json-patch-fails-ignored",
        policies=(
            policy(
                mutations=(operating("[JSONPatch{op: 'remove', path: '/data/none'}]"),),
                failurePolicy="Ignore",
            ),
        ),
    ),
    Case(
        "map-json-patch-test-fails",
        policies=(
            policy(
                mutations=(
                    operating(
                        "[JSONPatch{op: 'test', path: '/metadata/name', value: 'q'}, JSONPatch{op: 'add', path: '/data', value: {'a': 'b'}}]"
                    ),
                )
            ),
        ),
    ),
    Case(
        "map-json-patch-unknown-field",
        policies=(
            policy(mutations=(operating("[JSONPatch{op: 'add', path: '/nope', value: 'q'}]"),)),
        ),
    ),
    Case(
        "map-json-patch-replace-missing",
        policies=(
            policy(
                mutations=(operating("[JSONPatch{op: 'replace', path: '/data/a', value: 'q'}]"),)
            ),
        ),
        object={"data": {"b": "c"}},
    ),
    Case(
        "map-expression-fails",
        policies=(
            policy(
                mutations=(
                    applying("Object{metadata: Object.metadata{labels: {'a': object.data.none}}}"),
                )
            ),
        ),
    ),
    Case(
        "map-expression-fails-ignored",
        policies=(
            policy(
                mutations=(
                    applying("Object{metadata: Object.metadata{labels: {'a': object.data.none}}}"),
                ),
                failurePolicy="Ignore",
            ),
        ),
    ),
    Case(
        "map-condition-fails",
        policies=(
            policy(
                mutations=(applying("Object{}"),),
                matchConditions=[{"name": "a", "expression": "object.data.none == 'x'"}],
            ),
        ),
    ),
    Case(
        "map-two-mutations",
        policies=(
            policy(
                mutations=(
                    applying("Object{metadata: Object.metadata{labels: {'a': '1'}}}"),
                    applying(
                        "Object{metadata: Object.metadata{labels: {'b': object.metadata.labels.a + '2'}}}"
                    ),
                )
            ),
        ),
    ),
    Case(
        "map-variables",
        policies=(
            policy(
                mutations=(applying("Object{metadata: Object.metadata{labels: variables.l}}"),),
                variables=[{"name": "l", "expression": "{'x': object.metadata.name}"}],
            ),
        ),
    ),
    Case(
        "map-ternary",
        policies=(
            policy(
                mutations=(
                    applying(
                        "has(object.data) ? Object{data: {'a': 'b'}} : Object{metadata: Object.metadata{labels: {'no': 'data'}}}"
                    ),
                )
            ),
        ),
    ),
    Case(
        "map-params",
        policies=(
            policy(
                mutations=(applying("Object{data: params.metadata.annotations}"),),
                paramKind=SECRET,
                bindings=(
                    {"paramRef": {"name": "param-{case}", "parameterNotFoundAction": "Deny"}},
                ),
            ),
        ),
        params=(A_PARAM,),
    ),
    Case(
        "map-params-missing",
        policies=(
            policy(
                mutations=(applying("Object{data: params.metadata.annotations}"),),
                paramKind=SECRET,
                bindings=({"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}},),
            ),
        ),
    ),
    Case(
        "map-counts-twice",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{metadata: Object.metadata{labels: {'n': object.metadata.labels.?n.orValue('') + 'x'}}}"
                    ),
                ),
                reinvocationPolicy="IfNeeded",
            ),
        ),
    ),
    Case(
        "map-counts-once",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{metadata: Object.metadata{labels: {'n': object.metadata.labels.?n.orValue('') + 'x'}}}"
                    ),
                ),
                reinvocationPolicy="Never",
            ),
        ),
    ),
    Case(
        "map-then-webhook",
        (hook(mark_if("from-policy", "hooked"), **M),),
        (
            policy(
                mutations=(
                    applying("Object{metadata: Object.metadata{labels: {'from-policy': '1'}}}"),
                )
            ),
        ),
    ),
    Case(
        "map-update",
        policies=(
            policy(
                mutations=(
                    applying("Object{metadata: Object.metadata{labels: {'u': oldObject.data.a}}}"),
                ),
                matchConstraints={"resourceRules": [rule("configmaps", operations=("UPDATE",))]},
            ),
        ),
        operation="UPDATE",
        object={"data": {"a": "b"}},
        change={"data": {"a": "c"}},
    ),
    Case(
        "map-pod-gate",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: 'korder.dev/gate'}]}}"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-gate-beside",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: 'korder.dev/gate'}]}}"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object={"spec": {**POD["spec"], "schedulingGates": [{"name": "a/b"}]}},
    ),
    Case(
        "map-pod-node-selector",
        policies=(
            policy(
                mutations=(applying("Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}"),), **PODS
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-node-selector-patch",
        policies=(
            policy(
                mutations=(
                    operating(
                        "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'a': 'b'}}]"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-container",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: 'A', value: 'B'}]})}}"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-command",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', command: ['a']}]}}"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-unknown-field",
        policies=(policy(mutations=(applying("Object{spec: Object.spec{nope: 'a'}}"),), **PODS),),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-tolerations",
        policies=(
            policy(
                mutations=(
                    operating(
                        "[JSONPatch{op: 'add', path: '/spec/tolerations', value: [{'key': 'k', 'operator': 'Exists'}]}]"
                    ),
                ),
                **PODS,
            ),
        ),
        kind="Pod",
        object=POD,
    ),
    Case(
        "map-pod-gate-by-annotation",
        policies=(
            policy(
                mutations=(
                    operating(
                        "[JSONPatch{op: 'add', path: '/spec/schedulingGates', value: has(object.spec.schedulingGates) ? object.spec.schedulingGates + [{'name': 'g/g'}] : [{'name': 'g/g'}]}]"
                    ),
                ),
                matchConditions=[
                    {
                        "name": "asks",
                        "expression": "object.metadata.?annotations['korder.dev/order'].hasValue()",
                    }
                ],
                **PODS,
            ),
        ),
        kind="Pod",
        object={**POD, "metadata": {"annotations": {"korder.dev/order": "x"}}},
    ),
    Case(
        "map-optional-field",
        policies=(
            policy(
                mutations=(
                    applying(
                        "Object{metadata: Object.metadata{?labels: has(object.data) ? optional.of({'a': 'b'}) : optional.none()}}"
                    ),
                )
            ),
        ),
    ),
)


def _asked(name: str, resources: str, operation: str, *steps: Step) -> Case:
    """A webhook that denies; its review and the words of the refusal are compared."""
    rules = [rule(resources, operations=(operation,))]
    condition = {
        "name": "mine",
        "expression": f"object.?metadata.name.orValue('').contains('{name}') || oldObject.?metadata.name.orValue('').contains('{name}')",
    }
    return Case(
        name,
        (hook(deny("no"), rules=rules, objectSelector={}, matchConditions=[condition]),),
        steps=steps,
    )


def _made(name: str, kind: str = "ConfigMap", **more: Any) -> Object:
    meta = {"name": name, "labels": {"case": name}, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


MAPS, THE_PODS = "/api/v1/namespaces/{ns}/configmaps", "/api/v1/namespaces/{ns}/pods"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
UNSCHEDULED = {"spec": {**POD["spec"], "schedulerName": "nobody"}}
"""A pod that no scheduler writes to: its writes would be sent to the webhooks too."""
PARTS = (
    _asked(
        "part-status",
        "pods/status",
        "UPDATE",
        Step("POST", THE_PODS, _made("part-status", "Pod", **UNSCHEDULED)),
        Step("PATCH", f"{THE_PODS}/part-status/status", {"status": {"phase": "Running"}}, MERGE),
    ),
    _asked(
        "part-binding",
        "pods/binding",
        "CREATE",
        Step("POST", THE_PODS, _made("part-binding", "Pod", **UNSCHEDULED)),
        Step(
            "POST",
            f"{THE_PODS}/part-binding/binding",
            {"metadata": {"name": "part-binding"}, "target": {"kind": "Node", "name": "n"}},
        ),
    ),
    _asked(
        "part-eviction",
        "pods/eviction",
        "CREATE",
        Step("POST", THE_PODS, _made("part-eviction", "Pod", **UNSCHEDULED)),
        Step(
            "POST",
            f"{THE_PODS}/part-eviction/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "part-eviction"}},
        ),
    ),
    _asked(
        "part-generated",
        "configmaps",
        "CREATE",
        Step("POST", MAPS, {"metadata": {"generateName": "part-generated-"}}),
    ),
    _asked(
        "part-applied",
        "configmaps",
        "CREATE",
        Step("PATCH", f"{MAPS}/part-applied?fieldManager=me", _made("part-applied"), APPLY),
    ),
    _asked(
        "part-forced",
        "configmaps",
        "CREATE",
        Step(
            "PATCH", f"{MAPS}/part-forced?fieldManager=me&force=true", _made("part-forced"), APPLY
        ),
    ),
    _asked(
        "part-merged",
        "configmaps",
        "UPDATE",
        Step("POST", MAPS, _made("part-merged")),
        Step("PATCH", f"{MAPS}/part-merged", {"data": {"a": "b"}}, MERGE),
    ),
    _asked("part-put", "configmaps", "CREATE", Step("PUT", f"{MAPS}/part-put", _made("part-put"))),
    _asked(
        "part-deleted",
        "configmaps",
        "DELETE",
        Step("POST", MAPS, _made("part-deleted")),
        Step(
            "DELETE",
            f"{MAPS}/part-deleted",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "propagationPolicy": "Background",
            },
        ),
    ),
    _asked(
        "part-collection",
        "configmaps",
        "DELETE",
        Step("POST", MAPS, _made("part-collection")),
        Step("DELETE", f"{MAPS}?labelSelector=case%3Dpart-collection"),
    ),
    _asked(
        "part-namespace",
        "namespaces",
        "CREATE",
        Step(
            "POST",
            "/api/v1/namespaces",
            {
                "metadata": {
                    "name": "{ns}-part-namespace",
                    "labels": {"kubernetes.io/metadata.name": "{ns}"},
                }
            },
        ),
    ),
    _asked(
        "part-dry",
        "configmaps",
        "CREATE",
        Step(
            "POST", f"{MAPS}?dryRun=All&fieldManager=me&fieldValidation=Strict", _made("part-dry")
        ),
    ),
)
PROBES = (
    Case("zz-mutating", (hook(deny("no"), mutating=True),)),
    Case("zz-validating", (hook(deny("no")),)),
    Case("zz-policy", policies=(policy(must("false")),)),
    Case(
        "zz-mutating-policy",
        policies=(policy(mutations=(applying("Object{data: {'a': object.data.none}}"),)),),
    ),
)
"""The last of each kind to be configured: when they refuse, all others have an effect."""
