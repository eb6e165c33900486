"""DaemonSets: which nodes get a pod, which may keep theirs, and how updates go from node to node."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kubeloop.objects import codec, scheduling
from kubeloop.objects.core import NODES, PODS, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DAEMON_SETS, DaemonSet
from kubeloop.testing.builders import NodeBuilder, a_node, a_pod
from pocketkube.controllers import daemonsets, pod_control

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def daemon_set(**spec: JSON) -> DaemonSet:
    said: JSON = {"template": {"spec": {"containers": [], **spec}}}
    return codec.convert({"metadata": {"name": "web", "uid": "u"}, "spec": said}, DaemonSet)


NODES_AND_FATES = {
    "an ordinary node": (a_node("n"), {}, True, True),
    "a cordoned node": (a_node("n").cordoned(), {}, True, True),
    "a node that is not ready": (
        a_node("n").tainted("node.kubernetes.io/not-ready", "NoExecute"),
        {},
        True,
        True,
    ),
    "a tainted node": (a_node("n").tainted("dedicated"), {}, False, True),
    "a node that drives pods out": (a_node("n").tainted("away", "NoExecute"), {}, False, False),
    "a node without the label": (a_node("n"), {"nodeSelector": {"disk": "ssd"}}, False, False),
    "a node without network": (
        a_node("n").tainted("node.kubernetes.io/network-unavailable"),
        {},
        False,
        True,
    ),
    "a node without network for pods of the host": (
        a_node("n").tainted("node.kubernetes.io/network-unavailable"),
        {"hostNetwork": True},
        True,
        True,
    ),
}


@pytest.mark.parametrize(
    ("node", "spec", "wanted", "kept"), NODES_AND_FATES.values(), ids=NODES_AND_FATES.keys()
)
def test_which_nodes_get_a_pod_and_which_keep_theirs(
    node: NodeBuilder, spec: dict[str, JSON], wanted: bool, kept: bool
) -> None:
    (post,) = daemonsets.posts_of(daemon_set(**spec), [node.build()], [])

    assert (post.wanted, post.kept) == (wanted, kept)


def test_the_pod_of_a_node_fits_there_and_nowhere_else() -> None:
    wish: JSON = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    required: JSON = {"requiredDuringSchedulingIgnoredDuringExecution": wish}
    owner = daemon_set(affinity={"nodeAffinity": required})

    pod = codec.convert(daemonsets.pod_of(owner, "here", "web-1"), Pod)

    assert daemonsets.node_of(pod) == "here"
    assert scheduling.unsuited(pod.spec, a_node("here").cordoned().build()) == ()
    assert scheduling.unsuited(pod.spec, a_node("there").build()) != ()


def test_a_pod_too_many_a_finished_one_and_one_on_a_lost_node_end() -> None:
    def pod(name: str, node: str, phase: str = "Running", age: int = 60) -> Pod:
        at = (NOW - timedelta(seconds=age)).isoformat()
        made = a_pod(name).on(node).stored(f"uid-{name}").in_phase(phase)
        return made.but({"metadata": {"creationTimestamp": at}}).build()

    pods = [
        pod("first", "n", age=90),
        pod("second", "n"),
        pod("done", "m", "Failed"),
        pod("just-failed", "o", "Failed", age=0),
        pod("lost", "gone"),
    ]
    nodes = [a_node(name).build() for name in "nmo"]
    steps, again = daemonsets.clearance(daemonsets.posts_of(daemon_set(), nodes, pods), NOW)

    assert {step.key.name for step in steps} == {"second", "done", "lost"}  # type: ignore[union-attr]
    assert again == NOW + daemonsets.BREATH


def served(world: "World") -> set[str]:
    return {daemonsets.node_of(pod) for pod in world.live() if pod_control.is_ready(pod)}


@pytest.mark.parametrize("seed", range(4))
async def test_pods_follow_the_nodes_and_updates_keep_to_their_bound_over_a_bad_wire(
    a_world: "type[World]", seed: int
) -> None:
    world = a_world(seed)
    nodes = [f"n{number}" for number in range(5)]
    for name in nodes:
        world.create(NODES, name, spec={}, status={})
    rolling: JSON = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    world.workload(DAEMON_SETS, updateStrategy=rolling)
    world.misbehave()

    def settled() -> bool:
        status = world.get(DAEMON_SETS).status
        current = status.observed_generation == world.get(DAEMON_SETS).metadata.generation
        return current and status.number_available == status.updated_number_scheduled == len(nodes)

    def never_two_on_a_node() -> None:
        present = [daemonsets.node_of(pod) for pod in world.live()]
        assert len(present) == len(set(present))

    def most_are_served() -> None:
        assert len(served(world)) >= 3

    world.server.checks.append(never_two_on_a_node)
    async with world.running():
        await world.until(lambda: served(world) == set(nodes) and settled())
        world.server.checks.append(most_are_served)
        container: JSON = {"name": "app", "image": "app:2"}
        body: JSON = {"spec": {"template": {"spec": {"containers": [container]}}}}
        world.change(DAEMON_SETS, "web", body)
        await world.until(settled)
        assert {pod.spec.containers[0].image for pod in world.live()} == {"app:2"}
        world.server.checks.clear()
        world.server.delete(world.path(NODES, nodes.pop()), {})
        await world.until(lambda: served(world) == set(nodes) and settled())
        await world.until(lambda: len(world.all(PODS)) == len(nodes))
