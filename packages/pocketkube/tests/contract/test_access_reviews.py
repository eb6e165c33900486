"""Questions about access: own rights, those of others, of paths, and all at once."""

from typing import Any

import pytest
from tests.contract.objects import Home, everywhere
from tests.contract.rights import SIGN, Rights, rule
from tests.contract.wire import Server


@pytest.fixture
def rights(server: Server, home: Home) -> Rights:
    return Rights(server, home)


def question(**attributes: Any) -> dict[str, Any]:
    return {"spec": {"resourceAttributes": attributes}}


async def test_the_administrator_can_do_everything(server: Server, home: Home) -> None:
    asked = question(verb="delete", resource="nodes")
    answer = (await server.post(everywhere("selfsubjectaccessreviews"), asked)).ok(201)
    assert answer["status"]["allowed"] is True


async def test_others_can_be_asked_about(server: Server, home: Home, rights: Rights) -> None:
    await rights.grant(SIGN)
    asked = question(verb="list", resource="configmaps", namespace=home.name)
    asked["spec"]["user"] = rights.user
    answer = (await server.post(everywhere("subjectaccessreviews"), asked)).ok(201)
    assert answer["status"] == {
        "allowed": True,
        "reason": f'RBAC: allowed by RoleBinding "role/{home.name}" of Role "role" to User "{rights.user}"',
    }
    asked["spec"]["resourceAttributes"]["verb"] = "delete"
    answer = (await server.post(everywhere("subjectaccessreviews"), asked)).ok(201)
    assert answer["status"] == {"allowed": False}


async def test_paths_can_be_asked_about(server: Server, rights: Rights) -> None:
    asked = {
        "spec": {
            "user": rights.user,
            "groups": ["system:authenticated"],
            "nonResourceAttributes": {"path": "/version", "verb": "get"},
        }
    }
    answer = (await server.post(everywhere("subjectaccessreviews"), asked)).ok(201)
    assert answer["status"]["allowed"] is True


async def test_a_question_without_a_subject_is_refused(server: Server) -> None:
    answer = await server.post(
        everywhere("subjectaccessreviews"), question(verb="get", resource="pods")
    )
    answer.refused(
        422,
        "Invalid",
        '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or '
        "group must be specified",
    )


async def test_a_question_is_about_a_resource_or_a_path(server: Server) -> None:
    answer = await server.post(everywhere("selfsubjectaccessreviews"), {"spec": {}})
    status = answer.refused(422, "Invalid")
    assert (
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        in status["message"]
    )


async def test_a_local_question_stays_in_its_namespace(server: Server, home: Home) -> None:
    asked = question(verb="get", resource="pods", namespace="elsewhere")
    asked["spec"]["user"] = "somebody"
    status = (await server.post(home("localsubjectaccessreviews"), asked)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.resourceAttributes.namespace"


async def test_all_own_rights_can_be_listed(server: Server, home: Home, rights: Rights) -> None:
    await rights.grant(SIGN, rule("get", "secrets", resourceNames=["a"]))
    asked = {"spec": {"namespace": home.name}}
    answer = await server.post(everywhere("selfsubjectrulesreviews"), asked, user=rights.user)
    status = answer.ok(201)["status"]
    assert status["incomplete"] is False
    assert {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]} in status[
        "resourceRules"
    ]
    assert {
        "verbs": ["get"],
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["a"],
    } in status["resourceRules"]
    assert any("/healthz" in each["nonResourceURLs"] for each in status["nonResourceRules"])
