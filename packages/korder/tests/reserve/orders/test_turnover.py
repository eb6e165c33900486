"""Scaling, pausing, roll-out and terms of orders (S6, rules 2, 7 and 18)."""

import pytest
from tests.reserve.orders.desk import START, Desk

from korder.api.reserve import ORDER_LABEL, TICKET_FINALIZER, AfterUse, TicketPhase
from korder.reserve.orders.pools import Grant
from korder.reserve.tickets import deadlines
from korder.testing.builders import an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON

CPU: dict[str, JSON] = {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}


def a_desk(replicas: int = 4, policy: str = "OnClaim", name: str = "o") -> Desk:
    strategy = {"type": "OneTime", "refreshPolicy": policy}
    desk = Desk(an_order(name, replicas).but({"spec": {"strategy": strategy}}))
    desk.settle()
    return desk


def condition(desk: Desk, name: str) -> tuple[str, str, str]:
    found = next(each for each in desk.order.status.conditions if each.type == name)
    return found.status.value, found.reason, found.message


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_scaling_down_takes_idle_tickets_and_no_claimed_ones(policy: str) -> None:
    """S6: those that hold nothing first, then the youngest."""
    desk = a_desk(5, policy)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.become("o-1", TicketPhase.CLAIMING)
    desk.become("o-2", TicketPhase.PENDING)
    desk.settle(hold=False)
    desk.edit({"replicas": 2})
    desk.settle(hold=False)
    assert {"o-0", "o-1"} <= set(desk.tickets)
    assert "o-2" not in desk.tickets
    assert desk.tickets.keys() - {"o-0", "o-1"} == (set() if policy == "Never" else {"o-3"})


def test_what_was_promised_and_is_wanted_no_more_is_never_made() -> None:
    """Rule 2: what does not exist yet is the first to go."""
    desk = a_desk(1)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    desk.become("o-1", TicketPhase.CLAIMED)
    desk.reconcile(most=1)
    desk.become("o-0", TicketPhase.RESERVED)
    desk.become("o-1", TicketPhase.RESERVED)
    desk.settle()
    assert list(desk.tickets) == ["o-0"]
    assert desk.made == ["o-0", "o-1"]


def test_a_ticket_in_a_hand_over_is_judged_after_it() -> None:
    """A ticket in a hand over is decided after it (rule 2)."""
    desk = a_desk(1)
    desk.become("o-0", TicketPhase.CLAIMING)
    desk.edit({"replicas": 0})
    desk.settle()
    assert list(desk.tickets) == ["o-0"]
    desk.become("o-0", TicketPhase.RESERVED)
    desk.settle()
    assert desk.tickets == {}


@pytest.mark.parametrize("edit", [{"replicas": 0}, CPU], ids=["scaled down", "rolled out"])
def test_a_ticket_that_is_used_in_part_goes_after_its_pods(edit: dict[str, JSON]) -> None:
    """S18 with S6: the pods keep what they have, and what is left stays open to others."""
    desk = a_desk(1, "Always")
    pod = {"namespace": "shop", "name": "web", "uid": "pod-uid", "requests": {"cpu": "1"}}
    desk.become("o-0", TicketPhase.RESERVED, sharedBy=[pod])
    desk.edit(edit)
    desk.settle()
    assert list(desk.tickets) == ["o-0"]
    assert condition(desk, "Progressing")[:2] == ("False", "Settled")
    desk.become("o-0", TicketPhase.RESERVED, sharedBy=[])
    desk.settle()
    assert list(desk.tickets) == ([] if "replicas" in edit else ["o-1"])


@pytest.mark.parametrize(
    ("node", "left"),
    [
        pytest.param("node-1", "o-0", id="it takes its room back"),
        pytest.param("", "o-1", id="its room is lost"),
    ],
)
def test_a_ticket_that_comes_back_is_kept_before_its_refill(node: str, left: str) -> None:
    """S16: the same ticket takes its room back."""
    desk = a_desk(1)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    assert desk.free == ["o-1"]
    desk.become("o-0", TicketPhase.PENDING, nodeName=node)
    desk.settle(hold=False)
    assert desk.free == [left]


