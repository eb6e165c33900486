"""The roles every cluster has, and roles that gather the rules of others."""

from typing import TYPE_CHECKING, Any

import pytest

from pocketkube.apiserver.access import policy
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.user import User

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

CONTROLLER = User("system:serviceaccount:kube-system:job-controller")


@pytest.fixture
async def cluster(world: "World") -> "World":
    for obj in policy.defaults():
        await world.put(obj)
    return world


def test_anonymous_may_see_that_the_server_lives_and_no_more(cluster: "World") -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert cluster.may("", Action("get", path=path))
    assert cluster.refusal("", Action("get", path="/apis"))[0] == 403
    assert cluster.refusal("", Action("list", "", "pods"))[0] == 403


def test_everybody_with_a_name_may_discover_and_ask_about_themselves(cluster: "World") -> None:
    for path in ("/api", "/apis/apps/v1", "/openapi/v3/api/v1"):
        assert cluster.may("nobody", Action("get", path=path))
    asked = Action("create", "authorization.k8s.io", "selfsubjectaccessreviews")
    assert cluster.may("nobody", asked)


async def test_admins_may_edit_and_editors_may_view(cluster: "World") -> None:
    actions = {
        "view": Action("list", "", "pods", namespace="team"),
        "edit": Action("create", "apps", "deployments", namespace="team"),
        "admin": Action("create", "rbac.authorization.k8s.io", "roles", namespace="team"),
        "cluster-admin": Action("delete", "", "nodes", name="n"),
    }
    for position, role in enumerate(actions):
        await cluster.bind("x", f"ClusterRole/{role}", {"kind": "User", "name": "alice"})
        allowed = [cluster.may("alice", deed) for deed in actions.values()]
        assert allowed == [each <= position for each in range(4)]


@pytest.mark.parametrize(
    ("user", "action"),
    [
        (CONTROLLER, Action("update", "batch", "jobs", "status", "team", "j")),
        (User("system:kube-scheduler"), Action("create", "", "pods", "binding", "team", "p")),
        (User("system:kube-scheduler"), Action("list", "storage.k8s.io", "storageclasses")),
        (User("system:kube-controller-manager"), Action("list", "x.y", "z")),
    ],
    ids=["the job controller", "the scheduler binds", "and knows volumes", "the manager"],
)
def test_the_parts_of_a_cluster_may_do_their_work(
    cluster: "World", user: User, action: Action
) -> None:
    assert cluster.access_checker.rbac.decide(user, action).allowed


def a_role(name: str, *rules: str, label: str = "", gathers: str = "") -> dict[str, Any]:
    role: dict[str, Any] = {"metadata": {"name": name}, "rules": list(map(policy.rule, rules))}
    if label:
        role["metadata"]["labels"] = {"to": label}
    if gathers:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"to": gathers}}]}
    return role


def test_a_role_gathers_each_rule_once_also_from_roles_that_gather() -> None:
    roles = [
        a_role("top", "get core stale", gathers="top"),
        a_role("middle", gathers="middle", label="top"),
        a_role("b", "get core b", "get core c", label="middle"),
        a_role("a", "get core a", "get core b", label="middle"),
        a_role("other", "get core other"),
    ]
    rules = [policy.rule(f"get core {name}") for name in "abc"]
    assert dict(policy.gathered(roles)) == {"top": rules, "middle": rules}
    for role in roles[:2]:
        role["rules"] = rules
    assert policy.gathered(roles) == []


def test_a_role_does_not_gather_from_itself() -> None:
    role = a_role("a", "get core stale", label="x", gathers="x")
    assert policy.gathered([role]) == [("a", [])]


def test_roles_that_gather_from_each_other_come_to_an_end() -> None:
    roles = [a_role("a", "get core a", label="x", gathers="x"), a_role("b", label="x", gathers="x")]
    policy.gathered(roles)


def test_a_selector_that_cannot_be_read_gathers_nothing() -> None:
    role = a_role("a", "get core a")
    for selectors in ([{"matchLabels": {"a b": "c"}}], [1], [{"matchLabels": 1}]):
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
        assert policy.gathered([role]) == []
