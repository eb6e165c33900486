from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import codec, node_room, resources
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.node_room import HostPort, NodeRoom

Amounts = dict[str, JSON]

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 compared, never bound


def node(**allocatable: JSON) -> Node:
    return codec.convert({"status": {"allocatable": {"pods": 110, **allocatable}}}, Node)


def pod(requests: Amounts, ports: list[JSON] | None = None, phase: str = "Running") -> Pod:
    only: JSON = {"name": "c", "resources": {"requests": requests}, "ports": ports or []}
    return codec.convert({"spec": {"containers": [only]}, "status": {"phase": phase}}, Pod)


def port(number: int, ip: str = "", protocol: str = "") -> JSON:
    return {"containerPort": 80, "hostPort": number, "hostIP": ip, "protocol": protocol}


def room(node: Node, *pods: Pod) -> NodeRoom:
    return node_room.room_of(node, pods)


def short(room: NodeRoom, wanted: Pod) -> list[str]:
    return [shortage.name for shortage in room.shortages(node_room.demand_of(wanted))]


FITS: dict[str, tuple[Amounts, list[Amounts], Amounts, list[str]]] = {
    "an empty node with enough": ({"cpu": "2"}, [], {"cpu": "2"}, []),
    "a thousandth too much": ({"cpu": "2"}, [], {"cpu": "2001m"}, ["cpu"]),
    "what others left": ({"cpu": "2"}, [{"cpu": "500m"}], {"cpu": "1500m"}, []),
    "more than others left": ({"cpu": "2"}, [{"cpu": "600m"}], {"cpu": "1500m"}, ["cpu"]),
    "several things short": (
        {"cpu": "1", "memory": "1Gi"},
        [],
        {"cpu": "2", "memory": "2Gi"},
        ["cpu", "memory"],
    ),
    "a device the node does not have": ({}, [], {"nvidia.com/gpu": "1"}, ["nvidia.com/gpu"]),
    "none of a device the node does not have": ({}, [], {"nvidia.com/gpu": "0"}, []),
    "nothing on an overbooked node": ({"cpu": "1"}, [{"cpu": "3"}], {"cpu": "0"}, []),
    "huge pages": ({"hugepages-2Mi": "4Mi"}, [], {"hugepages-2Mi": "6Mi"}, ["hugepages-2Mi"]),
    "volumes to attach": (
        {"attachable-volumes-x": 1},
        [{"attachable-volumes-x": 1}],
        {"attachable-volumes-x": 1},
        ["attachable-volumes-x"],
    ),
    "scratch space": (
        {"ephemeral-storage": "1Gi"},
        [],
        {"ephemeral-storage": "2Gi"},
        ["ephemeral-storage"],
    ),
    "a resource of kubernetes.io": ({}, [], {"kubernetes.io/x": 1}, ["kubernetes.io/x"]),
    "names the scheduler ignores": ({}, [], {"storage": "1Gi", "requests.x/y": 1}, []),
    "each pod's fraction of a byte is a byte": (
        {"memory": "2"},
        [{"memory": "100m"}, {"memory": "100m"}],
        {"memory": "100m"},
        ["memory"],
    ),
    "the last place for a pod": ({"pods": 2}, [{}], {}, []),
    "no place for a pod": ({"pods": 2}, [{}, {}], {}, ["pods"]),
    "a node that never said how many pods": ({"pods": 0}, [], {}, ["pods"]),
}


@pytest.mark.parametrize(("offered", "others", "wanted", "lacking"), FITS.values(), ids=FITS)
def test_a_pod_fits_when_nothing_it_needs_is_short(
    offered: Amounts, others: list[Amounts], wanted: Amounts, lacking: list[str]
) -> None:
    there = room(node(**offered), *(pod(other) for other in others))

    assert short(there, pod(wanted)) == lacking


def test_a_shortage_is_reported_in_the_units_people_write() -> None:
    there = room(node(cpu="2", memory="4Gi"), pod({"cpu": "500m", "memory": "1Gi"}))

    shortages = there.shortages(node_room.demand_of(pod({"cpu": "2", "memory": "3584Mi"})))

    assert [(name, str(asked), str(free)) for name, asked, free in shortages] == [
        ("cpu", "2", "1500m"),
        ("memory", "3584Mi", "3Gi"),
    ]


def test_finished_pods_take_nothing() -> None:
    crowded = room(node(cpu="1"), pod({"cpu": "1"}, [port(80)], phase="Succeeded"))

    assert crowded == room(node(cpu="1"))


