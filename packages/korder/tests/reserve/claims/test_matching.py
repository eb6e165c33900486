"""Who gets which ticket: owners, fit, order of service, and words for those who get none."""

from dataclasses import replace
from datetime import timedelta
from typing import cast

from hypothesis import given, strategies as st
import pytest
from tests.reserve.claims.markets import NOW, asking, chosen, claimed, market, required, reserved

from korder.api.reserve import ORDERS, ClaimReason, Ticket
from korder.reserve.claims import inventory, matching
from korder.reserve.claims.inventory import Seeker
from korder.reserve.claims.requirements import Site, request_of
from korder.testing.builders import an_order
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod


def created(pod: Builder[Pod], seconds: int) -> Builder[Pod]:
    stamp = (NOW + timedelta(seconds=seconds)).isoformat()
    return pod.but({"metadata": {"creationTimestamp": stamp}})


def test_priority_comes_first_and_then_age() -> None:
    """Priority comes first and then age (rule 16)."""
    pods = [
        created(asking("young"), 3),
        created(asking("old"), 1),
        created(asking("urgent").but({"spec": {"priority": 10}}), 5),
    ]
    got = chosen(pods, market([reserved("t1"), reserved("t2")]))
    assert set(got) == {"young", "old", "urgent"}
    assert {got["urgent"], got["old"]} == {"t1", "t2"}
    assert got["young"] == "All of the tickets in namespace default are taken or hold nothing yet."


def test_the_ticket_of_which_least_is_left_over_is_taken() -> None:
    large, small = reserved("a-large", cpu="3"), reserved("b-small", cpu="1")
    got = chosen([asking("web", cpu="1")], market([large, small]))
    assert got == {"web": "b-small"}


def test_of_equal_tickets_one_on_a_node_without_a_hand_over_is_taken() -> None:
    under_way = reserved("a", "node-1").but({"status": {"phase": "Claiming"}})
    tickets = [under_way, reserved("b", "node-1"), reserved("c", "node-2")]
    nodes = (a_node("node-1"), a_node("node-2"))
    got = chosen([asking("first"), asking("second")], market(tickets, nodes))
    assert got == {"first": "c", "second": "b"}


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        pytest.param("name:t1", "t1", id="name"),
        pytest.param("t2", "t2", id="bare name"),
        pytest.param("selector:tier=gold", "t2", id="labels"),
        pytest.param("group:nightly", "t3", id="group"),
        pytest.param("name:t9", "There is no ticket default/t9.", id="a name nobody has"),
    ],
)
def test_each_form_of_request_finds_its_ticket(wanted: str, got: str) -> None:
    """Each form of request finds its ticket (S15)."""
    tickets = [
        reserved("t1"),
        reserved("t2").labelled({"tier": "gold"}),
        reserved("t3").annotated({"korder.dev/ticket-group": "nightly"}),
    ]
    assert chosen([asking("web", wanted)], market(tickets)) == {"web": got}


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        pytest.param("Expired", "Ticket default/t has ended (Expired).", id="too late"),
        pytest.param("Released", "Ticket default/t has ended (Released).", id="spent"),
        pytest.param("Claimed", "Ticket default/t is taken or holds nothing yet.", id="taken"),
    ],
)
def test_of_a_ticket_that_is_named_it_is_said_what_became_of_it(phase: str, said: str) -> None:
    ticket = reserved("t").but({"status": {"phase": phase}})
    assert chosen([asking("web", "t")], market([ticket])) == {"web": said}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param("", "There are no orders in namespace default.", id="any"),
        pytest.param("name:t", "There is no ticket default/t.", id="a name"),
        pytest.param(
            "group:g", "There is none of the tickets of group g in namespace default.", id="a group"
        ),
    ],
)
def test_where_nothing_is_the_answer_names_what_was_asked_for(wanted: str, said: str) -> None:
    assert chosen([asking("web", wanted)], market([])) == {"web": said}


