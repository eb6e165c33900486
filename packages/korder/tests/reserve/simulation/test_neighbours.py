"""Claims beside stuck ones of another namespace: the auditor's promise, kept and broken."""

import pytest
from tests.reserve.simulation.story_objects import WE, claimed, claiming, guardian, pod, ticket

from korder.api.reserve import Ticket
from korder.reserve.scenarios.invariants import neighbours
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import HasMetadata
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod
from pocketkube.simulation.auditing.refusals import REFUSES, WEBHOOK
from pocketkube.testing.story import Story

NODE = a_node("node-1").offering(cpu="4", memory="4Gi", pods="10")
THEIRS = {"metadata": {"namespace": "theirs"}}


def of_them(made: Builder[Ticket]) -> Builder[Ticket]:
    """A ticket of another namespace on the same node."""
    return made.but(THEIRS)


def their_pod() -> PodBuilder:
    return a_pod("their").but({"metadata": {"namespace": "theirs", "uid": "uid-their"}})


def namespace(name: str, **labels: str) -> Builder[HasMetadata]:
    return Builder(NAMESPACES, {"metadata": {"name": name, "labels": dict(labels)}})


def our_claim(story: Story) -> None:
    story.tell(NODE, namespace("default"), pod(), guardian().on("node-1"), claiming(), by=WE)


def terminates(story: Story) -> None:
    story.tell(their_pod().on("node-1").deleted_at(story.now), of_them(claimed("x", "their")))


def unbindable(story: Story) -> None:
    scheduler = {"spec": {"schedulerName": "unknown"}}
    story.tell(their_pod().but(scheduler), of_them(claiming("x", "their")))


def refused(story: Story) -> None:
    story.tell(namespace("theirs", **{REFUSES: WEBHOOK}))
    story.tell(their_pod(), of_them(claiming("x", "their")))


def fettered(story: Story) -> None:
    kept = guardian("x", "gx").on("node-1").but(THEIRS)
    story.tell(their_pod(), of_them(claiming("x", "their")))
    story.tell(kept.but({"metadata": {"finalizers": ["example.com/kept"]}}))


@pytest.mark.parametrize("stuck", [terminates, unbindable, refused, fettered])
def test_a_claim_waits_for_no_stuck_one_of_another_namespace(stuck: object) -> None:
    assert callable(stuck)
    story = Story(neighbours.NoClaimWaitsForAnother())
    stuck(story)
    our_claim(story)
    story.wait(4)
    assert story.broken == []
    story.wait(2)
    (stated,) = story.broken
    assert stated.startswith("since 00:00:00 pod web waits for it on node node-1, where ")
    assert stated.endswith("theirs/x")


@pytest.mark.parametrize("stuck", [terminates, unbindable, refused, fettered])
def test_a_claim_that_is_bound_in_time_waits_for_nothing(stuck: object) -> None:
    assert callable(stuck)
    story = Story(neighbours.NoClaimWaitsForAnother())
    stuck(story)
    our_claim(story)
    story.wait(3)
    story.tell(claimed(), by=WE)
    story.wait(60)
    assert story.broken == []


def test_a_claim_waits_for_its_own_namespace_and_its_own_guardian() -> None:
    story = Story(neighbours.NoClaimWaitsForAnother())
    unbindable(story)
    our_claim(story)
    story.tell(namespace("default", **{REFUSES: WEBHOOK}))
    story.wait(60)
    assert story.broken == []
    story.tell(namespace("default"))
    story.tell(guardian().on("node-1").but({"metadata": {"finalizers": ["example.com/kept"]}}))
    story.wait(60)
    assert story.broken == []


def test_where_nothing_of_others_is_stuck_nothing_is_judged() -> None:
    story = Story(neighbours.NoClaimWaitsForAnother())
    story.tell(of_them(ticket("Reserved", "x", nodeName="node-1")))
    our_claim(story)
    story.wait(60)
    assert story.broken == []


def test_a_claim_whose_room_is_not_there_waits_for_that() -> None:
    story = Story(neighbours.NoClaimWaitsForAnother())
    unbindable(story)
    big = a_pod("big").requesting(cpu="4", memory="1Gi").on("node-1")
    story.tell(NODE, namespace("default"), big, pod(), claiming(), by=WE)
    story.wait(60)
    assert story.broken == []
