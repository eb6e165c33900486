"""Access of the embedded server against a real one: the same people may do the same, and the others hear the same words."""

import asyncio
import base64
from collections.abc import AsyncIterator
import contextlib
from itertools import product
import json
from pathlib import Path
import random
import re
import runpy
from typing import Any

import msgspec
import pytest

from kubeloop.client.config import load
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request
from kubeloop.net.tls import RotatingTls
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.apiserver.access import policy
from pocketkube.apiserver.access.access_check import AccessCheck, Settings
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.tokens import make_key
from pocketkube.apiserver.access.user import MASTERS, User
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Key, Storage, open_storage
from pocketkube.apiserver.view import View, draft

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
ADMIN = User("admin", (MASTERS,), "admin")
STORED = {
    f"{plural}.{RBAC}": f"/apis/{RBAC}/v1/{plural}"
    for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
} | {plural: f"/api/v1/{plural}" for plural in ("serviceaccounts", "secrets", "pods", "nodes")}
CASES = runpy.run_path(str(Path(__file__).with_name("access_cases.py")))
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"


class Both:
    """A namespace on a real server, and its likeness in memory behind our door."""

    def __init__(self, plane: ControlPlane, storage: Storage, clock: Clock) -> None:
        config = load(str(plane.kubeconfig()))
        self.transport = HttpTransport(config.server, tls=RotatingTls(lambda: config.tls))
        self._admin = {"Authorization": f"Bearer {config.user.token}"}
        self._plane = plane
        self._storage = storage
        self._clock = clock
        self.issuer = ""

    async def ask(
        self, method: str, path: str, body: Object | None = None, **headers: str
    ) -> tuple[int, Object]:
        sent = {"Content-Type": "application/json", **self._admin}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, sent, json.dumps(body).encode() if body else b"")
        async with await self.transport.send(request) as answer:
            read = await answer.read()
        try:
            found: Object = json.loads(read)
        except ValueError:
            return answer.status, {}
        if found.get("kind") == "Status":
            found.pop("metadata")
        return answer.status, found

    async def apply(self, *objects: Object) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        await self._plane.kubectl("apply", "-f", "-", input=json.dumps(listed))

    async def open(self, namespace: str) -> AccessCheck:
        """Waits until the real server knows what was applied, takes it over, and opens our door on it."""
        last = a_binding(f"{namespace}-last", "ClusterRole/cluster-admin", namespace, "last-comer")
        await self.apply(last)
        attributes = {"verb": "x", "resource": "y", "namespace": namespace}
        asked = {"spec": {"user": "last-comer", "resourceAttributes": attributes}}
        async with asyncio.timeout(30):
            while not (await self.ask("POST", f"{AUTHORIZATION}/subjectaccessreviews", asked))[1][
                "status"
            ]["allowed"]:
                await asyncio.sleep(0.05)
        for resource, path in STORED.items():
            _, listed = await self.ask("GET", path)
            for obj in listed["items"]:
                meta = obj["metadata"]
                key = Key(resource, meta.get("namespace", ""), meta["name"])
                await self._storage.write(Create(key, draft(obj)))
        review = {"spec": {"token": "x"}}
        _, issued = await self.ask(
            "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token", review
        )
        self.issuer = issued["spec"]["audiences"][0]
        settings = Settings(make_key(random.Random(1).randbytes), {"admin": ADMIN}, self.issuer)
        return AccessCheck(View(self._storage), settings, self._clock.now, random.Random(2))


@pytest.fixture
async def both(control_plane: ControlPlane, clock: Clock) -> AsyncIterator[Both]:
    async with open_storage(None, inline=True) as storage:
        both = Both(control_plane, storage, clock)
        yield both
        await both.transport.close()


def a_role(name: str, namespace: str, *rules: str) -> Object:
    kind = "Role" if namespace else "ClusterRole"
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    written = [policy.rule(each) for each in rules]
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, "rules": written}


def a_binding(name: str, role: str, namespace: str, *users: str) -> Object:
    kind, _, named = role.partition("/")
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user} for user in users],
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": named},
    }


