"""Words for stories about tickets: a ticket in a phase, its guardian, and the pod that has it."""

from typing import Any

from korder.api.reserve import (
    GUARDIAN_LABEL,
    ORDERS,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    Order,
    Ticket,
)
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, PodBuilder, a_pod

WE = "korder-1"
REQUESTS: JSON = {"cpu": "1", "memory": "1Gi"}


def ticket(phase: str = "", name: str = "t", **status: JSON) -> Builder[Ticket]:
    """A ticket of one cpu, of UID `uid-<name>`, in a phase."""
    given: dict[str, JSON] = {**status, **({"phase": phase} if phase else {})}
    made = a_ticket(name).but({"spec": {"resources": {"requests": REQUESTS}}, "status": given})
    return made.but({"metadata": {"uid": f"uid-{name}"}})


def reserved(name: str = "t", node: str = "node-1", **status: JSON) -> Builder[Ticket]:
    return ticket("Reserved", name, nodeName=node, **status)


def claiming(name: str = "t", pod: str = "web", **status: JSON) -> Builder[Ticket]:
    return ticket("Claiming", name, nodeName="node-1", claimedBy=reference(pod), **status)


def claimed(name: str = "t", pod: str = "web", **status: JSON) -> Builder[Ticket]:
    return ticket("Claimed", name, nodeName="node-1", claimedBy=reference(pod), **status)


def reference(pod: str) -> dict[str, JSON]:
    return {"namespace": "default", "name": pod, "uid": f"uid-{pod}"}


def share(pod: str, cpu: str = "500m") -> dict[str, JSON]:
    return {**reference(pod), "requests": {"cpu": cpu, "memory": "512Mi"}}


def guardian(of: str = "t", name: str = "g", cpu: str = "1") -> PodBuilder:
    """A guardian that waits for a node."""
    owner = ticket(name=of).build()
    pod = a_pod(name).requesting(cpu=cpu, memory="1Gi").owned_by(TICKETS, owner)
    return pod.labelled({GUARDIAN_LABEL: "true"})


def pod(name: str = "web", **notes: str) -> PodBuilder:
    """A pod of UID `uid-<name>` that waits for a ticket of ours."""
    made = a_pod(name).requesting(cpu="1", memory="1Gi").but({"metadata": {"uid": f"uid-{name}"}})
    return made.gated_by(SCHEDULING_GATE).annotated(notes)


def let_go(name: str = "web", ticket: str = "t") -> PodBuilder:
    """The same pod, without its gate and with a ticket."""
    free: dict[str, Any] = {"spec": {"schedulingGates": None}}
    return pod(name).but(free).annotated({TICKET_CLAIMED_ANNOTATION: ticket})


def nominated(name: str = "web", node: str = "node-1") -> PodBuilder:
    return pod(name).but({"status": {"nominatedNodeName": node}})


def order(replicas: int = 1, **spec: JSON) -> Builder[Order]:
    """An order of UID `uid-o`."""
    return an_order("o", replicas).but({"metadata": {"uid": "uid-o"}, "spec": dict(spec)})


def ordered(name: str, phase: str = "", **status: JSON) -> Builder[Ticket]:
    """A ticket of that order."""
    return ticket(phase, name, **status).owned_by(ORDERS, order().build())
