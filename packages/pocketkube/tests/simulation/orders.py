"""A small operator on the runtime, to be tried under simulation: it keeps orders, which are ConfigMaps.

A user writes `lines`, `deadline` and `request` into an order. The operator keeps one child for each line, answers a request by moving
it to `answered` and counting it, and writes at the deadline, not before, for which instant it has `closed` the order. Everything it
writes into an order depends on what it read there, so it carries the version that was read. `mutants` overrides single methods.
"""

from collections.abc import Iterable
from datetime import datetime
import random

from kubeloop.client.client import Client
from kubeloop.objects import codec, instant
from kubeloop.objects.core import CONFIG_MAPS, ConfigMap
from kubeloop.objects.meta import JSON, Key, key_of, owner_reference
from kubeloop.objects.plan import NOTHING, Create, Delete, Emit, Patch, Plan, Step
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.informer import Informer, Scope
from kubeloop.runtime.leader import Terms
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.store import by_owner
from pocketkube.simulation.processes import Program

NAMESPACE = "default"
PART = "part"
"""The label that tells orders from their lines."""
LINE = "line"
LEASE = Key(NAMESPACE, "orders")
TERMS = Terms(lease=60, renew=40, retry=10)
REPLICAS = ("korder-1", "korder-2")


class Operator:
    """Makes the program of every replica, and remembers the manager of each one's present life."""

    def __init__(self) -> None:
        self.managers: dict[str, Manager] = {}

    def programs(self) -> tuple[Program, ...]:
        return tuple(self._program(name) for name in REPLICAS)

    def _program(self, name: str) -> Program:
        async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
            settings = Settings(identity=name, lease=LEASE, terms=TERMS)
            manager = self.managers[name] = self.manager(client, settings, clock, rng)
            orders = manager.informers.of(CONFIG_MAPS, Scope(NAMESPACE, f"{PART}=order"))
            lines = manager.informers.of(CONFIG_MAPS, Scope(NAMESPACE, f"{PART}=line"))
            lines.add_index("owner", by_owner)
            controller = manager.controller("orders", self.locks(orders, lines).reconcile)
            self.adjust(controller, clock, rng)
            controller.follow(orders)
            controller.follow(lines, _owners)
            return manager

        return Program(name, build)

    def manager(
        self, client: Client, settings: Settings, clock: Clock, rng: random.Random
    ) -> Manager:
        return Manager(client, settings, clock=clock, rng=rng)

    def locks(self, orders: Informer[ConfigMap], lines: Informer[ConfigMap]) -> "WriteLocks":
        return WriteLocks(orders, lines)

    def adjust(self, controller: Controller, clock: Clock, rng: random.Random) -> None:
        """A place for mutants to change the controller."""


class WriteLocks:
    """What the operator decides."""

    def __init__(self, orders: Informer[ConfigMap], lines: Informer[ConfigMap]) -> None:
        self._orders = orders.reader
        self._lines = lines.reader

    def reconcile(self, key: Key, now: datetime) -> Plan:
        order = self._orders.get(key)
        if order is None or order.metadata.deletion_timestamp is not None:
            return NOTHING
        plan = NOTHING.then(*self._missing(order), *self._surplus(order))
        news = {**_answer(order), **_closing(order, now)}
        if news:
            plan = plan.then(_written(order, news))
        if "closed" in news:
            plan = plan.tell(Emit(CONFIG_MAPS, order, "Closed", f"closed for {news['closed']}"))
        due = deadline_of(order)
        return plan.requeue(due) if due is not None and due > now else plan

    def line(self, order: ConfigMap, number: str) -> Create:
        meta: dict[str, JSON] = {
            "name": f"{order.metadata.name}-{number}",
            "namespace": NAMESPACE,
            "labels": {PART: "line", LINE: number},
            "ownerReferences": [codec.plain(owner_reference(CONFIG_MAPS, order))],
        }
        return Create(CONFIG_MAPS, {"metadata": meta})

    def _missing(self, order: ConfigMap) -> Iterable[Step]:
        there = {line_of(line) for line in self._of(order)}
        return [self.line(order, number) for number in wanted(order) if number not in there]

    def _surplus(self, order: ConfigMap) -> Iterable[Step]:
        unwanted = [line for line in self._of(order) if line_of(line) not in wanted(order)]
        return [Delete(CONFIG_MAPS, key_of(line), line.metadata.uid) for line in unwanted]

    def _of(self, order: ConfigMap) -> Iterable[ConfigMap]:
        return self._lines.where("owner", order.metadata.uid)


def wanted(order: ConfigMap) -> list[str]:
    """The numbers of the lines that an order is to have."""
    return [str(number) for number in range(int(order.data.get("lines") or "0"))]


def line_of(line: ConfigMap) -> str:
    return line.metadata.labels.get(LINE, "")


def deadline_of(order: ConfigMap) -> datetime | None:
    text = order.data.get("deadline")
    return instant.parse(text) if text else None


def _answer(order: ConfigMap) -> dict[str, str]:
    request = order.data.get("request")
    if not request:
        return {}
    count = int(order.data.get("count") or "0") + 1
    return {"request": "", "answered": request, "count": str(count)}


def _closing(order: ConfigMap, now: datetime) -> dict[str, str]:
    due = deadline_of(order)
    text = order.data.get("deadline", "")
    if due is None or due > now or order.data.get("closed") == text:
        return {}
    return {"closed": text}


def _written(order: ConfigMap, news: dict[str, str]) -> Patch:
    meta = order.metadata
    body: dict[str, JSON] = {"data": {**news}}
    return Patch(
        CONFIG_MAPS,
        key_of(order),
        body,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


def _owners(line: ConfigMap) -> Iterable[Key]:
    return (Key(NAMESPACE, owner.name) for owner in line.metadata.owner_references)
