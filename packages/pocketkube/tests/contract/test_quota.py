"""Quotas and limit ranges: what a namespace may hold, and what a pod in it must ask for."""

from typing import Any

import pytest
from tests.contract.objects import Home, config_map, pod, simple
from tests.contract.wire import Server


async def quota(server: Server, home: Home, name: str = "q", **hard: str) -> str:
    """Makes a quota and counts, as its controller would, that nothing is used yet."""
    limits = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    spec = {"hard": limits}
    (await server.post(home("resourcequotas"), simple("v1", "ResourceQuota", name, spec=spec))).ok(
        201
    )
    path = home("resourcequotas", name)
    status = {"hard": limits, "used": dict.fromkeys(limits, "0")}
    (await server.patch(f"{path}/status", {"status": status})).ok()
    return path


def asking(name: str, **resources: dict[str, str]) -> dict[str, Any]:
    body = pod(name)
    body["spec"]["containers"][0]["resources"] = resources
    return body


async def refused_at_last(server: Server, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A real server may need a moment to see a quota; a dry run does not spend it."""
    answer = await server.until(
        lambda: server.post(path, body, dryRun="All"), lambda answer: answer.status != 201
    )
    return answer.refused(403, "Forbidden")


async def test_a_count_that_is_spent_refuses_more(server: Server, home: Home) -> None:
    await quota(server, home, count__configmaps="0")
    status = await refused_at_last(server, home("configmaps"), config_map("a"))
    assert status["message"] == (
        'configmaps "a" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=0, limited: '
        "count/configmaps=0"
    )


async def test_a_creation_is_counted(server: Server, home: Home) -> None:
    path = await quota(server, home, pods="2", secrets="0")
    await refused_at_last(server, home("secrets"), simple("v1", "Secret", "s"))
    (await server.post(home("pods"), pod("a"))).ok(201)
    assert (await server.get(path)).ok()["status"]["used"]["pods"] == "1"
    (await server.post(home("pods"), pod("b"))).ok(201)
    (await server.post(home("pods"), pod("c"))).refused(
        403,
        "Forbidden",
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    )


async def test_requests_are_summed(server: Server, home: Home) -> None:
    path = await quota(server, home, requests_cpu="1", secrets="0")
    await refused_at_last(server, home("secrets"), simple("v1", "Secret", "s"))
    (await server.post(home("pods"), asking("a", requests={"cpu": "600m"}))).ok(201)
    assert (await server.get(path)).ok()["status"]["used"]["requests.cpu"] == "600m"
    (await server.post(home("pods"), asking("b", requests={"cpu": "600m"}))).refused(
        403,
        "Forbidden",
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: '
        "requests.cpu=1",
    )


async def test_what_is_limited_must_be_asked_for(server: Server, home: Home) -> None:
    await quota(server, home, requests_cpu="1", limits_memory="1Gi")
    status = await refused_at_last(server, home("pods"), pod("a"))
    assert status["message"] == (
        'pods "a" is forbidden: failed quota: q: must specify limits.memory for: main; requests.cpu for: main'
    )


async def test_a_dry_run_spends_nothing(server: Server, home: Home) -> None:
    path = await quota(server, home, pods="1", secrets="0")
    await refused_at_last(server, home("secrets"), simple("v1", "Secret", "s"))
    (await server.post(home("pods"), pod("a"), dryRun="All")).ok(201)
    assert (await server.get(path)).ok()["status"]["used"]["pods"] == "0"


async def test_a_bad_quota_is_refused(server: Server, home: Home) -> None:
    body = simple("v1", "ResourceQuota", "q", spec={"hard": {"pods": "1.5"}})
    status = (await server.post(home("resourcequotas"), body)).refused(422, "Invalid")
    assert status["message"] == (
        'ResourceQuota "q" is invalid: spec.hard[pods]: Invalid value: "1500m": must be an integer'
    )


async def limits(server: Server, home: Home, **item: Any) -> None:
    spec = {"limits": [{"type": "Container", **item}]}
    (await server.post(home("limitranges"), simple("v1", "LimitRange", "l", spec=spec))).ok(201)


async def test_a_range_gives_defaults(server: Server, home: Home) -> None:
    await limits(server, home, default={"cpu": "500m"}, defaultRequest={"cpu": "100m"})
    answer = await server.until(
        lambda: server.post(home("pods"), pod("a"), dryRun="All"),
        lambda answer: bool(answer.ok()["spec"]["containers"][0]["resources"]),
    )
    made = answer.ok()
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m"},
        "requests": {"cpu": "100m"},
    }
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
    )


async def test_a_range_fills_in_its_own_defaults(server: Server, home: Home) -> None:
    spec = {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}
    made = await server.post(home("limitranges"), simple("v1", "LimitRange", "l", spec=spec))
    assert made.ok(201)["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "default": {"cpu": "2"},
            "defaultRequest": {"cpu": "2"},
        }
    ]


@pytest.mark.parametrize(
    ("item", "resources", "message"),
    [
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"min": {"memory": "64Mi"}},
            {"requests": {"memory": "32Mi"}},
            "minimum memory usage per Container is 64Mi, but request is 32Mi",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000",
        ),
    ],
    ids=["too much", "too little", "too far apart"],
)
async def test_a_range_refuses(
    server: Server, home: Home, item: dict[str, Any], resources: dict[str, Any], message: str
) -> None:
    await limits(server, home, **item)
    status = await refused_at_last(server, home("pods"), asking("a", **resources))
    assert status["message"] == f'pods "a" is forbidden: {message}'


async def test_a_range_can_be_about_whole_pods(server: Server, home: Home) -> None:
    spec = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    (await server.post(home("limitranges"), simple("v1", "LimitRange", "l", spec=spec))).ok(201)
    status = await refused_at_last(server, home("pods"), asking("a", limits={"cpu": "2"}))
    assert status["message"] == (
        'pods "a" is forbidden: maximum cpu usage per Pod is 1, but limit is 2'
    )


async def test_a_range_that_makes_no_sense_is_refused(server: Server, home: Home) -> None:
    spec = {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}
    answer = await server.post(home("limitranges"), simple("v1", "LimitRange", "l", spec=spec))
    status = answer.refused(422, "Invalid")
    assert "min value 2 is greater than max value 1" in status["message"]
