"""S38: nobody answers the webhooks."""

import pytest
from tests.reserve.admission.admission_objects import admission_objects

from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS
from korder.install.objects import Admission
from korder.testing.builders import a_ticket, an_order
from kubeloop.client.errors import ApiError
from kubeloop.objects.core import PODS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod


async def test_only_those_who_must_have_a_ticket_are_kept_out(clock: Clock) -> None:
    async with admission_objects(clock, Admission.WEBHOOK) as there:
        there.manager.up = False
        create = there.client.create

        await create(PODS, a_pod("plain").json)
        await create(PODS, a_pod("guardian").labelled({GUARDIAN_LABEL: "true"}).json)
        preferring = await create(PODS, a_pod("prefers").annotated({"korder.dev/order": "o"}).json)
        assert not preferring.spec.scheduling_gates

        for meant in ("true", "TRUE"):
            pod = a_pod("requires").annotated({"korder.dev/required": meant})
            with pytest.raises(ApiError, match=r"ticket-required\.korder\.dev.*connection refused"):
                await create(PODS, pod.json)


async def test_orders_wait_and_the_schema_alone_refuses_what_it_can(clock: Clock) -> None:
    async with admission_objects(clock, Admission.WEBHOOK) as there:
        there.manager.up = False
        with pytest.raises(ApiError, match=r"orders-and-tickets\.korder\.dev"):
            await there.client.create(ORDERS, an_order("o").json)
        bad = a_ticket("t").but({"spec": {"lifecycle": {"ttlSecondsAfterFinished": -1}}})
        there.manager.up = True
        with pytest.raises(ApiError, match="ttlSecondsAfterFinished"):
            await there.client.create(TICKETS, bad.json)
        assert there.manager.asked == []
