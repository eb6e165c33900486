"""A harness with a scheduled order: its windows, and the Events about them."""

from datetime import datetime

from tests.reserve.orders.order_harness import OrderHarness

from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON


def a_harness(schedule: str = "* * * * *", duration: str = "30s", **strategy: JSON) -> OrderHarness:
    said: dict[str, JSON] = {"type": "Scheduled", "schedule": schedule, **strategy}
    return OrderHarness(
        an_order("o", 2).but(
            {"spec": {"strategy": said, "template": {"spec": {"duration": duration}}}}
        )
    )


def stated(harness: OrderHarness, reason: str) -> list[str]:
    return [emit.note for emit in harness.emits if emit.reason == reason]


def starts(harness: OrderHarness, name: str) -> datetime:
    start = harness.tickets[name].spec.starts_at
    assert start is not None
    return start


def windows(harness: OrderHarness) -> list[str]:
    """The windows that have tickets, by their time of day."""
    return [f"{start:%H:%M}" for start in sorted({starts(harness, name) for name in harness.free})]


def hold_ahead(harness: OrderHarness, *names: str) -> None:
    """Guardians hold the room of tickets whose time has not come."""
    for name in names or harness.names(TicketPhase.PENDING):
        harness.become(
            name, TicketPhase.PENDING, reason="Scheduled", guardianPod=f"default/{name}-g"
        )
