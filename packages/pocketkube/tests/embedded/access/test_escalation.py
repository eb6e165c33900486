"""Nobody gives more than they have."""

from typing import TYPE_CHECKING, Any

import pytest

from pocketkube.apiserver.access import policy
from pocketkube.apiserver.access.access_check import ADMIN
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.refusal import Refused

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
ALICE = User("alice", ("staff",))


def a_role(*rules: str, namespace: str = "team") -> Object:
    meta = {"name": "new"} | ({"namespace": namespace} if namespace else {})
    return {"metadata": meta, "rules": [policy.rule(each) for each in rules]}


def a_binding(kind: str, name: str, namespace: str = "team") -> Object:
    ref = {"apiGroup": RBAC, "kind": kind, "name": name}
    return {"metadata": {"name": "new", "namespace": namespace}, "roleRef": ref}


async def give(world: "World", *rules: str, namespace: str = "") -> None:
    await world.role("own", *rules, namespace=namespace)
    kind = "Role" if namespace else "ClusterRole"
    await world.bind("own", f"{kind}/own", {"kind": "User", "name": "alice"}, namespace=namespace)


@pytest.mark.parametrize(
    ("owned", "wanted", "lacking"),
    [
        pytest.param("get,list core pods", "get core pods", "", id="less"),
        pytest.param(
            "get core pods",
            "get,list,watch core,apps pods",
            '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
            '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list" "watch"]}',
            id="more verbs and groups",
        ),
        pytest.param(
            "get core pods = a",
            "get core pods = a,b",
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
            id="more names",
        ),
        pytest.param(
            "get core pods = a",
            "get core pods",
            '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
            id="all names",
        ),
        pytest.param("get core pods", "get core pods = a", "", id="one name"),
        pytest.param("get core */log", "get core pods/log", "", id="a part of anything"),
        pytest.param("get : /a/*", "get : /a/b /a/*", "", id="paths below"),
        pytest.param(
            "get : /a/b", "get : /a/*", '{NonResourceURLs:["/a/*"], Verbs:["get"]}', id="all paths"
        ),
        pytest.param("* * *", "get x y", "", id="everything"),
    ],
)
async def test_a_role_holds_only_what_its_writer_has(
    world: "World", owned: str, wanted: str, lacking: str
) -> None:
    await give(world, owned)
    if not lacking:
        world.access_checker.guard(ALICE, "roles", a_role(wanted), None)
        return
    with pytest.raises(Refused) as caught:
        world.access_checker.guard(ALICE, "roles", a_role(wanted), None)
    assert caught.value.status.code == 403
    assert caught.value.status.message == (
        f'roles.{RBAC} "new" is forbidden: user "alice" (groups=["staff"]) is attempting to'
        f" grant RBAC permissions not currently held:\n{lacking}"
    )


async def test_a_permission_in_a_namespace_is_none_for_the_cluster(world: "World") -> None:
    await give(world, "get core pods", namespace="team")
    world.access_checker.guard(ALICE, "roles", a_role("get core pods"), None)
    with pytest.raises(Refused, match="not currently held"):
        world.access_checker.guard(
            ALICE, "clusterroles", a_role("get core pods", namespace=""), None
        )


async def test_who_may_escalate_may_write_any_role(world: "World") -> None:
    await give(world, f"escalate {RBAC} roles", namespace="team")
    world.access_checker.guard(ALICE, "roles", a_role("* * *"), None)
    with pytest.raises(Refused, match="not currently held"):
        world.access_checker.guard(ALICE, "roles", a_role("* * *", namespace="other"), None)


async def test_who_may_escalate_one_role_may_change_it_but_not_make_it(world: "World") -> None:
    await give(world, f"escalate {RBAC} roles = new", namespace="team")
    world.access_checker.guard(ALICE, "roles", a_role("* * *"), a_role())
    with pytest.raises(Refused, match="not currently held"):
        world.access_checker.guard(ALICE, "roles", a_role("* * *"), None)


def test_masters_may_write_anything(world: "World") -> None:
    world.access_checker.guard(ADMIN, "roles", a_role("* * *"), None)
    world.access_checker.guard(ADMIN, "rolebindings", a_binding("Role", "gone"), None)


async def test_only_who_has_everything_may_let_a_role_gather(world: "World") -> None:
    gathering = a_role(namespace="") | {"aggregationRule": {"clusterRoleSelectors": [{}]}}
    stated = "must have cluster-admin privileges to use the aggregationRule"
    await give(world, "get,create,update * *", "* : *")
    with pytest.raises(Refused, match=stated):
        world.access_checker.guard(ALICE, "clusterroles", gathering, None)
    with pytest.raises(Refused, match=stated):
        world.access_checker.guard(
            ALICE, "clusterroles", a_role("get core pods", namespace=""), gathering
        )
    await give(world, "* * *", "* : *")
    world.access_checker.guard(ALICE, "clusterroles", gathering, None)


async def test_a_role_is_bound_by_who_has_it_or_may_bind_it(world: "World") -> None:
    await world.role("power", "delete core nodes")
    with pytest.raises(Refused) as caught:
        world.access_checker.guard(ALICE, "rolebindings", a_binding("ClusterRole", "power"), None)
    assert caught.value.status.message.startswith(f'rolebindings.{RBAC} "new" is forbidden: user')
    await give(world, f"bind {RBAC} clusterroles = power", namespace="team")
    world.access_checker.guard(ALICE, "rolebindings", a_binding("ClusterRole", "power"), None)
    await give(world, "delete core nodes", namespace="team")
    world.access_checker.guard(ALICE, "rolebindings", a_binding("ClusterRole", "power"), None)
    with pytest.raises(Refused, match="not currently held"):
        world.access_checker.guard(
            ALICE, "clusterrolebindings", a_binding("ClusterRole", "power", ""), None
        )


async def test_a_role_that_is_not_there_cannot_be_bound(world: "World") -> None:
    with pytest.raises(Refused, match=f'rolebindings.{RBAC} "gone" not found'):
        world.access_checker.guard(ALICE, "rolebindings", a_binding("Role", "gone"), None)


async def test_bookkeeping_needs_no_permission(world: "World") -> None:
    old = a_role("* * *")
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["x/y"]}}
    world.access_checker.guard(ALICE, "roles", new, old)
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    with pytest.raises(Refused, match="not currently held"):
        world.access_checker.guard(ALICE, "roles", labelled, old)


async def test_missing_roles_are_reported_in_the_words_of_the_request(world: "World") -> None:
    for name in ("gone", "lost"):
        await world.bind(name, f"Role/{name}", {"kind": "User", "name": "alice"}, namespace="team")
    with pytest.raises(Refused) as caught:
        world.access_checker.guard(ALICE, "roles", a_role("get core pods"), None)
    vain = ", ".join(f'roles.{RBAC} "{name}" not found' for name in ("gone", "lost"))
    assert caught.value.status.message.endswith(f"; resolution errors: [[{vain}]]")
