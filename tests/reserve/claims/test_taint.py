"""The hand-over behind a taint, as a state machine: what it does next follows from node, tickets, pods and guardians alone."""

from datetime import timedelta

import pytest
from tests.reserve.claims.batches import (
    NODE,
    NOW,
    claiming,
    decide,
    gated,
    going,
    guardian,
    member,
    opened,
    told,
)

from korder.api import codec, instant, patch
from korder.api.core import NODES, Node, Pod
from korder.api.meta import JSON
from korder.api.plan import Patch, Plan
from korder.api.reserve import HANDOVER_TAINT
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.scene import Return, Settings
from korder.reserve.rules.claims.taint import (
    JOIN_FOR,
    RETURN_WITHIN,
    SILENT_AFTER,
    UNBOUND_AFTER,
)
from korder.reserve.rules.tickets import barrier
from korder.testing.builders import Builder, a_node, a_pod

FULL = (guardian("other", cpu="3"),)
CROWDED = (guardian("other", cpu="4"),)
TOKEN = barrier.new_token(NOW - timedelta(seconds=1))
BARE = a_node(NODE).stored("uid-node")


def behind(token: str) -> Builder[Node]:
    """The node with a barrier."""
    return a_node(NODE).tainted(HANDOVER_TAINT, value=token).stored("uid-node")


BEHIND = behind(TOKEN)


def let_go(seconds_ago: float, name: str = "web", said: str = "") -> Builder[Pod]:
    """A pod that passed the barrier so long ago and is not bound."""
    at = instant.render(NOW - timedelta(seconds=seconds_ago))
    toleration: JSON = {
        "key": HANDOVER_TAINT,
        "operator": "Equal",
        "value": TOKEN,
        "effect": "NoSchedule",
    }
    pod = opened(name, said=said).annotated({"korder.dev/opened-at": at})
    return pod.but({"spec": {"tolerations": [toleration], "schedulerName": "default-scheduler"}})


def steps(
    *members: Member,
    there: tuple[Builder[Pod], ...] = FULL,
    node: Builder[Node] | None = BEHIND,
    returning: tuple[Return, ...] = (),
) -> list[list[str]]:
    return told(decide(*members, there=there, node=node, settings=Settings(), returning=returning))


WAITS = member(claiming("t"), gated(), guardian())


def test_on_a_full_node_the_barrier_is_raised_before_the_guardian_goes() -> None:
    assert steps(WAITS, node=BARE) == [["raise barrier"], ["delete g"]]


def test_where_there_is_room_for_both_the_pod_goes_first_and_no_node_is_tainted() -> None:
    assert steps(WAITS, there=(), node=BARE) == [["open web"]]


def test_a_pod_is_let_go_when_its_own_guardian_is_gone_whatever_its_neighbours_do() -> None:
    leaving = member(claiming("t"), gated(), going(guardian()))
    vacated = member(claiming("u", "api"), gated("api"))
    there = (guardian("other", cpu="2"),)
    assert steps(leaving, vacated, there=there) == [["open api through barrier"]]


def test_a_bound_pod_ends_its_hand_over_and_the_barrier_is_lowered_last() -> None:
    done = member(claiming("t"), let_go(1).but({"spec": {"nodeName": NODE}}))
    assert steps(done) == [["mark[same] web"], ["t is Claimed (InUse)"], ["lower barrier"]]


def test_the_barrier_stands_while_one_member_is_not_bound() -> None:
    done = member(claiming("t"), let_go(1).but({"spec": {"nodeName": NODE}}))
    waits = member(claiming("u", "api"), let_go(1, "api"))
    there = (guardian("other", cpu="2"),)
    assert ["lower barrier"] not in steps(done, waits, there=there)


def test_a_barrier_without_a_hand_over_is_lowered() -> None:
    assert steps() == [["lower barrier"]]


def test_a_barrier_that_was_removed_from_outside_is_raised_again_and_its_pods_may_pass_it() -> None:
    lost = member(claiming("t"), let_go(1))
    assert steps(lost, node=BARE) == [["raise barrier"], ["let web through barrier"]]


def test_a_pod_whose_free_room_was_taken_gets_the_room_of_its_guardian() -> None:
    """The fast path falls back to the slow one: the guardian is still there."""
    pushed = member(claiming("t"), opened(said="0/1 nodes: Insufficient cpu"), guardian())
    plan = steps(pushed, node=BARE)
    assert plan == [["raise barrier"], ["let web through barrier"], ["delete g"]]


