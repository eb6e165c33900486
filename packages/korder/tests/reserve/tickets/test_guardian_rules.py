"""The guardian pod of a ticket: what it may do, where it goes, what it holds and how it is called (rules 11, 21, 22)."""

from itertools import islice
from typing import Any

from hypothesis import given, strategies as st
import pytest

from korder.api.reserve import (
    DEFAULT_REQUESTS,
    GUARDIAN_GATE,
    GUARDIAN_HASH_ANNOTATION,
    GUARDIAN_PRIORITY_CLASS,
    ORDER_LABEL,
    TICKET_LABEL,
    TICKET_UID_LABEL,
    Ticket,
)
from korder.reserve import names as object_names
from korder.reserve.tickets import guardian, state as ticket_state
from korder.reserve.tickets.guardian import Options, Place
from korder.testing.builders import a_ticket
from kubeloop.objects import codec, quantity
from kubeloop.objects.core import Pod
from kubeloop.objects.scheduling import affinity_mismatch
from kubeloop.testing.builders import Builder, a_node

LEGAL = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=300)


def stored(built: Builder[Ticket]) -> Ticket:
    return built.stored("uid-of-t").build()


def body_of(
    built: Builder[Ticket], options: Options | None = None, place: Place = guardian.ANYWHERE
) -> dict[str, Any]:
    ticket = stored(built)
    return guardian.body(ticket, "g", options or Options(), ticket_state.held(ticket), place)


