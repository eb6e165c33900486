"""New webhooks and policies."""

from tests.tables.kinds.words import (
    MAP,
    MAPB,
    MWC,
    VAP,
    VAPB,
    VWC,
    Object,
    hook,
    named,
    policy,
    rule,
)

ADMITTING: list[tuple[str, str, Object]] = [
    ("a webhook", VWC, named("NAME", webhooks=[hook(rules=[rule()])])),
    (
        "a mutating webhook at a service",
        MWC,
        named(
            "NAME",
            webhooks=[
                hook(clientConfig={"service": {"namespace": "a", "name": "b", "path": "/x"}})
            ],
        ),
    ),
    ("a webhook without anything", VWC, named("NAME", webhooks=[{"name": "a"}])),
    (
        "a webhook with a bad name",
        VWC,
        named("NAME", webhooks=[hook(name="a.b"), hook(name="A.b.c")]),
    ),
    ("webhooks of one name", VWC, named("NAME", webhooks=[hook(), hook()])),
    (
        "a webhook with both clients",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(clientConfig={"url": "https://a", "service": {"namespace": "a", "name": "b"}})
            ],
        ),
    ),
    (
        "a webhook with a bad url",
        VWC,
        named("NAME", webhooks=[hook(clientConfig={"url": "http://u@a/b?c#d"})]),
    ),
    (
        "a webhook with a bad service",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(
                    clientConfig={
                        "service": {"namespace": "", "name": "b", "path": "x//Y", "port": 0}
                    }
                )
            ],
        ),
    ),
    (
        "a webhook with bad rules",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(
                    rules=[
                        rule(
                            operations=["*", "X"],
                            apiGroups=["*", "a"],
                            apiVersions=[""],
                            resources=["*/*", "a"],
                            scope="x",
                        ),
                        {},
                    ]
                )
            ],
        ),
    ),
    (
        "a webhook with wild resources",
        VWC,
        named("NAME", webhooks=[hook(rules=[rule(resources=["a/*", "a/b", "*", "c"])])]),
    ),
    (
        "a webhook with bad words",
        MWC,
        named(
            "NAME",
            webhooks=[
                hook(
                    failurePolicy="x",
                    matchPolicy="x",
                    sideEffects="Some",
                    timeoutSeconds=31,
                    reinvocationPolicy="x",
                    admissionReviewVersions=["v2", "v2"],
                )
            ],
        ),
    ),
    (
        "a webhook with bad selectors",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(
                    namespaceSelector={"matchLabels": {"a b": "c"}},
                    objectSelector={"matchExpressions": [{"key": "a", "operator": "In"}]},
                )
            ],
        ),
    ),
    (
        "a webhook with a condition",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(matchConditions=[{"name": "a", "expression": "object.metadata.name == 'x'"}])
            ],
        ),
    ),
    (
        "a webhook with bad conditions",
        VWC,
        named(
            "NAME",
            webhooks=[
                hook(
                    matchConditions=[
                        {"name": "a b", "expression": "object."},
                        {"name": "a", "expression": "1"},
                        {"expression": ""},
                    ]
                )
            ],
        ),
    ),
    ("a policy", VAP, policy() | {"metadata": {"name": "NAME"}}),
    (
        "a policy with variables",
        VAP,
        policy(
            variables=[{"name": "a", "expression": "1"}],
            validations=[{"expression": "variables.a == 1", "message": "m", "reason": "Invalid"}],
        )
        | {"metadata": {"name": "NAME"}},
    ),
    ("a policy without anything", VAP, named("NAME", spec={})),
    (
        "a policy with bad expressions",
        VAP,
        policy(
            validations=[
                {"expression": "foo"},
                {"expression": "1"},
                {"expression": "true", "message": " ", "messageExpression": "1", "reason": "x"},
            ]
        )
        | {"metadata": {"name": "NAME"}},
    ),
    (
        "a policy with bad parameters",
        VAP,
        policy(paramKind={"apiVersion": "A/b/c", "kind": "a b"}) | {"metadata": {"name": "NAME"}},
    ),
    (
        "a policy with bad variables",
        VAP,
        policy(variables=[{"name": "a-b", "expression": "1"}, {"name": "", "expression": ""}])
        | {"metadata": {"name": "NAME"}},
    ),
    (
        "a policy binding",
        VAPB,
        named("NAME", spec={"policyName": "a", "validationActions": ["Deny"]}),
    ),
    ("a policy binding to nothing", VAPB, named("NAME", spec={})),
    (
        "a policy binding with bad actions",
        VAPB,
        named("NAME", spec={"policyName": "A", "validationActions": ["Deny", "Warn", "Warn", "x"]}),
    ),
    (
        "a policy binding with bad parameters",
        VAPB,
        named(
            "NAME",
            spec={
                "policyName": "a",
                "validationActions": ["Deny"],
                "paramRef": {"name": "a", "selector": {}},
            },
        ),
    ),
    (
        "a mutating policy binding",
        MAPB,
        named("NAME", spec={"policyName": "a", "matchResources": {}}),
    ),
    ("a mutating policy without anything", MAP, named("NAME", spec={})),
]
