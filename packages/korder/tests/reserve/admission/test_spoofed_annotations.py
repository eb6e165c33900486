"""S17: a user writes our answer himself; an Event says that it claims nothing, and nothing is consumed."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.reserve.scene import scene

from korder.api.reserve import TICKETS, TicketPhase
from korder.reserve.admission import verdicts
from korder.reserve.domain import add_reserve
from korder.testing.builders import a_ticket
from kubeloop.objects import instant
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import PodBuilder, a_pod

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BY_HAND = {"korder.dev/ticket-claimed": "t"}


def born(seconds_ago: int) -> PodBuilder:
    at = instant.render(NOW - timedelta(seconds=seconds_ago))
    return a_pod("p").annotated(BY_HAND).but({"metadata": {"creationTimestamp": at}})


@pytest.mark.parametrize(
    ("pod", "claims", "stated"),
    [
        (born(1), False, True),
        (born(1), True, False),
        (born(61), False, False),
        (born(1).in_phase("Succeeded"), False, False),
        (
            born(1).but({"metadata": {"annotations": {"korder.dev/ticket-claimed": None}}}),
            False,
            False,
        ),
    ],
    ids=["by hand", "by korder", "long ago", "already over", "without words of ours"],
)
def test_who_is_reported_that_it_has_no_ticket(pod: PodBuilder, claims: bool, stated: bool) -> None:
    assert bool(verdicts.plan(pod.build(), NOW, claims=claims).emits) is stated


async def test_a_claim_by_hand_is_reported_and_takes_nothing(clock: Clock) -> None:
    async with scene(clock, add_reserve, nodes=1) as cluster:
        await cluster.put(a_ticket("t"))
        held = await cluster.until(TICKETS, "t", lambda t: t.status.phase is TicketPhase.RESERVED)
        await cluster.put(a_pod("p").annotated(BY_HAND))
        await cluster.until(PODS, "p", lambda pod: pod.status.phase == "Running")
        await cluster.pass_time(5)
        notes = [each.note for each in await cluster.all(EVENTS) if each.reason == "NotAClaim"]
        assert len(notes) == 1
        assert "it claims nothing" in notes[0]
        after = await cluster.get(TICKETS, "t")
        assert after is not None
        assert after.metadata.resource_version == held.metadata.resource_version