def test_a_guardian_has_no_rights_no_token_and_no_sidecars_rule_22() -> None:
    body = body_of(a_ticket("t"), Options(image="mirror/pause:1", pull_secrets=("pull",)))
    spec, (container,) = body["spec"], body["spec"]["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] == 1
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert "nodeName" not in spec
    assert container["image"] == "mirror/pause:1"
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    notes = body["metadata"]["annotations"]
    assert notes["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert notes["sidecar.istio.io/inject"] == "false"
    assert notes["linkerd.io/inject"] == "disabled"


def test_a_guardian_is_found_by_its_ticket_and_its_order() -> None:
    meta = body_of(a_ticket("t").labelled({ORDER_LABEL: "o", "app": "web"}))["metadata"]
    assert meta["labels"][TICKET_LABEL] == "t"
    assert meta["labels"][TICKET_UID_LABEL] == "uid-of-t"
    assert meta["labels"][ORDER_LABEL] == "o"
    assert "app" not in meta["labels"]
    assert meta["ownerReferences"][0]["uid"] == "uid-of-t"
    assert meta["ownerReferences"][0]["controller"] is True


@pytest.mark.parametrize(
    ("named", "allowed", "refused"),
    [
        ("", False, False),
        ("batch", False, False),
        ("system-node-critical", False, True),
        ("system-mine", False, True),
        ("system-node-critical", True, False),
    ],
    ids=["none", "any", "critical", "one that looks so", "critical where the flag allows it"],
)
def test_a_ticket_may_name_any_class_but_those_of_the_system_rule_21(
    named: str, allowed: bool, refused: bool
) -> None:
    built = a_ticket("t").but({"spec": {"priorityClassName": named}})
    options = Options(allow_system_classes=allowed)
    assert bool(guardian.forbidden(stored(built), options)) == refused
    spec = body_of(built, options)["spec"]
    assert spec["priorityClassName"] == (named or GUARDIAN_PRIORITY_CLASS)


def test_scheduling_fields_requests_and_limits_are_those_of_the_ticket() -> None:
    said: dict[str, Any] = {
        "schedulerName": "other",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "affinity": {"podAntiAffinity": {"x": [1]}},
    }
    sizes = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
    spec = body_of(a_ticket("t").but({"spec": {**said, "resources": sizes}}))["spec"]
    assert {name: spec[name] for name in said} == said
    assert spec["containers"][0]["resources"] == sizes


def test_a_ticket_that_says_no_size_holds_the_default() -> None:
    container = body_of(a_ticket("t"))["spec"]["containers"][0]
    assert container["resources"] == {"requests": dict(DEFAULT_REQUESTS)}


@pytest.mark.parametrize("requests", [{}, {"cpu": "1"}], ids=["alone", "beside requests"])
def test_a_limit_without_a_request_is_held(requests: dict[str, str]) -> None:
    """As a server does it with the pods that will come."""
    limits = {"nvidia.com/gpu": "1"}
    sizes: Any = {"requests": requests, "limits": limits}
    container = body_of(a_ticket("t").but({"spec": {"resources": sizes}}))["spec"]["containers"][0]
    assert container["resources"] == {"requests": {**limits, **requests}, "limits": limits}


def test_what_is_left_of_a_shared_ticket_has_limits_that_are_lower_too_rule_11() -> None:
    sizes = {"requests": {"cpu": "2", "gpu/x": "4"}, "limits": {"cpu": "3", "gpu/x": "4"}}
    ticket = stored(a_ticket("t").but({"spec": {"resources": sizes}}))
    left = {"cpu": quantity.parse("500m"), "gpu/x": quantity.parse("1")}
    body: dict[str, Any] = guardian.body(ticket, "g", Options(), left)
    assert body["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "gpu/x": "1"},
        "limits": {"cpu": "1500m", "gpu/x": "1"},
    }


TERMS: list[dict[str, Any]] = [
    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
]


@pytest.mark.parametrize("terms", [[], TERMS], ids=["without terms", "with two alternatives"])
def test_a_pinned_guardian_goes_to_its_node_alone_by_every_term(terms: list[Any]) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    affinity: dict[str, Any] = {"nodeAffinity": required if terms else {}}
    built = a_ticket("t").but({"spec": {"nodeName": "n1", "affinity": affinity}})
    pod = codec.convert(body_of(built, place=Place("elsewhere")), Pod)
    assert not pod.spec.node_name
    zones = [a_node(name).labelled({"zone": zone}) for name in ("n1", "n2") for zone in "abc"]
    fits = [
        node.build().metadata.name
        for node in zones
        if affinity_mismatch(pod.spec, node.build()) is None
    ]
    assert fits == (["n1", "n1"] if terms else ["n1", "n1", "n1"])


def test_size_and_place_tell_guardians_apart_but_not_the_gate() -> None:
    built = a_ticket("t")
    free, there = body_of(built), body_of(built, place=Place("n1"))
    gated = body_of(built, place=Place("n1", gated=True))
    marks = [b["metadata"]["annotations"][GUARDIAN_HASH_ANNOTATION] for b in (free, there, gated)]
    assert marks[0] != marks[1] == marks[2]
    assert gated["spec"]["schedulingGates"] == [{"name": GUARDIAN_GATE}]
    ticket = stored(built)
    half = {"cpu": quantity.parse("50m")}
    assert guardian.fingerprint(ticket, half) != guardian.fingerprint(
        ticket, ticket_state.held(ticket)
    )


@given(LEGAL)
def test_names_of_guardians_are_legal_and_differ_however_long_the_ticket_is_called(
    name: str,
) -> None:
    ticket = stored(a_ticket(f"x{name}"[:253].rstrip("-")))
    names = list(islice(guardian.names(ticket), 4))
    assert names[0].startswith("korder-guardian-x")
    assert len(set(names)) == 4
    assert all(len(each) <= 253 and not each.endswith("-") for each in names)
    meta: Any = guardian.body(ticket, names[0], Options(), ticket_state.held(ticket))["metadata"]
    assert len(meta["labels"][TICKET_LABEL]) <= 63


@given(st.lists(LEGAL, min_size=2, max_size=2, unique=True), st.sampled_from([63, 253]))
def test_shortened_names_stay_apart(pair: list[str], limit: int) -> None:
    first, second = (object_names.legal_name(f"x{text}", limit) for text in pair)
    assert first != second
    assert max(len(first), len(second)) <= limit
