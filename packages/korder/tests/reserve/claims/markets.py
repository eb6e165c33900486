"""Tickets, pods that ask for them, and the market where they meet, made by hand."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import cast

from korder.api.reserve import SCHEDULING_GATE, Order, Ticket
from korder.reserve.claims import matching
from korder.reserve.claims.inventory import Market, Seeker
from korder.reserve.claims.requirements import Site, request_of
from korder.testing.builders import a_ticket
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def reserved(name: str, node: str = "node-1", **amounts: str) -> Builder[Ticket]:
    requests: JSON = dict(amounts or {"cpu": "1", "memory": "1Gi"})
    status: JSON = {"phase": "Reserved", "nodeName": node}
    return (
        a_ticket(name)
        .stored(f"uid-{name}")
        .but({"spec": {"resources": {"requests": requests}}, "status": status})
    )


def asking(name: str, wanted: str = "", **amounts: str) -> PodBuilder:
    """A pod that requires a ticket; `wanted` is its ticket-request."""
    said = {"korder.dev/required": "true"} | (
        {"korder.dev/ticket-request": wanted} if wanted else {}
    )
    pod = a_pod(name).requesting(**(amounts or {"cpu": "1", "memory": "1Gi"}))
    built = pod.gated_by(SCHEDULING_GATE).annotated(said).stored(f"uid-{name}")
    return cast("PodBuilder", built)


def market(
    tickets: Iterable[Builder[Ticket]],
    nodes: Iterable[Builder[Node]] = (a_node("node-1"),),
    orders: Iterable[Builder[Order]] = (),
    there: Iterable[Pod] = (),
    blocked: Mapping[str, str] | None = None,
) -> Market:
    sites = {node.metadata.name: node for node in (each.build() for each in nodes)}
    pods = tuple(there)

    def site(name: str) -> Site | None:
        node = sites.get(name)
        return Site(node, pods) if node is not None else None

    return Market(
        "default",
        [each.build() for each in tickets],
        [each.build() for each in orders],
        site,
        NOW,
        blocked=blocked or {},
    )


class Counted(list[Ticket]):
    """Tickets that count how many of them are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Ticket]:
        for ticket in super().__iter__():
            self.looks += 1
            yield ticket


def claimed(ticket: Builder[Ticket]) -> Builder[Ticket]:
    return ticket.but({"status": {"phase": "Claimed"}})


def chosen(pods: Iterable[Builder[Pod]], there: Market) -> dict[str, str]:
    """Which ticket each pod gets, or why none."""
    built = [pod.build() for pod in pods]
    seekers = [Seeker(pod, request_of(pod.metadata.annotations)) for pod in built]
    matches, waits = matching.choose(seekers, there)
    got = {match.pod.metadata.name: match.ticket.metadata.name for match in matches}
    names = {pod.metadata.uid: pod.metadata.name for pod in built}
    return got | {names[uid]: wait.message for uid, wait in waits.items()}


def required(*terms: JSON) -> JSON:
    selector: JSON = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