def test_a_ticket_that_comes_back_is_not_kept_when_none_is_wanted() -> None:
    desk = a_desk(1)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    desk.edit({"replicas": 0})
    desk.become("o-0", TicketPhase.PENDING, nodeName="node-1")
    desk.settle(hold=False)
    assert desk.free == []


def test_without_replacement_only_more_than_ever_issues_more() -> None:
    """Without replacement only more than ever issues more (rule 18)."""
    desk = a_desk(5, "Never")
    desk.edit({"replicas": 2})
    desk.settle()
    desk.edit({"replicas": 5})
    desk.settle()
    assert len(desk.free) == 2
    desk.edit({"replicas": 6})
    desk.settle()
    assert len(desk.free) == 3
    assert desk.order.status.issued_replicas == 6


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
def test_who_wants_no_more_replacements_keeps_what_is_there(policy: str) -> None:
    """Table 1.8: a policy says what the ends to come bring; only fewer replicas take tickets away (rule 18)."""
    desk = a_desk(3, policy)
    for name in ("o-0", "o-1"):
        desk.become(name, TicketPhase.CLAIMED)
        desk.settle()
    desk.edit({"strategy": {"refreshPolicy": "Never"}})
    desk.settle()
    assert len(desk.free) == 3
    desk.become(desk.free[0], TicketPhase.CLAIMED)
    desk.settle()
    assert len(desk.free) == 2
    desk.edit({"replicas": 4})
    desk.settle()
    assert len(desk.free) == 3
    desk.edit({"replicas": 3})
    desk.settle()
    assert desk.free == []


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
def test_a_pool_grows_again_after_it_was_scaled_down(policy: str) -> None:
    desk = a_desk(5, policy)
    for replicas in (2, 5, 3, 4):
        desk.edit({"replicas": replicas})
        desk.settle()
        assert len(desk.free) == replicas


@pytest.mark.parametrize("policy", ["Never", "OnClaim"])
def test_pause_resume_and_other_edits_issue_nothing(policy: str) -> None:
    desk = a_desk(3, policy)
    desk.become("o-0", TicketPhase.EXPIRED)
    for edit in ({"paused": True}, {"paused": False}, {"minReadySeconds": 0}):
        desk.edit(edit)
        desk.settle()
    assert len(desk.made) == 3


def test_a_paused_order_changes_no_ticket() -> None:
    """S6: what is there goes on; what a claim has left open is made when it is resumed."""
    desk = a_desk(3)
    desk.edit({"paused": True, "replicas": 5, **CPU})
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    assert sorted(desk.tickets) == ["o-0", "o-1", "o-2"]
    assert condition(desk, "Progressing")[:2] == ("False", "Paused")
    desk.edit({"paused": False})
    desk.settle()
    assert len(desk.free) == 5


def test_a_new_template_replaces_tickets_make_before_break() -> None:
    """S6, rule 7: there are never fewer tickets held than wanted."""
    desk = a_desk(8)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    desk.edit(CPU)
    for _ in range(40):
        if not desk.reconcile():
            break
        assert len(desk.names(TicketPhase.RESERVED)) >= 8
        assert len(desk.free) <= 10
        desk.hold()
    assert len(desk.free) == 8
    assert all(desk.tickets[name].spec.requests["cpu"] == "2" for name in desk.free)
    assert "o-0" in desk.tickets
    assert desk.order.status.updated_replicas == 8
    assert condition(desk, "Progressing")[:2] == ("False", "Settled")


def test_a_roll_out_without_room_keeps_the_old_tickets_and_says_so() -> None:
    """A roll out without room keeps the old tickets and says so (rule 7)."""
    desk = a_desk(4)
    desk.edit(CPU)
    desk.settle(hold=False)
    (new,) = desk.names(TicketPhase.PENDING)
    assert condition(desk, "Progressing")[:2] == ("True", "RollingOut")
    desk.become(new, TicketPhase.PENDING, reason="Unschedulable", message="3 Insufficient cpu")
    desk.settle(hold=False)
    assert len(desk.names(TicketPhase.RESERVED)) == 4
    assert condition(desk, "Progressing") == (
        "False",
        "RolloutBlocked",
        f"the old tickets stay, because {new} has no room: 3 Insufficient cpu",
    )
    desk.settle()
    assert len(desk.free) == 4
    assert condition(desk, "Progressing")[:2] == ("False", "Settled")


