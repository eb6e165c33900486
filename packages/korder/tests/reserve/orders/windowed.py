"""A desk with a scheduled order: its windows, and what was told about them."""

from datetime import datetime

from tests.reserve.orders.desk import Desk

from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON


def a_desk(schedule: str = "* * * * *", duration: str = "30s", **strategy: JSON) -> Desk:
    said: dict[str, JSON] = {"type": "Scheduled", "schedule": schedule, **strategy}
    return Desk(
        an_order("o", 2).but(
            {"spec": {"strategy": said, "template": {"spec": {"duration": duration}}}}
        )
    )


def stated(desk: Desk, reason: str) -> list[str]:
    return [emit.note for emit in desk.emits if emit.reason == reason]


def starts(desk: Desk, name: str) -> datetime:
    start = desk.tickets[name].spec.starts_at
    assert start is not None
    return start


def windows(desk: Desk) -> list[str]:
    """The windows that have tickets, by their time of day."""
    return [f"{start:%H:%M}" for start in sorted({starts(desk, name) for name in desk.free})]


def hold_ahead(desk: Desk, *names: str) -> None:
    """Guardians hold the room of tickets whose time has not come."""
    for name in names or desk.names(TicketPhase.PENDING):
        desk.become(name, TicketPhase.PENDING, reason="Scheduled", guardianPod=f"default/{name}-g")
