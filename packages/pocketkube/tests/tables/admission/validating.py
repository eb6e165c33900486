"""Policies that judge."""

from typing import Any

from tests.tables.admission.words import A_PARAM, SECRET, Case, Object, must, policy, rule


def _by_name(**more: Any) -> Object:
    return {
        "validationActions": ["Deny"],
        "paramRef": {"name": "param-{case}", "parameterNotFoundAction": "Deny", **more},
    }


VALIDATING = (
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
)
