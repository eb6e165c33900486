"""Scaling, pausing, roll-out and terms of orders (S6, rules 2, 7 and 18)."""

import pytest
from tests.reserve.orders.order_harness import START, OrderHarness

from korder.api.reserve import ORDER_LABEL, TICKET_FINALIZER, AfterUse, TicketPhase
from korder.reserve.orders.pools import Grant
from korder.reserve.tickets import deadlines
from korder.testing.builders import an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON

CPU: dict[str, JSON] = {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}


def a_harness(replicas: int = 4, policy: str = "OnClaim", name: str = "o") -> OrderHarness:
    strategy = {"type": "OneTime", "refreshPolicy": policy}
    harness = OrderHarness(an_order(name, replicas).but({"spec": {"strategy": strategy}}))
    harness.settle()
    return harness


def condition(harness: OrderHarness, name: str) -> tuple[str, str, str]:
    found = next(each for each in harness.order.status.conditions if each.type == name)
    return found.status.value, found.reason, found.message


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_scaling_down_takes_idle_tickets_and_no_claimed_ones(policy: str) -> None:
    """S6: those that hold nothing first, then the youngest."""
    harness = a_harness(5, policy)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.become("o-1", TicketPhase.CLAIMING)
    harness.become("o-2", TicketPhase.PENDING)
    harness.settle(hold=False)
    harness.edit({"replicas": 2})
    harness.settle(hold=False)
    assert {"o-0", "o-1"} <= set(harness.tickets)
    assert "o-2" not in harness.tickets
    assert harness.tickets.keys() - {"o-0", "o-1"} == (set() if policy == "Never" else {"o-3"})


def test_what_was_promised_and_is_wanted_no_more_is_never_made() -> None:
    """Rule 2: what does not exist yet is the first to go."""
    harness = a_harness(1)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    harness.become("o-1", TicketPhase.CLAIMED)
    harness.reconcile(most=1)
    harness.become("o-0", TicketPhase.RESERVED)
    harness.become("o-1", TicketPhase.RESERVED)
    harness.settle()
    assert list(harness.tickets) == ["o-0"]
    assert harness.made == ["o-0", "o-1"]


def test_a_ticket_in_a_hand_over_is_judged_after_it() -> None:
    """A ticket in a hand over is decided after it (rule 2)."""
    harness = a_harness(1)
    harness.become("o-0", TicketPhase.CLAIMING)
    harness.edit({"replicas": 0})
    harness.settle()
    assert list(harness.tickets) == ["o-0"]
    harness.become("o-0", TicketPhase.RESERVED)
    harness.settle()
    assert harness.tickets == {}


@pytest.mark.parametrize("edit", [{"replicas": 0}, CPU], ids=["scaled down", "rolled out"])
def test_a_ticket_that_is_used_in_part_goes_after_its_pods(edit: dict[str, JSON]) -> None:
    """S18 with S6: the pods keep what they have, and what is left stays open to others."""
    harness = a_harness(1, "Always")
    pod = {"namespace": "shop", "name": "web", "uid": "pod-uid", "requests": {"cpu": "1"}}
    harness.become("o-0", TicketPhase.RESERVED, sharedBy=[pod])
    harness.edit(edit)
    harness.settle()
    assert list(harness.tickets) == ["o-0"]
    assert condition(harness, "Progressing")[:2] == ("False", "Settled")
    harness.become("o-0", TicketPhase.RESERVED, sharedBy=[])
    harness.settle()
    assert list(harness.tickets) == ([] if "replicas" in edit else ["o-1"])


@pytest.mark.parametrize(
    ("node", "left"),
    [
        pytest.param("node-1", "o-0", id="it takes its room back"),
        pytest.param("", "o-1", id="its room is lost"),
    ],
)
def test_a_ticket_that_comes_back_is_kept_before_its_refill(node: str, left: str) -> None:
    """S16: the same ticket takes its room back."""
    harness = a_harness(1)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    assert harness.free == ["o-1"]
    harness.become("o-0", TicketPhase.PENDING, nodeName=node)
    harness.settle(hold=False)
    assert harness.free == [left]


