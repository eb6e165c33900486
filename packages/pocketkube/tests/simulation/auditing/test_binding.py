"""Bindings: once, not through gates, to nodes that suit and have room. Each promise is shown kept and broken."""

import pytest

from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node, a_pod
from pocketkube.simulation.invariants.binding import BoundOnce, GatesHold, SuitableNode
from pocketkube.simulation.invariants.capacity import KubeletsRefuse, NoOverbooking
from pocketkube.testing.story import Story

WEB = a_pod("web").requesting(cpu="3")
OTHER = a_pod("other").requesting(cpu="2")
NODE = a_node("node-1")
RUNNING = {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}
PORT = {
    "spec": {
        "containers": [
            {"name": "app", "image": "app", "ports": [{"containerPort": 1, "hostPort": 80}]}
        ]
    }
}


def bind(story: Story, pod: PodBuilder, by: str = "scheduler") -> None:
    story.tell(pod)
    story.tell(pod.on("node-1"), by=by)


def test_a_pod_that_is_bound_once_and_then_runs_is_fine() -> None:
    story = Story(BoundOnce())
    bind(story, WEB)
    story.tell(WEB.on("node-1").in_phase("Running"))
    assert story.broken == []


@pytest.mark.parametrize(
    ("then", "words"),
    [
        pytest.param(WEB.on("node-2"), "is now on node-2", id="moved"),
        pytest.param(WEB, "is now on none", id="unbound"),
    ],
)
def test_a_pod_that_leaves_its_node_is_seen(then: PodBuilder, words: str) -> None:
    story = Story(BoundOnce())
    bind(story, WEB)
    story.tell(then)
    assert story.broken == [f"it was on node node-1 and {words}"]


def test_gates_are_lifted_before_a_pod_is_bound() -> None:
    story = Story(GatesHold())
    story.tell(WEB.gated_by("korder.dev/claim"), WEB, WEB.on("node-1"))
    assert story.broken == []
    story.tell(OTHER.gated_by("korder.dev/claim").on("node-1"))
    assert story.broken == ["it is on node node-1 in spite of its gates korder.dev/claim"]


@pytest.mark.parametrize(
    ("pod", "node", "words"),
    [
        pytest.param(WEB, NODE.cordoned(), "node node-1 is cordoned", id="cordoned"),
        pytest.param(
            WEB,
            NODE.tainted("gpu"),
            "does not tolerate taint gpu:NoSchedule of node node-1",
            id="tainted",
        ),
        pytest.param(
            WEB.but({"spec": {"nodeSelector": {"zone": "a"}}}),
            NODE,
            "needs labels zone=a, which node node-1 lacks",
            id="not selected",
        ),
    ],
)
def test_a_binding_to_a_node_that_does_not_suit_is_seen(
    pod: PodBuilder, node: NodeBuilder, words: str
) -> None:
    story = Story(SuitableNode())
    story.tell(node)
    bind(story, pod)
    assert story.broken == [f"it was bound to node node-1 but {words}"]


def test_a_binding_to_a_node_that_suits_is_fine() -> None:
    story = Story(SuitableNode())
    story.tell(NODE.tainted("gpu"))
    bind(story, WEB.tolerating("gpu"))
    assert story.broken == []


@pytest.mark.parametrize(
    ("seconds", "fine"),
    [pytest.param(4, True, id="a moment ago"), pytest.param(6, False, id="long ago")],
)
@pytest.mark.parametrize("gone", [True, False], ids=["node removed", "node cordoned"])
def test_a_scheduler_may_not_have_seen_yet_what_became_of_a_node(
    seconds: float, fine: bool, gone: bool
) -> None:
    story = Story(SuitableNode())
    story.tell(NODE, WEB)
    if gone:
        story.lose(NODE)
    else:
        story.tell(NODE.cordoned())
    story.wait(seconds)
    story.tell(WEB.on("node-1"), by="scheduler")
    assert (story.broken == []) is fine


def test_whoever_names_the_node_himself_is_free_to_err() -> None:
    story = Story(SuitableNode(), NoOverbooking())
    story.tell(WEB.on("nowhere"), OTHER)
    story.tell(OTHER.on("nowhere"), by="user")
    assert story.broken == []


def full(*invariants: NoOverbooking | KubeletsRefuse) -> Story:
    """A story of a node of 4 cpu on which a pod runs that takes 3."""
    story = Story(*invariants)
    story.tell(NODE)
    story.wait(60)
    bind(story, WEB)
    story.tell(WEB.on("node-1").but(RUNNING))
    story.wait(60)
    return story


def test_a_binding_into_room_that_is_not_there_is_seen() -> None:
    story = full(NoOverbooking())
    bind(story, OTHER)
    assert story.broken == ["it was bound to node node-1 and takes cpu 2 of 1"]


def test_room_that_a_pod_gave_back_can_be_given_away_again() -> None:
    story = full(NoOverbooking())
    story.tell(WEB.on("node-1").in_phase("Succeeded"))
    bind(story, OTHER)
    bind(story, a_pod("third").requesting(cpu="2"))
    story.lose(OTHER)
    bind(story, a_pod("fourth").requesting(cpu="2"))
    assert story.broken == []


def test_a_host_port_is_given_away_once() -> None:
    story = full(NoOverbooking())
    bind(story, a_pod("a").but(PORT))
    assert story.broken == []
    bind(story, a_pod("b").but(PORT))
    assert story.broken == [
        "it was bound to node node-1 and takes host port TCP 0.0.0.0:80 that is taken"
    ]


@pytest.mark.parametrize(
    "surprise",
    [
        pytest.param(
            a_pod("self-made").requesting(cpu="1").on("node-1"), id="a pod came by itself"
        ),
        pytest.param(NODE.offering(cpu="3", pods="110"), id="the node shrank"),
        pytest.param(a_pod("web").requesting(cpu="4").on("node-1"), id="a pod was resized"),
    ],
)
def test_what_a_scheduler_could_not_foresee_is_not_its_fault(
    surprise: PodBuilder | NodeBuilder,
) -> None:
    story = full(NoOverbooking())
    story.tell(surprise)
    story.wait(1)
    bind(story, a_pod("small").requesting(cpu="1"))
    assert story.broken == []
    story.wait(10)
    bind(story, a_pod("later").requesting(cpu="1"))
    assert len(story.broken) == 1


def test_room_that_grew_excuses_nobody() -> None:
    story = Story(NoOverbooking())
    story.tell(NODE)
    bind(story, WEB)
    bind(story, OTHER)
    assert story.broken == ["it was bound to node node-1 and takes cpu 2 of 1"]


def test_a_kubelet_refuses_what_does_not_fit() -> None:
    story = full(KubeletsRefuse())
    late = OTHER.on("node-1")
    story.tell(late, late.in_phase("Failed"))
    assert story.broken == []
    story.lose(late)
    story.tell(late, late.but(RUNNING))
    assert story.broken == ["it was started on node node-1 and takes cpu 2 of 1"]