def test_an_order_is_meant_by_ownership_and_not_by_label() -> None:
    order = an_order("gold").stored("uid-gold")
    made = reserved("t2").owned_by(ORDERS, order.build())
    labelled = reserved("t1").labelled({"korder.dev/order": "gold"})
    pod = asking("web").annotated({"korder.dev/order": "gold"})
    assert chosen([pod], market([labelled, made], orders=[order])) == {"web": "t2"}


def test_a_closed_order_gives_nothing_until_it_has_opened() -> None:
    """A closed order gives nothing until it has opened (S19 and rule 14)."""
    order = an_order("gang", 3).stored("uid-gang").but({"spec": {"minAvailable": 3}})
    tickets = [reserved(f"t{n}").owned_by(ORDERS, order.build()) for n in range(2)]
    closed = chosen([asking("web")], market(tickets, orders=[order]))
    assert closed == {
        "web": "Order default/gang is closed until as many tickets as its minAvailable are held."
    }
    opened = order.but({"status": {"opened": True}})
    assert chosen([asking("web")], market(tickets, orders=[opened])) == {"web": "t0"}


def with_spec(**spec: JSON) -> PodBuilder:
    return cast("PodBuilder", asking("web").but({"spec": spec}))


def container(cpu: str, **more: JSON) -> JSON:
    return {"name": f"c{cpu}", "resources": {"requests": {"cpu": cpu}}, **more}


