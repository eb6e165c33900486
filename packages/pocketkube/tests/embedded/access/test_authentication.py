"""Who asks: tokens of all sorts, and those who show none."""

from base64 import b64encode, urlsafe_b64encode
import json
import random
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
import pytest

from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.tokens import BadToken, Signer, make_key
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.refusal import Refused

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

LOOK = Action("get", path="/look")
NOBODY = (401, "Unauthorized")
BOT = "system:serviceaccount:team:bot"


@pytest.fixture
async def open_world(world: "World") -> "World":
    """Everybody may look, so that who they are is all that counts."""
    await world.role("look", "get : /look")
    groups = ("system:authenticated", "system:unauthenticated")
    subjects = [{"kind": "Group", "name": group} for group in groups]
    await world.bind("look", "ClusterRole/look", *subjects)
    await world.make("ServiceAccount", "bot", "team")
    return world


@pytest.mark.parametrize(
    "header", ["", "Basic YTpi", "Bearer", "Bearer ", "Bearer  alice"], ids=repr
)
def test_who_shows_no_token_is_anonymous(open_world: "World", header: str) -> None:
    user = open_world.access_checker.enter({"Authorization": header}, LOOK)
    assert user == User("system:anonymous", ("system:unauthenticated",))


def test_a_known_token_is_its_users_and_those_are_somebody(open_world: "World") -> None:
    user = open_world.enter("alice", LOOK)
    assert user == User("alice", ("staff", "system:authenticated"))


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "a.b.c",
        "..",
        "ä.ö.ü",
        "e30.e30.e30",
        "\udcff.\udcff.\udcff",
        "W10.W10.W10",
        "a." + "W1tb" * 9000 + ".c",
    ],
    ids=lambda token: ascii(token)[:12],
)
def test_a_token_that_nobody_knows_lets_nobody_in(open_world: "World", token: str) -> None:
    assert open_world.refusal(token, LOOK) == NOBODY


def test_the_token_of_a_service_account_says_who_it_is(open_world: "World") -> None:
    user = open_world.enter(open_world.token(), LOOK)
    assert (user.name, user.uid) == (BOT, "uid-of-bot")
    groups = ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
    assert user.groups == groups
    (credential,) = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("JTI=")


def test_a_token_ends_a_minute_after_its_time(open_world: "World") -> None:
    token = open_world.token(expirationSeconds=600)
    open_world.pass_time(seconds=660)
    assert open_world.may(token, LOOK)
    open_world.pass_time(seconds=1)
    assert open_world.refusal(token, LOOK) == NOBODY


def test_a_token_from_the_future_is_none(open_world: "World") -> None:
    token = open_world.token()
    open_world.pass_time(seconds=-61)
    assert open_world.refusal(token, LOOK) == NOBODY


async def test_a_token_ends_with_its_account_even_if_another_takes_the_name(
    open_world: "World",
) -> None:
    token = open_world.token()
    assert open_world.may(token, LOOK)
    await open_world.remove("ServiceAccount", "bot", "team")
    assert open_world.refusal(token, LOOK) == NOBODY
    await open_world.make("ServiceAccount", "bot", "team", metadata={"uid": "another"})
    assert open_world.refusal(token, LOOK) == NOBODY


@pytest.mark.parametrize(
    ("kind", "namespace"), [("Pod", "team"), ("Secret", "team"), ("Node", "")], ids=str
)
async def test_a_bound_token_ends_with_what_it_is_bound_to(
    open_world: "World", kind: str, namespace: str
) -> None:
    spec = {"serviceAccountName": "bot"}
    await open_world.make(kind, "thing", namespace, spec=spec)
    token = open_world.token(boundObjectRef={"kind": kind, "apiVersion": "v1", "name": "thing"})
    assert open_world.may(token, LOOK)
    await open_world.make(kind, "thing", namespace, spec=spec, metadata={"uid": "another"})
    assert open_world.refusal(token, LOOK) == NOBODY
    await open_world.remove(kind, "thing", namespace)
    assert open_world.refusal(token, LOOK) == NOBODY


async def test_a_pod_that_is_going_has_a_minute_left_and_tells_its_node(
    open_world: "World",
) -> None:
    await open_world.make("Node", "n1")
    spec = {"serviceAccountName": "bot", "nodeName": "n1"}
    await open_world.make("Pod", "web", "team", spec=spec)
    token = open_world.token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    extra = {
        key.partition("/")[2]: values for key, values in open_world.enter(token, LOOK).extra.items()
    }
    del extra["credential-id"]
    assert extra == {
        "node-name": ("n1",),
        "node-uid": ("uid-of-n1",),
        "pod-name": ("web",),
        "pod-uid": ("uid-of-web",),
    }
    gone = {"deletionTimestamp": open_world.now.isoformat().replace("+00:00", "Z")}
    await open_world.make("Pod", "web", "team", spec=spec, metadata=gone)
    open_world.pass_time(seconds=60)
    assert open_world.may(token, LOOK)
    open_world.pass_time(seconds=1)
    assert open_world.refusal(token, LOOK) == NOBODY


def test_a_token_for_somebody_else_does_not_open_this_door(open_world: "World") -> None:
    assert open_world.refusal(open_world.token(audiences=["vault"]), LOOK) == NOBODY


