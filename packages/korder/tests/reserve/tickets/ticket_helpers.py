"""Words that the tests of tickets share: what is waited for, pods that take a ticket's room, and what was written."""

from collections.abc import Callable, Mapping
from typing import cast

from tests.reserve.scene import Scene

from korder.api.reserve import TICKETS, Reason, Ticket, TicketPhase
from korder.reserve.tickets import guardian
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import instant
from kubeloop.objects.core import EVENTS, PODS, Pod
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import version_of
from kubeloop.testing.builders import Builder, PodBuilder, a_pod


def phase_is(phase: TicketPhase) -> Callable[[Ticket], bool]:
    return lambda ticket: ticket.status.phase is phase


def reason_is(reason: Reason) -> Callable[[Ticket], bool]:
    return lambda ticket: ticket.status.reason == reason


RESERVED = phase_is(TicketPhase.RESERVED)
PENDING = phase_is(TicketPhase.PENDING)
CLAIMED = phase_is(TicketPhase.CLAIMED)
EXPIRED = phase_is(TicketPhase.EXPIRED)
RELEASED = phase_is(TicketPhase.RELEASED)


def a_sized_ticket(name: str, cpu: str = "1", duration: str = "1h") -> Builder[Ticket]:
    return a_ticket(name, duration).but({"spec": {"resources": {"requests": {"cpu": cpu}}}})


def a_pod_on(node: str, name: str, cpu: str = "1") -> PodBuilder:
    """A pod that goes to a node as a handed-over one does: by affinity."""
    pod = a_pod(name).requesting(cpu=cpu)
    return pod.but({"spec": {"affinity": guardian.pinned(None, node)}})


async def write_status(cluster: Scene, name: str, status: Mapping[str, JSON]) -> Ticket:
    """Writes what another controller would."""
    body: JSON = {"status": dict(status)}
    return await cluster.client.patch(TICKETS, Key("default", name), body, subresource="status")


async def claim(cluster: Scene, name: str, pod: PodBuilder | None = None) -> Pod:
    """Hands a Reserved ticket to a pod, step by step as the hand-over does."""
    ticket = await cluster.until(TICKETS, name, RESERVED)
    wanted = pod or a_pod_on(ticket.status.node_name, f"user-of-{name}")
    await begin_claim(cluster, name)
    for held in await cluster.guardians():
        if f"default/{held.metadata.name}" == ticket.status.guardian_pod:
            await cluster.client.delete(PODS, key_of(held), uid=held.metadata.uid)
            await cluster.gone(PODS, held.metadata.name)
    await cluster.put(wanted)
    user = wanted.build().metadata.name
    found = await cluster.until(PODS, user, lambda pod: bool(pod.spec.node_name))
    reference: JSON = {"namespace": "default", "name": user, "uid": found.metadata.uid}
    taken: dict[str, JSON] = {"claimedBy": reference, "claimedPod": f"default/{user}"}
    await write_status(
        cluster, name, {"phase": "Claimed", "guardianPod": None, "claimDeadline": None, **taken}
    )
    return found


async def begin_claim(cluster: Scene, name: str) -> None:
    """Brings a ticket into a hand-over."""
    deadline = instant.render(cluster.clock.now())
    await write_status(cluster, name, {"phase": "Claiming", "claimDeadline": deadline})


async def stated(cluster: Scene, name: str) -> list[str]:
    """The reasons of the Events about a ticket, oldest first."""
    await cluster.pass_time(1)
    events = [event for event in await cluster.all(EVENTS) if event.regarding.name == name]
    return [e.reason for e in sorted(events, key=lambda e: (e.event_time, version_of(e)))]


class Counted:
    """The tickets controller, with the manager kept to be asked what was written."""

    def __init__(self) -> None:
        self.managers: list[Manager] = []

    def __call__(self, manager: Manager) -> Tickets:
        self.managers.append(manager)
        return Tickets(manager)

    def locks(self) -> int:
        """How many turns were taken."""
        lines = [
            line
            for manager in self.managers
            for line in manager.metrics.render().decode().splitlines()
            if line.startswith('korder_reconciliation_duration_seconds_count{controller="tickets"')
        ]
        return sum(int(float(line.rpartition(" ")[2])) for line in lines)

    def writes(self) -> dict[str, int]:
        """How many writes of each verb and kind succeeded."""
        found: dict[str, int] = {}
        for manager in self.managers:
            for line in manager.metrics.render().decode().splitlines():
                if line.startswith("korder_writes_total{") and 'outcome="ok"' in line:
                    labels, _, value = line.partition("} ")
                    parts = dict(
                        cast("tuple[str, str]", tuple(part.split("=", 1)))
                        for part in labels.partition("{")[2].split(",")
                    )
                    name = f"{parts['verb']} {parts['resource']}".replace('"', "")
                    found[name] = found.get(name, 0) + int(float(value))
        return {name: count for name, count in found.items() if count}