@pytest.mark.parametrize("ahead", [False, True], ids=["a roll-out", "a window ahead of its time"])
def test_a_quota_without_room_is_told_once_while_it_lasts(*, ahead: bool) -> None:
    """Rule 7: also if enough tickets can be claimed meanwhile, or none can be yet."""
    desk = a_desk(2)
    if ahead:
        strategy: JSON = {"type": "Scheduled", "schedule": "0 1 * * *", "leadTime": "2h"}
        desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    desk.granting = lambda wanted: Grant((), short="quota q: no room" if wanted else "")
    desk.edit({"template": {"metadata": {"labels": {"app": "web"}}}})
    for _ in range(3):
        desk.settle()
        desk.pass_time(minutes=1)
    assert [each.note for each in desk.emits if each.reason == "QuotaExceeded"] == [
        "quota q: no room"
    ]
    assert "quota q: no room" in condition(desk, "Progressing")[2]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"spec": {"owners": [{"namespaces": ["other"]}]}}, id="owners"),
        pytest.param({"spec": {"lifecycle": {"ttlSecondsAfterFinished": 5}}}, id="lifecycle"),
        pytest.param({"metadata": {"annotations": {"note": "b"}}}, id="annotation"),
        pytest.param({"metadata": {"annotations": {"note": None}}}, id="no annotation"),
    ],
)
def test_a_template_that_fits_the_same_guardian_is_rolled_out_in_place(
    edit: dict[str, JSON],
) -> None:
    """The guardian stays, so no other pod can take its room; claimed and ended tickets stay as they are."""
    before: JSON = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "a"}},
        "spec": {"lifecycle": {"cleanupPolicy": "Retain"}, "resources": {"requests": {"cpu": "1"}}},
    }
    strategy: JSON = {"type": "OneTime", "refreshPolicy": "Never"}
    desk = Desk(an_order("o", 3).but({"spec": {"strategy": strategy, "template": before}}))
    desk.settle()
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    claimed = desk.tickets["o-0"]
    desk.edit({"template": edit})
    assert desk.reconcile(most=2) == 3
    assert condition(desk, "Progressing")[:2] == ("True", "RollingOut")
    desk.settle()
    assert desk.made == ["o-0", "o-1", "o-2"]
    assert desk.tickets["o-0"] == claimed
    wanted = desk.order.spec.template
    for name in ("o-1", "o-2"):
        ticket = desk.tickets[name]
        assert ticket.spec == wanted.spec
        assert ticket.metadata.annotations.get("note") == wanted.metadata.annotations.get("note")
        assert ticket.metadata.labels["app"] == "web"
    assert desk.order.status.updated_replicas == 2
    assert condition(desk, "Progressing")[:2] == ("False", "Settled")


def test_a_roll_out_back_to_the_defaults_reaches_the_tickets() -> None:
    said: JSON = {"lifecycle": {"cleanupPolicy": "Retain"}, "owners": [{"namespaces": ["a"]}]}
    desk = Desk(an_order("o", 1).but({"spec": {"template": {"spec": said}}}))
    desk.settle()
    desk.edit({"template": {"spec": {"lifecycle": None, "owners": None}}})
    desk.settle()
    assert desk.made == ["o-0"]
    assert desk.tickets["o-0"].spec == desk.order.spec.template.spec


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"metadata": {"labels": {"app": "db"}}}, id="labels, which quotas select"),
        pytest.param({"spec": {"nodeSelector": {"disk": "ssd"}}}, id="another guardian"),
        pytest.param({"spec": {"allocateOnce": False}}, id="shared"),
    ],
)
def test_a_template_that_does_not_fit_is_rolled_out_make_before_break(edit: JSON) -> None:
    desk = a_desk(1)
    desk.edit({"template": edit})
    desk.settle(hold=False)
    assert desk.names(TicketPhase.RESERVED) == ["o-0"]
    assert desk.names(TicketPhase.PENDING) == ["o-1"]
    desk.settle()
    assert desk.free == ["o-1"]


