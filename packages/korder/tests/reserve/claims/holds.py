"""Tickets that hold room, made by hand: a guardian that the scheduler has bound, and the status that says so."""

from collections.abc import Mapping
from typing import cast

from tests.reserve.scene import Scene

from korder.api.reserve import (
    GUARDIAN_LABEL,
    GUARDIAN_NAME_PREFIX,
    GUARDIAN_PRIORITY_CLASS,
    REQUIRED_ANNOTATION,
    ROLE_LABEL,
    SCHEDULING_GATE,
    TICKETS,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims.controller import Claims
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.handovers.handover_state import Handover, Settings
from korder.testing.builders import a_ticket
from kubeloop.client import rest_mapper
from kubeloop.objects import codec
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON, Key, owner_reference
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import PodBuilder, a_pod


def nominating(manager: Manager) -> None:
    """Claims and hand-overs that leave nodes alone."""
    Claims(manager)
    HandOvers(manager, Settings(Handover.NOMINATE))


def claiming(manager: Manager) -> None:
    """Puts claims and hand-overs on a manager."""
    Claims(manager)
    HandOvers(manager)


def a_guardian(ticket: Ticket, node: str) -> dict[str, JSON]:
    terms: JSON = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {
        "metadata": {
            "name": GUARDIAN_NAME_PREFIX + ticket.metadata.name,
            "namespace": ticket.metadata.namespace,
            "labels": {GUARDIAN_LABEL: "true", ROLE_LABEL: "guardian"},
            "ownerReferences": [codec.plain(owner_reference(TICKETS, ticket))],
        },
        "spec": {
            "priorityClassName": GUARDIAN_PRIORITY_CLASS,
            "terminationGracePeriodSeconds": 1,
            "affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}},
            "containers": [
                {
                    "name": "guardian",
                    "image": "pause",
                    "resources": {"requests": dict(ticket.spec.requests)},
                }
            ],
        },
    }


async def hold(
    cluster: Scene,
    name: str,
    node: str = "node-1",
    spec: Mapping[str, JSON] | None = None,
    **amounts: str,
) -> Ticket:
    """Makes a Reserved ticket on a node."""
    wanted: JSON = {"resources": {"requests": dict(amounts or {"cpu": "1", "memory": "1Gi"})}}
    built = a_ticket(name).but({"spec": wanted}).but({"spec": dict(spec or {})})
    ticket = await cluster.client.create(TICKETS, built.json)
    guardian = await cluster.client.create(PODS, a_guardian(ticket, node))
    await cluster.until(PODS, guardian.metadata.name, lambda pod: pod.spec.node_name == node)
    status: JSON = {
        "phase": "Reserved",
        "nodeName": node,
        "guardianPod": f"default/{guardian.metadata.name}",
    }
    key = Key("default", name)
    return await cluster.client.patch(TICKETS, key, {"status": status}, subresource="status")


async def a_priority(cluster: Scene, name: str, value: int) -> None:
    """Defines a priority class whose pods push nobody out."""
    found = (await rest_mapper.discover(cluster.client)).of("scheduling.k8s.io/v1", "PriorityClass")
    assert found is not None
    body: JSON = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
    await cluster.client.create(found.kind, body)


async def keep(cluster: Scene, operation: str, *names: str) -> None:
    """Somebody else's policy that lets nobody change pods, or delete them; no names are all."""
    await forbid(cluster, operation, "true", *names)


async def forbid(cluster: Scene, operation: str, what: str, *names: str) -> None:
    """Somebody else's policy that lets pods not be changed in a certain way, which a CEL expression names."""
    rule: JSON = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": ["pods"],
        "resourceNames": [*names],
    }
    validations: JSON = [{"expression": f"!({what})", "message": "stays as it is"}]
    policy: JSON = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    binding: JSON = {"policyName": "keep", "validationActions": ["Deny"]}
    known = await rest_mapper.discover(cluster.client)
    for kind, spec in (("", policy), ("Binding", binding)):
        found = known.of("admissionregistration.k8s.io/v1", f"ValidatingAdmissionPolicy{kind}")
        assert found is not None
        await cluster.client.create(found.kind, {"metadata": {"name": "keep"}, "spec": spec})


def asking(name: str, annotations: Mapping[str, str] | None = None) -> PodBuilder:
    """A pod of 1 cpu that waits for a ticket, as admission leaves it."""
    wanted = {REQUIRED_ANNOTATION: "true"} if annotations is None else annotations
    pod = a_pod(name).requesting(cpu="1", memory="1Gi").gated_by(SCHEDULING_GATE)
    return cast("PodBuilder", pod.annotated(wanted))


async def phase(cluster: Scene, name: str, wanted: TicketPhase) -> Ticket:
    return await cluster.until(TICKETS, name, lambda ticket: ticket.status.phase is wanted)


async def bound(cluster: Scene, name: str) -> Pod:
    return await cluster.until(PODS, name, lambda pod: bool(pod.spec.node_name))
