"""What quotas say at the door: to orders, tickets and their edits, and to quotas themselves."""

from collections.abc import AsyncIterator

import pytest
from tests.reserve.admission.admission_objects import AdmissionForms, admission_objects
from tests.reserve.quotas.quotas import a_quota

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, Order
from korder.install.objects import Admission
from korder.testing.builders import a_ticket, an_order
from kubeloop.client.errors import Forbidden, Invalid
from kubeloop.objects.meta import JSON, Key, Kind, Object
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_node

KEY = Key("default", "o")
SCALES = Kind(ORDERS.group, ORDERS.version, ORDERS.kind, ORDERS.plural, Object)
"""Orders, of which only the names are read in answers."""


@pytest.fixture
async def here(clock: Clock) -> AsyncIterator[AdmissionForms]:
    async with admission_objects(clock, Admission.WEBHOOK) as found:
        yield found


def count(here: AdmissionForms, *quotas: Builder[Quota]) -> None:
    """The manager comes to know of quotas."""
    for quota in quotas:
        here.manager.counted.quota_cache.quota_changed(None, quota.build())


def wanting(replicas: int = 1, cpu: str = "500m", duration: str = "1h") -> Builder[Order]:
    spec: JSON = {"duration": duration, "resources": {"requests": {"cpu": cpu}}}
    return an_order("o", replicas).but({"spec": {"template": {"spec": spec}}})


async def make(here: AdmissionForms, order: Builder[Order]) -> None:
    await here.client.create(ORDERS, order.in_namespace("default").json)


async def edit(here: AdmissionForms, spec: dict[str, JSON]) -> None:
    await here.client.patch(ORDERS, KEY, {"spec": spec}, PatchType.MERGE)


@pytest.mark.parametrize(
    ("hard", "said"),
    [
        pytest.param({"orders": "0"}, "orders used 0 of 0, requested 1", id="orders"),
        pytest.param({"tickets": "2"}, "tickets used 0 of 2, requested 3", id="tickets"),
        pytest.param(
            {"reserved.cpu": "1"}, "reserved.cpu used 0 of 1, requested 1500m", id="reserved.cpu"
        ),
        pytest.param(
            {"max-duration": "30m"}, "max-duration is 30m0s, requested 1h0m0s", id="max-duration"
        ),
    ],
)
async def test_an_order_beyond_a_limit_is_refused(
    here: AdmissionForms, hard: dict[str, JSON], said: str
) -> None:
    count(here, a_quota("team").but({"spec": {"hard": hard}}))
    with pytest.raises(Forbidden) as refusal:
        await make(here, wanting(3))
    assert f"exceeded quota team: {said}" in refusal.value.message


async def test_an_order_that_may_wait_is_let_in_except_for_its_length(here: AdmissionForms) -> None:
    quota = a_quota("q", tickets="1", max__duration="2h")
    count(here, quota.but({"spec": {"enforcement": "Wait"}}))
    await make(here, wanting(3))
    with pytest.raises(Forbidden, match="max-duration is 2h0m0s, requested 3h0m0s"):
        await edit(here, {"template": {"spec": {"duration": "3h"}}})


async def test_only_what_an_edit_adds_is_judged(here: AdmissionForms) -> None:
    await make(here, wanting(3))
    count(here, a_quota("q", tickets="1", reserved_cpu="100m", max__duration="30m"))
    await edit(here, {"replicas": 2})
    await edit(here, {"paused": True})
    await edit(here, {"template": {"spec": {"duration": "45m"}}})
    with pytest.raises(Forbidden, match="tickets used 0 of 1, requested 2"):
        await edit(here, {"replicas": 4})
    with pytest.raises(Forbidden, match="max-duration is 30m0s, requested 50m0s"):
        await edit(here, {"template": {"spec": {"duration": "50m"}}})
    with pytest.raises(Forbidden, match=r"reserved\.cpu used 0 of 100m, requested 200m"):
        await edit(here, {"template": {"spec": {"resources": {"requests": {"cpu": "600m"}}}}})


async def scale(here: AdmissionForms, replicas: int) -> None:
    body: JSON = {"spec": {"replicas": replicas}}
    await here.client.patch(SCALES, KEY, body, PatchType.MERGE, subresource="scale")


