"""Quotas at the door by webhook and by policy: the same orders and tickets are refused, and the same nonsense in quotas, in clear words."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
import json
import random

import pytest
from tests.reserve.admission.admission_objects import AdmissionForms, admission_objects
from tests.reserve.quotas.nonsense import NONSENSE, SENSE
from tests.reserve.quotas.quotas import a_quota

from korder.api.quota import QUOTAS, Enforcement, Quota
from korder.api.reserve import ORDERS, TICKETS, Order
from korder.install.objects import Admission
from korder.install_config import Site
from korder.testing.builders import a_ticket, an_order
from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError
from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON, Key, Kind, Object
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

KEY = Key("default", "o")
LISTED: dict[str, JSON] = {"type": "NamespaceList", "namespaces": ["default"]}
ELSEWHERE: dict[str, JSON] = {"type": "NamespaceList", "namespaces": ["other"]}
TEAM: dict[str, JSON] = {
    "type": "NamespaceSelector",
    "namespaceSelector": {
        "matchLabels": {"team": "a"},
        "matchExpressions": [
            {"key": "team", "operator": "In", "values": ["a", "b"]},
            {"key": "team", "operator": "NotIn", "values": ["c"]},
            {"key": "team", "operator": "Exists"},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    },
}
OTHER_TEAM: dict[str, JSON] = {
    "type": "NamespaceSelector",
    "namespaceSelector": {
        "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]
    },
}
GOLD: dict[str, JSON] = {
    "type": "ObjectSelector",
    "objectSelector": {"matchLabels": {"tier": "gold"}},
}
LEAD: dict[str, JSON] = {
    "type": "ObjectSelector",
    "objectSelector": {"matchLabels": {"tier": "lead"}},
}

BY_HAND: dict[str, JSON] = {
    "type": "ObjectSelector",
    "objectSelector": {
        "matchExpressions": [{"key": "korder.dev/order", "operator": "DoesNotExist"}]
    },
}
OF_OTHERS: dict[str, JSON] = {
    "type": "ObjectSelector",
    "objectSelector": {
        "matchExpressions": [{"key": "korder.dev/order", "operator": "NotIn", "values": ["o"]}]
    },
}


@pytest.fixture(params=list(Admission))
async def here(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[AdmissionForms]:
    async with admission_objects(clock, request.param) as found:
        labels: JSON = {"metadata": {"labels": {"team": "a"}}}
        await found.client.patch(NAMESPACES, Key("", "default"), labels, PatchType.MERGE)
        found.manager.counted.quota_cache.namespace_changed("default", {"team": "a"})
        yield found


async def count(here: AdmissionForms, quota: Builder[Quota]) -> None:
    """A quota is there that the manager has counted: nothing is used of it."""
    made = await here.client.create(QUOTAS, quota.json)
    status: JSON = {"status": {"hard": dict(made.spec.hard), "used": {}}}
    await here.client.patch(QUOTAS, Key("", made.metadata.name), status, subresource="status")
    here.manager.counted.quota_cache.quota_changed(None, made)


def wanting(replicas: int = 2, cpu: str = "500m", duration: str = "1h") -> Builder[Order]:
    spec: JSON = {"duration": duration, "resources": {"requests": {"cpu": cpu}}}
    gold: JSON = {"labels": {"tier": "gold"}}
    template: JSON = {"metadata": gold, "spec": spec}
    order = an_order("o", replicas).in_namespace("default").labelled({"tier": "gold"})
    return order.but({"spec": {"template": template}})


async def refusal(here: AdmissionForms, order: Builder[Order]) -> str:
    """What is said to a new order; nothing if it is let in."""
    try:
        await here.client.create(ORDERS, order.json)
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param({"type": "Cluster"}, id="Cluster"),
        pytest.param(LISTED, id="NamespaceList"),
        pytest.param(TEAM, id="NamespaceSelector"),
        pytest.param(GOLD, id="ObjectSelector"),
    ],
)
@pytest.mark.parametrize(
    ("hard", "said"),
    [
        pytest.param({"orders": "0"}, "orders used 0 of 0, requested 1", id="orders"),
        pytest.param({"tickets": "1"}, "tickets used 0 of 1, requested 2", id="tickets"),
        pytest.param(
            {"reserved.cpu": "900m"}, "reserved.cpu used 0 of 900m, requested ", id="reserved.cpu"
        ),
        pytest.param({"max-duration": "30m"}, "max-duration is 30m", id="max-duration"),
    ],
)
async def test_an_order_beyond_a_limit_is_refused(
    here: AdmissionForms, scope: dict[str, JSON], hard: dict[str, JSON], said: str
) -> None:
    await count(here, a_quota("q", scope).but({"spec": {"hard": hard}}))
    assert f"exceeded quota q: {said}" in await refusal(here, wanting())


@pytest.mark.parametrize(
    ("scope", "spec"),
    [
        pytest.param(
            LISTED,
            {"hard": {"orders": "1", "tickets": "2", "reserved.cpu": "1", "max-duration": "1h"}},
            id="what just fits",
        ),
        pytest.param(ELSEWHERE, {"hard": {"tickets": "0"}}, id="another namespace"),
        pytest.param(OTHER_TEAM, {"hard": {"tickets": "0"}}, id="another team"),
        pytest.param(LEAD, {"hard": {"tickets": "0", "orders": "0"}}, id="other objects"),
        pytest.param(BY_HAND, {"hard": {"tickets": "0"}}, id="tickets made by hand"),
        pytest.param(OF_OTHERS, {"hard": {"tickets": "0"}}, id="tickets of other orders"),
        pytest.param(LISTED, {"hard": {"tickets": "0"}, "enforcement": "Wait"}, id="may wait"),
        pytest.param(LISTED, {"hard": {"reserved.memory": "0"}}, id="what it does not ask for"),
    ],
)
async def test_what_fits_or_is_not_meant_is_let_in(
    here: AdmissionForms, scope: dict[str, JSON], spec: dict[str, JSON]
) -> None:
    await count(here, a_quota("q", scope).but({"spec": spec}))
    assert await refusal(here, wanting()) == ""


async def test_a_limit_without_a_request_is_judged(here: AdmissionForms) -> None:
    await count(here, a_quota("q").but({"spec": {"hard": {"reserved.nvidia.com/gpu": "1"}}}))
    gpu: JSON = {"limits": {"nvidia.com/gpu": "1"}}
    asked = wanting().but({"spec": {"template": {"spec": {"resources": gpu}}}})
    assert "exceeded quota q: reserved.nvidia.com/gpu used 0 of 1" in await refusal(here, asked)
    assert await refusal(here, asked.but({"spec": {"replicas": 1}})) == ""


async def test_a_quota_that_is_being_deleted_limits_nobody(here: AdmissionForms) -> None:
    held: JSON = {"finalizers": ["example.com/held"]}
    await count(here, a_quota("q", tickets="0").but({"metadata": held}))
    going = await here.client.delete(QUOTAS, Key("", "q"))
    here.manager.counted.quota_cache.quota_changed(None, going)
    assert await refusal(here, wanting()) == ""


async def test_a_length_cannot_wait(here: AdmissionForms) -> None:
    await count(here, a_quota("q", max__duration="30m").but({"spec": {"enforcement": "Wait"}}))
    assert "exceeded quota q: max-duration is 30m" in await refusal(here, wanting())


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        pytest.param({"replicas": 1}, True, id="fewer"),
        pytest.param({"paused": True}, True, id="as many"),
        pytest.param({"template": {"spec": {"duration": "45m"}}}, True, id="shorter"),
        pytest.param({"replicas": 4}, False, id="more"),
        pytest.param({"template": {"spec": {"duration": "50h"}}}, False, id="longer"),
        pytest.param(
            {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}, False, id="larger"
        ),
    ],
)
async def test_only_what_an_edit_adds_is_judged(
    here: AdmissionForms, change: JSON, fits: bool
) -> None:
    assert await refusal(here, wanting()) == ""
    await count(here, a_quota("q", tickets="1", reserved_cpu="1", max__duration="30m"))
    refused: AbstractContextManager[object] = (
        nullcontext() if fits else pytest.raises(ApiError, match="exceeded quota q")
    )
    with refused:
        await here.client.patch(ORDERS, KEY, {"spec": change}, PatchType.MERGE)


async def test_scaling_that_a_door_cannot_judge_is_left_to_the_ledger(here: AdmissionForms) -> None:
    """A policy sees no order in a Scale, and a webhook knows none that is not shown to it yet."""
    await count(here, a_quota("q", tickets="2"))
    assert await refusal(here, wanting()) == ""
    scales = Kind(ORDERS.group, ORDERS.version, ORDERS.kind, ORDERS.plural, Object)
    five: JSON = {"spec": {"replicas": 5}}
    await here.client.patch(scales, KEY, five, PatchType.MERGE, subresource="scale")
    assert (await here.client.get(ORDERS, KEY)).spec.replicas == 5


@pytest.mark.parametrize("enforcement", Enforcement)
async def test_a_ticket_made_by_hand_is_judged_and_cannot_wait(
    here: AdmissionForms, enforcement: Enforcement
) -> None:
    await count(here, a_quota("q", tickets="0").but({"spec": {"enforcement": enforcement}}))
    with pytest.raises(ApiError, match="exceeded quota q: tickets used 0 of 0, requested 1"):
        await here.client.create(TICKETS, a_ticket("t").in_namespace("default").json)


@pytest.mark.parametrize("here", [Admission.POLICY], indirect=True)
async def test_a_policy_names_count_and_request_since_it_can_print_no_sum(
    here: AdmissionForms,
) -> None:
    await count(here, a_quota("q", reserved_memory="1Gi"))

    def holding(replicas: int, memory: str) -> Builder[Order]:
        requests: JSON = {"cpu": None, "memory": memory}
        return wanting(replicas).but(
            {"spec": {"template": {"spec": {"resources": {"requests": requests}}}}}
        )

    said = "reserved.memory used 0 of 1Gi, requested"
    assert (await refusal(here, holding(3, "900Mi"))).endswith(f"{said} 3 x 900Mi")
    assert (await refusal(here, holding(1, "2Gi"))).endswith(f"{said} 2Gi")
    assert await refusal(here, holding(2, "500Mi")) == ""
    with pytest.raises(ApiError, match=f"{said} 5 x 500Mi instead of 2 x 500Mi$"):
        await here.client.patch(ORDERS, KEY, {"spec": {"replicas": 5}}, PatchType.MERGE)


async def test_an_order_without_a_strategy_is_judged_like_any_other(here: AdmissionForms) -> None:
    """The form of another version of korder."""
    await count(here, a_quota("q", tickets="1"))
    old = wanting().but({"spec": {"strategy": None, "refreshPolicy": "Always"}})
    assert "exceeded quota q: tickets used 0 of 1, requested 2" in await refusal(here, old)
    usual = wanting().but({"spec": {"replicas": None}})
    assert await refusal(here, usual) == ""


async def test_a_second_quota_for_the_whole_cluster_is_refused_and_the_first_named(
    here: AdmissionForms,
) -> None:
    await count(here, a_quota("first", tickets="1"))
    with pytest.raises(ApiError, match="quota first is for the whole cluster already"):
        await here.client.create(QUOTAS, a_quota("second", tickets="1").json)
    await here.client.create(QUOTAS, a_quota("listed", LISTED, tickets="1").json)
    await here.client.patch(
        QUOTAS, Key("", "first"), {"spec": {"hard": {"tickets": "2"}}}, PatchType.MERGE
    )


async def test_two_quotas_for_the_whole_cluster_that_got_in_can_both_be_changed(
    here: AdmissionForms,
) -> None:
    """Two that are made at the same moment may both be let in; here the manager makes them for an owner, which nobody judges."""
    headers = {
        "Authorization": f"Bearer {here.server.admin_token}",
        "Impersonate-User": Site().manager_user,
        "Impersonate-Group": "system:masters",
    }
    unjudged = Client(InProcessTransport(here.server.api.handle, headers), rng=random.Random(1))
    owner: JSON = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u"}
    for name in ("first", "second"):
        quota = a_quota(name, tickets="1").but({"metadata": {"ownerReferences": [owner]}})
        made = await unjudged.create(QUOTAS, quota.json)
        here.manager.counted.quota_cache.quota_changed(None, made)
    more: JSON = {"spec": {"hard": {"tickets": "2"}}}
    for name in ("first", "second"):
        await here.client.patch(QUOTAS, Key("", name), more, PatchType.MERGE)
    with pytest.raises(ApiError, match="is for the whole cluster already"):
        await here.client.create(QUOTAS, a_quota("third", tickets="1").json)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"hard": {"tickets": "lots"}},
            'spec.hard.tickets: Invalid value: "lots": spec.hard.tickets in body should match'
            " '^(?:$.a quantity such as 20, 500m or 40Gi, or as max-duration a duration",
            id="a word",
        ),
        pytest.param(
            {"hard": {"tickets": -1}},
            "spec.hard.tickets: Invalid value: -1: spec.hard.tickets in body should be"
            " greater than or equal to 0",
            id="less than nothing",
        ),
        pytest.param(
            {"hard": {"reserved.cpu": "1h30m"}}, "such as 20, 500m or 40Gi", id="a duration"
        ),
        pytest.param(
            {"hard": {"reserved.cpu": "24h"}},
            "hard must have a duration only as max-duration; every other limit must be a quantity",
            id="hours",
        ),
        pytest.param({"hard": {"tickets": "1500m"}}, "must be a whole number", id="and a half"),
        pytest.param(
            {"hard": {"reserved.": "1"}}, "must name a resource, such as reserved.cpu", id="nothing"
        ),
        pytest.param(
            {"hard": {"max-duration": "1Gi"}},
            "hard must have as max-duration a duration such as 24h or whole seconds such as 86400",
            id="a gigabyte long",
        ),
        pytest.param(
            {"allocation": [{"namespace": "a", "limits": {"reserved.cpu": "2h5m"}}]},
            "such as 20, 500m or 40Gi",
            id="a duration in an allocation",
        ),
        pytest.param(
            {"scope": {"type": "Galaxy"}},
            'spec.scope.type: Unsupported value: "Galaxy": supported values: "Cluster"',
            id="an unknown scope",
        ),
        pytest.param(
            {"scope": {"type": "NamespaceList", "namespaces": None}},
            "namespaces must be given for type NamespaceList, and only then",
            id="a list of none",
        ),
        *(pytest.param(*each, id=stated) for stated, each in NONSENSE.items()),
    ],
)
async def test_nonsense_in_a_quota_is_answered_in_a_sentence(
    here: AdmissionForms, spec: dict[str, JSON], said: str
) -> None:
    quota = a_quota("q", LISTED, orders="1").but({"spec": spec})
    with pytest.raises(ApiError) as refused:
        await here.client.create(QUOTAS, quota.json)
    assert said in refused.value.message
    assert len(refused.value.message) < 700


async def test_a_quota_with_windows_and_selectors_that_make_sense_is_let_in(
    here: AdmissionForms,
) -> None:
    for name, spec in SENSE.items():
        await here.client.create(
            QUOTAS, a_quota(name, LISTED, tickets="1").but({"spec": spec}).json
        )


async def test_what_is_only_odd_is_let_in_with_a_warning(here: AdmissionForms) -> None:
    allocation: JSON = [{"namespace": each, "limits": {"tickets": "2"}} for each in "ab"]
    odd = a_quota("q", LISTED, tickets="3", pods="1").but({"spec": {"allocation": allocation}})
    body = json.dumps(odd.json).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {here.server.admin_token}",
    }
    request = Request("POST", f"/apis/{QUOTAS.api_version}/{QUOTAS.plural}", headers, body)
    async with await here.server.transport().send(request) as answer:
        assert answer.status == 201
        warned = answer.headers["Warning"]
    assert "limits nothing: use orders, tickets, reserved.<resource> or max-duration" in warned
    assert "tickets adds up to" in warned
    assert "not everybody can use his part at the same time" in warned
