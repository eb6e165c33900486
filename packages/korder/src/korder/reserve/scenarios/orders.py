"""Orders and tickets as users write them, in all their forms, from one source of chance.

`booking` calls it. An order is a manifest that says how many tickets, of which form, made when; what varies is drawn here, and every form
that the API knows is drawn now and then. Times are short, so that an hour has many beginnings and ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from korder.api.reserve import GROUP, TICKET_GROUP_ANNOTATION, VERSION
from kubeloop.objects import instant
from pocketkube.simulation.script import Manifest

API_VERSION = f"{GROUP}/{VERSION}"
TEAM = "team"
"""The label of tickets by which pods select them."""
TIERS = ("small", "large")
"""Values of the label by which quotas select orders and tickets."""
POLICIES = ("Always", "OnClaim", "Never")
_LENGTHS = ("90s", "3m", "7m", "15m", "1h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the tickets of one order have in common.

    Attributes:
        cpu: In thousandths of a core.
        memory: In mebibytes.
        shared: Whether several pods may have a ticket at a time.
        owners: Who may claim.
    """

    cpu: int
    memory: int
    duration: str = ""
    ttl: int = 60
    cleanup: str = "Delete"
    after_use: str = "Consume"
    shared: bool = False
    owners: tuple[Manifest, ...] = ()
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerates: bool = False

    def spec(self) -> Manifest:
        requests = {"cpu": f"{self.cpu}m", "memory": f"{self.memory}Mi"}
        spec: Manifest = {
            "resources": {"requests": requests},
            "lifecycle": {"ttlSecondsAfterFinished": self.ttl, "cleanupPolicy": self.cleanup},
            "afterUse": self.after_use,
            "allocateOnce": not self.shared,
        }
        if self.duration:
            spec["duration"] = self.duration
        if self.owners:
            spec["owners"] = list(self.owners)
        if self.selector:
            spec["nodeSelector"] = dict(self.selector)
        if self.tolerates:
            spec["tolerations"] = [{"operator": "Exists"}]
        return spec

    @property
    def tier(self) -> Manifest:
        """The label by which quotas find it."""
        return {"tier": TIERS[self.cpu >= 1_000]}


def form(rng: Random, cpu: int, pools: tuple[str, ...]) -> Form:
    """Draws what tickets are like."""
    return Form(
        cpu=cpu,
        memory=cpu,
        duration=rng.choice(("", *_LENGTHS)),
        ttl=rng.choice((0, 30, 300)),
        cleanup=rng.choices(("Delete", "Retain"), (5, 1))[0],
        after_use=rng.choices(("Consume", "Reserve"), (2, 1))[0],
        shared=rng.random() < 0.15,
        owners=({"serviceAccounts": ["default"]},) if rng.random() < 0.15 else (),
        selector={"pool": rng.choice(pools)} if pools and rng.random() < 0.15 else {},
        tolerates=rng.random() < 0.2,
    )


def strategy(rng: Random) -> Manifest:
    """Draws when tickets are made; an empty one is left out, as the later state of the original does."""
    policy = rng.choice(POLICIES)
    match rng.choices(("OneTime", "plain", "Scheduled", "Recurring"), (4, 1, 2, 2))[0]:
        case "plain":
            return {}
        case "OneTime":
            return {"type": "OneTime", "refreshPolicy": policy}
        case kind:
            more: Manifest = {"type": kind, "refreshPolicy": policy}
            more["schedule"] = f"*/{rng.choice((5, 10, 15))} * * * *"
            if kind == "Scheduled":
                more["overlapPolicy"] = rng.choice(("Allow", "Allow", "Forbid", "Replace"))
                more["leadTime"] = rng.choice(("0s", "0s", "20s"))
            return more


def order(name: str, where: str, rng: Random, tickets: Form, replicas: int) -> Manifest:
    """An order of a drawn strategy."""
    when = strategy(rng)
    if when.get("type") == "Scheduled":
        tickets = _within(rng, tickets)
    spec: Manifest = {"replicas": replicas, "template": template(name, tickets)}
    if when:
        spec["strategy"] = when
    else:
        spec["refreshPolicy"] = rng.choice(POLICIES)
    if rng.random() < 0.15:
        spec["minAvailable"] = rng.randint(1, replicas)
    return {**_head("Order", name, where, labels=tickets.tier), "spec": spec}


def daemon_order(name: str, where: str, rng: Random, tickets: Form) -> Manifest:
    """An order of one ticket for each node."""
    when: Manifest = {"type": "OneTime", "refreshPolicy": rng.choice(POLICIES)}
    if rng.random() < 0.3:
        when |= {"type": "Recurring", "schedule": "*/10 * * * *"}
    spec = {"daemonSet": True, "strategy": when, "template": template(name, tickets)}
    return {**_head("Order", name, where, labels=tickets.tier), "spec": spec}


def ticket(name: str, where: str, tickets: Form, starts: datetime | None, node: str) -> Manifest:
    """A ticket made by hand: at once or later, on a certain node or on any."""
    spec = tickets.spec()
    length = spec.pop("duration", "10m")
    if starts is not None:
        spec["window"] = {"startTime": instant.render(starts), "duration": length}
    else:
        spec["duration"] = length
    if node:
        spec["nodeName"] = node
    return {**_head("Ticket", name, where, **_marks(name, tickets)), "spec": spec}


def template(name: str, tickets: Form) -> Manifest:
    """What the tickets of an order look like."""
    return {"metadata": _marks(name, tickets), "spec": tickets.spec()}


def _marks(name: str, tickets: Form) -> Manifest:
    """How pods and quotas find tickets."""
    return {
        "labels": {TEAM: name, **tickets.tier},
        "annotations": {TICKET_GROUP_ANNOTATION: name},
    }


def _within(rng: Random, tickets: Form) -> Form:
    """A window that may be longer or shorter than the time between firings."""
    return Form(
        cpu=tickets.cpu,
        memory=tickets.memory,
        duration=rng.choice(("2m", "4m", "12m")),
        ttl=tickets.ttl,
        after_use=tickets.after_use,
        shared=tickets.shared,
        owners=tickets.owners,
    )


def moment(start: datetime, seconds: float) -> datetime:
    """So many seconds after the beginning, as users write it."""
    return start + timedelta(seconds=round(seconds))


def _head(kind: str, name: str, where: str, **more: object) -> Manifest:
    meta = {"name": name, "namespace": where, **more}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": meta}