def entered(access_checker: AccessCheck, action: Action, **headers: str) -> Object:
    """How our door refuses; nothing if it does not."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        access_checker.enter({"Authorization": "Bearer admin"} | sent, action)
    except Refused as refused:
        return status(refused)
    return {}


def status(refused: Refused) -> Object:
    found: Object = msgspec.json.decode(msgspec.json.encode(refused.status))
    found.pop("metadata", None)
    return found


def listed(wrong: list[tuple[object, ...]]) -> str:
    return "\n\n".join("\n".join(map(str, each)) for each in wrong)


def without_order(stated: Object) -> Object:
    """Errors in one message come in the order of names here and by chance there."""
    if "message" in stated:
        stated = {**stated, "message": sorted(re.split(r"[\[\],:;\n] *", stated["message"]))}
    return stated


async def test_every_cluster_has_the_same_roles(both: Both) -> None:
    def shown(obj: Object) -> tuple[object, ...]:
        meta = obj["metadata"]
        about = [meta.get(m) for m in ("namespace", "name", "labels", "annotations")]
        rest = [obj.get(m) for m in ("rules", "aggregationRule", "subjects", "roleRef")]
        return (*about, *rest)

    async def theirs() -> list[tuple[object, ...]]:
        found = []
        for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings"):
            _, listed = await both.ask("GET", f"/apis/{RBAC}/v1/{plural}")
            found += [
                shown(obj)
                for obj in listed["items"]
                if "kubernetes.io/bootstrapping" in obj["metadata"].get("labels", {})
            ]
        return sorted(found, key=repr)

    mine = sorted((shown(obj) for obj in policy.defaults()), key=repr)
    # The roles that gather others are filled by a controller, which may be about to begin.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(30):
            while await theirs() != mine:
                await asyncio.sleep(0.2)
    assert await theirs() == mine


async def test_the_same_people_may_do_the_same(both: Both, namespace: str) -> None:
    await both.apply(
        a_role(
            "mixed",
            namespace,
            "get,list core pods,pods/log",
            "* apps */scale",
            "get core configmaps = a,b",
        ),
        a_binding("mixed", "Role/mixed", namespace, "alice"),
        a_binding("editor", "ClusterRole/edit", namespace, "bob"),
        a_binding("vain", "Role/gone", namespace, "alice", "carl"),
        a_binding("vainer", "ClusterRole/lost", namespace, "carl"),
    )
    access_checker = await both.open(namespace)
    rng = random.Random(7)
    users = [
        "alice",
        "bob",
        "carl",
        "system:kube-scheduler",
        "system:kube-controller-manager",
        "last-comer",
    ]
    users += [
        f"system:serviceaccount:kube-system:{name}"
        for name in ("job-controller", "node-controller")
    ]
    groups = [
        [],
        ["system:authenticated"],
        ["system:unauthenticated"],
        ["system:masters"],
        ["system:monitoring"],
    ]
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "escalate", "bind"]
    resources = [
        ("", "pods", ""),
        ("", "pods", "log"),
        ("", "configmaps", ""),
        ("apps", "deployments", "scale"),
        ("apps", "deployments", ""),
        ("batch", "jobs", "status"),
        ("", "nodes", ""),
        (RBAC, "roles", ""),
        ("", "pods", "binding"),
        ("authorization.k8s.io", "selfsubjectaccessreviews", ""),
        ("", "secrets", ""),
    ]
    paths = ["/healthz", "/metrics", "/api", "/apis/apps/v1", "/version/", "/openapi/v2", "/x"]
    wrong = []
    for _ in range(400):
        group, resource, subresource = rng.choice(resources)
        attributes = {
            "verb": rng.choice(verbs),
            "group": group,
            "resource": resource,
            "subresource": subresource,
        }
        attributes |= {
            "namespace": rng.choice([namespace, "", "default"]),
            "name": rng.choice(["", "a", "c"]),
        }
        spec: Object = {"user": rng.choice(users), "groups": rng.choice(groups)}
        if rng.random() < 0.2:
            spec["nonResourceAttributes"] = {
                "verb": rng.choice(verbs[:3]),
                "path": rng.choice(paths),
            }
        else:
            spec["resourceAttributes"] = attributes
        _, theirs = await both.ask("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
        mine = access_checker.answer("subjectaccessreviews", "", {"spec": spec}, ADMIN)["status"]
        if _verdict(mine) != _verdict(theirs["status"]):
            wrong.append((spec, theirs["status"], mine))
    assert not wrong, listed(wrong)


def _verdict(stated: Object) -> tuple[object, ...]:
    """Of several bindings that allow it a server names any; of several problems it tells all, in any order."""
    reason = stated.get("reason", "")
    if stated["allowed"]:
        return True, bool(reason)
    return False, sorted(reason.removeprefix("RBAC: ").strip("[]").split(", "))


async def test_who_may_not_hears_the_same(both: Both, namespace: str) -> None:
    await both.apply(
        a_binding("vain", "Role/gone", namespace, "carl"),
        a_binding("vainer", "ClusterRole/lost", namespace, "carl"),
    )
    access_checker = await both.open(namespace)
    wrong = []
    for (method, path, action), person in product(CASES["REQUESTS"], CASES["PERSONS"]):
        filled = action._replace(
            namespace=action.namespace.replace("{ns}", namespace),
            name=action.name.replace("{ns}", namespace),
        )
        code, theirs = await both.ask(method, path.replace("{ns}", namespace), **person)
        mine = entered(access_checker, filled, **person)
        theirs = theirs if code in (400, 401, 403) else {}
        if without_order(mine) != without_order(theirs):
            wrong.append((method, path, person, theirs, mine))
    assert not wrong, listed(wrong)


async def test_impersonation_is_allowed_alike(both: Both, namespace: str) -> None:
    """The impersonator has a token of its own here, because masters may be anybody."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "actor", "namespace": namespace},
    }
    actor = f"system:serviceaccount:{namespace}:actor"
    narrow = "authentication.k8s.io"
    marked = f"actor-{namespace}"
    await both.apply(
        account,
        a_role(
            marked,
            "",
            "impersonate core users,groups = bob,readers",
            f"impersonate:user-info {narrow} users,groups = dora,readers,system:masters",
            "impersonate-on:user-info:list core pods",
            f"impersonate:arbitrary-node {narrow} nodes = n1",
            "impersonate-on:arbitrary-node:list core pods",
            f"impersonate {narrow} userextras/scope = x",
        ),
        a_binding(marked, f"ClusterRole/{marked}", "", actor),
    )
    try:
        access_checker = await both.open(namespace)
        path = f"/api/v1/namespaces/{namespace}"
        _, issued = await both.ask("POST", f"{path}/serviceaccounts/actor/token", {"spec": {}})
        theirs_token, mine_token = (
            issued["status"]["token"],
            access_checker.issue(namespace, "actor", {})["status"]["token"],
        )
        wrong = []
        for user, more, resource in product(
            ("bob", "dora", "eve", "system:node:n1", "system:node:n2", actor, "system:anonymous"),
            (
                {},
                {"Impersonate_Group": "readers"},
                {"Impersonate_Group": "system:masters"},
                {"Impersonate_Uid": "1"},
                {"Impersonate_Extra_Scope": "x"},
            ),
            ("pods", "configmaps"),
        ):
            person = {"Impersonate_User": user, **more}
            _, theirs = await both.ask(
                "GET", f"{path}/{resource}", Authorization=f"Bearer {theirs_token}", **person
            )
            mine = entered(
                access_checker,
                Action("list", "", resource, "", namespace),
                Authorization=f"Bearer {mine_token}",
                **person,
            )
            theirs = theirs if theirs["kind"] == "Status" else {}
            if mine != theirs:
                wrong.append((person, resource, theirs, mine))
        assert not wrong, listed(wrong)
    finally:
        for plural in ("clusterroles", "clusterrolebindings"):
            await both.ask("DELETE", f"/apis/{RBAC}/v1/{plural}/{marked}")


