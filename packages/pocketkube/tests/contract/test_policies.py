"""Admission policies in CEL: validating and mutating, with bindings, parameters, conditions and failures."""

from typing import Any

import pytest
from tests.contract.objects import Home, config_map, everywhere, unique
from tests.contract.wire import Answer, Server

GROUP = "admissionregistration.k8s.io/v1"
RULES = [
    {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
]


class Policies:
    """Makes policies that are in force in the test's namespace only."""

    def __init__(self, server: Server, home: Home) -> None:
        self.server = server
        self.home = home
        self.name = unique("policy")

    async def make(self, kind: str, spec: dict[str, Any], **binding: Any) -> None:
        policy = {
            "apiVersion": GROUP,
            "kind": f"{kind}Policy",
            "metadata": {"name": self.name},
            "spec": {"matchConstraints": {"resourceRules": RULES}, **spec},
        }
        selector = {"matchLabels": {"kubernetes.io/metadata.name": self.home.name}}
        bound = {
            "apiVersion": GROUP,
            "kind": f"{kind}PolicyBinding",
            "metadata": {"name": self.name},
            "spec": {
                "policyName": self.name,
                "matchResources": {"namespaceSelector": selector},
                **binding,
            },
        }
        plural = f"{kind.lower()}policies"
        (await self.server.post(everywhere(plural), policy)).ok(201)
        (await self.server.post(everywhere(f"{kind.lower()}policybindings"), bound)).ok(201)

    async def validating(self, *validations: dict[str, Any], **spec: Any) -> None:
        binding = spec.pop("binding", {})
        actions = {"validationActions": ["Deny"], **binding}
        await self.make(
            "ValidatingAdmission", {"validations": list(validations), **spec}, **actions
        )

    async def mutating(self, *mutations: dict[str, Any], **spec: Any) -> None:
        body = {"reinvocationPolicy": "Never", "mutations": list(mutations), **spec}
        await self.make("MutatingAdmission", body)

    async def tried(self, body: dict[str, Any], refused: bool = True) -> Answer:
        """Tries until the policy is seen to be in force."""
        return await self.server.until(
            lambda: self.server.post(self.home("configmaps"), body, dryRun="All"),
            lambda answer: (answer.status >= 400) == refused,
        )


@pytest.fixture
def policies(server: Server, home: Home) -> Policies:
    return Policies(server, home)


NO_SECRETS = {"expression": "!has(object.data) || !('secret' in object.data)"}


async def test_a_policy_refuses(server: Server, home: Home, policies: Policies) -> None:
    await policies.validating({**NO_SECRETS, "message": "no secrets here"})
    answer = await policies.tried(config_map("a", {"secret": "x"}))
    answer.refused(
        422,
        "Invalid",
        f"configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '{policies.name}' with binding '{policies.name}' denied "
        "request: no secrets here",
    )
    (await server.post(home("configmaps"), config_map("a", {"fine": "x"}))).ok(201)


async def test_a_policy_without_words_shows_its_expression(policies: Policies) -> None:
    await policies.validating(NO_SECRETS)
    status = (await policies.tried(config_map("a", {"secret": "x"}))).json
    assert status["message"].endswith(
        f"denied request: failed expression: {NO_SECRETS['expression']}"
    )


async def test_a_policy_can_choose_its_reason_and_words(policies: Policies) -> None:
    await policies.validating(
        {
            **NO_SECRETS,
            "messageExpression": "'not in ' + object.metadata.name",
            "reason": "Forbidden",
        }
    )
    answer = await policies.tried(config_map("a", {"secret": "x"}))
    status = answer.refused(403, "Forbidden")
    assert status["message"].endswith("denied request: not in a")


async def test_a_policy_can_look_at_the_past(
    server: Server, home: Home, policies: Policies
) -> None:
    await policies.validating(
        {
            "expression": "oldObject == null || object.data == oldObject.data",
            "message": "data stays",
        },
        {"expression": "object.metadata.name != 'probe'", "message": "probe"},
    )
    await policies.tried(config_map("probe"))
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    status = (await server.patch(home("configmaps", "a"), {"data": {"k": "w"}})).refused(
        422, "Invalid"
    )
    assert status["message"].endswith("denied request: data stays")


async def test_conditions_choose_what_is_judged(
    server: Server, home: Home, policies: Policies
) -> None:
    await policies.validating(
        {"expression": "false", "message": "never"},
        matchConditions=[{"name": "only-a", "expression": "object.metadata.name == 'a'"}],
    )
    await policies.tried(config_map("a"))
    (await server.post(home("configmaps"), config_map("b"))).ok(201)


async def test_variables_are_shared(policies: Policies) -> None:
    await policies.validating(
        {
            "expression": "variables.size < 2",
            "messageExpression": "string(variables.size) + ' keys'",
        },
        variables=[{"name": "size", "expression": "has(object.data) ? object.data.size() : 0"}],
    )
    status = (await policies.tried(config_map("a", {"k": "", "l": "", "m": ""}))).json
    assert status["message"].endswith("denied request: 3 keys")


async def test_the_request_and_namespace_are_known(home: Home, policies: Policies) -> None:
    await policies.validating(
        {
            "expression": "request.operation != 'CREATE'",
            "messageExpression": "request.resource.resource + ' in ' + namespaceObject.metadata.name",
        }
    )
    status = (await policies.tried(config_map("a"))).json
    assert status["message"].endswith(f"denied request: configmaps in {home.name}")


async def test_parameters_are_looked_up(server: Server, home: Home, policies: Policies) -> None:
    (await server.post(home("configmaps"), config_map("limit", {"max": "1"}))).ok(201)
    await policies.validating(
        {"expression": "!has(object.data) || object.data.size() <= int(params.data.max)"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={
            "paramRef": {"name": "limit", "namespace": home.name, "parameterNotFoundAction": "Deny"}
        },
    )
    await policies.tried(config_map("a", {"k": "", "l": ""}))
    await policies.tried(config_map("b", {"k": ""}), refused=False)


async def test_an_expression_that_fails_refuses(policies: Policies) -> None:
    await policies.validating({"expression": "object.data.missing == 'x'"})
    answer = await policies.tried(config_map("a", {"k": "v"}))
    status = answer.json
    assert "resulted in error: no such key: missing" in status["message"]


async def test_a_failure_can_be_ignored(server: Server, home: Home, policies: Policies) -> None:
    await policies.validating(
        {"expression": "object.metadata.name != 'probe'"},
        {"expression": "object.data.missing == 'x'"},
        failurePolicy="Ignore",
    )
    await policies.tried(config_map("probe", {"k": "v"}))
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)


async def test_a_policy_can_only_warn(policies: Policies) -> None:
    await policies.validating(
        {**NO_SECRETS, "message": "better not"}, binding={"validationActions": ["Warn"]}
    )
    answer = await policies.server.until(
        lambda: policies.server.post(
            policies.home("configmaps"), config_map("a", {"secret": "x"}), dryRun="All"
        ),
        lambda answer: bool(answer.warnings),
    )
    answer.ok(201)
    assert answer.warnings == [
        f"Validation failed for ValidatingAdmissionPolicy '{policies.name}' with binding '{policies.name}': better not"
    ]


async def test_an_expression_must_compile(server: Server) -> None:
    policy = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": unique("policy")},
        "spec": {
            "matchConstraints": {"resourceRules": RULES},
            "validations": [{"expression": "object.metadata.name =="}],
        },
    }
    answer = await server.post(everywhere("validatingadmissionpolicies"), policy)
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.validations[0].expression"
    assert "compilation failed: ERROR: <input>:1:" in status["message"]