async def test_scaling_an_order_is_judged_as_the_edit_that_it_is(here: AdmissionForms) -> None:
    await make(here, wanting(2))
    here.manager.orders[KEY] = await here.client.get(ORDERS, KEY)
    count(here, a_quota("q", tickets="2", reserved_cpu="1"))
    with pytest.raises(Forbidden) as refusal:
        await scale(here, 5)
    assert "tickets used 0 of 2, requested 3" in refusal.value.message
    assert "reserved.cpu used 0 of 1, requested 1500m" in refusal.value.message
    await scale(here, 4)
    await scale(here, 0)
    await scale(here, 2)


async def test_a_ticket_made_by_hand_is_judged_and_so_is_its_extension(
    here: AdmissionForms,
) -> None:
    count(here, a_quota("q", tickets="1", max__duration="2h"))
    ticket = a_ticket("t", "1h").in_namespace("default")
    await here.client.create(TICKETS, ticket.json)
    with pytest.raises(Forbidden, match="max-duration is 2h0m0s, requested 25h0m0s"):
        await here.client.patch(
            TICKETS, Key("default", "t"), {"spec": {"duration": "25h"}}, PatchType.MERGE
        )
    made = await here.client.get(TICKETS, Key("default", "t"))
    here.manager.counted.quota_cache.ticket_changed(None, made)
    with pytest.raises(Forbidden, match="tickets used 1 of 1, requested 1"):
        await here.client.create(TICKETS, a_ticket("u").in_namespace("default").json)


async def test_tickets_that_are_charged_ahead_count(here: AdmissionForms) -> None:
    entry: JSON = {"namespace": "other", "name": "x-0", "charge": {"tickets": "1"}}
    count(here, a_quota("q", tickets="1").but({"status": {"pending": [entry]}}))
    with pytest.raises(Forbidden, match="tickets used 1 of 1, requested 1"):
        await make(here, wanting())


async def test_an_order_for_every_node_is_judged_by_the_nodes_there_are(clock: Clock) -> None:
    async with admission_objects(clock, Admission.WEBHOOK) as here:
        count(here, a_quota("q", tickets="1"))
        here.manager.nodes += [a_node(f"n-{number}").build() for number in range(2)]
        with pytest.raises(Forbidden, match="tickets used 0 of 1, requested 2"):
            await make(here, wanting().but({"spec": {"daemonSet": True}}))


async def test_labels_of_tickets_choose_the_quota(here: AdmissionForms) -> None:
    scope: JSON = {"type": "ObjectSelector", "objectSelector": {"matchLabels": {"tier": "gold"}}}
    count(here, a_quota("gold", dict(scope), tickets="0"))
    gold: JSON = {"template": {"metadata": {"labels": {"tier": "gold"}}}}
    await make(here, wanting())
    with pytest.raises(Forbidden, match="exceeded quota gold: tickets used 0 of 0, requested 1"):
        await edit(here, {"template": {"metadata": {"labels": {"tier": "gold"}}}})
    with pytest.raises(Forbidden, match="exceeded quota gold"):
        await make(here, wanting().but({"spec": gold, "metadata": {"name": "p"}}))


async def test_a_quota_that_makes_no_sense_is_refused_and_the_other_is_named(
    here: AdmissionForms,
) -> None:
    await here.client.create(QUOTAS, a_quota("first", tickets="1").json)
    count(here, a_quota("first", tickets="1"))
    with pytest.raises(Invalid, match="quota first is for the whole cluster already"):
        await here.client.create(QUOTAS, a_quota("second", tickets="1").json)
    with pytest.raises(Invalid, match="must be a whole number, not 1500m"):
        await here.client.patch(
            QUOTAS, Key("", "first"), {"spec": {"hard": {"tickets": "1500m"}}}, PatchType.MERGE
        )
    with pytest.raises(Invalid):
        await here.client.patch(
            QUOTAS, Key("", "first"), {"spec": {"hard": {"tickets": "-1"}}}, PatchType.MERGE
        )


async def test_the_quota_of_the_seed_is_let_in(here: AdmissionForms) -> None:
    team: JSON = {
        "type": "NamespaceSelector",
        "namespaceSelector": {"matchLabels": {"team": "backend"}},
    }
    seed = a_quota("team-quota", dict(team), orders="10", tickets="50", max__duration="24h")
    await here.client.create(QUOTAS, seed.json)
