"""Policies that change what is written."""

from tests.tables.admission.webhooks import mark_if
from tests.tables.admission.words import (
    A_PARAM,
    POD,
    SECRET,
    Case,
    M,
    Object,
    applying,
    hook,
    policy,
    rule,
)


def operating(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


PODS = {"matchConstraints": {"resourceRules": [rule("pods")]}}

MUTATING = (
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