async def test_a_policy_needs_something_to_say(server: Server) -> None:
    policy = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": unique("policy")},
        "spec": {"matchConstraints": {"resourceRules": RULES}},
    }
    answer = await server.post(everywhere("validatingadmissionpolicies"), policy)
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert {"spec.validations", "spec.auditAnnotations"} & {each["field"] for each in causes}


async def test_a_mutation_applies_a_configuration(policies: Policies) -> None:
    await policies.mutating(
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {
                "expression": 'Object{metadata: Object.metadata{labels: {"painted": "yes"}}}'
            },
        }
    )
    answer = await policies.server.until(
        lambda: policies.server.post(
            policies.home("configmaps"), config_map("a", labels={"x": "y"}), dryRun="All"
        ),
        lambda answer: answer.status == 201 and "painted" in answer.json["metadata"]["labels"],
    )
    assert answer.ok(201)["metadata"]["labels"] == {"x": "y", "painted": "yes"}


async def test_a_mutation_patches(policies: Policies) -> None:
    await policies.mutating(
        {
            "patchType": "JSONPatch",
            "jsonPatch": {
                "expression": '[JSONPatch{op: "add", path: "/data/added", value: "yes"}]'
            },
        }
    )
    answer = await policies.server.until(
        lambda: policies.server.post(
            policies.home("configmaps"), config_map("a", {"k": "v"}), dryRun="All"
        ),
        lambda answer: answer.status == 201 and "added" in answer.json["data"],
    )
    assert answer.ok(201)["data"] == {"k": "v", "added": "yes"}
