"""Guardians: the auditor's promises about held room, each kept and each broken (design part 6, invariant 2)."""

import pytest
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import WE, claimed, guardian, let_go, reserved, ticket

from korder.reserve.scenarios.invariants import guardians
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node
from pocketkube.testing.story import Story


@pytest.mark.parametrize(
    ("standing", "stated"),
    [
        ([guardian().on("node-1")], []),
        ([guardian()], ["it is Reserved on node node-1, its guardians are on no node"]),
        ([], ["it is Reserved on node node-1, its guardians are on no node"]),
        ([guardian().on("node-2")], ["it is Reserved on node node-1, its guardians are on node-2"]),
    ],
    ids=["bound", "made but not bound", "not made", "bound elsewhere"],
)
def test_a_ticket_is_reserved_only_when_its_guardian_is_bound(
    standing: list[story_objects.PodBuilder], stated: list[str]
) -> None:
    """A ticket is reserved only when its guardian is bound (S1)."""
    story = Story(guardians.ReservedWhenBound())
    story.tell(ticket("Pending"), *standing)
    story.tell(reserved(), by=WE)
    assert story.broken == stated


def test_a_reserved_ticket_that_loses_its_guardian_says_so_soon() -> None:
    """A reserved ticket that loses its guardian says so soon (S8)."""
    story = Story(guardians.ReservedIsGuarded())
    story.tell(reserved(), guardian().on("node-1"))
    story.wait(100)
    story.lose(guardian())
    story.wait(5)
    story.tell(ticket("Pending"), by=WE)
    story.wait(100)
    assert story.broken == []
    story.tell(reserved(), by=WE)
    story.wait(100)
    assert story.broken == ["since 00:03:25 it is Reserved with 0 bound guardians"]


def test_a_shared_ticket_has_a_guardian_for_what_is_left() -> None:
    """A shared ticket has a guardian for what is left (rule 11)."""
    shared: JSON = {"spec": {"allocateOnce": False}}
    taken: list[JSON] = [story_objects.share("web")]
    story = Story(guardians.ReservedIsGuarded())
    story.tell(reserved(sharedBy=taken).but(shared), guardian().on("node-1"))
    story.wait(100)
    assert story.broken == [
        "since 00:00:00 its guardian holds cpu 1, memory 1Gi instead of cpu 500m, memory 512Mi"
    ]


@pytest.mark.parametrize(
    ("state", "stated"),
    [
        (reserved(), []),
        (ticket("Expired"), ["since 00:00:00 its ticket has Expired"]),
        (ticket("Released"), ["since 00:00:00 its ticket has Released"]),
        (claimed(), ["since 00:00:00 its ticket is Claimed by a pod that lives"]),
        (claimed(pod="gone"), []),
    ],
    ids=["Reserved", "Expired", "Released", "Claimed", "Claimed by a pod that is gone"],
)
def test_no_guardian_stands_for_a_ticket_that_needs_none(
    state: story_objects.Builder[story_objects.Ticket], stated: list[str]
) -> None:
    story = Story(guardians.NoStrayGuardians())
    story.tell(let_go().on("node-1"), state, guardian().on("node-1"))
    story.wait(100)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("second", "stated"),
    [
        (let_go("b"), ["since 00:00:00 its ticket is used up by the pods that share it"]),
        (let_go("b").but({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), []),
    ],
    ids=["all stay", "one is going"],
)
def test_a_guardian_comes_back_for_a_share_whose_pod_is_going(
    second: story_objects.PodBuilder, stated: list[str]
) -> None:
    """Rules 10 and 11; found on a lost node, where a pod that is going stays."""
    shared: JSON = {"spec": {"allocateOnce": False}}
    taken: list[JSON] = [story_objects.share("a"), story_objects.share("b")]
    story = Story(guardians.NoStrayGuardians())
    full = ticket("Claimed", nodeName="node-1", sharedBy=taken).but(shared)
    story.tell(let_go("a").on("node-1"), second.on("node-1"), full, guardian())
    story.wait(100)
    assert story.broken == stated


def test_a_guardian_goes_with_its_ticket() -> None:
    story = Story(guardians.NoStrayGuardians())
    story.tell(reserved(), guardian().on("node-1"))
    story.lose(reserved())
    story.wait(100)
    assert story.broken == ["since 00:00:00 its ticket is gone"]


@pytest.mark.parametrize(
    ("node", "others", "stated"),
    [
        (
            a_node("node-1"),
            [],
            ["it was deleted on node node-1 while its ticket was Reserved"],
        ),
        (a_node("node-1").cordoned(), [], []),
        (a_node("node-1").not_ready(), [], []),
        (a_node("node-1"), [guardian(name="g2").on("node-2")], []),
    ],
    ids=["alone", "on a cordoned node", "on a lost node", "with a successor"],
)
def test_we_delete_no_guardian_that_is_needed(
    node: story_objects.Builder[object], others: list[story_objects.PodBuilder], stated: list[str]
) -> None:
    story = Story(guardians.GuardiansAreKept())
    story.tell(node, reserved(), guardian().on("node-1"), *others)
    story.lose(guardian(), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("owner", "stated"),
    [
        (let_go().on("node-1"), []),
        (
            let_go().on("node-1").in_phase("Failed"),
            ["since 00:00:00 it is Claimed by a pod that is over (UID uid-web)"],
        ),
        (
            let_go("another"),
            ["since 00:00:00 it is Claimed by a pod that is gone (UID uid-web)"],
        ),
    ],
    ids=["alive", "over", "gone"],
)
def test_a_claim_ends_with_its_pod(owner: story_objects.PodBuilder, stated: list[str]) -> None:
    """A claim ends with its pod (S16)."""
    story = Story(guardians.ClaimsAreLive())
    story.tell(owner, claimed())
    story.wait(100)
    assert story.broken == stated


def test_a_claim_whose_ticket_is_being_deleted_ends_with_the_ticket() -> None:
    """Its guardian may be on a lost node; that it goes at all is a promise of its own."""
    story = Story(guardians.ClaimsAreLive())
    going: JSON = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    story.tell(let_go("another"), claimed().but(going))
    story.wait(100)
    assert not story.broken
