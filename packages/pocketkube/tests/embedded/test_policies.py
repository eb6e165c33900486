"""Policies as plugins: when they count, what their expressions see, and what they do to objects."""

from collections.abc import AsyncIterator, Sequence
import json
from typing import Any

import pytest

from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation, Plugin
from pocketkube.apiserver.admission.expressions import Compiler
from pocketkube.apiserver.admission.policies import MutatingPolicies, ValidatingPolicies
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.managed_fields import endpoints
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Delete, Draft, Key, Storage, Update, open_storage
from pocketkube.apiserver.view import View

Object = dict[str, Any]
GROUP = "admissionregistration.k8s.io"


class Pods(Strategy):
    """Pods without the rest of what is known of them."""

    def endpoint(self, subresource: str = "") -> Endpoint:
        return endpoints.builtin("v1", "Pod", subresource)


PODS = Resource("", "v1", "Pod", "pods", Pods())
NODES = Resource("", "v1", "Node", "nodes", Strategy(), namespaced=False)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", Strategy(), namespaced=False)
LIMITS = Resource("korder.dev", "v1", "Limit", "limits", Strategy(), namespaced=False)
POLICIES = Resource(
    GROUP,
    "v1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    Strategy(),
    namespaced=False,
)
REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    Strategy(),
    namespaced=False,
)