NO_SUCH_LABEL: JSON = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
NAMED: JSON = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        pytest.param(asking("web", cpu="2"), "needs cpu 2, it holds 1", id="too large"),
        pytest.param(
            asking("web", **{"nvidia.com/gpu": "1"}),
            "needs nvidia.com/gpu 1, it holds none",
            id="an extended resource",
        ),
        pytest.param(
            with_spec(initContainers=[container("1500m")]),
            "needs cpu 1500m, it holds 1",
            id="an init container",
        ),
        pytest.param(
            with_spec(initContainers=[container("500m", restartPolicy="Always")]),
            "needs cpu 1500m, it holds 1",
            id="a sidecar",
        ),
        pytest.param(
            with_spec(overhead={"cpu": "100m"}), "needs cpu 1100m, it holds 1", id="overhead"
        ),
        pytest.param(
            with_spec(resources={"requests": {"cpu": "3"}}),
            "needs cpu 3, it holds 1",
            id="pod-level requests",
        ),
        pytest.param(
            with_spec(nodeSelector={"disk": "ssd"}),
            "needs labels disk=ssd, which its node lacks",
            id="node selector",
        ),
        pytest.param(
            with_spec(affinity=required(NO_SUCH_LABEL)),
            "requires node affinity disk in (ssd), which its node does not meet",
            id="affinity to another node",
        ),
        pytest.param(
            with_spec(
                containers=[{"name": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}]
            ),
            "needs host port TCP 0.0.0.0:80, which is taken on its node",
            id="host port",
        ),
    ],
)
def test_the_mismatch_is_named(pod: Builder[Pod], why: str) -> None:
    """The mismatch is named (S14)."""
    port: JSON = [{"name": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    there = a_pod("there").on("node-1").but({"spec": {"containers": port}}).build()
    got = chosen([pod], market([reserved("t1")], there=[there]))
    none = "No ticket fits" if "it holds" in why else "No free ticket fits"
    assert got == {"web": f"{none}; nearest mismatch: {why}."}
    got = chosen(
        [pod.annotated({"korder.dev/ticket-request": "t1"})],
        market([reserved("t1")], there=[there]),
    )
    assert got == {"web": f"Ticket default/t1 does not fit: {why}."}


@pytest.mark.parametrize(
    ("node", "why"),
    [
        pytest.param(a_node("node-1").cordoned(), "its node is cordoned", id="rule 12: cordon"),
        pytest.param(
            a_node("node-1").tainted("gpu"),
            "does not tolerate taint gpu:NoSchedule of its node",
            id="taint",
        ),
    ],
)
def test_a_node_that_takes_nobody_has_no_claimable_ticket(node: Builder[Node], why: str) -> None:
    got = chosen([asking("web")], market([reserved("t1")], nodes=[node]))
    assert got == {"web": f"No free ticket fits; nearest mismatch: {why}."}


def test_who_tolerates_everything_has_no_ticket_on_a_cordoned_node_either() -> None:
    """Who tolerates everything has no ticket on a cordoned node either (rules 12 and 17)."""
    pod = asking("web").but({"spec": {"tolerations": [{"operator": "Exists"}]}})
    got = chosen([pod], market([reserved("t1")], nodes=[a_node("node-1").cordoned()]))
    why = "its node is cordoned"
    assert got == {"web": f"No free ticket fits; nearest mismatch: {why}."}


def test_an_unfit_ticket_is_passed_over_for_one_that_fits() -> None:
    """S14: T1 does not do, T2 does."""
    nodes = [a_node("node-1").tainted("gpu"), a_node("node-2")]
    tickets = [reserved("t1"), reserved("t2", node="node-2")]
    assert chosen([asking("web")], market(tickets, nodes=nodes)) == {"web": "t2"}


def test_a_daemon_pod_takes_the_ticket_of_its_own_node() -> None:
    """S36: its affinity names the node, so no other ticket fits."""
    tickets = [reserved("t1", node="node-1"), reserved("t2", node="node-2")]
    nodes = [a_node("node-1"), a_node("node-2")]
    pod = asking("agent").but({"spec": {"affinity": required(NAMED)}})
    assert chosen([pod], market(tickets, nodes=nodes)) == {"agent": "t2"}


def test_two_pods_with_the_same_host_port_do_not_go_to_one_node_at_once() -> None:
    ports: JSON = [{"name": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    pods = [asking(name).but({"spec": {"containers": ports}}) for name in ("one", "two")]
    got = chosen(pods, market([reserved("t1"), reserved("t2")]))
    assert sorted(ticket in ("t1", "t2") for ticket in got.values()) == [False, True]


def with_port(name: str, number: int) -> Builder[Pod]:
    ports: JSON = [{"containerPort": number, "hostPort": number}]
    return asking(name).but({"spec": {"containers": [{"name": "app", "ports": ports}]}})


def test_pods_with_different_host_ports_go_to_one_node_together() -> None:
    got = chosen(
        [with_port("one", 80), with_port("two", 81)], market([reserved("t1"), reserved("t2")])
    )
    assert got == {"one": "t1", "two": "t2"}


def test_a_host_port_is_taken_by_a_pod_that_is_on_its_way() -> None:
    coming = (with_port("first", 80).build(),)
    there = replace(
        market([reserved("t1")]), site=lambda _: Site(a_node("node-1").build(), coming=coming)
    )
    assert chosen([with_port("web", 80)], there) == {
        "web": "No free ticket fits; nearest mismatch:"
        " needs host port TCP 0.0.0.0:80, which is taken on its node."
    }
    assert chosen([with_port("web", 81)], there) == {"web": "t1"}


def lent(ticket: Builder[Ticket], *shares: str) -> Builder[Ticket]:
    """A ticket that pods share, of which these parts are taken."""
    others: JSON = [
        {"namespace": "default", "name": f"s{n}", "uid": f"s{n}", "requests": {"cpu": cpu}}
        for n, cpu in enumerate(shares)
    ]
    return ticket.but({"spec": {"allocateOnce": False}, "status": {"sharedBy": others}})


SMALL = [reserved(f"small-{n}", cpu="1") for n in range(3)]
LARGE = claimed(reserved("large", cpu="3"))
LENT = reserved("lent", cpu="3")
TAINTED = [reserved(f"t{n}", f"node-{n}", cpu="3") for n in range(3)]


@pytest.mark.parametrize(
    ("first", "later", "why"),
    [
        pytest.param(
            SMALL,
            [SMALL[1:], SMALL[2:], [claimed(SMALL[0])], [reserved("a-small", cpu="1")]],
            "No ticket fits; nearest mismatch: needs cpu 2, it holds 1.",
            id="all are too small, be they free or taken",
        ),
        pytest.param(
            [LARGE, *SMALL],
            [[LARGE, SMALL[2]], [LARGE, claimed(SMALL[0])]],
            "All of the tickets in namespace default that are large enough are taken or hold nothing yet.",
            id="those that are large enough are taken",
        ),
        pytest.param(
            [lent(LENT, "1", "1")],
            [[lent(LENT, "2")], [lent(LENT, "1500m")], [claimed(lent(LENT, "3"))]],
            "All of the tickets in namespace default are taken, have too little left or hold nothing yet.",
            id="others have shares",
        ),
        pytest.param(
            TAINTED,
            [TAINTED[1:], [TAINTED[2], *SMALL], [claimed(TAINTED[0]), TAINTED[1]]],
            "No free ticket fits; nearest mismatch: does not tolerate taint gpu:NoSchedule of its node.",
            id="nodes do not suit",
        ),
    ],
)
def test_words_do_not_change_with_tickets_that_others_take(
    first: list[Builder[Ticket]], later: list[list[Builder[Ticket]]], why: str
) -> None:
    """A thousand pods that wait are not written to because of somebody else's ticket."""
    nodes = [a_node(f"node-{n}").tainted("gpu") for n in range(3)]
    for tickets in (first, *later):
        assert chosen([asking("web", cpu="2")], market(tickets, nodes)) == {"web": why}


def test_the_nearest_mismatch_is_with_the_pods_on_a_node_rather_than_with_the_node() -> None:
    there = with_port("there", 80).build()
    nodes = [a_node("node-1").tainted("gpu"), a_node("node-2")]
    tickets = [reserved("t1"), reserved("t2", "node-2")]
    assert chosen([with_port("web", 80)], market(tickets, nodes, there=[there])) == {
        "web": "No free ticket fits; nearest mismatch:"
        " needs host port TCP 0.0.0.0:80, which is taken on its node."
    }


@pytest.mark.parametrize(
    ("owners", "asked"),
    [
        pytest.param((), 1, id="labels decide nothing"),
        pytest.param(({"podSelector": {"matchLabels": {"app": "x"}}},), 1, id="others do"),
        pytest.param(
            ({"podSelector": {"matchExpressions": [{"key": "index", "operator": "Exists"}]}},),
            3,
            id="these do",
        ),
    ],
)
def test_pods_that_differ_in_labels_nobody_asks_for_are_judged_together(
    owners: tuple[JSON, ...], asked: int
) -> None:
    """S40: every pod of a StatefulSet or an indexed Job has labels of its own."""
    looks = []
    there = market([reserved("t1").but({"spec": {"owners": list(owners)}})])
    closed = Site(a_node("node-1").but({"spec": {"unschedulable": True}}).build())

    def site(name: str) -> Site:
        looks.append(name)
        return closed

    pods = [asking(f"web-{n}").labelled({"app": "x", "index": str(n)}) for n in range(3)]
    got = chosen(pods, replace(there, site=site))
    assert set(got.values()) == {"No free ticket fits; nearest mismatch: its node is cordoned."}
    assert len(looks) == asked


def owned(*owners: JSON) -> Builder[Ticket]:
    return reserved("t1").but({"spec": {"owners": list(owners)}})


ACCOUNT: JSON = {"serviceAccounts": ["builder"]}
TEAM: JSON = {"namespaces": ["team"]}
LABELS: JSON = {"podSelector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize(
    ("ticket", "pod", "may"),
    [
        pytest.param(reserved("t1"), asking("web"), True, id="no owners, own namespace"),
        pytest.param(
            reserved("t1"), asking("web").in_namespace("team"), False, id="no owners, other"
        ),
        pytest.param(owned(TEAM), asking("web").in_namespace("team"), True, id="its namespace"),
        pytest.param(owned(TEAM), asking("web"), False, id="own namespace is not named"),
        pytest.param(owned(ACCOUNT), asking("web"), False, id="wrong service account"),
        pytest.param(
            owned(ACCOUNT),
            asking("web").but({"spec": {"serviceAccountName": "builder"}}),
            True,
            id="its service account",
        ),
        pytest.param(
            owned(ACCOUNT),
            asking("web").in_namespace("team").but({"spec": {"serviceAccountName": "builder"}}),
            False,
            id="the service account of the same name elsewhere",
        ),
        pytest.param(owned(LABELS), asking("web").labelled({"app": "web"}), True, id="its labels"),
        pytest.param(
            owned({**TEAM, **LABELS}),
            asking("web").in_namespace("team"),
            False,
            id="fields are joined by and",
        ),
        pytest.param(
            owned(ACCOUNT, LABELS),
            asking("web").labelled({"app": "web"}),
            True,
            id="entries are joined by or",
        ),
    ],
)
def test_owners_may_claim_and_others_may_not(
    ticket: Builder[Ticket], pod: Builder[Pod], may: bool
) -> None:
    """Owners may claim and others may not (S17)."""
    got = chosen([pod], market([ticket]))
    denied = "The owners of the tickets in namespace default do not include this pod."
    assert got == {"web": "t1" if may else denied}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"status": {"phase": "Pending"}}, id="holds nothing"),
        pytest.param({"status": {"phase": "Claiming"}}, id="is being claimed"),
        pytest.param({"status": {"phase": "Claimed"}}, id="is in use"),
        pytest.param({"status": {"nodeName": ""}}, id="is nowhere"),
        pytest.param({"status": {"expirationTime": "2026-01-01T12:00:00Z"}}, id="ends now"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T12:00:00Z"}}, id="is going"),
    ],
)
def test_only_room_that_is_held_can_be_claimed(change: dict[str, JSON]) -> None:
    got = chosen([asking("web")], market([reserved("t1").but(change)]))
    assert got == {"web": "All of the tickets in namespace default are taken or hold nothing yet."}


def test_a_shared_ticket_is_as_large_as_what_is_left_of_it() -> None:
    """A shared ticket is as large as what is left of it (S18)."""
    share: JSON = {"namespace": "default", "name": "a", "uid": "a", "requests": {"cpu": "1"}}
    ticket = reserved("t1", cpu="2").but(
        {"spec": {"allocateOnce": False}, "status": {"sharedBy": [share]}}
    )
    assert chosen([asking("web", cpu="1")], market([ticket])) == {"web": "t1"}
    got = chosen([asking("web", cpu="2")], market([ticket]))
    assert got == {
        "web": "All of the tickets in namespace default are taken, have too little left or hold nothing yet."
    }


PODS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from(["1", "2", "3"])), max_size=12
)
TICKETS = st.lists(st.tuples(st.sampled_from(["1", "2"]), st.booleans()), max_size=8)


