"""Builders: what one writes is what one gets."""

from datetime import UTC, datetime

from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import node_room, scheduling
from kubeloop.objects.core import PODS
from kubeloop.testing.builders import a_node, a_pod


def test_a_sentence_becomes_an_object() -> None:
    owner = a_pod("owner").stored("uid-1").build()
    pod = (
        a_pod("web")
        .requesting(cpu="500m", memory="1Gi")
        .on("n1")
        .in_phase("Running")
        .in_namespace("prod")
        .labelled({"app": "web"})
        .owned_by(PODS, owner)
        .deleted_at(datetime(2026, 1, 1, tzinfo=UTC), grace_seconds=5)
        .build()
    )
    assert (pod.metadata.namespace, pod.metadata.labels) == ("prod", {"app": "web"})
    assert pod.spec.containers[0].resources.requests == {"cpu": "500m", "memory": "1Gi"}
    assert (pod.spec.node_name, pod.status.phase) == ("n1", "Running")
    assert pod.metadata.owner_references[0].uid == "uid-1"
    assert pod.metadata.deletion_grace_period_seconds == 5


def test_a_common_beginning_is_not_changed_by_what_follows() -> None:
    base = a_pod("web")
    base.labelled({"app": "web"}).annotated({"note": "x"})
    assert base.build().metadata.labels == {}


def test_built_objects_fit_together() -> None:
    web = a_pod("web").requesting(cpu="500m").tolerating("dedicated")
    gpu = a_node("gpu-1").offering(cpu="8", pods="1").tainted("dedicated", value="gpu")
    room = node_room.room_of(gpu.build())
    assert scheduling.why_not(web.build(), gpu.build(), room) == ()
    assert [m.code for m in scheduling.why_not(web.build(), gpu.cordoned().build(), room)] == [
        "Cordoned"
    ]
    assert [m.code for m in scheduling.why_not(a_pod("x").build(), gpu.build(), room)] == [
        "Tainted"
    ]


def test_what_is_sent_names_its_kind() -> None:
    assert an_order("o", replicas=3).json["kind"] == "Order"
    assert an_order("o", replicas=3).build().spec.replicas == 3
    assert a_ticket("t").json["apiVersion"] == "core.korder.dev/v1alpha1"
