"""Histories of claims for simulation: a small cluster with full nodes, tickets, pods that ask, and what must be true of every commit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import random
from typing import Any

from korder.api.reserve import (
    DEFINITIONS,
    GROUP,
    GUARDIAN_PRIORITY_CLASS,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
)
from korder.install import crds as manifests
from korder.reserve.claims.controller import Claims
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.tickets.controller import Tickets
from kubeloop.client.client import Client
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.leader import Terms
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.simulation.changes import Change
from pocketkube.simulation.processes import Program
from pocketkube.simulation.script import AddNode, Apply, Create, Step
from pocketkube.simulation.world import Broken

Object = Mapping[str, Any]
LEASE = Key("default", "korder")
_NOT_COUNTED = frozenset({"events", "leases.coordination.k8s.io"})
TERMS = Terms(lease=15, renew=10, retry=2)


def replicas(*names: str) -> tuple[Program, ...]:
    """Processes of ours; several of them share a lease."""
    return tuple(_program(name, LEASE if len(names) > 1 else None) for name in names)


def _program(name: str, lease: Key | None) -> Program:
    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        settings = Settings(
            identity=name, component="korder", metric_prefix="korder", lease=lease, terms=TERMS
        )
        manager = Manager(client, settings, clock=clock, rng=rng)
        Tickets(manager)
        Claims(manager)
        HandOvers(manager)
        return manager

    return Program(name, build)


def beginning(nodes: int) -> list[Step]:
    """A cluster that knows our kinds, with nodes of 4 cpu."""
    ours = {f"{each.kind.plural}.{GROUP}" for each in DEFINITIONS}
    crds = [crd for crd in manifests.all_crds() if named(crd) in ours]
    rank = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": GUARDIAN_PRIORITY_CLASS},
        "value": 1_000_000,
        "preemptionPolicy": "Never",
    }
    shape = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return [
        *(Step(0.0, Apply(dict(crd))) for crd in crds),
        Step(0.0, Apply(rank)),
        *(Step(0.0, AddNode(f"node-{n}", shape)) for n in range(1, nodes + 1)),
    ]


def ticket(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": TICKETS.api_version,
        "kind": TICKETS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"duration": "4h", "resources": {"requests": {"cpu": cpu}}, **spec},
    }


def pod(name: str, cpu: str = "1", *, asks: bool = True) -> dict[str, Any]:
    """A pod that requires a ticket, or one that only takes room."""
    gates = {"schedulingGates": [{"name": SCHEDULING_GATE}]} if asks else {}
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"korder.dev/required": "true"} if asks else {},
        },
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **gates},
    }


def made(at: float, objects: Iterable[Object]) -> list[Step]:
    return [Step(at, Create(dict(each))) for each in objects]


def named(obj: Object) -> str:
    return str(obj["metadata"]["name"])


@dataclass
class Witness:
    """Sees every commit and breaks the run when a promise of claims is broken."""

    tickets: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    writes: int = 0
    """How many writes of ours there were, Events and leases apart."""

    def __call__(self, change: Change) -> None:
        if change.by.startswith("korder") and change.resource not in _NOT_COUNTED:
            self.writes += 1
        if change.resource == f"tickets.{GROUP}":
            _put(self.tickets, change)
            self._one_ticket_each()
        elif change.resource == "pods":
            if change.before is not None and change.after is not None:
                self._not_too_early(change.name, change.before, change.after)
            _put(self.pods, change)

    def _one_ticket_each(self) -> None:
        owners = [uid for each in self.tickets.values() if (uid := owner_of(each, "Claimed"))]
        if len(owners) != len(set(owners)):
            raise Broken("a pod has two tickets")

    def _not_too_early(self, name: str, before: Object, after: Object) -> None:
        """When one pod of a batch is let go, no guardian of the batch stands."""
        if not (
            gated(before) and not gated(after)
        ) or TICKET_CLAIMED_ANNOTATION not in _annotations(after):
            return
        if not is_marked(before):
            return
        node = after["metadata"]["annotations"]["korder.dev/ticket-node"]
        for each in self.tickets.values():
            uid = owner_of(each, "Claiming")
            if not uid or each["status"].get("nodeName") != node:
                continue
            remainder_guardian = next(
                (p for p in self.pods.values() if p["metadata"]["uid"] == uid), None
            )
            if (
                remainder_guardian is not None
                and gated(remainder_guardian)
                and is_marked(remainder_guardian)
                and self._guardians(each)
            ):
                raise Broken(f"{name} was let go while a guardian of {named(each)} stood")

    def _guardians(self, owner: Object) -> list[str]:
        uid = owner["metadata"]["uid"]
        return [
            name
            for name, each in self.pods.items()
            if any(ref["uid"] == uid for ref in each["metadata"].get("ownerReferences", ()))
        ]

    def rest(self) -> dict[str, int]:
        """Counts how all ended; raises where something has leaked."""
        counts: dict[str, int] = {}
        for each in self.tickets.values():
            phase = each["status"]["phase"]
            guardians = self._guardians(each)
            assert phase != "Claiming", each
            assert len(guardians) == (phase == "Reserved"), (each, guardians)
            if uid := owner_of(each, "Claimed"):
                owner = next(p for p in self.pods.values() if p["metadata"]["uid"] == uid)
                assert owner["spec"].get("nodeName") == each["status"]["nodeName"]
            counts[phase] = counts.get(phase, 0) + 1
        return counts

    def bound(self, prefix: str) -> int:
        return sum(
            bool(each["spec"].get("nodeName"))
            for name, each in self.pods.items()
            if name.startswith(prefix)
        )


def owner_of(each: Object, phase: str) -> str:
    status = each.get("status", {})
    return (
        str(status["claimedBy"]["uid"])
        if status.get("phase") == phase and "claimedBy" in status
        else ""
    )


def gated(each: Object) -> bool:
    gates: Sequence[Object] = each["spec"].get("schedulingGates", ())
    return any(gate["name"] == SCHEDULING_GATE for gate in gates)


def is_marked(each: Object) -> bool:
    found = each.get("status", {}).get("conditions", ())
    return any(c["type"] == "korder.dev/TicketBound" and c["status"] == "True" for c in found)


def _annotations(each: Object) -> Mapping[str, str]:
    return dict(each["metadata"].get("annotations", {}))


def _put(store: dict[str, Object], change: Change) -> None:
    if change.after is None:
        store.pop(change.name, None)
    else:
        store[change.name] = change.after