@given(PODS, TICKETS)
def test_no_ticket_and_no_pod_is_matched_twice_and_nobody_is_passed_over(
    pods: list[tuple[int, int, str]], tickets: list[tuple[str, bool]]
) -> None:
    """Rules 14 and 16 for any crowd: who waits could have used nothing that is left, nor what somebody less urgent got."""
    built = [
        created(asking(f"p{n}", cpu=cpu).but({"spec": {"priority": rank}}), age)
        for n, (rank, age, cpu) in enumerate(pods)
    ]
    there = market([reserved(f"t{n}", cpu=cpu) for n, (cpu, free) in enumerate(tickets) if free])
    seekers = [
        Seeker(pod, request_of(pod.metadata.annotations)) for pod in (b.build() for b in built)
    ]
    matches, waits = matching.choose(seekers, there)
    assert len({match.ticket.metadata.uid for match in matches}) == len(matches)
    assert len({match.pod.metadata.uid for match in matches}) == len(matches)
    assert len(matches) + len(waits) == len(seekers)
    by_uid = {seeker.pod.metadata.uid: seeker for seeker in seekers}
    sizes = {match.ticket.metadata.uid: match.ticket for match in matches}
    for uid, wait in waits.items():
        needs = int(pods[int(by_uid[uid].pod.metadata.name[1:])][2])
        free = [t for t in there.tickets if t.metadata.uid not in sizes]
        assert all(int(str(t.spec.requests["cpu"])) < needs for t in free)
        for match in matches:
            if inventory.precedence(by_uid[match.pod.metadata.uid]) > inventory.precedence(
                by_uid[uid]
            ):
                assert int(str(match.ticket.spec.requests["cpu"])) < needs
        assert wait.reason in (ClaimReason.NO_TICKET, ClaimReason.NONE_FITS, ClaimReason.NONE_FREE)