def a_pod(name: str, namespace: str, account: str) -> Object:
    spec = {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


async def test_tokens_are_issued_alike(both: Both, namespace: str) -> None:
    meta = {"namespace": namespace}
    await both.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta | {"name": "other"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta | {"name": "s"}},
        a_pod("p", namespace, "default"),
        a_pod("other", namespace, "other"),
    )
    access_checker = await both.open(namespace)
    wrong = []
    for request, name in product(CASES["TOKEN_REQUESTS"], ("default", "gone")):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        _, theirs = await both.ask("POST", path, request)
        try:
            mine = access_checker.issue(namespace, name, request)
        except Refused as refused:
            mine = status(refused)
        if _comparable(mine) != _comparable(theirs):
            wrong.append((request, _comparable(theirs), _comparable(mine)))
    assert not wrong, listed(wrong)


def _comparable(answer: Object) -> Object:
    """Without times, ids and the signature, but with what the token claims."""
    if answer["kind"] == "Status":
        return answer
    body = answer["status"]["token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    started = claims["iat"]
    private = claims["kubernetes.io"]
    if "warnafter" in private:
        private["warnafter"] -= started
    return {
        "spec": answer["spec"],
        "uid": answer["metadata"]["uid"],
        "lives": claims["exp"] - started,
        "claims": {member: claims[member] for member in ("aud", "iss", "sub")} | private,
        "members": sorted(claims),
    }


@pytest.mark.parametrize(
    "person",
    [ADMIN, User("last-comer", ("system:authenticated",), "9", {"scope": ("x", "y")})],
    ids=["the administrator", "somebody"],
)
async def test_reviews_are_answered_alike(both: Both, namespace: str, person: User) -> None:
    access_checker = await both.open(namespace)
    wrong = []
    headers = {"Impersonate_User": person.name, "Impersonate_Uid": person.uid}
    if person is not ADMIN:
        headers |= {"Impersonate_Extra_Scope": "x"}
        person = User(person.name, person.groups, person.uid, {"scope": ("x",)})
    else:
        headers |= {"Impersonate_Group": MASTERS}
        person = User(person.name, (MASTERS, "system:authenticated"), person.uid)
    for plural, spec in CASES["REVIEWS"]:
        filled = json.loads(json.dumps({"spec": spec}).replace("{ns}", namespace))
        root = AUTHENTICATION if plural in ("tokenreviews", "selfsubjectreviews") else AUTHORIZATION
        place = f"/namespaces/{namespace}" if plural.startswith("local") else ""
        _, theirs = await both.ask("POST", f"{root}{place}/{plural}", filled, **headers)
        if theirs.get("reason") == "Forbidden":
            continue
        try:
            mine = access_checker.answer(plural, namespace if place else "", filled, person)
        except Refused as refused:
            mine = status(refused)
        if _judged(mine) != _judged(theirs):
            wrong.append((plural, spec, theirs, mine))
    assert not wrong, listed(wrong)


def _judged(answer: Object) -> object:
    """The answer without what the way of a create adds; lists of rules come in any order."""
    if answer.get("kind") == "Status":
        return answer
    stated = dict(answer["status"])
    for member in ("resourceRules", "nonResourceRules"):
        if member in stated:
            stated[member] = sorted(map(json.dumps, stated[member]))
    if "allowed" in stated:
        stated["verdict"] = _verdict(
            {"allowed": stated.pop("allowed"), "reason": stated.pop("reason", "")}
        )
    return stated


def a_random_rule(rng: random.Random) -> str:
    def some(choice: list[str]) -> str:
        return ",".join(sorted(rng.sample(choice, rng.randint(1, 2))))

    if rng.random() < 0.15:
        return f"{some(['get', 'post', '*'])} : {rng.choice(['/a', '/a/*', '/a/b', '*'])}"
    verbs = some(
        ["get", "list", "create", "*"] if rng.random() < 0.1 else ["get", "list", "create"]
    )
    resources = some(["pods", "pods/log", "*/log", "configmaps", "*/scale", "deployments/scale"])
    names = f" = {some(['a', 'b', 'c'])}" if rng.random() < 0.3 else ""
    return f"{verbs} {some(['core', 'apps'])} {resources}{names}"


async def test_nobody_gives_more_than_they_have_on_either(both: Both, namespace: str) -> None:
    rng = random.Random(11)
    await both.apply(
        a_role(
            "writer",
            namespace,
            f"create,update {RBAC} roles,rolebindings",
            "get,list core pods",
            "get core,apps */log",
            "create apps deployments/scale,pods",
            "get core configmaps = a,b",
        ),
        a_role("strong", namespace, "delete core pods"),
        a_role("weak", namespace, "get core pods"),
        a_role("binder", namespace, f"bind {RBAC} clusterroles = edit"),
        a_binding("writer", "Role/writer", namespace, "wanda", "vera"),
        a_binding("binder", "Role/binder", namespace, "wanda"),
        a_binding("vain", "Role/gone", namespace, "vera"),
    )
    access_checker = await both.open(namespace)
    written: list[tuple[str, Object]] = [
        ("roles", a_role("new", namespace, *(a_random_rule(rng) for _ in range(rng.randint(1, 3)))))
        for _ in range(150)
    ]
    written += [
        ("rolebindings", a_binding("new", role, namespace, "x"))
        for role in (
            "Role/strong",
            "Role/weak",
            "Role/gone",
            "ClusterRole/edit",
            "ClusterRole/view",
            "ClusterRole/lost",
            "ClusterRole/cluster-admin",
        )
    ]
    wrong, refusals = [], 0
    for (plural, obj), name in product(written, ("wanda", "vera")):
        path = f"/apis/{RBAC}/v1/namespaces/{namespace}/{plural}?dryRun=All"
        code, theirs = await both.ask("POST", path, obj, Impersonate_User=name)
        try:
            access_checker.guard(User(name, ("system:authenticated",)), plural, obj, None)
            mine: Object = {}
        except Refused as refused:
            mine = status(refused)
        refusals += code != 201
        if mine != (theirs if code != 201 else {}):
            wrong.append((obj, theirs, mine))
    assert not wrong, listed(wrong)
    assert 0 < refusals < 2 * len(written)
