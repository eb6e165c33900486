"""Webhooks that fail, and configurations that make no sense."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.hooks import GROUP, HEADERS, Hooks, Object, allow, deny, serving
from tests.contract.objects import Home, config_map, everywhere, unique
from tests.contract.wire import Server

from kubeloop.net.server import Reply


@pytest.fixture
async def hooks(server: Server, home: Home) -> AsyncIterator[Hooks]:
    async with serving(server, home) as hooks:
        yield hooks


async def test_a_hook_that_cannot_be_reached_refuses(hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow())
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/none"
    await hooks.install("Validating", hook)
    status = (await hooks.make()).json
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert status["message"].startswith(
        f'Internal error occurred: failed calling webhook "{hook["name"]}": failed to call webhook: Post '
        '"https://127.0.0.1:1/none?timeout=5s": '
    )


async def test_a_hook_that_cannot_be_reached_can_be_ignored(hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow(), failurePolicy="Ignore")
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/none"
    await hooks.install("Validating", hook)
    (await hooks.make()).ok(201)


async def test_a_hook_that_answers_nonsense_refuses(hooks: Hooks) -> None:
    await hooks.install("Validating", hooks.hook(lambda request: Reply(200, b"nonsense", HEADERS)))
    assert (await hooks.make()).status == 500


async def test_a_hook_that_answers_an_error_refuses(hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: Reply(503, b"busy", HEADERS))
    await hooks.install("Validating", hook)
    status = (await hooks.make()).json
    assert status["code"] == 500
    assert f'failed calling webhook "{hook["name"]}"' in status["message"]


async def test_a_hook_must_answer_the_question_it_was_asked(hooks: Hooks) -> None:
    await hooks.install("Validating", hooks.hook(lambda request: allow(uid="another")))
    status = (await hooks.make()).json
    assert status["code"] == 500
    assert "expected response.uid" in status["message"]


async def test_a_slow_hook_is_not_waited_for(hooks: Hooks) -> None:
    given_up = asyncio.Event()

    async def slow(request: Object) -> Object:
        await given_up.wait()
        return allow()

    hook = hooks.hook(slow, timeoutSeconds=1)
    await hooks.install("Validating", hook)
    status = (await hooks.make()).json
    given_up.set()
    assert (status["code"], status["reason"]) == (500, "InternalError")
    url = hook["clientConfig"]["url"]
    assert status["message"] == (
        f'Internal error occurred: failed calling webhook "{hook["name"]}": failed to call webhook: '
        f'Post "{url}?timeout=1s": context deadline exceeded'
    )


async def test_a_hook_can_warn(hooks: Hooks) -> None:
    await hooks.install("Validating", hooks.hook(lambda request: allow(warnings=["mind the gap"])))
    assert (await hooks.make()).warnings == ["mind the gap"]


async def test_a_dry_run_is_reported_to_the_hook(server: Server, home: Home, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow())
    await hooks.install("Validating", hook)
    (await server.post(home("configmaps"), config_map("a"), dryRun="All")).ok(201)
    assert [each["dryRun"] for each in hooks.asked_of(hook)] == [True]


async def test_a_removed_configuration_is_no_longer_asked(server: Server, hooks: Hooks) -> None:
    path = await hooks.install("Validating", hooks.hook(lambda request: deny("no")))
    (await server.delete(path)).ok()
    await server.until(
        lambda: server.post(hooks.home("configmaps"), config_map("a"), dryRun="All"),
        lambda answer: answer.status == 201,
    )


def configuration(**hook: Any) -> dict[str, Any]:
    base = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": unique("hooks")},
        "webhooks": [{**base, **hook}],
    }


async def test_a_configuration_is_completed(server: Server) -> None:
    path = everywhere("validatingwebhookconfigurations")
    made = (await server.post(path, configuration())).ok(201)
    [hook] = made["webhooks"]
    assert {key: hook[key] for key in ("failurePolicy", "matchPolicy", "timeoutSeconds")} == {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
    }
    assert hook["namespaceSelector"] == hook["objectSelector"] == {}
    (await server.delete(f"{path}/{made['metadata']['name']}")).ok()


@pytest.mark.parametrize(
    ("hook", "field"),
    [
        ({"clientConfig": {"url": "http://127.0.0.1/x"}}, "webhooks[0].clientConfig.url"),
        ({"clientConfig": {}}, "webhooks[0].clientConfig"),
        ({"name": "short"}, "webhooks[0].name"),
        ({"timeoutSeconds": 31}, "webhooks[0].timeoutSeconds"),
        ({"sideEffects": "Some"}, "webhooks[0].sideEffects"),
        ({"admissionReviewVersions": ["v9"]}, "webhooks[0].admissionReviewVersions"),
        ({"failurePolicy": "Panic"}, "webhooks[0].failurePolicy"),
        (
            {"matchConditions": [{"name": "x", "expression": "1 +"}]},
            "webhooks[0].matchConditions[0].expression",
        ),
    ],
    ids=[
        "no https",
        "no address",
        "short name",
        "patient",
        "side effects",
        "versions",
        "policy",
        "condition",
    ],
)
async def test_a_bad_configuration_is_refused(
    server: Server, hook: dict[str, Any], field: str
) -> None:
    answer = await server.post(everywhere("validatingwebhookconfigurations"), configuration(**hook))
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert [each["field"] for each in causes] == [field]
