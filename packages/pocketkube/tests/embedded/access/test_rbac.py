"""What roles and bindings allow, and how a refusal is worded."""

from typing import TYPE_CHECKING

import pytest

from pocketkube.apiserver.access import rbac
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.user import User

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

ALICE = {"kind": "User", "name": "alice"}
STAFF = {"kind": "Group", "name": "staff"}
LIST_PODS = Action("list", "", "pods", namespace="team")


@pytest.mark.parametrize(
    ("rule", "action", "allowed"),
    [
        pytest.param("get core pods", Action("get", "", "pods"), True, id="the very verb"),
        pytest.param("get core pods", Action("list", "", "pods"), False, id="another verb"),
        pytest.param("get apps pods", Action("get", "", "pods"), False, id="another group"),
        pytest.param("* * *", Action("eat", "x.y", "z", "sub"), True, id="stars are everything"),
        pytest.param("get core pods", Action("get", "", "pods", "log"), False, id="no subresource"),
        pytest.param("get core pods/log", Action("get", "", "pods", "log"), True, id="subresource"),
        pytest.param("get core pods/log", Action("get", "", "pods"), False, id="only subresource"),
        pytest.param("get core */log", Action("get", "", "pods", "log"), True, id="of anything"),
        pytest.param("get core */log", Action("get", "", "pods", "exec"), False, id="another part"),
        pytest.param("get core pods = a", Action("get", "", "pods", name="a"), True, id="by name"),
        pytest.param(
            "get core pods = a", Action("get", "", "pods", name="b"), False, id="misnamed"
        ),
        pytest.param("list core pods = a", Action("list", "", "pods"), False, id="list of a name"),
        pytest.param("get : /metrics", Action("get", path="/metrics"), True, id="a path"),
        pytest.param("get : /metrics", Action("get", path="/metrics/x"), False, id="below a path"),
        pytest.param("get : /m/*", Action("get", path="/m/x/y"), True, id="star covers below"),
        pytest.param("get : /m/*", Action("get", path="/m"), False, id="star needs the slash"),
        pytest.param("* : *", Action("get", "", "pods"), False, id="paths are not resources"),
        pytest.param("* * *", Action("get", path="/x"), False, id="resources are not paths"),
    ],
)
async def test_a_rule_allows_what_it_says(
    world: "World", rule: str, action: Action, allowed: bool
) -> None:
    await world.role("some", rule)
    await world.bind("some", "ClusterRole/some", ALICE)
    assert world.may("alice", action) is allowed


async def test_a_role_is_bound_to_a_group_or_a_service_account_too(world: "World") -> None:
    await world.make("ServiceAccount", "bot", "team")
    await world.role("lister", "list core pods", namespace="team")
    await world.bind("here", "Role/lister", STAFF, namespace="team")
    assert world.may("alice", LIST_PODS)
    assert not world.may("nobody", LIST_PODS)
    bot = world.token()
    assert not world.may(bot, LIST_PODS)
    account = {"kind": "ServiceAccount", "name": "bot"}
    await world.bind("bots", "Role/lister", account, namespace="team")
    assert world.may(bot, LIST_PODS)


async def test_a_binding_in_a_namespace_reaches_no_further(world: "World") -> None:
    await world.role("lister", "list core pods,nodes")
    await world.bind("here", "ClusterRole/lister", ALICE, namespace="team")
    assert world.may("alice", LIST_PODS)
    assert not world.may("alice", LIST_PODS._replace(namespace="other"))
    assert not world.may("alice", Action("list", "", "pods"))


async def test_what_was_allowed_ends_with_the_role_or_the_binding(world: "World") -> None:
    await world.role("lister", "list core pods")
    await world.bind("here", "ClusterRole/lister", ALICE)
    assert world.may("alice", LIST_PODS)
    await world.role("lister", "get core pods")
    assert not world.may("alice", LIST_PODS)
    await world.role("lister", "list core pods")
    assert world.may("alice", LIST_PODS)
    await world.remove("ClusterRoleBinding", "here")
    assert not world.may("alice", LIST_PODS)


async def test_masters_may_do_anything_without_any_role(world: "World") -> None:
    assert world.may("admin", Action("escalate", "x", "y", "z", "a", "b"))


@pytest.mark.parametrize(
    ("action", "stated"),
    [
        pytest.param(
            LIST_PODS,
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "team"',
            id="in a namespace",
        ),
        pytest.param(
            Action("get", "apps", "deployments", "scale", "", "web"),
            'deployments.apps "web" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
            id="a named part in the cluster",
        ),
        pytest.param(
            Action("get", path="/<metrics>"),
            'forbidden: User "alice" cannot get path "/&lt;metrics&gt;"',
            id="a path, with its markup made harmless",
        ),
    ],
)
def test_a_refusal_says_who_cannot_do_what(world: "World", action: Action, stated: str) -> None:
    assert world.refusal("alice", action) == (403, stated)


async def test_a_refusal_tells_which_bound_roles_are_missing(world: "World") -> None:
    await world.bind("a", "ClusterRole/gone", ALICE)
    await world.bind("b", "Role/lost", ALICE, namespace="team")
    vain = f'clusterrole.{RBAC} "gone" not found', f'role.{RBAC} "lost" not found'
    code, stated = world.refusal("alice", LIST_PODS)
    assert (code, stated.partition(": RBAC: ")[2]) == (403, f"[{vain[0]}, {vain[1]}]")
    _, stated = world.refusal("alice", LIST_PODS._replace(namespace=""))
    assert stated.endswith(f": RBAC: {vain[0]}")


async def test_the_reason_names_the_binding_and_the_subject_it_is_for(world: "World") -> None:
    await world.role("lister", "list core pods")
    bot = {"kind": "ServiceAccount", "name": "bot", "namespace": "team"}
    await world.bind("here", "ClusterRole/lister", STAFF, ALICE, bot, namespace="team")
    reasons = [
        world.access_checker.rbac.decide(user, LIST_PODS).reason
        for user in (User("alice", ("staff",)), User("system:serviceaccount:team:bot"))
    ]
    start = 'RBAC: allowed by RoleBinding "here/team" of ClusterRole "lister" to'
    assert reasons == [f'{start} Group "staff"', f'{start} ServiceAccount "bot/team"']


RBAC = "rbac.authorization.k8s.io"


def test_questions_about_ever_new_namespaces_are_not_all_remembered(
    world: "World", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbac, "_REMEMBERED", 10)
    for number in range(50):
        world.access_checker.rbac.decide(
            User("alice"), Action("get", "", "pods", namespace=f"ns{number}")
        )
    assert len(world.access_checker.rbac._bindings) <= 10
