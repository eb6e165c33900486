"""Tickets in simulated runs: a manager that looks after them, what users do, and what is there at the end."""

from collections.abc import Mapping
import random
from typing import Any

from korder.api.reserve import DEFINITIONS, GUARDIAN_LABEL, GUARDIAN_PRIORITY_CLASS, TICKETS, Ticket
from korder.reserve.tickets.controller import Tickets
from kubeloop.client.client import Client
from kubeloop.objects import codec
from kubeloop.objects.core import Pod
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.schema import crd
from pocketkube.simulation.changes import Change
from pocketkube.simulation.processes import Program
from pocketkube.simulation.script import AddNode, Apply, Step

KORDER = "korder"
KINDS = ((TICKETS.api_version, TICKETS.kind),)


def program(part: type[Tickets] = Tickets) -> Program:
    """The process that looks after tickets."""

    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = Manager(
            client,
            Settings(identity=KORDER, component="korder", metric_prefix="korder"),
            clock=clock,
            rng=rng,
        )
        part(manager)
        return manager

    return Program(KORDER, build)


def beginning(nodes: int = 2) -> tuple[Step, ...]:
    """A cluster that knows tickets."""
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": GUARDIAN_PRIORITY_CLASS},
        "value": 1_000_000,
        "preemptionPolicy": "Never",
    }
    return (
        *(Step(0.0, AddNode(f"node-{number}")) for number in range(1, nodes + 1)),
        *(Step(0.0, Apply(crd.build(each))) for each in DEFINITIONS if each.kind == TICKETS),
        Step(0.0, Apply(priority)),
    )


class Ledger:
    """Tickets and guardians as they were last written, and whether a ticket was ever Reserved without a bound guardian."""

    def __init__(self) -> None:
        self.tickets: dict[str, Ticket] = {}
        self.guardians: dict[str, Pod] = {}
        self.premature: list[str] = []

    def note(self, change: Change) -> None:
        if change.resource == "tickets.core.korder.dev":
            self._keep(self.tickets, change.name, change.after, Ticket)
            self._judge(change.name)
        elif change.resource == "pods" and _is_guardian(change.after or change.before):
            self._keep(self.guardians, change.name, change.after, Pod)

    def _keep(
        self, objects: dict[str, Any], name: str, obj: Mapping[str, Any] | None, model: type
    ) -> None:
        if obj is None:
            objects.pop(name, None)
        else:
            objects[name] = codec.convert(dict(obj), model)

    def _judge(self, name: str) -> None:
        ticket = self.tickets.get(name)
        if ticket is not None and ticket.status.phase == "Reserved":
            pod = self.guardians.get(ticket.status.guardian_pod.partition("/")[2])
            if pod is None or pod.spec.node_name != ticket.status.node_name:
                self.premature.append(name)


def _is_guardian(obj: Mapping[str, Any] | None) -> bool:
    return obj is not None and GUARDIAN_LABEL in obj["metadata"].get("labels", {})
