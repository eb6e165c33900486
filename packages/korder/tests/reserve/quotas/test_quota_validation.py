"""Quotas that make no sense, and what is said to those who write them."""

import pytest
from tests.reserve.quotas.quotas import a_quota

from korder.reserve.quotas import status as quota_status
from kubeloop.objects.meta import JSON

ODD_MULTIPLIERS: tuple[JSON, ...] = ("abc", "", "1/0", "1e999999999", "-2", -0.5, 1e300, "1000001")


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        pytest.param(
            {"hard": {"tickets": "1500m"}},
            "spec.hard.tickets",
            "must be a whole number, not 1500m",
            id="a ticket and a half",
        ),
        pytest.param(
            {"hard": {"reserved.": "1"}},
            "spec.hard.reserved.",
            "must name a resource",
            id="of nothing",
        ),
        pytest.param(
            {"hard": {"reserved.cpu": "-1"}},
            "spec.hard.reserved.cpu",
            "must not be less than zero, not -1",
            id="less than nothing",
        ),
        pytest.param(
            {"hard": {"reserved.cpu": "1h30m"}},
            "spec.hard.reserved.cpu",
            "must be a quantity such as 20, 500m or 40Gi, not 1h30m",
            id="a duration where there is an amount",
        ),
        pytest.param(
            {"hard": {"max-duration": "40Gi"}},
            "spec.hard.max-duration",
            "must be a duration such as 24h or whole seconds such as 86400, longer than zero, not 40Gi",
            id="an amount where there is a duration",
        ),
        pytest.param(
            {"allocation": [{"namespace": "a", "limits": {"tickets": "lots"}}]},
            "spec.allocation[0].limits.tickets",
            "must be a quantity such as 20, 500m or 40Gi, not lots",
            id="a word in an allocation",
        ),
        pytest.param(
            {"timeWindows": [{"name": "day", "schedule": "0 25 * * *", "multiplier": "2"}]},
            "spec.timeWindows[0]",
            "window day: '25' in the hour field",
            id="an hour that never comes",
        ),
        *(
            pytest.param(
                {"timeWindows": [{"name": "w", "schedule": "* * * * *", "multiplier": odd}]},
                "spec.timeWindows[0]",
                f"window w: multiplier must be a number from 0 to 1000000, not {odd!r}",
                id=f"the multiplier {odd!r}",
            )
            for odd in ODD_MULTIPLIERS
        ),
        pytest.param(
            {"timeWindows": [{"name": "w", "hours": "9-17", "multiplier": 2}]},
            "spec.timeWindows[0]",
            "hours must be two times such as 09:00-17:00, not '9-17'",
            id="hours without minutes",
        ),
        pytest.param(
            {"timeWindows": [{"name": "w", "schedule": "0 9 * * *", "duration": "1 day"}]},
            "spec.timeWindows[0]",
            "duration must be longer than zero, such as 1h30m or 90s, not '1 day'",
            id="a duration in words",
        ),
        pytest.param(
            {"timeWindows": [{"name": "d", "hours": "09:00-17:00", "timeZone": "Mars/Base"}]},
            "spec.timeWindows[0]",
            "time zone 'Mars/Base' is unknown",
            id="another planet",
        ),
        pytest.param(
            {
                "scope": {
                    "type": "ObjectSelector",
                    "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
                }
            },
            "spec.scope.objectSelector",
            "a",
            id="one of none",
        ),
    ],
)
def test_nonsense_is_refused(spec: dict[str, JSON], field: str, said: str) -> None:
    judgement = quota_status.judge(a_quota("q").but({"spec": spec}).build(), ())
    (refusal,) = judgement.refusals
    assert refusal.field == field
    assert said in refusal.message


def test_a_second_quota_of_the_whole_cluster_is_refused() -> None:
    first, second = a_quota("first").build(), a_quota("second").build()
    (refusal,) = quota_status.judge(second, [first]).refusals
    assert "quota first is for the whole cluster already" in refusal.message
    assert quota_status.judge(first, [first]).refusals == ()
    listed: JSON = {"type": "NamespaceList", "namespaces": ["a"]}
    assert quota_status.judge(a_quota("b", dict(listed)).build(), [first]).refusals == ()


def test_what_is_odd_is_only_warned_of() -> None:
    allocation: JSON = [
        {"namespace": "a", "limits": {"reserved.cpu": "2"}},
        {"namespace": "b", "limits": {"reserved.cpu": "1500m"}},
    ]
    quota = a_quota("q", reserved_cpu="3").but(
        {"spec": {"hard": {"orders.cron": "1"}, "allocation": allocation}}
    )
    judgement = quota_status.judge(quota.build(), ())
    assert judgement.refusals == ()
    unknown, over = judgement.warnings
    assert unknown.startswith("spec.hard.orders.cron limits nothing: use orders, tickets,")
    assert "reserved.cpu adds up to 3500m, but spec.hard allows 3" in over