def test_a_claim_in_the_middle_of_a_roll_out_is_replaced_once() -> None:
    desk = a_desk(4)
    desk.edit(CPU)
    desk.reconcile()
    desk.become("o-3", TicketPhase.CLAIMED)
    desk.settle()
    assert len(desk.free) == 4


def test_firings_renew_unclaimed_tickets_in_place_and_replace_the_others() -> None:
    """Table 1.8: Recurring with Always."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    desk = Desk(an_order("o", 4).but({"spec": {"strategy": strategy}}))
    desk.settle()
    for name in desk.free:
        desk.become(name, TicketPhase.RESERVED, activationTime=instant.render(desk.now))
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.at("01:00")
    desk.renew()
    desk.settle()
    assert desk.free == ["o-1", "o-2", "o-3", "o-4"]
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [desk.now] * 4
    assert deadlines.activation(desk.tickets["o-0"]) == START


def test_what_a_firing_could_not_renew_is_replaced_at_once_when_it_ends() -> None:
    """Rule 20: a quota may refuse a renewal and have room later, and the firing has long been."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "70m"}}
    desk = Desk(an_order("o", 4).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    before = desk.free
    desk.at("01:00")
    desk.settle(hold=False)
    assert desk.free == before
    firing = desk.now
    desk.at("01:11")
    for name in before:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    assert len(desk.free) == 4
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [firing] * 4


def test_what_a_gap_brought_is_not_renewed_in_the_gap() -> None:
    """A ticket that was made after the last firing has its renewal with the next."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "20m"}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    for when, replicas, left in (("01:00", 1, 1), ("01:21", 2, 1), ("01:42", 2, 0)):
        desk.at(when)
        for name in desk.names(TicketPhase.RESERVED):
            if when != "01:00":
                desk.become(name, TicketPhase.EXPIRED)
        desk.edit({"replicas": replicas})
        desk.settle()
        assert len(desk.free) == left
    desk.at("02:00")
    desk.settle()
    assert len(desk.free) == 2


def test_a_ticket_of_a_larger_pool_has_its_whole_time() -> None:
    """Rule 1: the firing a while ago brought it not."""
    strategy = {"type": "Recurring", "schedule": "0 * * * *", "startingDeadlineSeconds": 3600}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy}}))
    desk.at("01:00")
    desk.settle()
    desk.at("01:59")
    desk.edit({"replicas": 2})
    desk.settle()
    assert deadlines.activation(desk.tickets["o-1"]) is None


@pytest.mark.parametrize("paused", [False, True], ids=["slept through", "in a pause"])
def test_a_firing_for_which_it_is_too_late_renews_nothing(*, paused: bool) -> None:
    """What is made later on, for a new template, belongs to the firing that was acted on."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    desk.settle()
    desk.at("01:00")
    desk.settle()
    renewed, acted_on = desk.free, desk.now
    if paused:
        desk.edit({"paused": True})
        desk.settle()
    desk.at("02:30")
    desk.edit({"paused": False})
    desk.settle()
    assert desk.free == renewed
    desk.edit(CPU)
    desk.settle()
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [acted_on] * 2
    rolled = desk.free
    desk.at("03:00")
    desk.renew()
    desk.settle()
    assert desk.free == rolled
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [desk.now] * 2


def test_a_crash_at_a_firing_forgets_no_refill() -> None:
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    desk.settle()
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    desk.at("01:00")
    desk.reconcile(most=1)
    desk.at("01:30")
    desk.settle()
    assert desk.free == ["o-1", "o-2"]


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_what_is_made_in_the_lead_time_of_a_firing_has_its_clock_start_there(policy: str) -> None:
    """Rule 1, be the first turn broken off after the status was written."""
    strategy = {
        "type": "Recurring",
        "refreshPolicy": policy,
        "schedule": "0 * * * *",
        "leadTime": "10m",
    }
    template = {"spec": {"duration": "40m"}}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}}))
    desk.at("01:00")
    desk.settle()
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    desk.at("01:50")
    desk.reconcile(most=1)
    desk.pass_time(minutes=1)
    desk.settle()
    firing = START.replace(hour=2, second=0)
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [firing] * 2


