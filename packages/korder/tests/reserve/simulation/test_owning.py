"""Who has a ticket: the auditor's promises about owners, each kept and each broken (design part 6, invariant 1)."""

import pytest
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import (
    WE,
    claimed,
    claiming,
    let_go,
    pod,
    reserved,
    ticket,
)

from korder.reserve.scenarios.invariants import owners
from kubeloop.objects.meta import JSON
from pocketkube.testing.story import Story

SHARED: JSON = {"spec": {"allocateOnce": False}}


@pytest.mark.parametrize(
    ("phases", "stated"),
    [
        (("", "Pending", "Reserved", "Claiming", "Claimed", "Released"), []),
        (("Reserved", "Pending", "Reserved", "Expired"), []),
        (("Claimed", "Reserved", "Claiming"), []),
        (("Reserved", "Claimed"), ["it went from Reserved to Claimed"]),
        (("Pending", "Claiming"), ["it went from Pending to Claiming"]),
        (("Expired", "Claiming"), ["it went from Expired to Claiming"]),
        (("Released", "Reserved"), ["it went from Released to Reserved"]),
        (("Claimed", "Expired"), ["it went from Claimed to Expired"]),
    ],
    ids=" ".join,
)
def test_phases_follow_each_other_as_they_should(
    phases: tuple[str, ...], stated: list[str]
) -> None:
    story = Story(owners.PhasesInOrder())
    for phase in phases:
        story.tell(ticket(phase), by=WE)
    assert story.broken == stated


def test_a_pod_has_one_ticket_at_a_time() -> None:
    story = Story(owners.OneTicketEach())
    story.tell(claiming("t"), reserved("t"), claiming("u"), by=WE)
    assert story.broken == []
    story.tell(claiming("t"), by=WE)
    assert story.broken == ["it was given to a pod that has u (UID uid-web)"]


def test_a_ticket_that_has_ended_keeps_its_pod_only_as_history() -> None:
    story = Story(owners.OneTicketEach())
    story.tell(
        claimed("t"), ticket("Released", "t", claimedBy=story_objects.reference("web")), by=WE
    )
    story.tell(claiming("u"), by=WE)
    assert story.broken == []


def test_a_claim_does_not_go_over_from_pod_to_pod() -> None:
    story = Story(owners.OneOwner())
    story.tell(claiming(pod="a"), reserved(), claiming(pod="b"), by=WE)
    assert story.broken == []
    story.tell(claiming(pod="c"), by=WE)
    assert story.broken == ["pods uid-b had it, now uid-c do"]


@pytest.mark.parametrize(
    ("cpus", "stated"),
    [(["500m", "500m"], []), (["500m", "600m"], ["its pods take more cpu than it has"])],
    ids=["as much as there is", "more than there is"],
)
def test_pods_that_share_a_ticket_fit_into_it(cpus: list[str], stated: list[str]) -> None:
    story = Story(owners.OneOwner())
    shares: list[JSON] = [story_objects.share(f"p{n}", cpu) for n, cpu in enumerate(cpus)]
    story.tell(reserved(sharedBy=shares).but(SHARED), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (let_go().on("node-1"), ["it was taken from pod web, which lives on node-1"]),
        (let_go().on("node-1").in_phase("Succeeded"), []),
        (let_go(), []),
    ],
    ids=["it runs", "it has ended", "it was never bound"],
)
def test_a_ticket_stays_with_a_pod_that_lives(
    after: story_objects.PodBuilder, stated: list[str]
) -> None:
    story = Story(owners.OwnersStay())
    story.tell(claimed(), let_go(), after)
    story.wait(60)
    story.tell(reserved(), by=WE)
    assert story.broken == stated


def test_a_scale_down_takes_no_claimed_ticket() -> None:
    """A scale down takes no claimed ticket (rule 18)."""
    story = Story(owners.OwnersStay())
    held = story_objects.ordered(
        "o-0", "Claimed", nodeName="node-1", claimedBy=story_objects.reference("web")
    )
    story.tell(story_objects.order(), let_go().on("node-1"), held)
    story.wait(60)
    story.tell(held.deleted_at(story.now), by=WE)
    assert story.broken == ["it was taken from pod web, which lives on node-1"]


@pytest.mark.parametrize(
    ("owner", "stated"),
    [
        (claiming(), []),
        (claiming(pod="other"), ["it was let go, but ticket t names uid-other"]),
        (reserved(), ["it was let go, but ticket t names nobody"]),
    ],
    ids=["it is named", "another one is", "nobody is"],
)
def test_a_pod_goes_only_with_a_ticket_that_names_it(
    owner: story_objects.Builder[story_objects.Ticket], stated: list[str]
) -> None:
    story = Story(owners.OnlyTheNamedGo())
    story.tell(owner, pod())
    story.tell(let_go(), by=WE)
    assert story.broken == stated


def test_who_writes_the_annotation_himself_is_not_judged() -> None:
    """A user who writes the annotation is not judged (S17)."""
    story = Story(owners.OnlyTheNamedGo())
    story.tell(reserved(), pod(), let_go(), by="user")
    assert story.broken == []
