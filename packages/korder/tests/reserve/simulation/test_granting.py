"""Claims under competition: the auditor's promises about granted claims and the room behind barriers, each kept and each broken."""

from datetime import timedelta

import pytest
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import (
    WE,
    claimed,
    claiming,
    guardian,
    let_go,
    ordered,
    pod,
    reserved,
    ticket,
)

from korder.api.reserve import HANDOVER_TAINT
from korder.reserve.scenarios.invariants import competition, grants, renewals
from korder.reserve.scenarios.invariants.competition import End
from kubeloop.testing.builders import a_node, a_pod
from pocketkube.simulation.auditing.invariant import Tolerance
from pocketkube.testing.story import Story

NODE = a_node("node-1").offering(cpu="1", memory="1Gi", pods="10")
BARRED = NODE.tainted(HANDOVER_TAINT, value="1")
COMPETITOR = a_pod("other").requesting(cpu="1", memory="1Gi")


def vacated(story: Story) -> None:
    """A guardian has made way for a pod behind a barrier."""
    story.tell(BARRED, claiming(), pod(), guardian().on("node-1"))
    story.lose(guardian(), by=WE)
    story.tell(let_go(), by=WE)


def test_a_barrier_is_removed_when_the_pod_is_bound() -> None:
    story = Story(competition.BarriersStand())
    vacated(story)
    story.tell(let_go().on("node-1"), by="scheduler")
    story.tell(NODE, by=WE)
    assert story.broken == []


@pytest.mark.parametrize(
    ("by", "stated"),
    [
        (WE, ["the barrier of node node-1 was removed before its room was taken"]),
        ("user", []),
    ],
)
def test_we_remove_no_barrier_before_the_pod_is_bound(by: str, stated: list[str]) -> None:
    story = Story(competition.BarriersStand())
    vacated(story)
    story.tell(NODE, by=by)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("bound", "stated"),
    [
        (let_go(), []),
        (COMPETITOR, ["pod other was bound to node node-1 into its room"]),
    ],
    ids=["the claimant", "a competitor"],
)
def test_only_the_claimant_takes_the_room_that_its_guardian_left(
    bound: story_objects.PodBuilder, stated: list[str]
) -> None:
    story = Story(competition.ClaimedRoomIsKept())
    story.tell(COMPETITOR)
    vacated(story)
    story.tell(bound.on("node-1"), by="scheduler")
    assert story.broken == stated


def undone(reason: str = "ClaimUndone") -> story_objects.Builder[story_objects.Ticket]:
    """The ticket of a claim that was undone after its guardian had gone."""
    return ticket("Pending", nodeName="node-1", reason=reason)


@pytest.mark.parametrize("reason", ["ClaimUndone", "NeverBound", "Stolen"])
@pytest.mark.parametrize("told_first", [True, False], ids=["the ticket says so", "nothing said"])
def test_the_room_of_an_undone_claim_is_kept_for_its_ticket(reason: str, told_first: bool) -> None:
    story = Story(competition.ClaimedRoomIsKept())
    story.tell(COMPETITOR)
    vacated(story)
    story.lose(let_go())
    if told_first:
        story.tell(undone(reason), by=WE)
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    lost = ["pod other was bound to node node-1 into its room"]
    assert story.broken == ([] if told_first and reason == "Stolen" else lost)


def test_the_room_of_an_undone_claim_is_kept_until_a_guardian_holds_it() -> None:
    story = Story(competition.ClaimedRoomIsKept(), competition.BarriersStand())
    vacated(story)
    story.lose(let_go())
    story.tell(undone(), by=WE)
    story.tell(guardian(name="g2").on("node-1"), by="scheduler")
    story.tell(NODE, by=WE)
    assert story.broken == []


def test_a_claim_undone_while_its_guardian_terminates_keeps_the_room_too() -> None:
    story = Story(competition.ClaimedRoomIsKept())
    story.tell(COMPETITOR, BARRED, claiming(), pod(), guardian().on("node-1"))
    story.tell(guardian().on("node-1").deleted_at(story.now), by=WE)
    story.lose(pod())
    story.tell(undone(), by=WE)
    story.lose(guardian(), by="nodes")
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    assert story.broken == ["pod other was bound to node node-1 into its room"]