def test_a_ticket_that_comes_back_is_not_kept_when_none_is_wanted() -> None:
    harness = a_harness(1)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    harness.edit({"replicas": 0})
    harness.become("o-0", TicketPhase.PENDING, nodeName="node-1")
    harness.settle(hold=False)
    assert harness.free == []


def test_without_replacement_only_more_than_ever_issues_more() -> None:
    """Without replacement only more than ever issues more (rule 18)."""
    harness = a_harness(5, "Never")
    harness.edit({"replicas": 2})
    harness.settle()
    harness.edit({"replicas": 5})
    harness.settle()
    assert len(harness.free) == 2
    harness.edit({"replicas": 6})
    harness.settle()
    assert len(harness.free) == 3
    assert harness.order.status.issued_replicas == 6


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
def test_who_wants_no_more_replacements_keeps_what_is_there(policy: str) -> None:
    """Table 1.8: a policy says what the ends to come bring; only fewer replicas take tickets away (rule 18)."""
    harness = a_harness(3, policy)
    for name in ("o-0", "o-1"):
        harness.become(name, TicketPhase.CLAIMED)
        harness.settle()
    harness.edit({"strategy": {"refreshPolicy": "Never"}})
    harness.settle()
    assert len(harness.free) == 3
    harness.become(harness.free[0], TicketPhase.CLAIMED)
    harness.settle()
    assert len(harness.free) == 2
    harness.edit({"replicas": 4})
    harness.settle()
    assert len(harness.free) == 3
    harness.edit({"replicas": 3})
    harness.settle()
    assert harness.free == []


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
def test_a_pool_grows_again_after_it_was_scaled_down(policy: str) -> None:
    harness = a_harness(5, policy)
    for replicas in (2, 5, 3, 4):
        harness.edit({"replicas": replicas})
        harness.settle()
        assert len(harness.free) == replicas


@pytest.mark.parametrize("policy", ["Never", "OnClaim"])
def test_pause_resume_and_other_edits_issue_nothing(policy: str) -> None:
    harness = a_harness(3, policy)
    harness.become("o-0", TicketPhase.EXPIRED)
    for edit in ({"paused": True}, {"paused": False}, {"minReadySeconds": 0}):
        harness.edit(edit)
        harness.settle()
    assert len(harness.made) == 3


def test_a_paused_order_changes_no_ticket() -> None:
    """S6: what is there goes on; what a claim has left open is made when it is resumed."""
    harness = a_harness(3)
    harness.edit({"paused": True, "replicas": 5, **CPU})
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    assert sorted(harness.tickets) == ["o-0", "o-1", "o-2"]
    assert condition(harness, "Progressing")[:2] == ("False", "Paused")
    harness.edit({"paused": False})
    harness.settle()
    assert len(harness.free) == 5


def test_a_new_template_replaces_tickets_make_before_break() -> None:
    """S6, rule 7: there are never fewer tickets held than wanted."""
    harness = a_harness(8)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    harness.edit(CPU)
    for _ in range(40):
        if not harness.reconcile():
            break
        assert len(harness.names(TicketPhase.RESERVED)) >= 8
        assert len(harness.free) <= 10
        harness.hold()
    assert len(harness.free) == 8
    assert all(harness.tickets[name].spec.requests["cpu"] == "2" for name in harness.free)
    assert "o-0" in harness.tickets
    assert harness.order.status.updated_replicas == 8
    assert condition(harness, "Progressing")[:2] == ("False", "Settled")


