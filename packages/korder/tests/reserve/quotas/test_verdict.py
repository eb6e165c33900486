"""Who gets what he wishes for: scopes, keys, allocations, and sentences that name what stands in the way."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.api.quota import Quota
from korder.reserve.quotas import verdict as quota_verdict
from korder.reserve.quotas.verdict import Part, Place, Use, Wish, judge
from kubeloop.objects import resources
from kubeloop.objects.meta import JSON

PROD = Place("prod", {"env": "prod"})
LABELS = {"app": "web"}


def a_wish(place: Place = PROD, length: timedelta | None = None, **amounts: str) -> Wish:
    named = {key.replace("_", "."): amount for key, amount in amounts.items()}
    return Wish(place, (Part(LABELS, resources.parse_list(named), length),))


def using(inside: Mapping[str, str] | None = None, **total: str) -> quota_verdict.Using:
    named = {key.replace("_", "."): amount for key, amount in total.items()}
    use = Use(resources.parse_list(named), (resources.parse_list(inside or {}),))
    return lambda _: use


def stated(quota: Quota, usage: quota_verdict.Using, wish: Wish) -> list[str]:
    return list(map(str, judge([quota], usage, wish, MONDAY)))


@pytest.mark.parametrize(
    ("limit", "used", "asked", "refusal"),
    [
        pytest.param("2", "1500m", "500m", "", id="exactly full"),
        pytest.param(
            "2", "1500m", "501m", "used 1500m of 2, requested 501m", id="a milli unit too much"
        ),
        pytest.param("0", "0", "1m", "used 0 of 0, requested 1m", id="nothing is allowed"),
        pytest.param("2", "5", "0", "", id="nothing is asked for while there is too much"),
        pytest.param("2500m", "2", "1", "used 2 of 2500m, requested 1", id="half a unit is left"),
    ],
)
@pytest.mark.parametrize(
    "key", ["orders", "tickets", "reserved.cpu", "reserved.memory", "reserved.nvidia.com/gpu"]
)
def test_amounts_are_judged_exactly(
    key: str, limit: str, used: str, asked: str, refusal: str
) -> None:
    quota = a_quota("team").but({"spec": {"hard": {key: limit}}}).build()
    wish = Wish(PROD, (Part(LABELS, resources.parse_list({key: asked})),))
    use = Use(resources.parse_list({key: used}))
    found = [str(each) for each in judge([quota], lambda _: use, wish, MONDAY)]
    assert found == ([f"quota team: {key} {refusal}"] if refusal else [])


@pytest.mark.parametrize("written", ["24h", "86400", 86400], ids=repr)
@pytest.mark.parametrize(
    ("hours", "refused"),
    [pytest.param(24, False, id="just as long"), pytest.param(25, True, id="an hour longer")],
)
def test_a_hold_may_last_so_long(written: str | int, hours: int, refused: bool) -> None:
    quota = a_quota("q").but({"spec": {"hard": {"max-duration": written}}}).build()
    found = stated(quota, using(), a_wish(length=timedelta(hours=hours)))
    said = "quota q: max-duration is 24h0m0s, requested 25h0m0s"
    assert found == ([said] if refused else [])


@pytest.mark.parametrize(
    ("scope", "means"),
    [
        pytest.param({"type": "Cluster"}, True, id="the cluster"),
        pytest.param({"type": "NamespaceList", "namespaces": ["dev", "prod"]}, True, id="listed"),
        pytest.param({"type": "NamespaceList", "namespaces": ["dev"]}, False, id="not listed"),
        pytest.param(
            {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"env": "prod"}}},
            True,
            id="the namespace has the label",
        ),
        pytest.param(
            {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"app": "web"}}},
            False,
            id="only the object has the label",
        ),
        pytest.param(
            {
                "type": "ObjectSelector",
                "objectSelector": {
                    "matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]
                },
            },
            True,
            id="the object has the label",
        ),
        pytest.param(
            {"type": "ObjectSelector", "objectSelector": {"matchLabels": {"env": "prod"}}},
            False,
            id="only the namespace has the label",
        ),
    ],
)
def test_scopes_tell_whom_a_quota_means(scope: dict[str, JSON], means: bool) -> None:
    quota = a_quota("q", scope, tickets="0").build()
    assert bool(stated(quota, using(), a_wish(tickets="1"))) is means


def test_all_quotas_must_agree_and_those_that_do_not_are_named() -> None:
    quotas = [
        a_quota("a", tickets="1", orders="0").build(),
        a_quota("b", tickets="9").build(),
        a_quota("c", tickets="2").but({"spec": {"enforcement": "Wait"}}).build(),
    ]
    wish = a_wish(tickets="3")
    found = judge(quotas, using(), wish, MONDAY)
    assert [(each.quota, each.key, each.waits) for each in found] == [
        ("a", "tickets", False),
        ("c", "tickets", True),
    ]


def test_no_duration_gets_shorter_by_waiting() -> None:
    quota = a_quota("q", max__duration="1h").but({"spec": {"enforcement": "Wait"}}).build()
    (found,) = judge([quota], using(), a_wish(length=timedelta(hours=2)), MONDAY)
    assert not found.waits


def allocated(**more: JSON) -> Quota:
    part: JSON = {"name": "production", "limits": {"reserved.cpu": "1"}, **more}
    return a_quota("q", reserved_cpu="3").but({"spec": {"allocation": [part]}}).build()


@pytest.mark.parametrize(
    ("more", "place", "refused"),
    [
        pytest.param({"namespace": "prod"}, PROD, True, id="a namespace is capped"),
        pytest.param({"namespace": "prod"}, Place("dev", {}), False, id="the rest is shared"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"env": "prod"}}}, PROD, True, id="by label"
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"env": "dev"}}}, PROD, False, id="other labels"
        ),
        pytest.param({"namespace": "prod", "borrow": True}, PROD, False, id="it may borrow"),
    ],
)
def test_allocations_cap_their_namespaces(
    more: dict[str, JSON], place: Place, refused: bool
) -> None:
    usage = using({"reserved.cpu": "500m"}, reserved_cpu="1")
    found = stated(allocated(**more), usage, a_wish(place, reserved_cpu="600m"))
    said = "quota q, allocation production: reserved.cpu used 500m of 1, requested 600m"
    assert found == ([said] if refused else [])


def test_who_borrows_still_stays_within_the_quota() -> None:
    quota = allocated(namespace="prod", borrow=True)
    assert stated(quota, using(reserved_cpu="2"), a_wish(reserved_cpu="1500m")) == [
        "quota q: reserved.cpu used 2 of 3, requested 1500m"
    ]


def test_a_sentence_names_the_window_in_whose_time_it_is_said() -> None:
    window: JSON = {"name": "freeze", "schedule": "* * * * *", "multiplier": "0"}
    quota = a_quota("q", tickets="5").but({"spec": {"timeWindows": [window]}}).build()
    assert stated(quota, using(), a_wish(tickets="1")) == [
        "quota q, window freeze: tickets used 0 of 0, requested 1"
    ]


def test_only_the_parts_that_a_quota_means_are_judged() -> None:
    """An order and its tickets have labels of their own."""
    scope: JSON = {"type": "ObjectSelector", "objectSelector": {"matchLabels": {"app": "web"}}}
    quota = a_quota("q", dict(scope), orders="0", tickets="2").build()
    parts = (
        Part({}, resources.parse_list({"orders": "1"})),
        Part(LABELS, resources.parse_list({"tickets": "3"})),
    )
    (found,) = judge([quota], using(), Wish(PROD, parts), MONDAY)
    assert (found.key, found.requested) == ("tickets", "3")
