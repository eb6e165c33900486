"""Webhooks: what they are told, what they may say, and whom they are asked about."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.hooks import Hooks, allow, deny, label, patch, serving
from tests.contract.objects import Home, config_map
from tests.contract.wire import Server

BROKEN = "object.data.missing == 'x'"


@pytest.fixture
async def hooks(server: Server, home: Home) -> AsyncIterator[Hooks]:
    async with serving(server, home) as hooks:
        yield hooks


async def test_a_hook_refuses(hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: deny("not today", reason="Forbidden"))
    await hooks.install("Validating", hook)
    (await hooks.make()).refused(
        403,
        "Forbidden",
        f'admission webhook "{hook["name"]}" denied the request: not today',
    )


async def test_a_hook_without_words_refuses(hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: {"allowed": False})
    await hooks.install("Validating", hook)
    status = (await hooks.make()).json
    assert status["message"] == (
        f'admission webhook "{hook["name"]}" denied the request without explanation'
    )
    assert status["code"] == 400


async def test_a_hook_chooses_its_code(hooks: Hooks) -> None:
    await hooks.install(
        "Validating", hooks.hook(lambda request: deny("too late", 409, reason="Conflict"))
    )
    (await hooks.make()).refused(409, "Conflict")


async def test_a_hook_is_reported_everything(home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow())
    await hooks.install("Validating", hook)
    (await hooks.make(data={"k": "v"})).ok(201)
    [request] = hooks.asked_of(hook)
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["requestKind"] == request["kind"]
    assert (request["name"], request["namespace"]) == ("a", home.name)
    assert (request["operation"], request["dryRun"]) == ("CREATE", False)
    assert request["object"]["data"] == {"k": "v"}
    assert request["object"]["metadata"]["uid"]
    assert request["oldObject"] is None
    assert "system:masters" in request["userInfo"]["groups"]
    assert request["options"]["kind"] == "CreateOptions"


async def test_a_hook_sees_the_old_and_the_new(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow())
    hook["rules"][0]["operations"] = ["UPDATE", "DELETE"]
    await hooks.install("Validating", hook)
    (await hooks.make(data={"k": "v"})).ok(201)
    (await server.patch(home("configmaps", "a"), {"data": {"k": "w"}})).ok()
    (await server.delete(home("configmaps", "a"))).ok()
    update, delete = hooks.asked_of(hook)
    assert (update["operation"], delete["operation"]) == ("UPDATE", "DELETE")
    assert update["oldObject"]["data"] == {"k": "v"}
    assert update["object"]["data"] == {"k": "w"}
    assert delete["object"] is None
    assert delete["oldObject"]["data"] == {"k": "w"}


async def test_a_deletion_can_be_refused(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: deny("stay"))
    hook["rules"][0]["operations"] = ["DELETE"]
    await hooks.install("Validating", hook)
    (await hooks.make()).ok(201)
    assert (await server.delete(home("configmaps", "a"))).status == 403
    assert (await server.get(home("configmaps", "a"))).status == 200


async def test_a_hook_patches(hooks: Hooks) -> None:
    await hooks.install("Mutating", hooks.hook(lambda request: label("painted")))
    made = (await hooks.make()).ok(201)
    assert made["metadata"]["labels"] == {"app": "a", "painted": "yes"}


async def test_what_a_hook_changes_is_validated(hooks: Hooks) -> None:
    bad = patch({"op": "add", "path": "/data", "value": {"not good": "x"}})
    await hooks.install("Mutating", hooks.hook(lambda request: bad))
    status = (await hooks.make()).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "data[not good]"


async def test_what_a_hook_adds_to_a_new_object_is_nobodys(hooks: Hooks) -> None:
    added = patch({"op": "add", "path": "/data", "value": {"k": "v"}})
    await hooks.install("Mutating", hooks.hook(lambda request: added))
    made = (await hooks.make()).ok(201)
    assert made["data"] == {"k": "v"}
    [entry] = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}


async def test_hooks_change_one_after_the_other(hooks: Hooks) -> None:
    first = hooks.hook(lambda request: label("first"))
    second = hooks.hook(lambda request: label("second"))
    await hooks.install("Mutating", first, second)
    labels = (await hooks.make()).ok(201)["metadata"]["labels"]
    assert labels == {"app": "a", "first": "yes", "second": "yes"}
    assert "first" in hooks.asked_of(second)[0]["object"]["metadata"]["labels"]


async def test_validating_hooks_see_what_mutating_ones_did(hooks: Hooks) -> None:
    judge = hooks.hook(lambda request: allow())
    await hooks.install("Validating", judge)
    await hooks.install("Mutating", hooks.hook(lambda request: label("painted")))
    (await hooks.make()).ok(201)
    assert "painted" in hooks.asked_of(judge)[0]["object"]["metadata"]["labels"]


async def test_a_hook_is_asked_again_if_others_changed_something(hooks: Hooks) -> None:
    first = hooks.hook(lambda request: allow(), reinvocationPolicy="IfNeeded")
    second = hooks.hook(lambda request: label("late"))
    await hooks.install("Mutating", first, second)
    (await hooks.make()).ok(201)
    assert [len(hooks.asked_of(each)) for each in (first, second)] == [2, 1]
    assert "late" in hooks.asked_of(first)[1]["object"]["metadata"]["labels"]


async def test_a_hook_is_not_asked_again_without_need(hooks: Hooks) -> None:
    first = hooks.hook(lambda request: label("first"), reinvocationPolicy="IfNeeded")
    second = hooks.hook(lambda request: allow())
    await hooks.install("Mutating", first, second)
    (await hooks.make()).ok(201)
    assert len(hooks.asked_of(first)) == 1


async def test_a_patch_that_does_not_fit_is_an_error(hooks: Hooks) -> None:
    bad = patch({"op": "remove", "path": "/nothing"})
    await hooks.install("Mutating", hooks.hook(lambda request: bad))
    assert (await hooks.make()).status >= 400


async def test_conditions_choose_what_is_asked(hooks: Hooks) -> None:
    condition = {"name": "only-b", "expression": "object.metadata.name == 'b'"}
    hook = hooks.hook(lambda request: deny("no"), matchConditions=[condition])
    await hooks.install("Validating", hook)
    (await hooks.make("a")).ok(201)
    assert (await hooks.make("b")).status == 403


async def test_a_condition_that_fails_refuses(hooks: Hooks) -> None:
    condition = {"name": "bad", "expression": BROKEN}
    hook = hooks.hook(lambda request: allow(), matchConditions=[condition])
    await hooks.install("Validating", hook)
    status = (await hooks.make(data={"k": "v"})).json
    assert "no such key: missing" in status["message"]
    assert hooks.asked_of(hook) == []


async def test_a_failing_condition_can_be_ignored(hooks: Hooks) -> None:
    condition = {"name": "bad", "expression": BROKEN}
    hook = hooks.hook(
        lambda request: deny("no"), matchConditions=[condition], failurePolicy="Ignore"
    )
    await hooks.install("Validating", hook)
    (await hooks.make(data={"k": "v"})).ok(201)


async def test_objects_are_selected_by_labels(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(
        lambda request: deny("no"), objectSelector={"matchLabels": {"watched": "yes"}}
    )
    await hooks.install("Validating", hook)
    (await hooks.make()).ok(201)
    answer = await server.post(home("configmaps"), config_map("b", labels={"watched": "yes"}))
    assert answer.status == 403


async def test_namespaces_are_selected_by_labels(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(
        lambda request: deny("no"), namespaceSelector={"matchLabels": {"x": home.name}}
    )
    await hooks.install("Validating", hook)
    (await hooks.make()).ok(201)
    change = {"metadata": {"labels": {"x": home.name}}}
    (await server.patch(f"/api/v1/namespaces/{home.name}", change)).ok()
    await server.until(
        lambda: server.post(home("configmaps"), config_map("b"), dryRun="All"),
        lambda answer: answer.status == 403,
    )


async def test_resources_are_selected_by_rules(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: deny("no"))
    hook["rules"][0]["resources"] = ["secrets"]
    await hooks.install("Validating", hook)
    (await hooks.make()).ok(201)
    assert (await server.post(home("secrets"), {"metadata": {"name": "a"}})).status == 403