class World:
    """A storage with policies in it."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.questions: list[Object] = []
        view = View(storage)
        settings: Object = {"ask_for": lambda attributes: self.answer(attributes.user)}
        self.plugins: list[Plugin] = [
            MutatingPolicies(view, self.find, **settings),
            ValidatingPolicies(view, self.find, **settings),
        ]

    def answer(self, user: User) -> Any:
        def ask(question: Object) -> tuple[bool, str]:
            self.questions.append({**question, "user": user.name})
            return user.name == "root", "because"

        return ask

    def find(self, api_version: str, kind: str) -> Resource | None:
        return LIMITS if (api_version, kind) == ("korder.dev/v1", "Limit") else None

    async def store(self, resource: str, name: str, obj: Object) -> None:
        meta = {"name": name, **obj.get("metadata", {}), "resourceVersion": "VERSION"}
        head, tail = json.dumps({**obj, "metadata": meta}).encode().split(b"VERSION")
        key, draft = Key(resource, "", name), Draft(head, tail)
        old = self.storage.get(key)
        made = Create(key, draft) if old is None else Update(key, draft, old.version)
        await self.storage.write(made)

    async def remove(self, resource: str, name: str) -> None:
        key = Key(resource, "", name)
        old = self.storage.get(key)
        assert old is not None
        await self.storage.write(Delete(key, Draft(old.value, b""), old.version))

    async def policy(self, name: str, binding: Object | None = None, **spec: Any) -> None:
        """Stores a policy for pods, mutating if it has mutations, and a binding of the same name."""
        kind = "mutating" if "mutations" in spec else "validating"
        match = {"resourceRules": [rule()], **spec.pop("matchConstraints", {})}
        plural = f"{kind}admissionpolicies.{GROUP}"
        await self.store(plural, name, {"spec": {"matchConstraints": match, **spec}})
        bound = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
        await self.store(f"{kind}admissionpolicybindings.{GROUP}", name, {"spec": bound})

    async def admit(self, attributes: Attributes) -> Object:
        with Chain(self.plugins).admission(attributes) as admission:
            await admission.mutate()
            await admission.validate()
        return attributes.object or {}

    async def refusal(self, attributes: Attributes) -> str:
        with pytest.raises(Refused) as refused:
            await self.admit(attributes)
        return refused.value.status.message


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_storage(None) as storage:
        made = World(storage)
        labels = {"labels": {"team": "a"}, "managedFields": []}
        await made.store("namespaces", "default", {"metadata": labels, "status": {}})
        yield made


def rule(resources: str = "pods", operations: str = "*") -> Object:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": [operations],
        "resources": [resources],
    }


def pod(**spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def write(
    obj: Object | None = None,
    resource: Resource = PODS,
    operation: Operation = Operation.CREATE,
    user: str = "me",
    **more: Any,
) -> Attributes:
    home = "default" if resource.namespaced else ""
    return Attributes(operation, resource, home, "a", User(user), obj or pod(), **more)


def must(expression: str, **more: Any) -> list[Object]:
    return [{"expression": expression, **more}]


def apply(*texts: str) -> list[Object]:
    return [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}}
        for each in texts
    ]


def operations(text: str) -> list[Object]:
    return [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}]


async def test_a_policy_counts_from_its_binding_to_its_end(world: World) -> None:
    await world.policy("no", validations=must("false"))
    assert "denied request" in await world.refusal(write())
    await world.remove(f"validatingadmissionpolicybindings.{GROUP}", "no")
    await world.admit(write())


async def test_a_changed_policy_is_read_again(world: World) -> None:
    await world.policy("no", validations=must("false", message="first"))
    assert (await world.refusal(write())).endswith("first")
    await world.policy("no", validations=must("false", message="second"))
    assert (await world.refusal(write())).endswith("second")


async def test_the_first_policy_by_name_is_reported(world: World) -> None:
    for name in ("b", "a", "c"):
        await world.policy(name, validations=must("false"))
    assert "ValidatingAdmissionPolicy 'a' with binding 'a'" in await world.refusal(write())


@pytest.mark.parametrize(
    ("resource", "judged"),
    [(PODS, True), (NODES, True), (POLICIES, False), (REVIEWS, False)],
    ids=["pods", "nodes", "policies", "reviews"],
)
async def test_policies_judge_everything_but_themselves_and_reviews(
    world: World, resource: Resource, judged: bool
) -> None:
    await world.policy(
        "all", validations=must("false"), matchConstraints={"resourceRules": [rule("*")]}
    )
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a"}}
    attributes = write(obj, resource)
    if judged:
        assert "denied request" in await world.refusal(attributes)
    else:
        await world.admit(attributes)


async def test_nothing_is_mutated_when_something_is_deleted(world: World) -> None:
    await world.policy("gate", mutations=apply("Object{metadata: object.none}"))
    attributes = write(operation=Operation.DELETE, old=pod())
    attributes.object = None
    await world.admit(attributes)


@pytest.mark.parametrize(
    "expression",
    [
        "namespaceObject.metadata.labels.team == 'a'",
        "!has(namespaceObject.metadata.labels.other)",
        "object.spec.containers.all(c, c.image == 'i')",
        "request.userInfo.username == 'me' && request.namespace == 'default'",
        "request.kind.kind == 'Pod' && request.resource.resource == 'pods'",
        "oldObject == null",
        "object.metadata.?labels['x'].orValue('y') == 'y'",
        "variables.images.exists(i, i == 'i') && variables.count == 1",
    ],
)
async def test_expressions_see_the_write_and_its_surroundings(
    world: World, expression: str
) -> None:
    variables = [
        {"name": "images", "expression": "object.spec.containers.map(c, c.image)"},
        {"name": "count", "expression": "size(variables.images)"},
    ]
    await world.policy("sees", validations=must(expression), variables=variables)
    await world.admit(write())


async def test_members_of_an_object_that_is_not_there_are_nothing(world: World) -> None:
    text = "!object.?spec.nodeName.hasValue() && variables.object.?x.orValue(0) == 1"
    variables = [{"name": "object", "expression": "{'x': 1}"}]
    await world.policy("deleted", validations=must(text), variables=variables)
    attributes = write(operation=Operation.DELETE, old=pod())
    attributes.object = None
    await world.admit(attributes)


async def test_a_namespace_has_no_namespace_to_look_at(world: World) -> None:
    await world.policy(
        "null",
        validations=must("namespaceObject == null && request.namespace == 'a'"),
        matchConstraints={"resourceRules": [rule("namespaces")]},
    )
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    await world.admit(write(obj, NAMESPACES))


@pytest.mark.parametrize(("user", "passes"), [("root", True), ("me", False)])
async def test_the_authorizer_answers_for_the_writer(world: World, user: str, passes: bool) -> None:
    check = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('x')"
    await world.policy("may", validations=must(f"{check}.name('n').check('update').allowed()"))
    if passes:
        await world.admit(write(user=user))
    else:
        await world.refusal(write(user=user))
    (question,) = world.questions
    assert question == {
        "group": "apps",
        "resource": "deployments",
        "subresource": "scale",
        "namespace": "x",
        "name": "n",
        "verb": "update",
        "user": user,
    }


async def test_the_authorizer_can_be_asked_about_the_write_itself_and_about_others(
    world: World,
) -> None:
    expression = (
        "authorizer.requestResource.check('delete').reason() == 'because' && "
        "!authorizer.serviceAccount('ns', 'sa').path('/healthz').check('get').allowed()"
    )
    await world.policy("may", validations=must(expression))
    await world.admit(write())
    first, second = world.questions
    assert (first["resource"], first["namespace"], first["name"]) == ("pods", "default", "a")
    assert second["serviceAccount"] == "system:serviceaccount:ns:sa"
    assert second["path"] == "/healthz"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        pytest.param({"name": "max"}, "is 3", id="by name"),
        pytest.param({"selector": {"matchLabels": {"use": "me"}}}, "is 3", id="by label"),
        pytest.param({"selector": {}}, "is 3", id="all of them"),
        pytest.param(
            {"name": "max", "namespace": "x"},
            "failed to configure binding: paramRef.namespace must not be provided for a "
            "cluster-scoped `paramKind`",
            id="a namespace where there is none",
        ),
        pytest.param(
            {"name": "none"},
            "failed to configure binding: no params found for policy binding with `Deny` "
            "parameterNotFoundAction",
            id="none",
        ),
    ],
)
async def test_parameters_of_the_whole_cluster(world: World, reference: Object, why: str) -> None:
    meta = {"labels": {"use": "me"}}
    await world.store("limits.korder.dev", "max", {"metadata": meta, "value": 3})
    await world.policy(
        "limit",
        {"paramRef": {"parameterNotFoundAction": "Deny", **reference}},
        paramKind={"apiVersion": "korder.dev/v1", "kind": "Limit"},
        validations=must("false", messageExpression="'is ' + string(params.value)"),
    )
    assert (await world.refusal(write())).endswith(f"denied request: {why}")


async def test_a_parameter_counts_as_it_is_now(world: World) -> None:
    await world.policy(
        "limit",
        {"paramRef": {"name": "max", "parameterNotFoundAction": "Allow"}},
        paramKind={"apiVersion": "korder.dev/v1", "kind": "Limit"},
        validations=must("size(object.spec.containers) <= params.value"),
    )
    await world.admit(write())
    await world.store("limits.korder.dev", "max", {"value": 0})
    assert "failed expression" in await world.refusal(write())
    await world.store("limits.korder.dev", "max", {"value": 1})
    await world.admit(write())


GATE = "Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: 'korder.dev/g'}]}}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], ["korder.dev/g"], id="none before"),
        pytest.param(["a/b"], ["a/b", "korder.dev/g"], id="another before"),
        pytest.param(["korder.dev/g"], ["korder.dev/g"], id="itself before"),
    ],
)
async def test_a_gate_joins_those_that_are_there(
    world: World, before: Sequence[str], after: Sequence[str]
) -> None:
    await world.policy("gate", mutations=apply(GATE))
    gates = [{"name": each} for each in before]
    obj = await world.admit(write(pod(schedulingGates=gates)))
    assert obj["spec"]["schedulingGates"] == [{"name": each} for each in after]


async def test_labels_and_annotations_are_merged_in_a_fixed_order(world: World) -> None:
    text = "Object{metadata: Object.metadata{labels: {'c': '3', 'a': '1', 'b': '2'}}}"
    await world.policy("label", mutations=apply(text))
    obj = pod()
    obj["metadata"]["labels"] = {"z": "0"}
    after = await world.admit(write(obj))
    assert [*after["metadata"]["labels"]] == ["z", "a", "b", "c"]


async def test_later_mutations_see_earlier_ones(world: World) -> None:
    first = "Object{metadata: Object.metadata{labels: {'a': 'x'}}}"
    second = "Object{metadata: Object.metadata{labels: {'b': object.metadata.labels.a + 'y'}}}"
    await world.policy("one", mutations=apply(first, second))
    await world.policy(
        "two",
        mutations=apply(
            "Object{metadata: Object.metadata{labels: {'c': object.metadata.labels.b + 'z'}}}"
        ),
    )
    after = await world.admit(write())
    assert after["metadata"]["labels"] == {"a": "x", "b": "xy", "c": "xyz"}


async def test_literals_of_different_shapes_may_stand_side_by_side(world: World) -> None:
    text = (
        "has(object.spec.nodeName) ? Object{spec: Object.spec{priority: 3}} : "
        "Object{metadata: Object.metadata{labels: {'free': 'yes'}}}"
    )
    await world.policy("choose", mutations=apply(text))
    assert (await world.admit(write()))["metadata"]["labels"] == {"free": "yes"}
    assert (await world.admit(write(pod(nodeName="n"))))["spec"]["priority"] == 3


async def test_operations_of_different_shapes_may_stand_side_by_side(world: World) -> None:
    text = (
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}] + "
        "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k/l'), value: '1'},"
        " JSONPatch{op: 'remove', path: '/metadata/labels/a'},"
        " JSONPatch{op: 'add', path: '/spec/priority', value: 7}]"
    )
    await world.policy("patch", mutations=operations(text))
    after = await world.admit(write())
    assert after["metadata"]["labels"] == {"k/l": "1"}
    assert after["spec"]["priority"] == 7


async def test_the_object_of_the_request_is_not_changed_when_a_mutation_fails(
    world: World,
) -> None:
    await world.policy("bad", mutations=operations("[JSONPatch{op: 'remove', path: '/none'}]"))
    attributes = write()
    before = json.dumps(attributes.object)
    message = await world.refusal(attributes)
    assert message.startswith(
        "policy 'bad' with binding 'bad' denied request: JSON Patch: error in remove"
    )
    assert json.dumps(attributes.object) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("object.metadata.name == 'a'", ""),
        ("object.metadata.name", "must evaluate to bool but got dyn"),
        ("'text'", "must evaluate to bool but got string"),
        ("variables.known == 1 && params.x == 2", ""),
        ("authorizer.path('/x').check('get').allowed()", ""),
        ("object.a ==", "compilation failed: ERROR: <input>:1:12: Syntax error"),
        ("nobody == 1", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nobody'"),
        ("variables.none", "compilation failed: ERROR: <input>:1:10: undefined field 'none'"),
        ("request.none == 1", "compilation failed: ERROR: <input>:1:8: undefined field 'none'"),
    ],
)
def test_an_expression_is_one_or_says_what_is_wrong_with_it(text: str, problem: str) -> None:
    compiler = Compiler(params=True)
    compiler.variable("known", "1")
    found = compiler.expression(text, ["bool"]).problem
    assert found.startswith(problem) if problem else found == ""
