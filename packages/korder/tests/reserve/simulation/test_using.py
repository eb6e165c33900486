"""Quotas: promises about what is used, charged ahead and allowed, kept and broken (rule 20, S31, S34)."""

from datetime import timedelta

import pytest
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.simulation.story_objects import WE, order, ordered, share, ticket

from korder.api.quota import Quota
from korder.reserve.scenarios.invariants import ledgers, windows as quota_windows
from kubeloop.objects import instant
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder
from pocketkube.testing.story import START, Story

BLUE: JSON = {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"team": "blue"}}}

SHARED: JSON = {"spec": {"allocateOnce": False}}


def here(team: str) -> Builder[object]:
    meta: JSON = {"name": "default", "labels": {"team": team}}
    return Builder(NAMESPACES, {"metadata": meta})  # type: ignore[arg-type]


def story_objects(quota: Builder[Quota], hard: JSON = None, **used: str) -> Builder[Quota]:
    """A quota whose status says what is used; `_` stands for `.`."""
    amounts: JSON = {key.replace("_", "."): amount for key, amount in used.items()}
    status: JSON = {"used": amounts, "hard": hard or {}, "observedGeneration": 1}
    return quota.but({"metadata": {"generation": 1}, "status": status})


def entry(name: str = "o-0", seconds: float = 120, **charge: str) -> JSON:
    amounts: JSON = {key.replace("_", "."): amount for key, amount in charge.items()}
    until = instant.render(START + timedelta(seconds=seconds))
    return {"namespace": "default", "name": name, "charge": amounts, "until": until}


def pending(quota: Builder[Quota], *entries: JSON) -> Builder[Quota]:
    return quota.but({"status": {"pending": list(entries)}})


@pytest.mark.parametrize(
    ("used", "broken"),
    [
        pytest.param("2", [], id="the last"),
        pytest.param("3", ["tickets was charged: 3 of 2 are used"], id="one too many"),
    ],
)
def test_whoever_charges_stays_within_the_limit(used: str, broken: list[str]) -> None:
    story = Story(ledgers.ChargesFit())
    quota = story_objects(a_quota("q", tickets="2"), {"tickets": "2"}, tickets="1")
    story.tell(quota)
    charged = quota.but({"status": {"used": {"tickets": used}}})
    story.tell(pending(charged, entry(tickets="1")), by=WE)
    assert story.broken == broken


def test_a_limit_that_falls_is_nobodys_charge() -> None:
    story = Story(ledgers.ChargesFit())
    quota = pending(story_objects(a_quota("q"), {"tickets": "2"}, tickets="2"), entry(tickets="1"))
    story.tell(quota, by=WE)
    story.tell(quota.but({"status": {"hard": {"tickets": "1"}}}), by=WE)
    assert story.broken == []


@pytest.mark.parametrize(
    ("there", "used"),
    [
        pytest.param(ticket("Reserved"), {"tickets": "1", "reserved_cpu": "1"}, id="held"),
        pytest.param(ticket("Claiming"), {"tickets": "1", "reserved_cpu": "1"}, id="handed over"),
        pytest.param(ticket("Claimed"), {"tickets": "1"}, id="in use"),
        pytest.param(ticket("Released"), {}, id="released"),
        pytest.param(ticket("Expired"), {}, id="expired"),
        pytest.param(order(), {"orders": "1"}, id="an order"),
        pytest.param(
            ticket("Reserved", sharedBy=[share("a", "300m")]).but(SHARED),
            {"tickets": "1", "reserved_cpu": "700m"},
            id="shared",
        ),
        pytest.param(
            ticket("Claimed", sharedBy=[share("a", "300m")]).but(SHARED),
            {"tickets": "1"},
            id="shared when its time is over",
        ),
    ],
)
def test_what_is_reported_is_what_is_there(there: Builder[object], used: dict[str, str]) -> None:
    memory = {"700m": "512Mi", "1": "1Gi"}.get(used.get("reserved_cpu", ""))
    stated = {**used, **({"reserved_memory": memory} if memory else {})}
    for amounts, is_right in ((stated, True), ({**stated, "reserved_cpu": "1001m"}, False)):
        story = Story(ledgers.UsedIsCounted())
        story.tell(there, story_objects(a_quota("q"), **amounts))
        story.wait(60)
        assert (story.broken == []) is is_right


def test_what_is_wrong_for_a_moment_is_forgiven_and_what_stays_wrong_is_not() -> None:
    story = Story(ledgers.UsedIsCounted())
    story.tell(story_objects(a_quota("q")), ticket("Claimed"))
    story.wait(5)
    story.tell(story_objects(a_quota("q"), tickets="1"), by=WE)
    story.wait(60)
    assert story.broken == []
    story.lose(ticket("Claimed"))
    story.wait(60)
    assert story.broken == ["since 00:01:05 tickets is told as 1 and is 0"]


def test_use_moves_with_the_labels_of_a_namespace() -> None:
    """Use moves with the labels of a namespace (S30)."""
    story = Story(ledgers.UsedIsCounted())
    story.tell(here("red"), ticket("Claimed"), story_objects(a_quota("q", dict(BLUE))))
    story.wait(60)
    assert story.broken == []
    story.tell(here("blue"))
    story.wait(60)
    assert story.broken == ["since 00:01:00 tickets is told as 0 and is 1"]