def test_a_token_of_another_key_is_none_whatever_it_claims(open_world: "World") -> None:
    claims = open_world.access_checker.signer.read(open_world.token(), "https://test")
    forged = Signer(make_key(lambda count: b"f" * count)).sign(claims)
    assert open_world.refusal(forged, LOOK) == NOBODY
    head, body, signature = open_world.token().split(".")
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    assert open_world.refusal(f"{head}.{body}.{flipped}", LOOK) == NOBODY
    unsigned = "eyJhbGciOiJub25lIn0"
    assert open_world.refusal(f"{unsigned}.{body}.", LOOK) == NOBODY


async def test_a_secret_may_hold_a_token_without_an_end(open_world: "World") -> None:
    token = open_world.access_checker.issue_endless("team", "bot", "uid-of-bot", "old")
    assert open_world.refusal(token, LOOK) == NOBODY
    data = {"token": b64encode(token.encode()).decode()}
    await open_world.make("Secret", "old", "team", data=data)
    open_world.pass_time(days=4000)
    assert open_world.enter(token, LOOK).name == BOT
    await open_world.make("Secret", "old", "team", data={})
    assert open_world.refusal(token, LOOK) == NOBODY


@pytest.mark.parametrize(
    ("sent", "stated"),
    [
        ({"Impersonate-Group": "a"}, 'Groups:[]string{"a"}, Extra:map[string][]string(nil)'),
        ({"impersonate-uid": "7"}, 'UID:"7", Groups:[]string(nil), Extra'),
        (
            {"Impersonate-Extra-Acme.com%2FX": "1"},
            'map[string][]string{"acme.com/x":[]string{"1"}}',
        ),
    ],
    ids=["a group", "a uid", "more"],
)
def test_half_an_impersonation_is_refused(
    open_world: "World", sent: dict[str, str], stated: str
) -> None:
    with pytest.raises(Refused, match="without impersonating a user name") as caught:
        open_world.access_checker.enter({"Authorization": "Bearer admin", **sent}, LOOK)
    assert (caught.value.status.code, stated in caught.value.status.message) == (400, True)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("bob", ("system:authenticated",)),
        ("system:anonymous", ("system:unauthenticated",)),
        ("system:node:n1", ("system:nodes", "system:authenticated")),
        (BOT, ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")),
    ],
    ids=["a user", "nobody", "a node", "a service account"],
)
def test_masters_may_be_anybody_with_the_groups_they_have(
    open_world: "World", name: str, groups: tuple[str, ...]
) -> None:
    user = open_world.enter("admin", LOOK, Impersonate_User=name)
    assert (user.name, user.groups) == (name, groups)


def test_names_that_are_no_text_are_made_some(open_world: "World") -> None:
    user = open_world.enter("admin", LOOK, Impersonate_User="a\udcff", Impersonate_Group="\u00e4")
    assert (user.name, user.groups[0]) == ("a\ufffd", "\u00e4")


async def test_impersonation_needs_the_verb_and_nothing_of_ones_own_remains(
    open_world: "World",
) -> None:
    code, stated = open_world.refusal("alice", LOOK, Impersonate_User="bob")
    assert (code, stated) == (
        403,
        'forbidden: User "alice" cannot impersonate-on:user-info:get path "/look"',
    )
    await open_world.role("be-bob", "impersonate core users = bob")
    await open_world.bind("be-bob", "ClusterRole/be-bob", {"kind": "User", "name": "alice"})
    assert open_world.enter("alice", LOOK, Impersonate_User="bob") == User(
        "bob", ("system:authenticated",)
    )
    assert open_world.refusal("alice", LOOK, Impersonate_User="carl") == (
        403,
        'users "carl" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
    )
    asked = {"Impersonate_User": "bob", "Impersonate_Group": "system:masters"}
    assert open_world.refusal("alice", LOOK, **asked) == (
        403,
        'groups "system:masters" is forbidden: User "alice" cannot impersonate resource "groups" in API group "" at the cluster scope',
    )


async def test_narrow_impersonation_allows_one_deed_and_never_the_masters(
    open_world: "World",
) -> None:
    await open_world.role(
        "narrow",
        "impersonate:user-info authentication.k8s.io users,groups",
        "impersonate-on:user-info:get : /look",
    )
    await open_world.bind("narrow", "ClusterRole/narrow", {"kind": "User", "name": "alice"})
    assert open_world.enter("alice", LOOK, Impersonate_User="bob").name == "bob"
    other = Action("get", path="/other")
    assert open_world.refusal("alice", other, Impersonate_User="bob")[0] == 403
    asked = {"Impersonate_User": "bob", "Impersonate_Group": "system:masters"}
    code, stated = open_world.refusal("alice", LOOK, **asked)
    assert (code, stated.endswith("impersonating the system:masters group is not allowed")) == (
        403,
        True,
    )


def signed(key: bytes, head: dict[str, str], claims: dict[str, str]) -> str:
    """A token of a key whose head says what it likes."""
    private = serialization.load_pem_private_key(key, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    text = ".".join(encoded(json.dumps(each).encode()) for each in (head, claims))
    r, s = decode_dss_signature(private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("algorithm", "issuer", "known"),
    [("ES256", "us", True), ("ES256", "them", False), ("none", "us", False)],
    ids=["ours", "of another issuer", "said to be signed otherwise"],
)
def test_a_token_says_its_issuer_and_its_algorithm(
    algorithm: str, issuer: str, *, known: bool
) -> None:
    key = make_key(random.Random(1).randbytes)
    claims = {"iss": issuer}
    token = signed(key, {"alg": algorithm}, claims)
    if known:
        assert Signer(key).read(token, "us") == claims
    else:
        with pytest.raises(BadToken):
            Signer(key).read(token, "us")