def test_free_room_is_what_the_node_offers_less_what_is_used() -> None:
    there = room(node(cpu="2", memory="4Gi", **{"x/y": 0}), pod({"cpu": "2500m", "a/b": 1}))

    assert there.free() == resources.parse_list({"cpu": "-500m", "memory": "4Gi", "pods": 109})


def test_a_node_that_grows_keeps_its_pods() -> None:
    small, large = node(cpu="1"), node(cpu="4")
    guest = pod({"cpu": "1"}, [port(80)])

    assert room(small, guest).with_node(large) == room(large, guest)


PORTS: dict[str, tuple[list[JSON], list[JSON], bool]] = {
    "different numbers": ([port(80)], [port(81)], False),
    "the same number": ([port(80)], [port(80)], True),
    "one of two": ([port(80)], [port(79), port(80)], True),
    "another protocol": ([port(80, protocol="UDP")], [port(80, protocol="TCP")], False),
    "TCP is meant where none is named": ([port(80, protocol="")], [port(80, protocol="TCP")], True),
    "two addresses": ([port(80, "10.0.0.1")], [port(80, "10.0.0.2")], False),
    "the same address": ([port(80, "10.0.0.1")], [port(80, "10.0.0.1")], True),
    "every address taken": ([port(80, EVERY_ADDRESS)], [port(80, "10.0.0.1")], True),
    "every address wanted": ([port(80, "10.0.0.1")], [port(80)], True),
    "no host port": ([port(0)], [port(0)], False),
}


@pytest.mark.parametrize(("taken", "wanted", "clash"), PORTS.values(), ids=PORTS)
def test_host_ports_are_taken_once(taken: list[JSON], wanted: list[JSON], clash: bool) -> None:
    there = room(node(), pod({}, taken))

    assert bool(there.taken_ports(node_room.demand_of(pod({}, wanted)))) is clash


def test_only_containers_that_stay_hold_their_ports() -> None:
    opening: JSON = {"ports": [port(80)]}
    passing: JSON = {"initContainers": [opening]}
    staying: JSON = {"initContainers": [{"restartPolicy": "Always", "ports": [port(80)]}]}

    assert node_room.demand_of(codec.convert({"spec": passing}, Pod)).ports == ()
    assert node_room.demand_of(codec.convert({"spec": staying}, Pod)).ports == (
        HostPort(EVERY_ADDRESS, "TCP", 80),
    )


def test_a_port_two_pods_were_forced_to_share_is_free_when_both_are_gone() -> None:
    guest = node_room.demand_of(pod({}, [port(80)]))
    one_left = room(node()).with_pod(guest).with_pod(guest).without_pod(guest)

    assert one_left.taken_ports(guest) == guest.ports
    assert one_left.without_pod(guest).taken_ports(guest) == ()


def test_a_port_given_back_too_often_is_not_taken() -> None:
    guest = node_room.demand_of(pod({}, [port(80)]))

    assert room(node()).without_pod(guest).taken_ports(guest) == ()


resource_lists = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "storage"]),
    st.sampled_from(["0", "1", "1500m", "100m", "2Gi", "1n"]),
)
pods = st.builds(
    pod,
    resource_lists,
    st.lists(
        st.builds(
            port, st.integers(0, 3), st.sampled_from(["", "10.0.0.1"]), st.sampled_from(["", "UDP"])
        ),
        max_size=2,
    ),
)


@given(resource_lists, st.lists(pods, max_size=5), pods)
def test_a_pod_that_comes_and_goes_leaves_no_trace(
    offered: Amounts, others: list[Pod], guest: Pod
) -> None:
    before = room(node(**offered), *others)
    demand = node_room.demand_of(guest)

    assert before.with_pod(demand).without_pod(demand) == before
    assert before.without_pod(demand).with_pod(demand) == before


@given(st.lists(pods, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_pods_come_does_not_matter(guests: list[Pod], chance: object) -> None:
    shuffled = list(guests)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis hands in a Random

    assert room(node(cpu="4"), *guests) == room(node(cpu="4"), *shuffled)


@given(resource_lists, st.lists(pods, max_size=4), pods)
def test_a_pod_that_fits_never_overbooks_what_it_asked_for(
    offered: Amounts, others: list[Pod], guest: Pod
) -> None:
    there = room(node(**offered), *others)
    demand = node_room.demand_of(guest)

    after = there.with_pod(demand)

    overbooked = any(after.used[name] > after.allocatable.get(name, 0) for name in demand.amounts)
    assert overbooked is bool(there.shortages(demand))