def test_a_pool_makes_no_ticket_whose_time_is_over() -> None:
    """One whose clock began at a firing long ago would end at once, and be made again without end."""
    strategy = {"type": "Recurring", "refreshPolicy": "OnClaim", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "20m"}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.at("01:00")
    desk.settle()
    desk.at("01:50")
    desk.edit({"replicas": 3})
    desk.settle()
    desk.edit({"strategy": {"refreshPolicy": "Always"}, **CPU})
    desk.settle()
    assert [deadlines.activation(desk.tickets[name]) for name in desk.free] == [None] * 3


def test_a_changed_duration_is_patched_in_place() -> None:
    """Rule 7: nothing is rolled, claimed tickets get it too, ended ones do not."""
    desk = a_desk(3, "Never")
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.become("o-1", TicketPhase.EXPIRED)
    desk.settle()
    desk.edit({"template": {"spec": {"duration": "2h", "afterUse": "Reserve"}}})
    desk.settle()
    assert len(desk.made) == 3
    assert [desk.tickets[name].spec.duration for name in ("o-0", "o-1", "o-2")] == [
        "2h",
        None,
        "2h",
    ]
    assert desk.tickets["o-2"].spec.after_use is AfterUse.RESERVE


def test_a_changed_lead_time_reaches_the_tickets_and_overrules_no_extension() -> None:
    times: JSON = {"startTime": "2026-01-05T10:00:00Z", "duration": "1h"}
    strategy: JSON = {"type": "OneTime", "leadTime": "1h"}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}}))
    desk.settle(hold=False)
    desk._change("o-0", {"spec": {"duration": "2h"}})
    for said, kept in (("3h", "3h"), ("0s", None), ("5m", "5m")):
        desk.edit({"strategy": {"leadTime": said}})
        desk.settle(hold=False)
        annotations = [each.metadata.annotations for each in desk.tickets.values()]
        assert [each.get("korder.dev/lead-time") for each in annotations] == [kept, kept]
    assert [each.spec.duration for each in desk.tickets.values()] == ["2h", "1h"]
    assert len(desk.made) == 2


def test_who_extends_one_ticket_by_hand_is_not_overruled() -> None:
    desk = a_desk(2)
    desk._change("o-0", {"spec": {"duration": "72h"}})
    desk.settle()
    assert desk.tickets["o-0"].spec.duration == "72h"
    desk.edit({"template": {"spec": {"duration": "3h"}}})
    desk.settle()
    assert desk.tickets["o-0"].spec.duration == "3h"


def test_what_a_ticket_gets_from_its_order() -> None:
    template: JSON = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"korder.dev/ticket-group": "g"}},
        "spec": {"nodeSelector": {"disk": "ssd"}, "duration": "1h"},
    }
    name = "a" * 70
    desk = Desk(an_order(name, 1).but({"spec": {"template": template}}))
    desk.settle()
    (ticket,) = desk.tickets.values()
    meta = ticket.metadata
    assert meta.labels["app"] == "web"
    assert meta.annotations["korder.dev/ticket-group"] == "g"
    assert meta.finalizers == (TICKET_FINALIZER,)
    assert (meta.owner_references[0].uid, meta.owner_references[0].controller) == (
        "order-uid",
        True,
    )
    assert len(meta.labels[ORDER_LABEL]) == 63
    assert ticket.spec.node_selector == {"disk": "ssd"}


def test_words_of_ours_in_a_template_reach_no_ticket_but_its_group() -> None:
    """They would say of a ticket what only korder can know: its node, its firing, that it stands for ever."""
    annotations = {
        "korder.dev/standing": "true",
        "korder.dev/scheduled-time": "2026-01-05T00:00:00Z",
        "korder.dev/lead-time": "1h",
        "korder.dev/ticket-group": "g",
    }
    labels = {"korder.dev/node": "node-1", "app": "web"}
    template: JSON = {"metadata": {"labels": dict(labels), "annotations": dict(annotations)}}
    desk = Desk(an_order("o", 1).but({"spec": {"template": template}}))
    desk.settle()
    assert desk.made == ["o-0"]
    meta = desk.tickets["o-0"].metadata
    assert "korder.dev/node" not in meta.labels
    assert meta.labels["app"] == "web"
    assert meta.annotations.keys() & annotations.keys() == {"korder.dev/ticket-group"}


