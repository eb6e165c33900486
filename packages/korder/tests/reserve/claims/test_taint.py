"""The hand-over behind a taint, as a state machine: what it does next follows from node, tickets, pods and guardians alone."""

from datetime import timedelta
from typing import cast

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
    stated,
)

from korder.api.reserve import HANDOVER_TAINT
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers.handover_state import Member, Return, SchedulerSigns, Settings
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.objects import codec, instant, node_room, patch
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Patch, Plan
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod

FULL = (guardian("other", cpu="3"),)
CROWDED = (guardian("other", cpu="4"),)
ONE_FREE = (guardian("other", cpu="3"),)
TOKEN = claim_patches.new_token(NOW - timedelta(seconds=1))
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
    return stated(
        decide(*members, there=there, node=node, settings=Settings(), returning=returning)
    )


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


def test_a_bound_pod_needs_no_barrier_however_its_ticket_comes_to_say_so() -> None:
    done = member(claiming("t"), let_go(1).but({"spec": {"nodeName": NODE}}))
    assert steps(done) == [["lower barrier", "mark[same] web"], ["t is Claimed (InUse)"]]


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


def test_a_refused_pod_whose_room_seems_free_is_looked_at_again_soon() -> None:
    """The scheduler may know of a pod on the node that the watch has not shown yet; no event of ours will follow."""
    refused = member(claiming("t"), opened(said="0/1 nodes: Insufficient cpu"), guardian())
    quiet = member(claiming("t"), opened(), guardian())
    soon = NOW + TIMEOUTS.next_look
    assert decide(refused, there=(), node=BARE, settings=Settings()).requeue_at == soon
    assert decide(quiet, there=(), node=BARE, settings=Settings()).requeue_at != soon


def test_a_pod_beside_its_guardian_passes_a_barrier_that_was_raised_for_others() -> None:
    beside = member(claiming("t"), opened(), guardian())
    other = member(claiming("u", "api"), gated("api"), going(guardian("h", cpu="2")))
    assert steps(beside, other, there=()) == [["let web through barrier"]]


