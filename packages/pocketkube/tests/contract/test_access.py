"""RBAC: roles and bindings, names, subresources, escalation, impersonation."""

import pytest
from tests.contract.objects import Home, config_map, everywhere, pod, simple, unique, workload
from tests.contract.rights import RBAC, SIGN, Rights, rule
from tests.contract.wire import Server


@pytest.fixture
def rights(server: Server, home: Home) -> Rights:
    return Rights(server, home)


async def test_without_a_role_everything_is_forbidden(
    server: Server, home: Home, rights: Rights
) -> None:
    (await rights.get(home("pods", "a"))).refused(
        403,
        "Forbidden",
        f'pods "a" is forbidden: User "{rights.user}" cannot get resource "pods" in API group "" in the namespace '
        f'"{home.name}"',
        {"name": "a", "kind": "pods"},
    )


async def test_a_list_that_is_forbidden_has_no_name(
    server: Server, home: Home, rights: Rights
) -> None:
    (await rights.get(home("deployments"))).refused(
        403,
        "Forbidden",
        f'deployments.apps is forbidden: User "{rights.user}" cannot list resource "deployments" in API group "apps" in '
        f'the namespace "{home.name}"',
        {"group": "apps", "kind": "deployments"},
    )


async def test_what_is_forbidden_everywhere_says_so(server: Server, rights: Rights) -> None:
    (await rights.get("/api/v1/nodes")).refused(
        403,
        "Forbidden",
        f'nodes is forbidden: User "{rights.user}" cannot list resource "nodes" in API group "" at the cluster scope',
    )


async def test_a_path_that_is_forbidden_says_so(server: Server, rights: Rights) -> None:
    (await rights.get("/metrics")).refused(
        403, "Forbidden", f'forbidden: User "{rights.user}" cannot get path "/metrics"'
    )


async def test_everybody_known_may_see_discovery(server: Server, rights: Rights) -> None:
    for path in ("/api", "/apis", "/version", "/healthz", "/openapi/v2"):
        assert (await rights.get(path)).status == 200


async def test_a_role_allows_its_verbs_and_no_others(
    server: Server, home: Home, rights: Rights
) -> None:
    await rights.grant(rule("get list", "configmaps"))
    assert (await rights.get(home("configmaps"))).status == 200
    answer = await server.post(home("configmaps"), config_map("a"), user=rights.user)
    status = answer.refused(403, "Forbidden")
    assert 'cannot create resource "configmaps"' in status["message"]
    assert (await rights.get(home("configmaps"), watch="1", timeoutSeconds="1")).status == 403


async def test_a_role_is_good_in_its_namespace_only(
    server: Server, home: Home, rights: Rights
) -> None:
    await rights.grant(SIGN)
    assert (await rights.get("/api/v1/namespaces/default/configmaps")).status == 403
    assert (await rights.get(everywhere("configmaps"))).status == 403


async def test_a_role_can_name_objects(server: Server, home: Home, rights: Rights) -> None:
    for name in ("a", "b"):
        (await server.post(home("configmaps"), config_map(name))).ok()
    await rights.grant(SIGN, rule("get", "configmaps", resourceNames=["a"]))
    assert (await rights.get(home("configmaps", "a"))).status == 200
    assert (await rights.get(home("configmaps", "b"))).status == 403


async def test_a_list_of_one_name_is_a_question_about_it(
    server: Server, home: Home, rights: Rights
) -> None:
    await rights.grant(SIGN, rule("list watch", "secrets", resourceNames=["a"]))
    assert (await rights.get(home("secrets"), fieldSelector="metadata.name=a")).status == 200
    assert (await rights.get(home("secrets"), fieldSelector="metadata.name=b")).status == 403
    assert (await rights.get(home("secrets"))).status == 403


async def test_subresources_are_rights_of_their_own(
    server: Server, home: Home, rights: Rights
) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    await rights.grant(SIGN, rule("get patch", "pods/status"))
    assert (await rights.get(home("pods", "a"))).status == 403
    assert (await rights.get(home("pods", "a", "status"))).status == 200
    change = {"status": {"phase": "Running"}}
    assert (await server.patch(home("pods", "a", "status"), change, user=rights.user)).status == 200
    status = (await server.patch(home("pods", "a"), {}, user=rights.user)).refused(403, "Forbidden")
    assert 'cannot patch resource "pods"' in status["message"]