def test_an_order_stays_closed_until_enough_is_held_once() -> None:
    """Rule 14: claiming and claimed tickets count, and once open it stays open."""
    desk = Desk(an_order("o", 3).but({"spec": {"minAvailable": 3}}))
    desk.settle(hold=False)
    desk.become("o-0", TicketPhase.RESERVED)
    desk.become("o-1", TicketPhase.CLAIMED)
    desk.settle(hold=False)
    assert not desk.order.status.opened
    assert condition(desk, "Ready")[:2] == ("False", "Closed")
    desk.become("o-2", TicketPhase.CLAIMING)
    desk.settle(hold=False)
    assert desk.order.status.opened
    desk.become("o-0", TicketPhase.PENDING)
    desk.settle(hold=False)
    assert desk.order.status.opened


NO_MORE = "nobody can claim before 3 tickets are held at once, and only 2 can be: raise replicas or lower minAvailable"


@pytest.mark.parametrize(
    ("policy", "said"),
    [("Never", NO_MORE), ("OnClaim", NO_MORE), ("Always", NO_MORE.partition(",")[0])],
)
def test_an_order_that_can_never_open_says_so(policy: str, said: str) -> None:
    strategy: JSON = {"type": "OneTime", "refreshPolicy": policy}
    desk = Desk(an_order("o", 3).but({"spec": {"minAvailable": 3, "strategy": strategy}}))
    desk.settle(hold=False)
    desk.become("o-0", TicketPhase.RESERVED)
    desk.become("o-0", TicketPhase.EXPIRED)
    desk.become("o-1", TicketPhase.RESERVED)
    desk.settle(hold=False)
    assert condition(desk, "Ready") == ("False", "Closed", said)
    desk.edit({"replicas": 4})
    desk.settle()
    assert condition(desk, "Ready")[0] == "True"


def test_counters_and_conditions_tell_what_is_there() -> None:
    """S1: the counting part."""
    desk = a_desk(3, "Never")
    desk.become("o-2", TicketPhase.PENDING, message="0/3 nodes are available")
    desk.settle(hold=False)
    status = desk.order.status
    assert (status.replicas, status.available_replicas, status.unavailable_replicas) == (3, 2, 1)
    assert (status.desired_replicas, status.updated_replicas, status.observed_generation) == (
        3,
        3,
        1,
    )
    assert status.label_selector == "korder.dev/order-uid=order-uid"
    assert condition(desk, "Ready") == (
        "False",
        "TicketsWait",
        "2 of 3 tickets can be claimed; o-2 waits: 0/3 nodes are available",
    )
    desk.become("o-2", TicketPhase.RESERVED)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.become("o-1", TicketPhase.RELEASED)
    desk.settle()
    status = desk.order.status
    assert (status.claimed_replicas, status.terminal_replicas, status.replicas) == (1, 1, 2)
    assert condition(desk, "Ready")[0] == "True"


def test_a_counter_of_zero_is_written_too() -> None:
    """People read an empty column as unknown."""
    desk = a_desk(1)
    status = desk._order["status"]
    assert isinstance(status, dict)
    assert (status["claimedReplicas"], status["unavailableReplicas"]) == (0, 0)


def test_a_ticket_counts_as_available_when_it_was_held_for_long_enough() -> None:
    desk = Desk(an_order("o", 1).but({"spec": {"minReadySeconds": 60}}))
    desk.settle(hold=False)
    held = "2026-01-05T00:00:30Z"
    desk.become("o-0", TicketPhase.RESERVED, activationTime=held)
    desk.settle()
    assert desk.order.status.available_replicas == 0
    assert condition(desk, "Ready")[2] == "0 of 1 tickets have been held for 60 s"
    assert desk.requeue_at is not None
    desk.now = desk.requeue_at
    desk.settle()
    assert desk.order.status.available_replicas == 1


def test_a_refill_without_room_counts_as_a_replica() -> None:
    """Rule 6: nothing piles up."""
    desk = a_desk(2)
    for _ in range(5):
        desk.settle(hold=False)
    desk.become("o-0", TicketPhase.CLAIMED)
    for _ in range(5):
        desk.settle(hold=False)
    assert len(desk.made) == 3
    assert desk.order.status.replicas == 3
