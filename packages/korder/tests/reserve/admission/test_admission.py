"""What is refused, marked and warned of at the door."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

import pytest

from korder.reserve.admission.verdicts import (
    judge_order,
    judge_pod,
    judge_ticket,
)
from korder.reserve.validation import Judgement, Question
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_pod

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REQUIRED = {"korder.dev/required": "true"}


def worded(value: object) -> str:
    """Tells annotations apart."""
    words = value if isinstance(value, dict) else {}
    return ", ".join(f"{key.removeprefix('korder.dev/')}={said}" for key, said in words.items())


def of_order(change: Mapping[str, JSON], *, system_classes: bool = False) -> Judgement:
    built = an_order("o").but({"spec": change})
    spec = cast("Mapping[str, JSON]", built.json["spec"])
    return judge_order(built.build(), Question(NOW, spec, system_classes=system_classes))


def of_ticket(change: Mapping[str, JSON], before: Mapping[str, JSON] | None = None) -> Judgement:
    built = a_ticket("t").but({"spec": change})
    spec = cast("Mapping[str, JSON]", built.json["spec"])
    return judge_ticket(built.build(), Question(NOW, spec, before))


@pytest.mark.parametrize(
    "annotations",
    [
        REQUIRED,
        REQUIRED | {"korder.dev/order": "my-order"},
        {"korder.dev/order": "other/my-order"},
        {"korder.dev/order-request": "my-order"},
        {"korder.dev/ticket-request": "my-order-0"},
        {"korder.dev/ticket-request": "name:my-order-0"},
        {"korder.dev/ticket-request": "selector:app=web,tier in (a, b)"},
        {"korder.dev/ticket-request": "group:night shift"},
        {"korder.dev/fallback-after": "90s"},
    ],
    ids=worded,
)
def test_a_pod_that_asks_for_a_ticket_is_marked(annotations: dict[str, str]) -> None:
    """S10, S15: each form of a request."""
    assert judge_pod(a_pod("p").annotated(annotations).build()) == Judgement(marked=True)


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"korder.dev/required": "yes"}, "must be true or false, not 'yes'"),
        ({"korder.dev/order": "My Order"}, "must be an order's name or namespace/name"),
        ({"korder.dev/order": "a/b/c"}, "must be an order's name or namespace/name"),
        ({"korder.dev/ticket-request": "colour:red"}, "must be name:<ticket>"),
        ({"korder.dev/ticket-request": "selector:a in"}, "is not a label selector"),
        ({"korder.dev/fallback-after": "soon"}, "is not a duration"),
        ({"korder.dev/fallback-after": "-5s"}, "must not be negative"),
        (REQUIRED | {"korder.dev/fallback-after": "5s"}, "never falls back"),
        (
            {"korder.dev/order": "a", "korder.dev/order-request": "b"},
            "name different orders",
        ),
        (
            {"korder.dev/ticket-request": "a", "korder.dev/order-request": "b"},
            "exclude each other",
        ),
    ],
    ids=worded,
)
def test_a_pod_that_nobody_understands_is_refused(annotations: dict[str, str], said: str) -> None:
    """S15: malformed and contradictory requests are errors at admission."""
    (refusal,) = judge_pod(a_pod("p").annotated(annotations).build()).refusals
    assert refusal.field == "metadata.annotations"
    assert said in refusal.message


def test_a_pod_without_words_of_ours_passes_as_it_is() -> None:
    assert judge_pod(a_pod("p").annotated({"team": "a"}).build()) == Judgement()


def test_a_pod_that_says_it_needs_none_passes_as_it_is() -> None:
    assert judge_pod(a_pod("p").annotated({"korder.dev/required": "false"}).build()) == Judgement()


def test_a_pod_that_has_the_gate_gets_no_second_one() -> None:
    pod = a_pod("p").annotated(REQUIRED).gated_by("korder.dev/ticket")
    assert judge_pod(pod.build()) == Judgement()


def test_a_pod_that_chose_its_node_cannot_ask_for_a_ticket() -> None:
    (refusal,) = judge_pod(a_pod("p").annotated(REQUIRED).on("node-1").build()).refusals
    assert refusal.field == "spec.nodeName"


@pytest.mark.parametrize("word", ["korder.dev/ticket-claimed", "korder.dev/ticket-node"])
def test_a_user_who_writes_our_answer_himself_is_reported_that_it_claims_nothing(word: str) -> None:
    """A user who writes our answer learns that it claims nothing (S17)."""
    judgement = judge_pod(a_pod("p").annotated({word: "my-order-0"}).build())
    assert not judgement.refusals
    assert not judgement.marked
    (warning,) = judgement.warnings
    assert warning.startswith(f"annotation {word} is written by korder and never read")


def scheduled(expression: str, kind: str = "Scheduled", **more: JSON) -> dict[str, JSON]:
    return {"strategy": {"type": kind, "schedule": expression, **more}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (scheduled("0 25 * * *"), "spec.strategy.schedule"),
        (scheduled("*/0 * * * *"), "spec.strategy.schedule"),
        (scheduled("0 0 31 2 *"), "spec.strategy.schedule"),
        (scheduled("0 0 * * mon-fun"), "spec.strategy.schedule"),
        (scheduled("0 2 * * *", timeZone="Mars/Base"), "spec.strategy.timeZone"),
        (
            {"template": {"spec": {"window": {"timeZone": "Mars/Base"}}}},
            "spec.template.spec.window.timeZone",
        ),
        (
            {"template": {"spec": {"priorityClassName": "system-node-critical"}}},
            "spec.template.spec.priorityClassName",
        ),
        (
            {"template": {"spec": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": 1}}}}},
            "spec.template.spec.resources.requests.cpu",
        ),
        (
            {"template": {"spec": {"resources": {"requests": {"cpu": "two"}}}}},
            "spec.template.spec.resources",
        ),
        (
            {"template": {"metadata": {"labels": {"korder.dev/node": "n"}}}},
            "spec.template.metadata.labels",
        ),
        (
            {"template": {"metadata": {"annotations": {"korder.dev/standing": "true"}}}},
            "spec.template.metadata.annotations",
        ),
    ],
    ids=[
        "an hour there is not",
        "a step of nothing",
        "a day no month has",
        "a day no week has",
        "a zone nobody knows",
        "a window's zone nobody knows",
        "a class of the system (rule 21)",
        "requests above limits (rule 24)",
        "an amount that is none",
        "a label that is ours",
        "an annotation that is ours",
    ],
)
def test_an_order_that_could_never_be_served_is_refused(
    change: dict[str, JSON], field: str
) -> None:
    """An order that can never be served is refused (S29, rules 21 and 24)."""
    assert [refusal.field for refusal in of_order(change).refusals] == [field]


def test_a_class_of_the_system_passes_where_the_manager_allows_it() -> None:
    """A class of the system passes where the manager allows it (rule 21)."""
    change: dict[str, JSON] = {"template": {"spec": {"priorityClassName": "system-node-critical"}}}
    assert of_order(change, system_classes=True) == Judgement()


def test_all_that_is_wrong_is_said_at_once() -> None:
    change: dict[str, JSON] = {
        **scheduled("x x x x x"),
        "template": {"spec": {"priorityClassName": "system-node-critical"}},
    }
    assert len(of_order(change).refusals) == 2


@pytest.mark.parametrize(
    ("length", "warned"),
    [("1h", True), ("23h59m", True), ("24h", False), (None, False), ("36h", False), ("48h", False)],
)
def test_a_pool_whose_tickets_end_before_the_next_firing_is_warned_of(
    length: str | None, warned: bool
) -> None:
    """Rule 5: the default duration is 24h; a firing within a term renews it in place."""
    change = {**scheduled("0 2 * * *", "Recurring"), "template": {"spec": {"duration": length}}}
    judgement = of_order(change)
    assert not judgement.refusals
    assert any("nothing is held" in warning for warning in judgement.warnings) is warned


@pytest.mark.parametrize(("replicas", "warned"), [(100, False), (101, True)])
def test_a_large_order_is_warned_of(replicas: int, warned: bool) -> None:
    assert bool(of_order({"replicas": replicas}).warnings) is warned


@pytest.mark.parametrize("daemon", [False, True], ids=["pool", "daemon"])
@pytest.mark.parametrize(
    ("strategy", "spec", "warned"),
    [
        ("Scheduled", {"startTime": "2026-04-01T00:00:00Z"}, True),
        ("Scheduled", {"window": {"startTime": "2026-04-01T00:00:00Z"}}, True),
        ("Scheduled", {"duration": "1h"}, False),
        ("Recurring", {"startTime": "2026-04-01T00:00:00Z", "duration": "24h"}, False),
    ],
)
def test_a_start_that_firings_replace_is_warned_of(
    strategy: str, spec: JSON, daemon: bool, warned: bool
) -> None:
    change = {**scheduled("0 2 * * *", strategy), "template": {"spec": spec}, "daemonSet": daemon}
    judgement = of_order(change)
    assert not judgement.refusals
    assert any("at their firing" in warning for warning in judgement.warnings) is warned


@pytest.mark.parametrize(("start", "warned"), [("10:59", True), ("11:01", False)])
def test_an_order_whose_time_is_over_is_warned_of(start: str, warned: bool) -> None:
    times: JSON = {"startTime": f"2026-03-01T{start}:00Z", "duration": "1h"}
    judgement = of_order({"template": {"spec": times}})
    assert any("which is over" in warning for warning in judgement.warnings) is warned


def test_an_order_for_the_end_of_all_calendars_is_judged() -> None:
    times: JSON = {"startTime": "9999-12-31T23:30:00Z", "duration": "1h"}
    assert not of_order({"template": {"spec": times}}).warnings


def test_a_group_that_is_only_a_label_is_warned_of() -> None:
    group: JSON = {"korder.dev/ticket-group": "night"}
    (warning,) = of_order({"template": {"metadata": {"labels": group}}}).warnings
    assert "annotation" in warning
    assert not of_order({"template": {"metadata": {"annotations": group}}}).warnings


def test_replicas_beside_daemon_set_are_warned_of() -> None:
    (warning,) = of_order({"daemonSet": True, "replicas": 300}).warnings
    assert "has no effect with daemonSet" in warning


@pytest.mark.parametrize(
    "change",
    [
        {"resources": {"requests": {"cpu": "2"}}},
        {"allocateOnce": False},
        {"nodeSelector": {"disk": "ssd"}},
        {"priorityClassName": "low"},
        {"nodeName": "node-2"},
    ],
    ids=["resources", "allocateOnce", "nodeSelector", "priorityClassName", "nodeName"],
)
def test_what_a_guardian_is_made_of_stays_as_it_is(change: dict[str, JSON]) -> None:
    (refusal,) = of_ticket(change, before={"duration": "1h"}).refusals
    assert refusal.field == f"spec.{next(iter(change))}"


def test_a_ticket_can_be_extended() -> None:
    assert of_ticket({"duration": "8h"}, before={"duration": "1h"}) == Judgement()
