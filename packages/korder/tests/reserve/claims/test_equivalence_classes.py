"""Where pods look for tickets: at one that they name, on the only nodes where they can be, or everywhere; the choice is the same."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st
import pytest
from tests.reserve.claims.markets import (
    NOW,
    Counted,
    asking,
    chosen,
    claimed,
    market,
    required,
    reserved,
)

from korder.api.reserve import Ticket
from korder.reserve.claims import inventory, matching, requirements
from korder.reserve.claims.inventory import Market, Seeker
from korder.reserve.claims.requirements import Site, request_of
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.resources import Resources
from kubeloop.testing.builders import Builder, a_node


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("t{}", "Ticket default/t{} is taken or holds nothing yet.", id="of their own"),
        pytest.param("gone{}", "There is no ticket default/gone{}.", id="that nobody has"),
    ],
)
def test_pods_that_name_tickets_do_not_look_at_all_the_others(name: str, why: str) -> None:
    """However many they are, each ticket is looked at as often as for a single pod."""
    pending = [reserved(f"t{n}").but({"status": {"phase": "Pending"}}) for n in range(20)]
    looks = []
    for pods in (1, 20):
        there = market(pending)
        counted = Counted(there.tickets)
        names = {f"web{n}": name.format(n) for n in range(pods)}
        asked = [asking(web, named) for web, named in names.items()]
        got = chosen(asked, replace(there, tickets=counted, at_hand=there.stock()))
        assert got == {f"web{n}": why.format(n) for n in range(pods)}
        looks.append(counted.looks)
    assert looks[0] == looks[1]


def pinned_to(*names: str) -> JSON:
    """An affinity to nodes by their names, as a DaemonSet's pods have it."""
    return required(*(named("In", name) for name in names))


def named(operator: str, *names: str) -> dict[str, JSON]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(names)}]}


MARKED: dict[str, JSON] = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}


def daemon(node: str, **amounts: str) -> Builder[Pod]:
    return asking(f"on-{node}", **amounts).but({"spec": {"affinity": pinned_to(node)}})


@pytest.mark.parametrize("room", ["free", "taken"])
def test_the_pods_of_a_daemon_set_look_only_at_the_tickets_of_their_own_nodes(room: str) -> None:
    """S40: each has its own affinity, and each ticket a label of its own; together they are not pods times tickets."""
    names = [f"node-{n}" for n in range(20)]
    tickets = [reserved(f"t-{name}", name).labelled({"korder.dev/node": name}) for name in names]
    if room == "taken":
        tickets = [claimed(ticket) for ticket in tickets[:10]] + tickets[10:]
    there = market(tickets, [a_node(name) for name in names])
    sites: list[str] = []

    def site(name: str) -> Site | None:
        sites.append(name)
        return there.site(name)

    looks = []
    for pods in (1, 10):
        sites.clear()
        stock = there.stock()
        shelves = [Counted(shelf) for shelf in stock.shelves]
        tracked = replace(there, site=site, at_hand=replace(stock, shelves=shelves))
        got = chosen([daemon(name) for name in names[:pods]], tracked)
        stated = "All of the tickets in namespace default on node {} are taken or hold nothing yet."
        word = "t-{}" if room == "free" else stated
        assert got == {f"on-{name}": word.format(name) for name in names[:pods]}
        assert sites == (names[:pods] if room == "free" else [])
        looks.append(sum(shelf.looks for shelf in shelves))
    assert looks[0] == looks[1]


@pytest.mark.parametrize(
    ("tickets", "cpu", "why"),
    [
        pytest.param(
            [reserved("t", "node-2")],
            "1",
            "No ticket fits; nearest mismatch: must be on node node-1, where none is.",
            id="there is none",
        ),
        pytest.param(
            [
                reserved("t").but({"spec": {"owners": [{"serviceAccounts": ["x"]}]}}),
                reserved("u", "node-2"),
            ],
            "1",
            "No ticket fits; nearest mismatch: must be on node node-1, where none is.",
            id="there is none for it",
        ),
        pytest.param(
            [reserved("t", cpu="1"), reserved("u", "node-2", cpu="3")],
            "2",
            "No ticket fits; nearest mismatch: needs cpu 2, it holds 1.",
            id="it is too small",
        ),
        pytest.param(
            [claimed(reserved("t")), reserved("u", "node-2")],
            "1",
            "All of the tickets in namespace default on node node-1 are taken or hold nothing yet.",
            id="it is taken",
        ),
        pytest.param(
            [
                reserved("t").but(
                    {"spec": {"nodeName": "node-1"}, "status": {"phase": "Pending", "nodeName": ""}}
                )
            ],
            "1",
            "All of the tickets in namespace default on node node-1 are taken or hold nothing yet.",
            id="it holds nothing yet",
        ),
    ],
)
def test_a_pod_of_one_node_hears_of_the_tickets_there_whatever_others_do(
    tickets: list[Builder[Ticket]], cpu: str, why: str
) -> None:
    nodes = [a_node("node-1"), a_node("node-2"), a_node("node-3")]
    others = [reserved("elsewhere", "node-3", cpu="3")]
    for more in (others, [], list(map(claimed, others))):
        got = chosen([daemon("node-1", cpu=cpu)], market([*tickets, *more], nodes))
        assert got == {"on-node-1": why}


