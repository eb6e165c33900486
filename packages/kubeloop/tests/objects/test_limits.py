from kubeloop.objects import codec, limits
from kubeloop.objects.meta import JSON


def test_a_quota_tells_what_is_allowed_and_used() -> None:
    body: JSON = {
        "spec": {"hard": {"requests.cpu": "10", "pods": 5}, "scopes": ["BestEffort"]},
        "status": {"hard": {"pods": "5"}, "used": {"pods": "3"}},
    }

    quota = codec.convert(body, limits.ResourceQuota)

    assert quota.spec.hard == {"requests.cpu": "10", "pods": 5}
    assert quota.status.used == {"pods": "3"}


def test_a_limit_range_bounds_each_type() -> None:
    body: JSON = {
        "spec": {
            "limits": [
                {"type": "Container", "max": {"cpu": "2"}, "defaultRequest": {"cpu": "100m"}}
            ]
        }
    }

    (item,) = codec.convert(body, limits.LimitRange).spec.limits

    assert (item.type, item.max, item.default_request) == (
        "Container",
        {"cpu": "2"},
        {"cpu": "100m"},
    )


def test_a_priority_class_has_a_value() -> None:
    body: JSON = {"value": 1_000_000, "preemptionPolicy": "Never"}

    made = codec.convert(body, limits.PriorityClass)

    assert (made.value, made.preemption_policy) == (1_000_000, "Never")


def test_kinds_name_their_resource() -> None:
    assert str(limits.RESOURCE_QUOTAS) == "resourcequotas"
    assert str(limits.LIMIT_RANGES) == "limitranges"
    assert str(limits.PRIORITY_CLASSES) == "priorityclasses.scheduling.k8s.io"
    assert not limits.PRIORITY_CLASSES.namespaced
