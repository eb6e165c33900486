"""Single decisions about a ticket, without a cluster: what is written, with which precondition, and when the next look is due."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from korder.api.reserve import (
    GUARDIAN_HASH_ANNOTATION,
    LEAD_TIME_ANNOTATION,
    OPENED_ANNOTATION,
    STANDING_ANNOTATION,
    TICKET_FINALIZER,
    TICKETS,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.tickets import (
    guardian,
    guardian_replacement,
    plan as ticket_plan,
    state as ticket_state,
)
from korder.reserve.tickets.guardian import Options, Place
from korder.reserve.tickets.snapshot import FORCE_AFTER, Snapshot
from korder.testing.builders import a_ticket
from kubeloop.objects import codec, instant, quantity
from kubeloop.objects.core import PODS, Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import NOTHING, Create, Delete, Patch, Plan
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
N1: Node = a_node("n1").build()


def a_known_ticket(phase: str = "", **status: JSON) -> Builder[Ticket]:
    built = a_ticket("t").stored("uid-of-t", 7)
    said: dict[str, JSON] = {"phase": phase, **status} if phase else {}
    return built.but({"metadata": {"finalizers": [TICKET_FINALIZER]}, "status": said})


def reserved(**status: JSON) -> Builder[Ticket]:
    """A ticket that has been held for a minute."""
    held: dict[str, JSON] = {
        "nodeName": "n1",
        "guardianPod": "default/g",
        "activationTime": instant.render(NOW - timedelta(minutes=1)),
    }
    return a_known_ticket("Reserved", **{**held, **status})


def a_guardian(name: str = "g", node: str = "n1", place: Place = guardian.ANYWHERE) -> PodBuilder:
    """A guardian of that ticket as the server keeps it."""
    ticket = a_known_ticket().build()
    body = guardian.body(ticket, name, Options(), ticket_state.held(ticket), place)
    built = PodBuilder(PODS, body).stored(f"uid-of-{name}", 3)
    return built.on(node) if node else built


def snapshot(built: Builder[Ticket], *guardians: Builder[Pod], **more: Any) -> Snapshot:
    found = tuple(each.build() for each in guardians)
    facts = {"nodes": {"n1": N1}, "free_name": "free", **more}
    return Snapshot(built.build(), Options(nominate=True), found, **facts)


def decide(built: Builder[Ticket], *guardians: Builder[Pod], **more: Any) -> Plan:
    return ticket_plan.plan(snapshot(built, *guardians, **more), NOW)


def steps(plan: Plan) -> list[Any]:
    return [step for stage in plan.stages for step in stage]


def status_in(plan: Plan) -> dict[str, Any]:
    """The only step of a plan, which writes a status with the version that was read."""
    (step,) = steps(plan)
    assert isinstance(step, Patch)
    assert (step.kind, step.subresource) == (TICKETS, "status")
    assert (step.uid, step.resource_version) == ("uid-of-t", "7")
    body: Any = step.body
    return dict(body["status"])


def test_a_new_ticket_gets_a_guardian_and_no_word_about_it() -> None:
    (step,) = steps(decide(a_known_ticket()))
    assert isinstance(step, Create)


def test_a_ticket_whose_guardian_waits_for_the_scheduler_has_nothing_to_say() -> None:
    assert decide(a_known_ticket(), a_guardian(node="")) == NOTHING


def test_a_bound_guardian_makes_the_ticket_reserved_and_starts_its_clock_rule_1() -> None:
    plan = decide(a_known_ticket(), a_guardian())
    status = status_in(plan)
    assert status["phase"] == "Reserved"
    assert status["nodeName"] == "n1"
    assert status["activationTime"] == instant.render(NOW)
    assert plan.requeue_at == NOW + timedelta(hours=1)
    assert [emit.reason for emit in plan.emits] == ["Reserved"]


@pytest.mark.parametrize("cpu", ["0", "0.5m", "1500u"])
def test_odd_sizes_are_held_like_any_other(cpu: str) -> None:
    odd = a_known_ticket().but({"spec": {"resources": {"requests": {"cpu": cpu}}}})
    (made,) = steps(decide(odd))
    assert isinstance(made, Create)
    rounded = str(max(-(-quantity.parse(cpu).nano // 10**6), 0)) + "m"
    pod = PodBuilder(PODS, dict(made.body)).stored("uid-of-free").on("n1")  # type: ignore[arg-type]
    container: JSON = {"name": "guardian", "resources": {"requests": {"cpu": rounded}}}
    stored = pod.but({"spec": {"containers": [container]}})
    assert status_in(decide(odd, stored))["phase"] == "Reserved"


def test_a_guardian_of_another_size_than_it_was_made_stays_for_a_while_and_is_reported() -> None:
    """To make it again and again would help nobody; after five minutes one more is tried."""
    size: JSON = {"name": "guardian", "resources": {"requests": {"cpu": "150m"}}}
    made: JSON = {"creationTimestamp": instant.render(NOW - timedelta(minutes=4))}
    changed = a_guardian().but({"metadata": made, "spec": {"containers": [size]}})
    for ticket in (a_known_ticket(), reserved()):
        status = status_in(decide(ticket, changed))
        assert (status["phase"], status["reason"]) == ("Pending", Reason.GUARDIAN_REFUSED)
        assert status["message"].startswith(
            "the guardian was changed on its way in or later: it holds cpu 150m instead of 100m"
        )
        stated = ticket.but({"status": status})
        assert decide(stated, changed).stages == ()
        assert decide(stated, changed).requeue_at == NOW + timedelta(minutes=1)
        later = ticket_plan.plan(snapshot(stated, changed), NOW + timedelta(minutes=1))
        (step,) = steps(later)
        assert isinstance(step, Delete)


def test_a_reserved_ticket_is_looked_at_again_when_it_expires() -> None:
    first = status_in(decide(reserved(), a_guardian()))
    plan = decide(reserved(**first), a_guardian())
    assert plan == Plan().requeue(NOW + timedelta(minutes=59))


def test_at_the_end_the_status_goes_first_and_then_the_guardian() -> None:
    late = reserved(activationTime=instant.render(NOW - timedelta(hours=1)))
    status = status_in(decide(late, a_guardian()))
    assert (status["phase"], status["finishedTime"]) == ("Expired", instant.render(NOW))
    over = late.but({"status": status})
    (step,) = steps(decide(over, a_guardian()))
    assert isinstance(step, Delete)
    assert step.uid == "uid-of-g"
    removal = decide(over)
    assert removal == Plan().requeue(NOW + timedelta(hours=1))


def test_the_time_to_live_counts_from_the_end_and_not_from_now() -> None:
    ended = instant.render(NOW - timedelta(hours=1))
    (step,) = steps(decide(a_known_ticket("Expired", finishedTime=ended)))
    assert isinstance(step, Delete)
    assert (step.kind, step.uid, step.resource_version) == (TICKETS, "uid-of-t", "7")


def test_an_ended_ticket_that_does_not_say_since_when_counts_from_now_on() -> None:
    assert status_in(decide(a_known_ticket("Expired"))) == {"finishedTime": instant.render(NOW)}


def test_a_start_that_is_put_off_gives_the_room_back_and_says_so_first() -> None:
    later = NOW + timedelta(hours=2)
    off = reserved().but({"spec": {"startTime": instant.render(later)}})
    plan = decide(off, a_guardian())
    status = status_in(plan)
    assert (status["phase"], status["reason"]) == ("Pending", Reason.SCHEDULED)
    assert plan.requeue_at == later
    (step,) = steps(decide(off.but({"status": status}), a_guardian()))
    assert isinstance(step, Delete)


def test_a_ticket_on_a_cordoned_node_gets_a_second_guardian_and_then_loses_the_first_rule_12() -> (
    None
):
    closed = {"nodes": {"n1": a_node("n1").cordoned().build(), "n2": a_node("n2").build()}}
    status = status_in(decide(reserved(), a_guardian(), **closed))
    assert (status["reason"], status.get("nodeName", "n1")) == (
        Reason.NODE_CORDONED,
        "n1",
    )
    stuck = reserved(**status)
    (made,) = steps(decide(stuck, a_guardian(), **closed))
    assert isinstance(made, Create)
    assert not steps(decide(stuck, a_guardian(), a_guardian("h", ""), **closed))
    moved = status_in(decide(stuck, a_guardian(), a_guardian("h", "n2"), **closed))
    assert (moved["nodeName"], moved["guardianPod"]) == ("n2", "default/h")
    (gone,) = steps(
        decide(stuck.but({"status": moved}), a_guardian(), a_guardian("h", "n2"), **closed)
    )
    assert isinstance(gone, Delete)
    assert gone.uid == "uid-of-g"


@pytest.mark.parametrize("phase", ["Reserved", "Claiming", "Claimed", "Pending", "Expired"])
def test_a_ticket_made_by_hand_gets_our_finalizer_before_anything_is_held(phase: str) -> None:
    bare = a_known_ticket(phase, finishedTime=instant.render(NOW)).but(
        {"metadata": {"finalizers": ["other/one"]}}
    )
    plan = decide(bare)
    if phase in ("Claiming", "Expired"):
        assert not plan.stages
        return
    (step,) = steps(plan)
    assert isinstance(step, Patch)
    assert step.body == {"metadata": {"finalizers": ["other/one", TICKET_FINALIZER]}}
    assert step.resource_version == "7"


def test_what_is_being_handed_over_is_left_alone_rule_2() -> None:
    claiming = reserved().but({"status": {"phase": "Claiming"}})
    late = claiming.but({"status": {"activationTime": instant.render(NOW - timedelta(days=9))}})
    assert decide(late, a_guardian()) == NOTHING
    assert decide(late.deleted_at(NOW), a_guardian()) == NOTHING


def test_in_a_namespace_that_ends_nothing_is_made_and_finalizers_go_rule_13() -> None:
    assert decide(a_known_ticket(), namespace_ends=True) == NOTHING
    claiming = a_known_ticket("Claiming").deleted_at(NOW)
    (step,) = steps(decide(claiming, a_guardian(), namespace_ends=True))
    assert isinstance(step, Patch)
    assert step.body == {"metadata": {"finalizers": []}}


@pytest.mark.parametrize(("namespace", "waits"), [("default", False), ("team", True)])
def test_only_a_hand_over_to_a_namespace_that_stays_comes_to_its_end_first(
    namespace: str, waits: bool
) -> None:
    """Rules 2 and 13: a pod that is tied to a node has to hear what becomes of it, unless it ends as well."""
    owner: JSON = {"namespace": namespace, "name": "web", "uid": "uid-web"}
    claiming = a_known_ticket("Claiming", claimedBy=owner).deleted_at(NOW)
    plan = decide(claiming, a_guardian(), namespace_ends=True)
    assert (plan == NOTHING) == waits


def test_a_guardian_that_does_not_go_is_removed_by_force_after_a_while() -> None:
    ended = a_known_ticket("Released", finishedTime=instant.render(NOW))
    assert decide(ended, a_guardian().deleted_at(NOW)) == Plan().requeue(NOW + FORCE_AFTER)
    (step,) = steps(decide(ended, a_guardian().deleted_at(NOW - FORCE_AFTER)))
    assert isinstance(step, Delete)
    assert step.grace_seconds == 0
    (step,) = steps(decide(ended, a_guardian().deleted_at(NOW), nodes={}))
    assert step.grace_seconds == 0


def disrupted(reason: str) -> PodBuilder:
    target: JSON = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return a_guardian().but({"status": {"conditions": [target]}}).deleted_at(NOW)


LOSSES: dict[str, tuple[list[PodBuilder], dict[str, Any], Reason]] = {
    "it is gone": ([], {}, Reason.GUARDIAN_DELETED),
    "somebody deleted it": ([a_guardian().deleted_at(NOW)], {}, Reason.GUARDIAN_DELETED),
    "it was evicted": ([disrupted("EvictionByEvictionAPI")], {}, Reason.EVICTED),
    "it was preempted": ([disrupted("PreemptionByScheduler")], {}, Reason.PREEMPTED),
    "its node was tainted": ([disrupted("DeletionByTaintManager")], {}, Reason.EVICTED),
    "it failed": ([a_guardian().in_phase("Failed")], {}, Reason.GUARDIAN_FAILED),
    "it succeeded": ([a_guardian().in_phase("Succeeded")], {}, Reason.GUARDIAN_FAILED),
    "the kubelet evicted it": (
        [a_guardian().but({"status": {"phase": "Failed", "reason": "Evicted"}})],
        {},
        Reason.EVICTED,
    ),
    "its node is gone": ([a_guardian()], {"nodes": {}}, Reason.NODE_LOST),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
def test_a_ticket_that_lost_its_guardian_says_why_and_gets_another_s8(
    loss: tuple[list[PodBuilder], dict[str, Any], Reason], pinned: bool
) -> None:
    guardians, facts, reason = loss
    held = reserved().but({"spec": {"nodeName": "n1"}}) if pinned else reserved()
    plan = decide(held, *guardians, **facts)
    status = status_in(plan)
    assert (status["phase"], status["nodeName"]) == ("Pending", None)
    assert status["reason"] == (Reason.LOST if pinned else reason)
    assert "activationTime" not in status
    assert plan.requeue_at == NOW + timedelta(minutes=59)
    after = steps(decide(held.but({"status": status}), *guardians, **facts))
    assert [type(step) for step in after][-1] is Create


def test_what_the_scheduler_says_about_a_guardian_is_said_of_the_ticket_s1() -> None:
    words: JSON = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    waiting = a_guardian(node="").but({"status": {"conditions": [words]}})
    status = status_in(decide(a_known_ticket(), waiting))
    assert (status["phase"], status["reason"]) == ("Pending", Reason.UNSCHEDULABLE)
    assert status["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert not decide(a_known_ticket().but({"status": status}), waiting).stages


@pytest.mark.parametrize("cordoned", [False, True], ids=["full", "cordoned"])
def test_why_room_cannot_be_taken_back_is_said_truly_rule_10(cordoned: bool) -> None:
    why = "1 node(s) were unschedulable" if cordoned else "1 Insufficient cpu"
    words: JSON = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    back = a_known_ticket("Pending", reason=Reason.RETURNING, nodeName="n1")
    waiting = a_guardian(node="", place=Place("n1")).but({"status": {"conditions": [words]}})
    node = a_node("n1").cordoned() if cordoned else a_node("n1")
    status = status_in(decide(back, waiting, nodes={"n1": node.build()}))
    assert (status["reason"], status["nodeName"]) == (Reason.LOST, None)
    full = "the room on node n1 could not be taken back: 1 Insufficient cpu"
    assert status["message"] == (
        "node n1 is cordoned: its room there is given up" if cordoned else full
    )


def test_a_scheduler_that_says_nothing_is_named_after_a_minute() -> None:
    made = {"metadata": {"creationTimestamp": instant.render(NOW - timedelta(seconds=30))}}
    lonely = a_known_ticket().but({"spec": {"schedulerName": "nobody"}})
    waiting = a_guardian(node="").but(made)
    mark: JSON = guardian.fingerprint(lonely.build(), ticket_state.held(lonely.build()))
    waiting = waiting.but({"metadata": {"annotations": {GUARDIAN_HASH_ANNOTATION: mark}}})
    assert decide(lonely, waiting) == Plan().requeue(NOW + timedelta(seconds=30))
    later = ticket_plan.plan(snapshot(lonely, waiting), NOW + timedelta(seconds=30))
    status = status_in(later)
    assert status["reason"] == Reason.UNSCHEDULABLE
    assert status["message"] == "scheduler nobody has said nothing about g"
    stated = lonely.but({"status": status})
    assert ticket_plan.plan(snapshot(stated, waiting), NOW + timedelta(minutes=9)) == NOTHING


def test_a_scheduling_field_that_is_edited_reaches_a_guardian_that_waits() -> None:
    edited = a_known_ticket().but({"spec": {"nodeSelector": {"disk": "ssd"}}})
    gone, made = steps(decide(edited, a_guardian(node="")))
    assert isinstance(gone, Delete)
    assert isinstance(made, Create)


def test_of_several_guardians_the_known_one_stays() -> None:
    status = status_in(decide(reserved(guardianPod="default/h"), a_guardian("g"), a_guardian("h")))
    known = reserved(**{"guardianPod": "default/h", **status})
    (step,) = steps(decide(known, a_guardian("g"), a_guardian("h")))
    assert isinstance(step, Delete)
    assert step.uid == "uid-of-g"


def claimed(built: Builder[Ticket] | None = None, **spec: JSON) -> Builder[Ticket]:
    by: JSON = {"namespace": "default", "name": "p", "uid": "uid-of-p"}
    taken: dict[str, JSON] = {"phase": "Claimed", "claimedBy": by, "guardianPod": None}
    return (built or reserved()).but({"spec": spec, "status": taken})


def user() -> PodBuilder:
    return a_pod("p").requesting(cpu="50m").on("n1").stored("uid-of-p")


def used(built: Builder[Ticket], pod: PodBuilder | None, *guardians: Builder[Pod]) -> Plan:
    return decide(built, *guardians, users={"uid-of-p": pod.build()} if pod is not None else {})


def test_a_ticket_in_use_says_how_much_of_it_is_used() -> None:
    assert status_in(used(claimed(), user()))["utilizationRate"] == "50%"


def test_a_ticket_in_use_has_no_guardian() -> None:
    (step,) = steps(used(claimed(), user(), a_guardian()))
    assert isinstance(step, Delete)


ENDS = {"gone": None, "failed": user().in_phase("Failed"), "done": user().in_phase("Succeeded")}


@pytest.mark.parametrize("pod", ENDS.values(), ids=ENDS)
def test_when_its_pod_has_ended_a_ticket_is_released_or_returns_s16(
    pod: PodBuilder | None,
) -> None:
    assert status_in(used(claimed(), pod))["phase"] == "Released"
    back = status_in(used(claimed(afterUse="Reserve"), pod))
    assert (back["phase"], back["reason"]) == ("Pending", Reason.RETURNING)
    assert "nodeName" not in back
    assert back["claimedBy"] is None


def test_a_pod_that_is_reported_to_go_still_has_its_room_s16() -> None:
    assert used(claimed(), user().deleted_at(NOW)) == NOTHING


def test_a_ticket_without_time_left_does_not_return_rule_3() -> None:
    late = claimed(reserved(activationTime=instant.render(NOW - timedelta(hours=1))))
    late = late.but({"spec": {"afterUse": "Reserve"}})
    assert used(late, user().deleted_at(NOW)) == NOTHING
    (gone,) = steps(
        used(late, user().deleted_at(NOW), a_guardian("g", "", Place("n1", gated=True)))
    )
    assert isinstance(gone, Delete)
    assert status_in(used(late, None))["phase"] == "Released"
    standing = late.annotated({STANDING_ANNOTATION: "true"})
    assert status_in(used(standing, None))["phase"] == "Pending"


def test_the_returning_guardian_waits_nominated_behind_its_gate_until_the_pod_is_gone_rule_10() -> (
    None
):
    mine = claimed(afterUse="Reserve")
    leaving = user().deleted_at(NOW)
    (made,) = steps(used(mine, leaving))
    assert isinstance(made, Create)
    gated = a_guardian("g", "", Place("n1", gated=True))
    assert codec.convert(dict(made.body), Pod).spec == gated.build().spec  # type: ignore[arg-type]
    (named,) = steps(used(mine, leaving, gated))
    assert isinstance(named, Patch)
    assert named.body == {"status": {"nominatedNodeName": "n1"}}
    nominated = gated.but({"status": {"nominatedNodeName": "n1"}})
    assert used(mine, leaving, nominated) == Plan().requeue(NOW + timedelta(minutes=59))
    back = mine.but({"status": status_in(used(mine, None, nominated))})
    (opened,) = steps(used(back, None, nominated))
    assert isinstance(opened, Patch)
    when: JSON = {"annotations": {OPENED_ANNOTATION: instant.render(NOW)}}
    assert opened.body == {"metadata": when, "spec": {"schedulingGates": None}}
    assert opened.resource_version == "3"


def test_where_nominating_is_switched_off_the_returning_guardian_only_waits() -> None:
    leaving = {"uid-of-p": user().deleted_at(NOW).build()}
    gated = a_guardian("g", "", Place("n1", gated=True)).build()
    mine = claimed(afterUse="Reserve").build()
    quiet = Snapshot(mine, Options(nominate=False), (gated,), leaving, {"n1": N1}, "free")
    assert not ticket_plan.plan(quiet, NOW).stages


def test_nothing_is_nominated_while_a_hand_over_is_under_way_on_the_node() -> None:
    facts: dict[str, Any] = {"users": {"uid-of-p": user().deleted_at(NOW).build()}}
    plan = decide(claimed(afterUse="Reserve"), node_is_busy=True, **facts)
    assert plan == Plan().requeue(NOW + timedelta(seconds=1))


@pytest.mark.parametrize("others", ["node_is_busy", "node_is_awaited"])
def test_a_guardian_of_another_size_stands_until_its_successor_can_be_promised_the_room(
    others: str,
) -> None:
    """As after the end of a pod that shared, while others are about to take room on the node."""
    grown = a_known_ticket("Pending", reason=Reason.RETURNING, nodeName="n1")
    half = guardian.body(grown.build(), "g", Options(), {"cpu": quantity.parse("50m")}, Place("n1"))
    small = PodBuilder(PODS, half).stored("uid-of-g", 3).on("n1")
    assert decide(grown, small, **{others: True}) == Plan().requeue(NOW + timedelta(seconds=1))
    (made,) = steps(decide(grown, small))
    assert isinstance(made, Create)
    promised: JSON = {"status": {"nominatedNodeName": "n1"}}
    whole = a_guardian("h", "", Place("n1", gated=True)).but(promised)
    (gone,) = steps(decide(grown, small, whole))
    assert isinstance(gone, Delete)
    assert gone.uid == "uid-of-g"


def test_a_ticket_whose_node_is_gone_with_its_pod_is_lost_and_free_rule_10() -> None:
    back = status_in(decide(claimed(afterUse="Reserve"), nodes={}))
    assert (back["phase"], back["reason"], back["nodeName"]) == ("Pending", Reason.LOST, None)


def test_refusals_are_said_once_and_tried_again_ever_later_s9() -> None:
    ticket, at = a_known_ticket(), NOW
    plan = ticket_plan.refused(ticket.build(), "no quota", at)
    status = status_in(plan)
    assert (status["reason"], status["message"]) == (Reason.GUARDIAN_REFUSED, "no quota")
    assert "expirationTime" not in status
    ticket = ticket.but({"status": status})
    pauses = []
    for _ in range(9):
        plan = ticket_plan.refused(ticket.build(), "no quota", at)
        assert not plan.stages
        assert plan.requeue_at is not None
        pauses.append((plan.requeue_at - at).total_seconds())
        at = plan.requeue_at
    assert pauses == [1, 1, 2, 4, 8, 16, 32, 60, 60]


def shared(phase: str, **spec: JSON) -> Builder[Ticket]:
    """A reusable ticket of which a pod has half."""
    part: JSON = {
        "namespace": "default",
        "name": "p",
        "uid": "uid-of-p",
        "requests": {"cpu": "50m"},
    }
    built = a_known_ticket(phase, nodeName="n1", sharedBy=[part])
    return built.but({"spec": {"allocateOnce": False, **spec}})


def test_a_shared_ticket_that_may_have_no_guardian_stays_where_its_pods_are_rule_21() -> None:
    """As where the flag that let classes of the system through was taken away: what is left must not be held elsewhere later."""
    ticket = shared("Pending", priorityClassName="system-node-critical")
    status = status_in(used(ticket, user()))
    assert status["reason"] == Reason.GUARDIAN_REFUSED
    assert "nodeName" not in status


def test_a_shared_ticket_whose_start_is_put_off_stays_where_its_pods_are() -> None:
    later = instant.render(NOW + timedelta(hours=1))
    status = status_in(used(shared("Reserved", startTime=later), user()))
    assert (status["phase"], status["reason"]) == ("Pending", Reason.SCHEDULED)
    assert "nodeName" not in status


def test_a_refused_second_guardian_does_not_cost_a_ticket_its_phase() -> None:
    plan = ticket_plan.refused(reserved().build(), "no quota", NOW)
    assert not plan.stages
    assert [emit.reason for emit in plan.emits] == [Reason.GUARDIAN_REFUSED]
    assert plan.requeue_at is not None


def test_a_later_name_for_reserved_is_understood() -> None:
    assert reserved().but({"status": {"phase": "Ready"}}).build().status.phase is (
        TicketPhase.RESERVED
    )


OPENS = NOW + timedelta(minutes=10)


def in_lead_time(**status: JSON) -> Builder[Ticket]:
    """A ticket that opens in ten minutes, and whose guardian is due."""
    said: dict[str, JSON] = {"startTime": instant.render(OPENS)}
    ticket = a_known_ticket(str(status.pop("phase", "")), **status)
    return ticket.annotated({LEAD_TIME_ANNOTATION: "30m"}).but({"spec": said})


def judged(status: dict[str, Any], kind: str) -> tuple[str, str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == kind]
    return found["status"], found["reason"], found["message"]


def test_in_its_lead_time_a_ticket_says_that_its_guardian_holds_the_room() -> None:
    plan = decide(in_lead_time(), a_guardian())
    status = status_in(plan)
    said = (
        f"Guardian g holds the room on node n1; it can be claimed from {instant.render(OPENS)} on."
    )
    assert (status["phase"], status["reason"], status["message"]) == ("Pending", "Scheduled", said)
    assert status["guardianPod"] == "default/g"
    assert "nodeName" not in status
    assert judged(status, "Ready") == ("False", "Scheduled", said)
    assert judged(status, "GuardianReady") == ("True", "Held", said)
    assert plan.requeue_at == OPENS
    again = decide(in_lead_time(**status), a_guardian())
    assert (steps(again), again.requeue_at) == ([], OPENS)


def test_a_guardian_that_has_no_place_in_the_lead_time_is_reported() -> None:
    why = "0/3 nodes are available."
    words: JSON = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    waiting = a_guardian(node="").but({"status": {"conditions": [words]}})
    status = status_in(decide(in_lead_time(), waiting))
    assert (status["phase"], status["reason"]) == ("Pending", "Unschedulable")
    assert judged(status, "GuardianReady") == ("False", "Unschedulable", why)


def test_a_guardian_that_is_lost_in_the_lead_time_is_reported_before_another_is_made() -> None:
    held = status_in(decide(in_lead_time(), a_guardian()))
    status = status_in(decide(in_lead_time(**held)))
    assert (status["reason"], status["guardianPod"]) == ("GuardianDeleted", None)
    assert "phase" not in status
    assert judged(status, "GuardianReady")[0] == "False"
    (made,) = steps(decide(in_lead_time(**{**held, **status})))
    assert isinstance(made, Create)


def test_a_refused_guardian_of_a_ticket_that_returns_is_looked_at_again_soon_while_its_node_has_room() -> (
    None
):
    """The pod that took the room may be seen a moment later, and nothing else tells of it."""
    home = Place("n1")
    refused = a_guardian(node="", place=home).but(
        {
            "metadata": {"creationTimestamp": instant.render(NOW)},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "full",
                    }
                ]
            },
        }
    )
    back = a_known_ticket("Pending", reason="Returning", nodeName="n1")
    plan = decide(back, refused, has_room=lambda _: True)
    assert (plan.stages, plan.requeue_at) == ((), NOW + guardian_replacement.PATIENCE)
    assert status_in(decide(back, refused))["reason"] == "Lost"
