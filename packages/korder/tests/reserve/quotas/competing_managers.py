"""Managers that all believe to lead, each with caches that lag, on one server: a model in which only the rules are real.

    world = World(seed)
    world.play(200)

Every step checks that what is on the server stays within the limits, and every write that what it charges does. Answers are lost, managers stop in the middle of a batch, requests
arrive late, tickets end and names are used again. All know the quotas from the beginning: who does not know of one cannot charge it.
In a restless world there is one more quota, whose limits follow windows, are edited and hold in part for one namespace, and namespaces get
other labels: what it means and allows changes under those who charge.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
import random

from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import TICKETS, Order, Ticket
from korder.reserve.orders import template as order_template
from korder.reserve.quotas import (
    charging,
    charging as quotaplan,
    ledger as quota_ledger,
    limits as quota_limits,
    verdict as quota_verdict,
)
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.tickets import state as ticket_state
from korder.testing.builders import an_order
from kubeloop.objects import codec, patch, quantity, resources
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import Create, Patch, Plan

SMALL: JSON = {"type": "NamespaceList", "namespaces": ["a", "b"]}
TEAM: JSON = {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"team": "x"}}}
RESTLESS: JSON = {
    "allocation": [{"namespace": "a", "limits": {"tickets": "1"}}],
    "timeWindows": [
        {"name": "half", "schedule": "*/2 * * * *", "duration": "1m", "multiplier": "0.5"}
    ],
}


@dataclass
class Request:
    """A create that is on its way; it arrives before its deadline or never."""

    step: Create
    deadline: datetime


class Server:
    """What there is, and the history of it that watches show."""

    def __init__(self) -> None:
        self.version = 1
        self.tickets: dict[Key, Ticket] = {}
        self.quotas: dict[str, Quota] = {}
        self.ticket_events: list[tuple[int, Ticket | None, Ticket | None]] = []
        self.quota_events: list[tuple[Quota | None, Quota]] = []
        self.labels: dict[str, dict[str, str]] = {}
        self.label_events: list[tuple[str, dict[str, str]]] = []

    def put_quota(self, quota: Quota) -> None:
        self._store_quota(None, codec.plain(quota))

    def edit_quota(self, name: str, hard: dict[str, JSON]) -> None:
        """A user sets other limits; nobody has looked at those yet."""
        old = self.quotas[name]
        body = patch.apply_merge(codec.plain(old), {"spec": {"hard": hard}})
        self._store_quota(old, body, old.metadata.generation + 1)

    def relabel(self, namespace: str, team: str) -> None:
        self.labels[namespace] = {"team": team}
        self.label_events.append((namespace, self.labels[namespace]))

    def write(self, step: Patch) -> Quota | None:
        """A status, unless somebody has written since."""
        old = self.quotas[step.key.name]
        if old.metadata.resource_version != step.resource_version:
            return None
        assert isinstance(step.body, dict)
        body = patch.apply_merge(codec.plain(old), step.body)
        new = self._store_quota(old, body, old.metadata.generation)
        charged_within_limits(old, new)
        return new

    def _store_quota(self, old: Quota | None, body: JSON, generation: int = 1) -> Quota:
        self.version += 1
        meta: JSON = {"resourceVersion": str(self.version), "generation": generation}
        stamp: JSON = {"metadata": meta}
        new = codec.convert(patch.apply_merge(body, stamp), QUOTAS.model)
        self.quotas[new.metadata.name] = new
        self.quota_events.append((old, new))
        return new

    def create(self, step: Create) -> Ticket | None:
        ticket = codec.convert(step.body, TICKETS.model)  # type: ignore[arg-type]
        if key_of(ticket) in self.tickets:
            return None
        return self.change(key_of(ticket), codec.plain(ticket))

    def change(self, key: Key, body: JSON) -> Ticket | None:
        """Puts a ticket in its place, or takes it away."""
        self.version += 1
        old, new = self.tickets.pop(key, None), None
        if body is not None:
            stamp: JSON = {"metadata": {"resourceVersion": str(self.version)}}
            new = codec.convert(patch.apply_merge(body, stamp), TICKETS.model)
            self.tickets[key] = new
        self.ticket_events.append((self.version, old, new))
        return new

    def used(self, quota: Quota) -> resources.Resources:
        total: resources.Resources = {}
        for key, ticket in self.tickets.items():
            place = quota_verdict.Place(key.namespace, self.labels.get(key.namespace, {}))
            if quota_verdict.covers(quota.spec.scope, place, ticket.metadata.labels):
                total = resources.add(total, quota_verdict.of_ticket(ticket))
        return total

    def within_limits(self, now: datetime) -> None:
        """Limits that fall below what is used take nothing away, so only those are judged that stay."""
        for quota in self.quotas.values():
            if quota.spec.time_windows:
                continue
            used = self.used(quota)
            for name, hard in quota_limits.in_force(quota.spec, now).hard.amounts.items():
                there = used.get(name, quantity.ZERO)
                assert there <= hard, f"{quota.metadata.name}: {name} {there} of {hard}"


def charged_within_limits(old: Quota, new: Quota) -> None:
    """Whoever charges says that no more is used than is allowed, of the quota and of each allocation."""
    before = {quota_ledger.ledger_key(entry): entry.charge for entry in old.status.pending}
    added = {
        (entry.namespace, key)
        for entry in new.status.pending
        for key, amount in entry.charge.items()
        if quantity.parse(amount)
        > quantity.parse(before.get(quota_ledger.ledger_key(entry), {}).get(key, 0))
    }
    for where, key in added:
        parts = [each for each in new.status.allocation if each.name == where]
        limits = [(new.status.used, new.status.hard), *((part.used, part.hard) for part in parts)]
        for used, hard in limits:
            there = quantity.parse(used.get(key, 0))
            assert key not in hard or there <= quantity.parse(hard[key]), f"{key} {there} of {hard}"


@dataclass
class Manager:
    """One that believes to lead."""

    server: Server
    quota_cache: QuotaCache = field(default_factory=QuotaCache)
    seen: int = 0
    newest: int = 0
    tickets_shown: int = 0
    quotas_shown: int = 0
    labels_shown: int = 0
    quotas: dict[str, Quota] = field(default_factory=dict)

    @property
    def view(self) -> charging.View:
        return charging.View(self.quota_cache, self.seen, self.seen, self.newest)

    def watch_tickets(self, count: int) -> None:
        for version, old, new in self.server.ticket_events[self.tickets_shown :][:count]:
            self.tickets_shown += 1
            self.seen, self.newest = version, max(self.newest, version)
            self.quota_cache.ticket_changed(old, new)

    def watch_quotas(self, count: int) -> None:
        for _, new in self.server.quota_events[self.quotas_shown :][:count]:
            self.quotas_shown += 1
            self.know(new)

    def watch_labels(self, count: int) -> None:
        for namespace, labels in self.server.label_events[self.labels_shown :][:count]:
            self.labels_shown += 1
            self.quota_cache.namespace_changed(namespace, labels)

    def sees(self, key: Key, ticket: Ticket) -> bool:
        return self.quota_cache.version_of(key) == int(ticket.metadata.resource_version)

    def know(self, quota: Quota) -> None:
        known = self.quotas.get(quota.metadata.name)
        if known is None or version(known) < version(quota):
            self.quota_cache.quota_changed(known, quota)
            self.quotas[quota.metadata.name] = quota


def version(quota: Quota) -> int:
    return int(quota.metadata.resource_version)


class World:
    """A server, managers and orders, and chance."""

    def __init__(self, seed: int, managers: int = 3, *, restless: bool = False) -> None:
        self.chance = random.Random(seed)
        self.now = MONDAY
        self.server = Server()
        self.server.put_quota(a_quota("all", tickets="5", orders="4").build())
        self.server.put_quota(a_quota("some", dict(SMALL), reserved_cpu="1").build())
        self.restless = restless
        if restless:
            moved = a_quota("timed", dict(TEAM), tickets="4", reserved_cpu="1500m")
            self.server.put_quota(moved.but({"spec": RESTLESS}).build())
        self.managers = [Manager(self.server) for _ in range(managers)]
        for manager in self.managers:
            manager.watch_quotas(len(self.server.quotas))
        self.orders = [self._order(n) for n in range(6)]
        self.requests: list[Request] = []
        self.made = 0

    def _order(self, number: int) -> tuple[Order, list[str]]:
        cpu = ("100m", "300m", "333m")[number % 3]
        order = an_order(f"o{number}").in_namespace("abc"[number % 3]).stored(f"uid-{number}")
        built = order.but(
            {"spec": {"template": {"spec": {"resources": {"requests": {"cpu": cpu}}}}}}
        )
        return built.build(), [f"o{number}-{n}" for n in range(1 + number % 3)]

    def play(self, steps: int) -> None:
        acts = {
            self.charge: 6,
            self.settle: 4,
            self.arrive: 8,
            self.see: 8,
            self.end: 2,
            self.remove: 2,
            self.wait: 1,
        }
        if self.restless:
            acts |= {self.relabel: 1, self.edit: 1}
        for _ in range(steps):
            self.chance.choices([*acts], [*acts.values()])[0]()
            self.server.within_limits(self.now)

    def charge(self) -> None:
        """A manager wants to make what it does not see of an order."""
        manager, (order, names) = self.chance.choice(self.managers), self.chance.choice(self.orders)
        namespace = order.metadata.namespace
        missing = [n for n in names if manager.quota_cache.version_of(Key(namespace, n)) is None]
        wanted = [order_template.ticket(order, name) for name in missing]
        granted, _ = charging.grant(manager.view, order, wanted, self.now)
        for step in granted.charges:
            if not self.write(manager, step):
                return
        life = self.chance.random() * quota_ledger.LIFETIME * 0.9
        self.requests += [Request(step, self.now + life) for step in granted.made]

    def write(self, manager: Manager, step: Patch) -> bool:
        """Writes a status; an answer that is lost leaves the manager in the dark, and one in twenty stops there."""
        written = self.server.write(step)
        if written is None or self.chance.random() < 0.1:
            return False
        manager.know(written)
        return self.chance.random() > 0.05

    def settle(self) -> None:
        """A manager looks after a quota."""
        manager = self.chance.choice(self.managers)
        quota = manager.quotas.get(self.chance.choice([*self.server.quotas]))
        if quota is None:
            return
        newest = 0
        if not quota_ledger.is_open(quota):
            found = (int(t.metadata.resource_version) for t in self.server.tickets.values())
            newest = max(found, default=0)
        if quota_ledger.is_behind(quota, manager.seen) or manager.seen < newest:
            return
        void = quotaplan.void(quota, manager.quota_cache, self.now)
        never = {key for key in void if key not in self.server.tickets}
        self.carry_out(manager, quotaplan.plan(manager.view, quota, self.now, never))

    def carry_out(self, manager: Manager, plan: Plan) -> None:
        for stage in plan.stages:
            for step in stage:
                assert isinstance(step, Patch)
                self.write(manager, step)

    def arrive(self) -> None:
        """A request arrives, if it still lives; who sent it sees the answer, or not."""
        self.requests = [each for each in self.requests if each.deadline > self.now]
        if self.requests:
            request = self.requests.pop(self.chance.randrange(len(self.requests)))
            self.made += self.server.create(request.step) is not None

    def see(self) -> None:
        manager = self.chance.choice(self.managers)
        manager.watch_quotas(self.chance.choice([0, 1, 5]))
        manager.watch_tickets(self.chance.choice([0, 0, 1, 5]))
        if self.restless:
            manager.watch_labels(self.chance.choice([0, 1, 5]))

    def end(self) -> None:
        """A ticket is claimed, ends, or is gone."""
        if self.server.tickets:
            key = self.chance.choice(sorted(self.server.tickets))
            over = ticket_state.is_over(self.server.tickets[key])
            phase = None if over else self.chance.choice(["Claimed", "Expired", None])
            body = codec.plain(self.server.tickets[key])
            said: JSON = {"status": {"phase": phase}}
            self.server.change(key, None if phase is None else patch.apply_merge(body, said))

    def remove(self) -> None:
        """A manager deletes a ticket that still is as it sees it, and from then on sees it no more."""
        manager = self.chance.choice(self.managers)
        seen = [k for k, t in self.server.tickets.items() if manager.sees(k, t)]
        if seen:
            key = self.chance.choice(sorted(seen))
            manager.quota_cache.ticket_changed(self.server.tickets[key], None)
            self.server.change(key, None)

    def wait(self) -> None:
        self.now += timedelta(seconds=self.chance.choice([1, 10, 50]))

    def relabel(self) -> None:
        self.server.relabel(self.chance.choice("abc"), self.chance.choice("xy"))

    def edit(self) -> None:
        hard: dict[str, JSON] = {"tickets": self.chance.choice("123456"), "orders": "2"}
        hard["reserved.cpu"] = self.chance.choice(["433m", "1", "2.75"])
        self.server.edit_quota("timed", hard)

    def come_to_rest(self) -> None:
        """Nothing is on its way any more, all is seen, and entries without tickets are void."""
        for _ in range(3):
            self.now += quota_ledger.LIFETIME
            self.requests.clear()
            for manager in self.managers:
                manager.watch_labels(10**6)
                for name in self.server.quotas:
                    manager.watch_quotas(10**6)
                    manager.watch_tickets(10**6)
                    quota = manager.quotas[name]
                    void = quotaplan.void(quota, manager.quota_cache, self.now)
                    never = {key for key in void if key not in self.server.tickets}
                    plan = quotaplan.plan(manager.view, quota, self.now, never)
                    for stage in plan.stages:
                        for step in stage:
                            assert isinstance(step, Patch)
                            self.server.write(step)