@pytest.mark.parametrize(
    ("pod", "is_over"),
    [
        pytest.param(
            let_go(TIMEOUTS.unschedulable_pod.seconds - 1, said="no volume"),
            False,
            id="refused now",
        ),
        pytest.param(
            let_go(TIMEOUTS.unschedulable_pod.seconds, said="no volume"),
            True,
            id="refused for long",
        ),
        pytest.param(
            let_go(TIMEOUTS.silent_scheduler.seconds - 1), False, id="its scheduler may be late"
        ),
        pytest.param(let_go(TIMEOUTS.silent_scheduler.seconds), True, id="its scheduler is silent"),
        pytest.param(
            let_go(TIMEOUTS.unschedulable_pod.seconds).but({"spec": {"schedulerName": "unknown"}}),
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
    assert steps(robbed, there=CROWDED) == [["lower barrier", "t is Pending (Lost)"]]


def test_no_guardian_is_sent_away_on_a_node_that_has_become_too_small_for_the_pod() -> None:
    small = a_node(NODE).but({"status": {"allocatable": {"cpu": "500m"}}})
    assert steps(WAITS, there=(), node=small) == [["t is Reserved"]]


def test_a_guardian_that_cannot_go_is_not_sent_away() -> None:
    held = guardian().but({"metadata": {"finalizers": ["example.com/slow"]}})
    assert steps(member(claiming("t"), gated(), held), node=BARE) == []


def test_a_barrier_that_stands_for_long_takes_no_new_members_until_it_was_lowered_once() -> None:
    old = behind(claim_patches.new_token(NOW - TIMEOUTS.barrier_admission))
    assert steps(WAITS, node=old) == [["lower barrier"]]


def test_a_pod_that_was_let_go_by_an_earlier_barrier_does_not_pass_a_later_one() -> None:
    earlier = let_go(100).build()
    assert claim_patches.tolerates(earlier, TOKEN)
    assert not claim_patches.tolerates(earlier, claim_patches.new_token(NOW))


def test_room_that_a_ticket_takes_back_stands_behind_the_barrier() -> None:
    waiting = a_pod("back").requesting(cpu="1").gated_by("korder.dev/guardian").stored("uid-back")
    occupied = Return(is_occupied=True, waiting=(waiting.build(),))
    raised = steps(node=BARE, returning=(occupied,))
    assert raised == [["raise barrier"], ["let back through barrier"]]
    returns = Return(is_occupied=False, waiting=(waiting.build(),))
    assert steps(returning=(returns,)) == [["let back through barrier"]]
    assert steps(there=CROWDED, returning=(returns,)) == []


def test_a_barrier_does_not_stand_for_ever_for_a_pod_that_does_not_go() -> None:
    old = behind(claim_patches.new_token(NOW - TIMEOUTS.returning_pod))
    assert steps(node=old, returning=(Return(is_occupied=True),)) == [["lower barrier"]]


def test_other_taints_of_a_node_stay_as_they_are() -> None:
    node = a_node(NODE).tainted("example.com/gpu").build()
    step = claim_patches.raised(node, TOKEN)
    raised = node_after(node, step)
    assert [taint.key for taint in raised.spec.taints] == ["example.com/gpu", HANDOVER_TAINT]
    assert node_after(raised, claim_patches.lowered(raised)).spec.taints == node.spec.taints


def node_after(node: Node, step: Patch) -> Node:
    assert step.kind == NODES
    return codec.convert(patch.apply_merge(codec.plain(node), step.body), Node)


def test_a_hand_over_without_a_node_ends() -> None:
    plan: Plan = decide(WAITS, node=None, settings=Settings())
    assert stated(plan) == [["t is Reserved"]]


HELD_FAST: JSON = {"metadata": {"finalizers": ["example.com/slow"]}}


def test_members_fail_each_for_itself_and_only_those_who_need_it_wait_for_the_barrier() -> None:
    """A tenant whose pod may not be changed holds up no other."""
    done = member(claiming("t"), let_go(1).but({"spec": {"nodeName": NODE}}))
    moves = member(claiming("u", "api"), gated("api"), guardian("h"))
    plan = decide(done, moves, there=(guardian("other", cpu="2"),), node=BARE, settings=Settings())
    assert not plan.stages
    ends, barrier_first = plan.lanes
    assert stated(ends) == [["mark[same] web"], ["t is Claimed (InUse)"]]
    assert stated(barrier_first) == [["raise barrier"], ["delete h"]]
    assert barrier_first.stages
    assert barrier_first.lanes


@pytest.mark.parametrize(
    ("pod", "guardians"),
    [
        pytest.param(None, (), id="deleted, guardian gone"),
        pytest.param(None, (going(guardian()),), id="deleted, guardian terminates"),
        pytest.param(let_go(1).deleted_at(NOW), (), id="terminates unbound"),
        pytest.param(
            let_go(TIMEOUTS.unschedulable_pod.seconds, said="no volume"), (), id="refused"
        ),
    ],
)
@pytest.mark.parametrize("node", [BARE, BEHIND], ids=["no barrier", "barrier"])
def test_room_without_a_guardian_stays_behind_the_barrier_when_a_claim_is_undone(
    pod: Builder[Pod] | None, guardians: tuple[Builder[Pod], ...], node: Builder[Node]
) -> None:
    plan = steps(member(claiming("t"), pod, *guardians), node=node)
    assert not any("lower barrier" in stage for stage in plan)
    assert ("raise barrier" in plan[0]) is (node is BARE)


def test_room_of_a_late_gated_claim_stays_behind_the_barrier_until_its_ticket_has_it() -> None:
    late = member(claiming("t", seconds=0), gated(), going(guardian()))
    assert steps(late) == [["t is Pending (ClaimUndone)"]]


def test_a_pod_that_gets_the_room_of_its_guardian_has_its_time_from_when_that_is_gone() -> None:
    """It was let go beside its guardian long ago, and refused because another pod took that place."""
    pushed = opened(said="no cpu").annotated({"korder.dev/opened-at": instant.render(NOW)})
    pushed = pushed.but({"spec": {"schedulerName": "default-scheduler"}})
    plan = decide(
        member(claiming("t"), pushed, guardian()), there=FULL, node=BARE, settings=Settings()
    )
    assert stated(plan) == [["raise barrier"], ["let web through barrier"], ["delete g"]]
    change = next(step for step in plan.steps if isinstance(step, Patch) and step.kind == PODS)
    after = codec.convert(patch.apply_merge(codec.plain(pushed.build()), change.body), Pod)
    assert "korder.dev/opened-at" not in after.metadata.annotations
    alone = let_go(60, said="no cpu").but(
        {"metadata": {"annotations": {"korder.dev/opened-at": None}}}
    )
    assert steps(member(claiming("t"), alone)) == [["let web through barrier"]]


def test_a_refusal_of_an_earlier_generation_of_the_pod_does_not_count() -> None:
    def refused(generation: int) -> Builder[Pod]:
        pod = let_go(TIMEOUTS.unschedulable_pod.seconds, said="no cpu")
        said = {**pod.json["status"]["conditions"][0], "observedGeneration": generation}  # type: ignore[index,call-overload]
        return pod.but({"metadata": {"generation": 3}, "status": {"conditions": [said]}})

    assert steps(member(claiming("t"), refused(2))) == []
    assert ["t is Pending (NeverBound)"] in steps(member(claiming("t"), refused(3)))


def test_a_guardian_that_cannot_go_is_not_sent_away_for_a_pod_beside_it_either() -> None:
    pushed = opened(said="no cpu")
    assert steps(member(claiming("t"), pushed, guardian().but(HELD_FAST)), node=BARE) == []


def test_a_claim_whose_guardian_does_not_go_ends_at_its_deadline() -> None:
    stays = going(guardian().but(HELD_FAST), 190)
    late = member(claiming("t", seconds=-100), let_go(200, said="no cpu"), stays)
    assert ["t is Pending (NeverBound)"] in steps(late)


def gone_back(name: str) -> PodBuilder:
    pod = a_pod(name).requesting(cpu="1").gated_by("korder.dev/guardian").stored(f"uid-{name}")
    return cast("PodBuilder", pod)


def test_a_guardian_that_fits_beside_the_pod_that_terminates_is_placed_while_the_barrier_rises() -> (
    None
):
    """Others may take the free room before; then the room of the pod is the guardian's only one."""
    waiting = gone_back("back").build()
    demand = node_room.demand_of(waiting)
    occupied = Return(is_occupied=True, waiting=(waiting,), demand=demand)
    placed = [["open back through barrier", "raise barrier"]]
    assert steps(node=BARE, returning=(occupied,)) == placed
    tolerating = (
        a_pod("back")
        .requesting(cpu="1")
        .but({"spec": {"tolerations": [codec.plain(claim_patches.toleration(TOKEN))]}})
    )
    opened = Return(is_occupied=True, waiting=(tolerating.build(),), demand=demand)
    assert steps(returning=(opened,)) == []
    assert steps(there=CROWDED, returning=(opened,)) == []
    raised = steps(there=CROWDED, node=BARE, returning=(occupied,))
    assert raised == [["raise barrier"], ["let back through barrier"]]


@pytest.mark.parametrize("is_created", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_no_guardian_is_placed_beside_its_pod_in_room_that_another_ticket_takes_back(
    is_first: bool, is_created: bool
) -> None:
    """There is room for one: that of a pod that has left it."""
    mine, other = gone_back("back").build(), gone_back("other").build()
    demand = node_room.demand_of(mine)
    free = Return(
        is_occupied=False, waiting=(mine,) if is_created else (), is_new=True, demand=demand
    )
    occupied = Return(is_occupied=True, waiting=(other,), demand=demand)
    returning = (free, occupied) if is_first else (occupied, free)
    let = ["let back through barrier"] if is_created else []
    assert steps(there=ONE_FREE, returning=returning) == [[*let, "let other through barrier"]]


def test_a_barrier_that_only_a_return_keeps_gets_a_new_token_for_new_members() -> None:
    waiting = a_pod("back").requesting(cpu="1").gated_by("korder.dev/guardian").stored("uid-back")
    occupied = Return(
        is_occupied=True, waiting=(waiting.build(),), since=NOW - TIMEOUTS.barrier_admission
    )
    old = behind(claim_patches.new_token(NOW - TIMEOUTS.barrier_admission))
    plan = steps(WAITS, node=old, returning=(occupied,))
    assert plan == [["raise barrier"], ["delete g", "let back through barrier"]]
    moves = member(claiming("u", "api"), gated("api"), going(guardian("h")))
    kept = steps(WAITS, moves, there=(guardian("x", cpu="2"),), node=old, returning=(occupied,))
    assert kept == [["let back through barrier"]]


def test_a_pod_that_terminates_for_long_keeps_the_barrier_no_longer_whatever_its_token() -> None:
    occupied = Return(is_occupied=True, since=NOW - TIMEOUTS.returning_pod)
    assert steps(node=BARE, returning=(occupied,)) == []
    assert steps(returning=(occupied,)) == [["lower barrier"]]


def test_no_guardian_takes_room_that_another_member_was_promised() -> None:
    """It may pass the barrier only when there is room for it besides."""
    waiting = a_pod("back").requesting(cpu="1").stored("uid-back")
    returns = Return(is_occupied=False, waiting=(waiting.build(),))
    alone = member(claiming("t"), let_go(1))
    assert steps(alone, returning=(returns,)) == []
    there = (guardian("other", cpu="2"),)
    assert steps(alone, there=there, returning=(returns,)) == [["let back through barrier"]]


@pytest.mark.parametrize(
    ("signs", "is_over"),
    [
        pytest.param(None, True, id="no lease"),
        pytest.param(SchedulerSigns(NOW), True, id="renewed"),
        pytest.param(SchedulerSigns(NOW - TIMEOUTS.scheduler_lease), False, id="away"),
        pytest.param(SchedulerSigns(NOW, NOW - timedelta(seconds=1)), False, id="just back"),
    ],
)
def test_time_without_a_scheduler_does_not_count(
    signs: SchedulerSigns | None, is_over: bool
) -> None:
    stuck = member(claiming("t", seconds=-1), let_go(TIMEOUTS.silent_scheduler.seconds))
    plan = decide(stuck, there=FULL, node=BEHIND, settings=Settings(), signs=signs)
    assert (["t is Pending (NeverBound)"] in stated(plan)) is is_over


def test_a_barrier_of_another_process_is_lowered_when_our_caches_are_up_to_date() -> None:
    until = NOW + timedelta(seconds=3)
    plan = decide(there=FULL, node=BEHIND, settings=Settings(), inherited_until=until)
    assert (stated(plan), plan.requeue_at) == ([], until)
    plan = decide(there=FULL, node=BEHIND, settings=Settings(), inherited_until=NOW)
    assert stated(plan) == [["lower barrier"]]