def test_a_roll_out_without_room_keeps_the_old_tickets_and_says_so() -> None:
    """A roll out without room keeps the old tickets and says so (rule 7)."""
    harness = a_harness(4)
    harness.edit(CPU)
    harness.settle(hold=False)
    (new,) = harness.names(TicketPhase.PENDING)
    assert condition(harness, "Progressing")[:2] == ("True", "RollingOut")
    harness.become(new, TicketPhase.PENDING, reason="Unschedulable", message="3 Insufficient cpu")
    harness.settle(hold=False)
    assert len(harness.names(TicketPhase.RESERVED)) == 4
    assert condition(harness, "Progressing") == (
        "False",
        "RolloutBlocked",
        f"the old tickets stay, because {new} has no room: 3 Insufficient cpu",
    )
    harness.settle()
    assert len(harness.free) == 4
    assert condition(harness, "Progressing")[:2] == ("False", "Settled")


@pytest.mark.parametrize("ahead", [False, True], ids=["a roll-out", "a window ahead of its time"])
def test_a_quota_without_room_is_reported_once_while_it_lasts(*, ahead: bool) -> None:
    """Rule 7: also if enough tickets can be claimed meanwhile, or none can be yet."""
    harness = a_harness(2)
    if ahead:
        strategy: JSON = {"type": "Scheduled", "schedule": "0 1 * * *", "leadTime": "2h"}
        harness = OrderHarness(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    harness.granting = lambda wanted: Grant((), short="quota q: no room" if wanted else "")
    harness.edit({"template": {"metadata": {"labels": {"app": "web"}}}})
    for _ in range(3):
        harness.settle()
        harness.pass_time(minutes=1)
    assert [each.note for each in harness.emits if each.reason == "QuotaExceeded"] == [
        "quota q: no room"
    ]
    assert "quota q: no room" in condition(harness, "Progressing")[2]


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
    harness = OrderHarness(
        an_order("o", 3).but({"spec": {"strategy": strategy, "template": before}})
    )
    harness.settle()
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    claimed = harness.tickets["o-0"]
    harness.edit({"template": edit})
    assert harness.reconcile(most=2) == 3
    assert condition(harness, "Progressing")[:2] == ("True", "RollingOut")
    harness.settle()
    assert harness.made == ["o-0", "o-1", "o-2"]
    assert harness.tickets["o-0"] == claimed
    wanted = harness.order.spec.template
    for name in ("o-1", "o-2"):
        ticket = harness.tickets[name]
        assert ticket.spec == wanted.spec
        assert ticket.metadata.annotations.get("note") == wanted.metadata.annotations.get("note")
        assert ticket.metadata.labels["app"] == "web"
    assert harness.order.status.updated_replicas == 2
    assert condition(harness, "Progressing")[:2] == ("False", "Settled")


def test_a_roll_out_back_to_the_defaults_reaches_the_tickets() -> None:
    said: JSON = {"lifecycle": {"cleanupPolicy": "Retain"}, "owners": [{"namespaces": ["a"]}]}
    harness = OrderHarness(an_order("o", 1).but({"spec": {"template": {"spec": said}}}))
    harness.settle()
    harness.edit({"template": {"spec": {"lifecycle": None, "owners": None}}})
    harness.settle()
    assert harness.made == ["o-0"]
    assert harness.tickets["o-0"].spec == harness.order.spec.template.spec


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"metadata": {"labels": {"app": "db"}}}, id="labels, which quotas select"),
        pytest.param({"spec": {"nodeSelector": {"disk": "ssd"}}}, id="another guardian"),
        pytest.param({"spec": {"allocateOnce": False}}, id="shared"),
    ],
)
def test_a_template_that_does_not_fit_is_rolled_out_make_before_break(edit: JSON) -> None:
    harness = a_harness(1)
    harness.edit({"template": edit})
    harness.settle(hold=False)
    assert harness.names(TicketPhase.RESERVED) == ["o-0"]
    assert harness.names(TicketPhase.PENDING) == ["o-1"]
    harness.settle()
    assert harness.free == ["o-1"]