def test_a_pod_beside_its_guardian_passes_a_barrier_that_was_raised_for_others() -> None:
    beside = member(claiming("t"), opened(), guardian())
    other = member(claiming("u", "api"), gated("api"), going(guardian("h", cpu="2")))
    assert steps(beside, other, there=()) == [["let web through barrier"]]


@pytest.mark.parametrize(
    ("pod", "is_over"),
    [
        pytest.param(let_go(UNBOUND_AFTER.seconds - 1, said="no volume"), False, id="refused now"),
        pytest.param(let_go(UNBOUND_AFTER.seconds, said="no volume"), True, id="refused for long"),
        pytest.param(let_go(SILENT_AFTER.seconds - 1), False, id="its scheduler may be late"),
        pytest.param(let_go(SILENT_AFTER.seconds), True, id="its scheduler is silent"),
        pytest.param(
            let_go(UNBOUND_AFTER.seconds).but({"spec": {"schedulerName": "unknown"}}),
            True,
            id="a scheduler that was never seen",
        ),
    ],
)
def test_a_member_that_is_not_bound_within_seconds_leaves_by_itself(
    pod: Builder[Pod], is_over: bool
) -> None:
    stuck = member(claiming("t"), pod)
    neighbour = member(claiming("u", "api"), gated("api"))
    plan = steps(stuck, neighbour, there=(guardian("other", cpu="2"),))
    ends = ["t is Pending (NeverBound)"] in plan
    assert ends is is_over
    assert any("open api through barrier" in stage for stage in plan)


def test_a_gated_pod_whose_room_is_gone_stays_gated_and_claims_another_ticket() -> None:
    robbed = member(claiming("t"), gated())
    assert steps(robbed, there=CROWDED)[0] == ["t is Pending (Lost)"]


def test_no_guardian_is_sent_away_on_a_node_that_has_become_too_small_for_the_pod() -> None:
    small = a_node(NODE).but({"status": {"allocatable": {"cpu": "500m"}}})
    assert steps(WAITS, there=(), node=small) == [["t is Reserved"]]


def test_a_guardian_that_cannot_go_is_not_sent_away() -> None:
    held = guardian().but({"metadata": {"finalizers": ["example.com/slow"]}})
    assert steps(member(claiming("t"), gated(), held), node=BARE) == []


def test_a_barrier_that_stands_for_long_takes_no_new_members_until_it_was_lowered_once() -> None:
    old = behind(barrier.new_token(NOW - JOIN_FOR))
    assert steps(WAITS, node=old) == [["lower barrier"]]


def test_a_pod_that_was_let_go_by_an_earlier_barrier_does_not_pass_a_later_one() -> None:
    earlier = let_go(100).build()
    assert barrier.tolerates(earlier, TOKEN)
    assert not barrier.tolerates(earlier, barrier.new_token(NOW))


def test_room_that_a_ticket_takes_back_stands_behind_the_barrier() -> None:
    waiting = a_pod("back").requesting(cpu="1").gated_by("korder.dev/guardian").stored("uid-back")
    occupied = Return(is_occupied=True, waiting=(waiting.build(),))
    raised = steps(node=BARE, returning=(occupied,))
    assert raised == [["raise barrier"], ["let back through barrier"]]
    returns = Return(is_occupied=False, waiting=(waiting.build(),))
    assert steps(returning=(returns,)) == [["let back through barrier"]]
    assert steps(there=CROWDED, returning=(returns,)) == []


def test_a_barrier_does_not_stand_for_ever_for_a_pod_that_does_not_go() -> None:
    old = behind(barrier.new_token(NOW - RETURN_WITHIN))
    assert steps(node=old, returning=(Return(is_occupied=True),)) == [["lower barrier"]]


def test_other_taints_of_a_node_stay_as_they_are() -> None:
    node = a_node(NODE).tainted("example.com/gpu").build()
    step = barrier.raised(node, TOKEN)
    raised = node_after(node, step)
    assert [taint.key for taint in raised.spec.taints] == ["example.com/gpu", HANDOVER_TAINT]
    assert node_after(raised, barrier.lowered(raised)).spec.taints == node.spec.taints


def node_after(node: Node, step: Patch) -> Node:
    assert step.kind == NODES
    return codec.convert(patch.apply_merge(codec.plain(node), step.body), Node)


def test_a_hand_over_without_a_node_ends() -> None:
    plan: Plan = decide(WAITS, node=None, settings=Settings())
    assert told(plan) == [["t is Reserved"]]