async def test_a_star_is_everything(server: Server, home: Home, rights: Rights) -> None:
    await rights.grant({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
    assert (await rights.get(home("secrets"))).status == 200
    made = await server.post(home("deployments"), workload("Deployment", "a"), user=rights.user)
    assert made.status == 201


async def test_a_cluster_role_can_be_bound_in_a_namespace(
    server: Server, home: Home, rights: Rights
) -> None:
    name = unique("role")
    role = simple(RBAC, "ClusterRole", name, rules=[rule("list", "configmaps secrets")])
    (await server.post(everywhere("clusterroles"), role)).ok(201)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "User", "name": rights.user, "apiGroup": "rbac.authorization.k8s.io"}
    binding = simple(RBAC, "RoleBinding", "b", roleRef=reference, subjects=[subject])
    (await server.post(home("rolebindings"), binding)).ok(201)
    await server.until(rights.ask(""), lambda answer: answer.status == 200)
    assert (await rights.get(home("secrets"))).status == 200
    assert (await rights.get(everywhere("secrets"))).status == 403


async def test_a_cluster_binding_is_good_everywhere_and_for_paths(
    server: Server, home: Home, rights: Rights
) -> None:
    name = unique("role")
    rules = [rule("list", "configmaps nodes"), {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]
    (
        await server.post(
            everywhere("clusterroles"), simple(RBAC, "ClusterRole", name, rules=rules)
        )
    ).ok()
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "User", "name": rights.user, "apiGroup": "rbac.authorization.k8s.io"}
    binding = simple(RBAC, "ClusterRoleBinding", name, roleRef=reference, subjects=[subject])
    (await server.post(everywhere("clusterrolebindings"), binding)).ok(201)
    await server.until(rights.ask(""), lambda answer: answer.status == 200)
    assert (await rights.get("/api/v1/nodes")).status == 200
    assert (await rights.get("/metrics")).status == 200
    assert (await rights.get("/debug/pprof/")).status == 403


async def test_a_group_can_be_bound(server: Server, home: Home) -> None:
    group = unique("group")
    (await server.post(home("roles"), simple(RBAC, "Role", "r", rules=[SIGN]))).ok()
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}
    binding = simple(RBAC, "RoleBinding", "b", roleRef=reference, subjects=[subject])
    (await server.post(home("rolebindings"), binding)).ok(201)
    headers = {"Impersonate-User": "anybody", "Impersonate-Group": group}
    await server.until(
        lambda: server.get(home("configmaps"), headers=headers),
        lambda answer: answer.status == 200,
    )


async def test_nobody_gives_more_than_he_has(server: Server, home: Home, rights: Rights) -> None:
    await rights.grant(SIGN, rule("create update", "roles rolebindings", RBAC.partition("/")[0]))
    more = simple(RBAC, "Role", "more", rules=[rule("get", "secrets")])
    answer = await server.post(home("roles"), more, user=rights.user)
    status = answer.refused(403, "Forbidden")
    assert status["message"] == (
        f'roles.rbac.authorization.k8s.io "more" is forbidden: user "{rights.user}" (groups=["system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )
    same = simple(RBAC, "Role", "same", rules=[SIGN])
    (await server.post(home("roles"), same, user=rights.user)).ok(201)


async def test_nobody_binds_more_than_he_has(server: Server, home: Home, rights: Rights) -> None:
    await rights.grant(SIGN, rule("create", "rolebindings", RBAC.partition("/")[0]))
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "cluster-admin",
    }
    subject = {"kind": "User", "name": rights.user, "apiGroup": "rbac.authorization.k8s.io"}
    binding = simple(RBAC, "RoleBinding", "more", roleRef=reference, subjects=[subject])
    status = (await server.post(home("rolebindings"), binding, user=rights.user)).refused(
        403, "Forbidden"
    )
    assert "is attempting to grant RBAC permissions not currently held:\n" in status["message"]


async def test_the_role_of_a_binding_stays(server: Server, home: Home) -> None:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    (
        await server.post(home("rolebindings"), simple(RBAC, "RoleBinding", "b", roleRef=reference))
    ).ok()
    change = {"roleRef": {"name": "other"}}
    (await server.patch(home("rolebindings", "b"), change)).refused(
        422,
        "Invalid",
        'RoleBinding.rbac.authorization.k8s.io "b" is invalid: roleRef: Invalid value: '
        '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef',
    )


async def test_a_rule_needs_verbs(server: Server, home: Home) -> None:
    bad = simple(RBAC, "Role", "r", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": []}])
    (await server.post(home("roles"), bad)).refused(
        422,
        "Invalid",
        'Role.rbac.authorization.k8s.io "r" is invalid: rules[0].verbs: Required value: verbs must contain at least one '
        "value",
    )


async def test_playing_somebody_needs_a_right(server: Server, rights: Rights, home: Home) -> None:
    await rights.grant(SIGN)
    headers = {"Impersonate-User": rights.user}
    assert (await server.get(home("configmaps"), headers=headers)).status == 200
    token = simple("authentication.k8s.io/v1", "TokenRequest", "", spec={})
    (await server.post(home("serviceaccounts"), simple("v1", "ServiceAccount", "sa"))).ok()
    made = (await server.post(home("serviceaccounts", "sa", "token"), token)).ok(201)
    answer = await server.get(
        home("configmaps"), token=made["status"]["token"], headers={"Impersonate-User": "boss"}
    )
    status = answer.refused(403, "Forbidden")
    assert f'User "system:serviceaccount:{home.name}:sa" cannot impersonate' in status["message"]


async def test_a_role_that_aggregates_is_left_to_its_controller(server: Server) -> None:
    name = unique("role")
    role = simple(
        RBAC,
        "ClusterRole",
        name,
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"x.io/to": name}}]},
    )
    assert (await server.post(everywhere("clusterroles"), role)).ok(201)["rules"] is None


@pytest.mark.parametrize("name", ["cluster-admin", "admin", "edit", "view", "system:discovery"])
async def test_the_usual_roles_are_there(server: Server, name: str) -> None:
    answer = await server.until(
        lambda: server.get(everywhere("clusterroles", name)), lambda answer: answer.status == 200
    )
    labels = answer.ok()["metadata"]["labels"]
    assert labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