def test_a_claim_in_the_middle_of_a_roll_out_is_replaced_once() -> None:
    harness = a_harness(4)
    harness.edit(CPU)
    harness.reconcile()
    harness.become("o-3", TicketPhase.CLAIMED)
    harness.settle()
    assert len(harness.free) == 4


def test_firings_renew_unclaimed_tickets_in_place_and_replace_the_others() -> None:
    """Table 1.8: Recurring with Always."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    harness = OrderHarness(an_order("o", 4).but({"spec": {"strategy": strategy}}))
    harness.settle()
    for name in harness.free:
        harness.become(name, TicketPhase.RESERVED, activationTime=instant.render(harness.now))
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.at("01:00")
    harness.renew()
    harness.settle()
    assert harness.free == ["o-1", "o-2", "o-3", "o-4"]
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [
        harness.now
    ] * 4
    assert deadlines.activation(harness.tickets["o-0"]) == START


def test_what_a_firing_could_not_renew_is_replaced_at_once_when_it_ends() -> None:
    """Rule 20: a quota may refuse a renewal and have room later, and the firing has long been."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "70m"}}
    harness = OrderHarness(
        an_order("o", 4).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.settle()
    before = harness.free
    harness.at("01:00")
    harness.settle(hold=False)
    assert harness.free == before
    firing = harness.now
    harness.at("01:11")
    for name in before:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    assert len(harness.free) == 4
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [firing] * 4


def test_what_a_gap_brought_is_not_renewed_in_the_gap() -> None:
    """A ticket that was made after the last firing has its renewal with the next."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "20m"}}
    harness = OrderHarness(
        an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}})
    )
    for when, replicas, left in (("01:00", 1, 1), ("01:21", 2, 1), ("01:42", 2, 0)):
        harness.at(when)
        for name in harness.names(TicketPhase.RESERVED):
            if when != "01:00":
                harness.become(name, TicketPhase.EXPIRED)
        harness.edit({"replicas": replicas})
        harness.settle()
        assert len(harness.free) == left
    harness.at("02:00")
    harness.settle()
    assert len(harness.free) == 2


def test_a_ticket_of_a_larger_pool_has_its_whole_time() -> None:
    """Rule 1: the firing a while ago brought it not."""
    strategy = {"type": "Recurring", "schedule": "0 * * * *", "startingDeadlineSeconds": 3600}
    harness = OrderHarness(an_order("o", 1).but({"spec": {"strategy": strategy}}))
    harness.at("01:00")
    harness.settle()
    harness.at("01:59")
    harness.edit({"replicas": 2})
    harness.settle()
    assert deadlines.activation(harness.tickets["o-1"]) is None


@pytest.mark.parametrize("paused", [False, True], ids=["slept through", "in a pause"])
def test_a_firing_for_which_it_is_too_late_renews_nothing(*, paused: bool) -> None:
    """What is made later on, for a new template, belongs to the firing that was acted on."""
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    harness = OrderHarness(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    harness.settle()
    harness.at("01:00")
    harness.settle()
    renewed, acted_on = harness.free, harness.now
    if paused:
        harness.edit({"paused": True})
        harness.settle()
    harness.at("02:30")
    harness.edit({"paused": False})
    harness.settle()
    assert harness.free == renewed
    harness.edit(CPU)
    harness.settle()
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [acted_on] * 2
    rolled = harness.free
    harness.at("03:00")
    harness.renew()
    harness.settle()
    assert harness.free == rolled
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [
        harness.now
    ] * 2


def test_a_crash_at_a_firing_forgets_no_refill() -> None:
    strategy = {"type": "Recurring", "refreshPolicy": "Always", "schedule": "0 * * * *"}
    harness = OrderHarness(an_order("o", 2).but({"spec": {"strategy": strategy}}))
    harness.settle()
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    harness.at("01:00")
    harness.reconcile(most=1)
    harness.at("01:30")
    harness.settle()
    assert harness.free == ["o-1", "o-2"]


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
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.at("01:00")
    harness.settle()
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    harness.at("01:50")
    harness.reconcile(most=1)
    harness.pass_time(minutes=1)
    harness.settle()
    firing = START.replace(hour=2, second=0)
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [firing] * 2


def test_a_pool_makes_no_ticket_whose_time_is_over() -> None:
    """One whose clock began at a firing long ago would end at once, and be made again without end."""
    strategy = {"type": "Recurring", "refreshPolicy": "OnClaim", "schedule": "0 * * * *"}
    template = {"spec": {"duration": "20m"}}
    harness = OrderHarness(
        an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.at("01:00")
    harness.settle()
    harness.at("01:50")
    harness.edit({"replicas": 3})
    harness.settle()
    harness.edit({"strategy": {"refreshPolicy": "Always"}, **CPU})
    harness.settle()
    assert [deadlines.activation(harness.tickets[name]) for name in harness.free] == [None] * 3


def test_a_changed_duration_is_patched_in_place() -> None:
    """Rule 7: nothing is rolled, claimed tickets get it too, ended ones do not."""
    harness = a_harness(3, "Never")
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.become("o-1", TicketPhase.EXPIRED)
    harness.settle()
    harness.edit({"template": {"spec": {"duration": "2h", "afterUse": "Reserve"}}})
    harness.settle()
    assert len(harness.made) == 3
    assert [harness.tickets[name].spec.duration for name in ("o-0", "o-1", "o-2")] == [
        "2h",
        None,
        "2h",
    ]
    assert harness.tickets["o-2"].spec.after_use is AfterUse.RESERVE


def test_a_changed_lead_time_reaches_the_tickets_and_overrules_no_extension() -> None:
    times: JSON = {"startTime": "2026-01-05T10:00:00Z", "duration": "1h"}
    strategy: JSON = {"type": "OneTime", "leadTime": "1h"}
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}})
    )
    harness.settle(hold=False)
    harness._change("o-0", {"spec": {"duration": "2h"}})
    for said, kept in (("3h", "3h"), ("0s", None), ("5m", "5m")):
        harness.edit({"strategy": {"leadTime": said}})
        harness.settle(hold=False)
        annotations = [each.metadata.annotations for each in harness.tickets.values()]
        assert [each.get("korder.dev/lead-time") for each in annotations] == [kept, kept]
    assert [each.spec.duration for each in harness.tickets.values()] == ["2h", "1h"]
    assert len(harness.made) == 2


def test_who_extends_one_ticket_by_hand_is_not_overruled() -> None:
    harness = a_harness(2)
    harness._change("o-0", {"spec": {"duration": "72h"}})
    harness.settle()
    assert harness.tickets["o-0"].spec.duration == "72h"
    harness.edit({"template": {"spec": {"duration": "3h"}}})
    harness.settle()
    assert harness.tickets["o-0"].spec.duration == "3h"


def test_what_a_ticket_gets_from_its_order() -> None:
    template: JSON = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"korder.dev/ticket-group": "g"}},
        "spec": {"nodeSelector": {"disk": "ssd"}, "duration": "1h"},
    }
    name = "a" * 70
    harness = OrderHarness(an_order(name, 1).but({"spec": {"template": template}}))
    harness.settle()
    (ticket,) = harness.tickets.values()
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
    harness = OrderHarness(an_order("o", 1).but({"spec": {"template": template}}))
    harness.settle()
    assert harness.made == ["o-0"]
    meta = harness.tickets["o-0"].metadata
    assert "korder.dev/node" not in meta.labels
    assert meta.labels["app"] == "web"
    assert meta.annotations.keys() & annotations.keys() == {"korder.dev/ticket-group"}


def test_an_order_stays_closed_until_enough_is_held_once() -> None:
    """Rule 14: claiming and claimed tickets count, and once open it stays open."""
    harness = OrderHarness(an_order("o", 3).but({"spec": {"minAvailable": 3}}))
    harness.settle(hold=False)
    harness.become("o-0", TicketPhase.RESERVED)
    harness.become("o-1", TicketPhase.CLAIMED)
    harness.settle(hold=False)
    assert not harness.order.status.opened
    assert condition(harness, "Ready")[:2] == ("False", "Closed")
    harness.become("o-2", TicketPhase.CLAIMING)
    harness.settle(hold=False)
    assert harness.order.status.opened
    harness.become("o-0", TicketPhase.PENDING)
    harness.settle(hold=False)
    assert harness.order.status.opened


NO_MORE = "nobody can claim before 3 tickets are held at once, and only 2 can be: raise replicas or lower minAvailable"


@pytest.mark.parametrize(
    ("policy", "said"),
    [("Never", NO_MORE), ("OnClaim", NO_MORE), ("Always", NO_MORE.partition(",")[0])],
)
def test_an_order_that_can_never_open_says_so(policy: str, said: str) -> None:
    strategy: JSON = {"type": "OneTime", "refreshPolicy": policy}
    harness = OrderHarness(
        an_order("o", 3).but({"spec": {"minAvailable": 3, "strategy": strategy}})
    )
    harness.settle(hold=False)
    harness.become("o-0", TicketPhase.RESERVED)
    harness.become("o-0", TicketPhase.EXPIRED)
    harness.become("o-1", TicketPhase.RESERVED)
    harness.settle(hold=False)
    assert condition(harness, "Ready") == ("False", "Closed", said)
    harness.edit({"replicas": 4})
    harness.settle()
    assert condition(harness, "Ready")[0] == "True"


def test_counters_and_conditions_tell_what_is_there() -> None:
    """S1: the counting part."""
    harness = a_harness(3, "Never")
    harness.become("o-2", TicketPhase.PENDING, message="0/3 nodes are available")
    harness.settle(hold=False)
    status = harness.order.status
    assert (status.replicas, status.available_replicas, status.unavailable_replicas) == (3, 2, 1)
    assert (status.desired_replicas, status.updated_replicas, status.observed_generation) == (
        3,
        3,
        1,
    )
    assert status.label_selector == "korder.dev/order-uid=order-uid"
    assert condition(harness, "Ready") == (
        "False",
        "TicketsWait",
        "2 of 3 tickets can be claimed; o-2 waits: 0/3 nodes are available",
    )
    harness.become("o-2", TicketPhase.RESERVED)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.become("o-1", TicketPhase.RELEASED)
    harness.settle()
    status = harness.order.status
    assert (status.claimed_replicas, status.terminal_replicas, status.replicas) == (1, 1, 2)
    assert condition(harness, "Ready")[0] == "True"


def test_a_counter_of_zero_is_written_too() -> None:
    """People read an empty column as unknown."""
    harness = a_harness(1)
    status = harness._order["status"]
    assert isinstance(status, dict)
    assert (status["claimedReplicas"], status["unavailableReplicas"]) == (0, 0)


def test_a_ticket_counts_as_available_when_it_was_held_for_long_enough() -> None:
    harness = OrderHarness(an_order("o", 1).but({"spec": {"minReadySeconds": 60}}))
    harness.settle(hold=False)
    held = "2026-01-05T00:00:30Z"
    harness.become("o-0", TicketPhase.RESERVED, activationTime=held)
    harness.settle()
    assert harness.order.status.available_replicas == 0
    assert condition(harness, "Ready")[2] == "0 of 1 tickets have been held for 60 s"
    assert harness.requeue_at is not None
    harness.now = harness.requeue_at
    harness.settle()
    assert harness.order.status.available_replicas == 1


def test_a_refill_without_room_counts_as_a_replica() -> None:
    """Rule 6: nothing piles up."""
    harness = a_harness(2)
    for _ in range(5):
        harness.settle(hold=False)
    harness.become("o-0", TicketPhase.CLAIMED)
    for _ in range(5):
        harness.settle(hold=False)
    assert len(harness.made) == 3
    assert harness.order.status.replicas == 3