def test_terms_are_alternatives_so_one_that_names_no_node_leaves_all_of_them_open() -> None:
    nodes = [a_node("node-1").labelled({"disk": "ssd"}), a_node("node-2")]
    pod = asking("web").but({"spec": {"affinity": required(named("In", "node-2"), MARKED)}})
    assert chosen([pod], market([reserved("t", "node-1")], nodes)) == {"web": "t"}


def test_a_pod_of_one_node_does_not_wait_for_a_share_of_a_ticket_on_another_one() -> None:
    lent = reserved("t", "node-2").but(
        {"spec": {"allocateOnce": False}, "status": {"phase": "Claiming"}}
    )
    there = market([lent], [a_node("node-1"), a_node("node-2")])
    for node, waits in (("node-1", False), ("node-2", True)):
        pod = daemon(node, cpu="100m").build()
        _, why = matching.choose([Seeker(pod, request_of(pod.metadata.annotations))], there)
        assert why[pod.metadata.uid].is_short is waits


PIN = st.sampled_from([named("In", f"node-{n}") for n in range(4)])
ODD = st.sampled_from(
    [
        {},
        MARKED,
        {**named("In", "node-1"), **MARKED},
        {**named("In", "node-2"), **MARKED},
        named("In", "node-9"),
        named("In", "node-0", "node-1"),
        named("NotIn", "node-0"),
    ]
)
WISHES = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["1", "2"]),
        st.none()
        | st.lists(PIN, min_size=1, max_size=3)
        | st.lists(PIN | ODD, min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=8,
)
OFFERS = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.sampled_from(["2", "3", "1"]),
            "node": st.integers(0, 3),
            "phase": st.sampled_from([*["Reserved"] * 6, "Claiming", "Pending"]),
            "own": st.booleans(),
            "certain": st.booleans(),
            "ends": st.sampled_from(["", "", "2026-01-01T13:00:00Z", "2026-01-01T11:00:00Z"]),
            "failed": st.sampled_from(["", "", "2026-01-01T11:30:00Z", "2026-01-01T11:45:00Z"]),
        }
    ),
    min_size=2,
    max_size=8,
)


def any_ticket(
    number: int,
    cpu: str,
    node: int,
    phase: str,
    ends: str,
    failed: str,
    *,
    own: bool,
    certain: bool,
) -> Builder[Ticket]:
    times = {"expirationTime": ends or None, "unboundTime": failed or None}
    status: JSON = {"phase": phase, **{name: value for name, value in times.items() if value}}
    ticket = reserved(f"t{number}", f"node-{node}", cpu=cpu).but({"status": status})
    if own:
        ticket = ticket.labelled({"korder.dev/node": f"node-{node}"})
    return ticket.but({"spec": {"nodeName": f"node-{node}"}}) if certain else ticket


def walked(seekers: Iterable[Seeker], there: Market) -> dict[str, str]:
    """Who gets which ticket, by looking at every ticket for every pod."""
    busy = {each.status.node_name for each in there.tickets if inventory.is_claiming(each)}
    free = [each for each in there.tickets if inventory.is_free(each, NOW)]
    got: dict[str, str] = {}

    def place(ticket: Ticket, needs: Resources) -> tuple[object, ...]:
        status, name = ticket.status, ticket.metadata.name
        if inventory.has_failed(ticket, NOW):
            return True, status.unbound_time, name
        held = ticket_state.held(ticket)["cpu"].nano
        unused = (held - needs["cpu"].nano) / held
        ends = status.expiration_time or inventory.LATEST
        return False, bool(ticket.spec.node_name), unused, status.node_name in busy, ends, name

    for seeker in sorted(seekers, key=inventory.precedence):
        needs = requirements.needs_of(seeker.pod)
        suited = [
            each
            for each in free
            if not requirements.too_small(needs, ticket_state.held(each))
            and not requirements.unsuited(seeker.pod, there.site(each.status.node_name))
        ]
        if suited:
            best = min(suited, key=lambda each: place(each, needs))
            free.remove(best)
            got[seeker.pod.metadata.name] = best.metadata.name
    return got


@given(WISHES, OFFERS)
def test_who_looks_only_where_it_can_be_gets_what_it_would_get_by_looking_everywhere(
    pods: list[tuple[int, str, list[JSON] | None]], tickets: list[dict[str, Any]]
) -> None:
    built = [
        asking(f"p{n}", cpu=cpu).but({"spec": {"priority": rank}})
        if terms is None
        else asking(f"p{n}", cpu=cpu).but(
            {"spec": {"priority": rank, "affinity": required(*terms)}}
        )
        for n, (rank, cpu, terms) in enumerate(pods)
    ]
    nodes = [
        a_node("node-0"),
        a_node("node-1").labelled({"disk": "ssd"}),
        a_node("node-2"),
        a_node("node-3").tainted("gpu"),
    ]
    there = market([any_ticket(n, **each) for n, each in enumerate(tickets)], nodes)
    seekers = [
        Seeker(pod, request_of(pod.metadata.annotations)) for pod in (b.build() for b in built)
    ]
    matches, _ = matching.choose(seekers, there)
    got = {match.pod.metadata.name: match.ticket.metadata.name for match in matches}
    assert got == walked(seekers, there)
