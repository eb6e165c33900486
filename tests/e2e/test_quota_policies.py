"""Quotas by admission policies on a real control plane, which compiles and prices expressions more strictly than ours; nobody else is at the door."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.e2e.limiting import here, refusal, refused
from tests.e2e.stage import Stage, World, a_world
from tests.reserve.quotas.nonsense import NONSENSE, SENSE
from tests.reserve.quotas.quotas import a_quota

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS
from kubeloop.client.errors import Invalid
from kubeloop.objects.meta import JSON, Key
from kubeloop.testing.builders import Builder

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    async with a_world("--admission=policy") as world:
        yield world


async def count(stage: Stage, quota: Builder[Quota]) -> None:
    """A quota is there that somebody has counted: nothing is used of it."""
    made = await stage.client.create(QUOTAS, quota.json)
    status: JSON = {"status": {"hard": dict(made.spec.hard), "used": {}}}
    await stage.client.patch(QUOTAS, Key("", made.metadata.name), status, subresource="status")


@pytest.mark.parametrize(("spec", "said"), NONSENSE.values(), ids=NONSENSE)
async def test_a_quota_that_makes_no_sense_is_refused_in_a_sentence(
    stage: Stage, spec: dict[str, JSON], said: str
) -> None:
    quota = a_quota(stage.name, here(stage)).but({"spec": spec})
    stated = await refusal(lambda: stage.client.create(QUOTAS, quota.json, dry_run=True))
    assert said in stated
    assert len(stated) < 700


async def test_quotas_that_make_sense_are_let_in_however_large(stage: Stage) -> None:
    allocation: JSON = [
        {
            "name": f"team-{number}",
            "namespaceSelector": {
                "matchLabels": {f"example.com/label-{each}": f"team-{number}" for each in range(4)},
                "matchExpressions": [{"key": "stage", "operator": "In", "values": ["a", "b"]}],
            },
            "limits": {"tickets": "1", "reserved.cpu": "2", "reserved.memory": "4Gi"},
        }
        for number in range(128)
    ]
    windows: JSON = [
        {
            "name": f"w-{number}",
            "schedule": "0,15,30,45 8-12,14-18 1-15 jan-jun mon-fri",
            "timeZone": "America/New_York",
            "multiplier": "2",
        }
        for number in range(32)
    ]
    large: dict[str, JSON] = {"timeWindows": windows, "allocation": allocation}
    bare: JSON = {"matchLabels": {"a": "b"}, "matchExpressions": None}
    halves: JSON = {"type": "ObjectSelector", "objectSelector": bare, "namespaces": None}
    for spec in (*SENSE.values(), large, {"scope": halves}):
        quota = a_quota(stage.name, here(stage), tickets="1000").but({"spec": spec})
        await stage.client.create(QUOTAS, quota.json, dry_run=True)


async def test_what_goes_beyond_is_refused_with_count_and_request(stage: Stage) -> None:
    await count(stage, a_quota(stage.name, here(stage), reserved_memory="1Gi"))
    holding: JSON = {"spec": {"resources": {"requests": {"memory": "900Mi"}}}}
    stated = await refused(stage, stage.order("o", 3, template=holding))
    assert stated.endswith("reserved.memory used 0 of 1Gi, requested 3 x 900Mi")


async def test_a_ticket_made_by_hand_cannot_wait_and_an_order_can(stage: Stage) -> None:
    quota = a_quota(stage.name, here(stage), tickets="0")
    await count(stage, quota.but({"spec": {"enforcement": "Wait"}}))
    ticket = stage.ticket("t")
    stated = await refusal(lambda: stage.client.create(TICKETS, ticket.json, dry_run=True))
    assert stated.endswith("tickets used 0 of 0, requested 1")
    await stage.client.create(ORDERS, stage.order("o", 1).json, dry_run=True)


async def test_a_second_quota_for_the_whole_cluster_is_refused_and_the_first_can_be_changed(
    stage: Stage,
) -> None:
    await stage.client.create(QUOTAS, a_quota("first", orders="1000").json)
    second = a_quota("second", orders="1000").json
    stated = await refusal(lambda: stage.client.create(QUOTAS, second, dry_run=True))
    assert "quota first is for the whole cluster already" in stated
    more: JSON = {"spec": {"hard": {"orders": "2000"}}}
    await stage.client.patch(QUOTAS, Key("", "first"), more)
    with pytest.raises(Invalid, match="must be a whole number"):
        await stage.client.patch(QUOTAS, Key("", "first"), {"spec": {"hard": {"orders": "1500m"}}})
    await stage.client.delete(QUOTAS, Key("", "first"))
