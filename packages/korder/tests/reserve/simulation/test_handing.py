"""The hand-over: the auditor's promises about batches and deadlines, each kept and each broken (spec 1.15; invariant 3)."""

import pytest
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import (
    WE,
    claimed,
    claiming,
    guardian,
    let_go,
    nominated,
    pod,
    reserved,
    ticket,
)

from korder.reserve.scenarios.invariants import handovers
from kubeloop.testing.builders import a_node
from pocketkube.testing.story import Story

FULL = a_node("node-1").offering(cpu="2", memory="2Gi", pods="10")
ROOMY = a_node("node-1").offering(cpu="8", memory="16Gi", pods="10")
DEADLINE = "2026-01-01T00:01:00Z"


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (claimed(), []),
        (ticket("Pending"), []),
        (claiming(claimDeadline=DEADLINE), ["it was not done or undone 1 s after that was due"]),
    ],
    ids=["done", "undone", "under way for ever"],
)
def test_a_hand_over_is_over_at_its_deadline(
    after: story_objects.Builder[story_objects.Ticket], stated: list[str]
) -> None:
    """A hand over is over at its deadline (rule 9, S24)."""
    story = Story(handovers.ClaimsEnd(), handovers.DeadlinesStand())
    story.tell(claiming(claimDeadline=DEADLINE), by=WE)
    story.wait(60)
    story.tell(after, by=WE)
    story.wait(100)
    assert story.broken == stated


def test_a_deadline_is_not_put_off() -> None:
    story = Story(handovers.DeadlinesStand())
    story.tell(claiming(claimDeadline=DEADLINE), claiming(claimDeadline="2026-01-01T00:02:00Z"))
    assert len(story.broken) == 1


@pytest.mark.parametrize(
    ("waiting", "stated"),
    [
        (nominated(), []),
        (let_go().on("node-1"), []),
        (pod(), ["it left node node-1 without a barrier for pod web"]),
        (
            nominated(node="node-2"),
            ["it left node node-1 without a barrier for pod web"],
        ),
    ],
    ids=["nominated", "bound before", "not nominated", "nominated elsewhere"],
)
def test_a_guardian_goes_only_for_a_nominated_pod(
    waiting: story_objects.PodBuilder, stated: list[str]
) -> None:
    story = Story(handovers.ProtectedFirst())
    story.tell(claiming(), waiting, guardian().on("node-1"))
    story.lose(guardian(), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("seconds", "stated"),
    [(1, []), (60, ["it left node node-1 without a barrier for pod web"])],
    ids=["a moment ago", "long ago"],
)
def test_a_nomination_may_have_been_taken_back_before_anybody_could_know(
    seconds: float, stated: list[str]
) -> None:
    story = Story(handovers.ProtectedFirst())
    story.tell(claiming(), nominated(), guardian().on("node-1"))
    story.tell(pod())
    story.wait(seconds)
    story.lose(guardian(), by=WE)
    assert story.broken == stated


def test_a_guardian_goes_behind_a_barrier() -> None:
    story = Story(handovers.ProtectedFirst())
    barrier = a_node("node-1").tainted("korder.dev/handover", value="1")
    story.tell(barrier, claiming(), pod(), guardian().on("node-1"))
    story.lose(guardian(), by=WE)
    assert story.broken == []


def test_the_room_that_a_ticket_had_before_it_moved_is_nobodys() -> None:
    story = Story(handovers.ProtectedFirst())
    moved = claiming().but({"status": {"nodeName": "node-2"}})
    story.tell(moved, pod(), guardian().on("node-1"))
    story.lose(guardian(), by=WE)
    assert story.broken == []


def batch(story: Story, node: story_objects.Builder[object]) -> None:
    """Two tickets of one node that are handed over together."""
    story.tell(node, claiming("t", "web"), claiming("u", "db"))
    story.tell(guardian("t", "g-t").on("node-1"), guardian("u", "g-u").on("node-1"))
    story.tell(nominated("web"), nominated("db"))
    story.wait(60)


def test_a_batch_goes_when_all_its_guardians_are_gone() -> None:
    story = Story(handovers.BarrierHolds())
    batch(story, FULL)
    story.lose(guardian("t", "g-t"), guardian("u", "g-u"), by=WE)
    story.tell(let_go("web", "t"), let_go("db", "u"), by=WE)
    assert story.broken == []


def test_no_pod_goes_before_the_guardian_of_another_one_is_gone() -> None:
    """The middle row of table 1.15."""
    story = Story(handovers.BarrierHolds())
    batch(story, FULL)
    story.lose(guardian("t", "g-t"), by=WE)
    story.tell(let_go("web", "t"), by=WE)
    assert story.broken == ["it was let go on node-1 while guardian g-u stood"]


@pytest.mark.parametrize(
    ("node", "stated"),
    [(FULL, ["it was let go on node-1 while guardian g-t stood"]), (ROOMY, [])],
    ids=["a full node", "a node with room for both"],
)
def test_a_pod_goes_before_its_guardian_only_where_both_fit(
    node: story_objects.Builder[object], stated: list[str]
) -> None:
    story = Story(handovers.BarrierHolds())
    batch(story, node)
    story.lose(guardian("u", "g-u"), by=WE)
    filler = pod("filler").but({"spec": {"schedulingGates": None}})
    story.tell(filler)
    story.tell(filler.on("node-1"))
    story.wait(60)
    story.tell(let_go("web", "t"), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("owner", "stated"),
    [
        (let_go().on("node-1"), []),
        (let_go(), ["it is Claimed on node node-1, its pod is on none"]),
        (let_go().on("node-2"), ["it is Claimed on node node-1, its pod is on node-2"]),
    ],
    ids=["on its node", "not bound yet", "elsewhere"],
)
def test_a_ticket_is_claimed_when_its_pod_is_there(
    owner: story_objects.PodBuilder, stated: list[str]
) -> None:
    """A ticket is claimed when its pod is there (S10)."""
    story = Story(handovers.ClaimedWhereHeld())
    story.tell(reserved(), claiming(), owner)
    story.tell(claimed(), by=WE)
    assert story.broken == stated
