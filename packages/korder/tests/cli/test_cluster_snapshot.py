"""The shape of a real cluster as machines: what is free, for whom, and which nodes do not count."""

from korder.cli.cluster_snapshot import ClusterSnapshot, cluster_snapshot
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DEPLOYMENTS, REPLICA_SETS, Deployment, ReplicaSet
from kubeloop.testing.builders import Builder, a_node, a_pod
from pocketkube.simulation.report.workload_rows import Name

WEB = Name("Deployment", "default", "web")


def web() -> tuple[Deployment, ReplicaSet]:
    meta: JSON = {"name": "web", "namespace": "default", "uid": "d"}
    deployment: Deployment = Builder(DEPLOYMENTS, {"metadata": meta}).build()
    below: Builder[ReplicaSet] = Builder(
        REPLICA_SETS, {"metadata": {"name": "web-1", "namespace": "default", "uid": "r"}}
    )
    return deployment, below.owned_by(DEPLOYMENTS, deployment).build()


def taken(
    *nodes: Node, pods: tuple[Pod, ...] = (), played: tuple[Name, ...] = ()
) -> ClusterSnapshot:
    return cluster_snapshot(nodes, pods, [web()[1]], played)


def test_what_pods_take_is_not_offered() -> None:
    pod = a_pod("one").requesting(cpu="1500m", memory="1Gi").on("a").build()
    shape = taken(a_node("a").build(), pods=(pod,)).machines["a"]
    assert (shape.cpu, shape.memory, shape.pods) == ("2500m", "7Gi", 109)


def test_pods_that_have_ended_take_nothing() -> None:
    pod = a_pod("one").requesting(cpu="2").on("a").in_phase("Succeeded").build()
    assert taken(a_node("a").build(), pods=(pod,)).machines["a"].cpu == "4"


def test_pods_of_what_is_played_give_their_room_back() -> None:
    pod = a_pod("web-1-x").requesting(cpu="2").on("a").owned_by(REPLICA_SETS, web()[1]).build()
    node = a_node("a").build()
    assert taken(node, pods=(pod,)).machines["a"].cpu == "2"
    assert taken(node, pods=(pod,), played=(WEB,)).machines["a"].cpu == "4"


def test_a_bare_pod_that_is_played_gives_its_room_back() -> None:
    pod = a_pod("one").requesting(cpu="2").on("a").build()
    played = (Name("Pod", "default", "one"),)
    assert taken(a_node("a").build(), pods=(pod,), played=played).machines["a"].cpu == "4"


def test_an_overbooked_node_offers_nothing() -> None:
    pod = a_pod("one").requesting(cpu="9").on("a").build()
    assert taken(a_node("a").build(), pods=(pod,)).machines["a"].cpu == "0"


def test_labels_taints_and_other_resources_are_kept() -> None:
    node = a_node("a").offering(**{"cpu": "4", "memory": "8Gi", "pods": "9", "nvidia.com/gpu": "2"})
    shape = taken(node.tainted("dedicated", value="gpu").build()).machines["a"]
    assert shape.labels == {"kubernetes.io/hostname": "a"}
    assert shape.taints == ({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},)
    assert shape.extended == {"nvidia.com/gpu": "2"}


def test_nodes_that_take_no_pods_are_left_out() -> None:
    found = taken(
        a_node("a").build(), a_node("b").cordoned().build(), a_node("c").not_ready().build()
    )
    assert list(found.machines) == ["a"]
    assert found.left_out == ("b", "c")


def test_taints_of_conditions_are_left_to_controllers() -> None:
    node = a_node("a").tainted("node.kubernetes.io/memory-pressure").build()
    assert taken(node).machines["a"].taints == ()