def test_a_barrier_stands_until_the_room_of_an_undone_claim_is_taken_back() -> None:
    story = Story(competition.BarriersStand())
    vacated(story)
    story.lose(let_go())
    story.tell(undone(), by=WE)
    story.tell(NODE, by=WE)
    assert story.broken == ["the barrier of node node-1 was removed before its room was taken"]


def test_a_pod_whose_claim_was_undone_may_be_bound_late() -> None:
    story = Story(competition.ClaimedRoomIsKept())
    vacated(story)
    story.tell(undone("NeverBound"), by=WE)
    story.tell(let_go().on("node-1"), by="scheduler")
    assert story.broken == []


def test_room_of_a_pod_that_was_bound_is_no_room_of_a_claim_any_more() -> None:
    story = Story(competition.ClaimedRoomIsKept(), competition.BarriersStand())
    story.tell(COMPETITOR)
    vacated(story)
    story.tell(let_go().on("node-1"), by="scheduler")
    story.lose(let_go())
    story.tell(undone(), NODE, by=WE)
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    assert story.broken == []


def test_room_that_was_taken_back_and_claimed_again_is_not_awaited() -> None:
    """Also where nothing is judged while a barrier is new."""
    story = Story(competition.ReturningRoomIsKept(Tolerance(stale=timedelta(seconds=20))))
    user = let_go().on("node-1")
    story.tell(NODE, COMPETITOR, user, claimed().but({"spec": {"afterUse": "Reserve"}}))
    story.tell(user.deleted_at(story.now).but({"metadata": {"deletionGracePeriodSeconds": 30}}))
    story.lose(user, by="nodes")
    story.tell(BARRED, by=WE)
    story.tell(guardian().on("node-1"), by="scheduler")
    story.tell(reserved(), claiming(pod="next"), by=WE)
    story.lose(guardian(), by=WE)
    story.tell(let_go("next").on("node-1"), by="scheduler")
    story.tell(NODE, by=WE)
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    assert story.broken == []


@pytest.mark.parametrize(
    ("grace", "seconds", "by", "lost"),
    [
        (30, 1, "nodes", End.DELETED),
        (0, 1, "nodes", End.FORCED),
        (30, 1, "user", End.FORCED),
        (600, 400, "nodes", End.SLOW),
    ],
    ids=["with a grace period", "by force", "by force at last", "for minutes"],
)
def test_how_a_pod_was_deleted_is_known_although_its_kubelet_ends_its_grace_period(
    grace: int, seconds: float, by: str, lost: End
) -> None:
    kept = competition.ReturningRoomIsKept()
    story = Story(kept)
    user = let_go().on("node-1")
    story.tell(NODE, COMPETITOR, user, claimed().but({"spec": {"afterUse": "Reserve"}}))
    going = user.deleted_at(story.now)
    story.tell(going.but({"metadata": {"deletionGracePeriodSeconds": grace}}))
    story.wait(seconds)
    story.tell(going.but({"metadata": {"deletionGracePeriodSeconds": 0}}), by=by)
    story.lose(user, by=by)
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    assert (kept.ended[lost], kept.lost[lost]) == (1, 1)
    assert bool(story.broken) == (lost is End.DELETED)