def test_what_is_charged_ahead_may_count_and_need_not() -> None:
    for used in ("1", "2"):
        story = Story(ledgers.UsedIsCounted())
        quota = story_objects(a_quota("q"), tickets=used)
        story.tell(ordered("o-0", "Claimed"), pending(quota, entry(tickets="1")))
        story.wait(60)
        assert story.broken == []


def test_an_entry_ends_at_its_time() -> None:
    story = Story(ledgers.EntriesEnd())
    quota = story_objects(a_quota("q"))
    story.tell(pending(quota, entry()), by=WE)
    story.wait(100)
    story.tell(pending(quota, entry(seconds=220)), by=WE)
    story.wait(125)
    assert story.broken == []
    story.wait(10)
    assert story.broken == ["default/o-0 stands in its ledger, long after the end"]


@pytest.mark.parametrize(
    ("stated", "window", "broken"),
    [
        pytest.param("1.75", "", [], id="as written"),
        pytest.param("2", "", ["reserved.cpu is told as 2 and is 7/4"], id="rounded"),
        pytest.param("875m", "half", [], id="half"),
        pytest.param("1", "half", ["reserved.cpu is told as 1 and is 7/8"], id="half, rounded"),
        pytest.param("500m", "half,own", [], id="the strictest"),
    ],
)
def test_limits_are_exact(stated: str, window: str, broken: list[str]) -> None:
    windows: JSON = [
        {"name": "half", "schedule": "0 1 * * *", "multiplier": "0.5"},
        {"name": "own", "schedule": "0 2 * * *", "hard": {"reserved.cpu": "500m"}},
    ]
    quota = a_quota("q", reserved_cpu="1.75").but({"spec": {"timeWindows": windows}})
    story = Story(quota_windows.LimitsAreExact())
    said = story_objects(quota, {"reserved.cpu": stated})
    story.tell(said.but({"status": {"activeTimeWindow": window}}), by=WE)
    assert story.broken == broken


FORMS = [
    pytest.param({"schedule": "10 * * * *", "duration": "5m"}, 10, 15, id="firings"),
    pytest.param({"schedule": "*/30 * * * *", "duration": "10m"}, 30, 40, id="every half hour"),
    pytest.param({"hours": "00:20-00:40"}, 20, 40, id="hours"),
    pytest.param({"hours": "05:50-06:10", "timeZone": "Asia/Kolkata"}, 20, 40, id="in a zone"),
    pytest.param({"schedule": "0 1-2 * * *"}, 60, 180, id="hours of an expression"),
    pytest.param(
        {"schedule": "0 23-1 * * *", "timeZone": "Etc/GMT+2"}, 60, 240, id="past midnight"
    ),
]


@pytest.mark.parametrize(("form", "opens", "closes"), FORMS)
@pytest.mark.parametrize(("late", "is_right"), [(0.9, True), (1.1, False)], ids=["in time", "late"])
def test_windows_open_and_close_in_time(
    form: dict[str, JSON], opens: int, closes: int, late: float, is_right: bool
) -> None:
    """Windows open and close in time (S34)."""
    window: JSON = {"name": "w", "multiplier": "2", **form}
    quota = story_objects(a_quota("q", tickets="1").but({"spec": {"timeWindows": [window]}}))
    opened = quota.but({"status": {"activeTimeWindow": "w"}})
    begins_open = form.get("schedule") == "*/30 * * * *"
    story = Story(quota_windows.WindowsAreKept())
    story.tell(opened if begins_open else quota, by=WE)
    if begins_open:
        story.wait(600)
        story.tell(quota, by=WE)
    story.wait(opens * 60 - (story.now - START).total_seconds())
    story.wait(0.9)
    story.tell(opened, by=WE)
    assert story.broken == []
    story.wait((closes - opens) * 60 - 0.9 + late)
    story.tell(quota, by=WE)
    story.wait(1)
    assert (story.broken == []) is is_right


def test_a_window_is_not_reported_early() -> None:
    window: JSON = {"name": "w", "multiplier": "2", "schedule": "10 * * * *", "duration": "5m"}
    quota = story_objects(a_quota("q", tickets="1").but({"spec": {"timeWindows": [window]}}))
    story = Story(quota_windows.WindowsAreKept())
    story.tell(quota, by=WE)
    story.wait(595)
    story.tell(quota.but({"status": {"activeTimeWindow": "w"}}), by=WE)
    assert story.broken == ["it tells that w is open, and none is"]


@pytest.mark.parametrize(
    "form",
    [
        {"schedule": "@hourly", "duration": "5m"},
        {"schedule": "0 9-17 * * 1-5"},
        {"schedule": "0 25 * * mon"},
        {"hours": "09:00-17:00", "timeZone": "Mars/Base"},
    ],
    ids=["a macro", "days", "nonsense", "another planet"],
)
def test_what_the_judge_cannot_read_he_does_not_judge(form: dict[str, JSON]) -> None:
    window: JSON = {"name": "w", "multiplier": "2", **form}
    quota = story_objects(a_quota("q", tickets="1").but({"spec": {"timeWindows": [window]}}))
    story = Story(quota_windows.WindowsAreKept())
    story.tell(quota.but({"status": {"activeTimeWindow": "w"}}), by=WE)
    story.wait(7200)
    assert story.broken == []