@pytest.mark.parametrize(
    ("grace", "stated"),
    [
        (30, ["pod other was bound to node node-1 into its room, whose pod was deleted"]),
        (0, []),
    ],
    ids=["with a grace period", "by force"],
)
def test_room_that_returns_after_a_deletion_is_kept(grace: int, stated: list[str]) -> None:
    story = Story(competition.ReturningRoomIsKept())
    used = claimed().but({"spec": {"afterUse": "Reserve"}})
    user = let_go().on("node-1")
    story.tell(NODE, COMPETITOR, user, used)
    going = {"deletionGracePeriodSeconds": grace, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    story.tell(user.but({"metadata": {**going}}))
    story.lose(user, by="nodes")
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    assert story.broken == stated


@pytest.mark.parametrize("after", [claimed(), ticket("Pending")], ids=["bound", "undone"])
def test_an_unbound_claim_leaves_within_seconds(
    after: story_objects.Builder[story_objects.Ticket],
) -> None:
    story = Story(grants.UnboundClaimsLeave())
    vacated(story)
    story.wait(10)
    story.tell(after, by=WE)
    story.wait(60)
    assert story.broken == []


def test_an_unbound_claim_does_not_keep_its_room_for_long() -> None:
    story = Story(grants.UnboundClaimsLeave())
    vacated(story)
    story.wait(60)
    assert story.broken == ["since 00:00:00 pod web is not bound to node node-1"]


def test_a_claim_beside_its_guardian_keeps_no_room_from_others() -> None:
    story = Story(grants.UnboundClaimsLeave())
    story.tell(NODE, claiming(), guardian().on("node-1"), let_go())
    story.wait(60)
    assert story.broken == []


@pytest.mark.parametrize(
    ("waiting", "stated"),
    [
        (pod(), ["since 00:00:00 pod web waits for it on node node-1, which is open"]),
        (pod().but({"spec": {"schedulerName": "none"}}), []),
    ],
    ids=["bindable", "unbindable"],
)
def test_a_claim_does_not_wait_for_others(
    waiting: story_objects.PodBuilder, stated: list[str]
) -> None:
    story = Story(grants.ClaimsAreSwift())
    story.tell(NODE, waiting, claiming(), guardian().on("node-1"))
    story.wait(60)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (reserved(), []),
        (ticket("Pending", reason="NeverBound"), []),
        (ticket("Pending"), ["its claim was undone without a reason"]),
    ],
    ids=["held again", "a reason", "no reason"],
)
def test_a_claim_is_undone_with_a_reason(
    after: story_objects.Builder[story_objects.Ticket], stated: list[str]
) -> None:
    story = Story(grants.UndoneWithReason())
    story.tell(claiming(), after, by=WE)
    assert story.broken == stated


def test_a_claim_is_not_given_up_on_an_open_node() -> None:
    story = Story(grants.ClaimsAreKept())
    vacated(story)
    story.tell(ticket("Pending", reason="Stolen"), by=WE)
    assert story.broken == ["pod web lost it on node node-1, which is open: Stolen"]


def test_a_claim_is_given_up_on_a_cordoned_node() -> None:
    story = Story(grants.ClaimsAreKept())
    vacated(story)
    story.tell(BARRED.cordoned())
    story.tell(ticket("Pending", reason="Stolen"), by=WE)
    assert story.broken == []


@pytest.mark.parametrize(
    ("there", "stated"),
    [
        (claiming(), 0),
        (claimed(), 1),
        (reserved(), 1),
        (ticket("Pending", nodeName="node-1"), 0),
    ],
    ids=["handed over", "in use", "held", "returning"],
)
def test_a_taint_goes_with_the_hand_over(
    there: story_objects.Builder[story_objects.Ticket], stated: int
) -> None:
    story = Story(grants.TaintsAreBrief())
    story.tell(let_go().on("node-1"), there, BARRED)
    story.wait(60)
    assert len(story.broken) == stated


def test_a_pod_without_a_ticket_has_a_condition_that_says_why() -> None:
    story = Story(grants.PinnedPodsHaveTickets())
    vacated(story)
    story.tell(ticket("Pending", reason="NeverBound"), by=WE)
    story.wait(60)
    assert len(story.broken) == 1


def test_the_room_of_a_ticket_that_is_replaced_goes_to_its_successor() -> None:
    story = Story(renewals.RenewedRoomIsKept())
    strategy = {"type": "OneTime", "refreshPolicy": "Always"}
    expired = ordered("t", "Expired", nodeName="node-1")
    story.tell(NODE, COMPETITOR, story_objects.order(strategy=strategy), expired)
    story.tell(guardian().on("node-1"))
    story.lose(guardian(), by=WE)
    made = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    story.tell(ordered("u", "Pending").but({"metadata": {**made}}), by=WE)
    story.tell(COMPETITOR.on("node-1"), by="scheduler")
    story.wait(60)
    assert story.broken == [
        "pod other was bound to node node-1 into the room of ticket t; its successor u waits"
    ]
