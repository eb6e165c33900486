"""Quotas as people write them: of every scope, with allocations and windows, and what becomes of them.

`booking` calls it. Limits are low, so that they are in the way; windows are short, so that an hour has many edges. Quotas are edited, go and
come again, and namespaces get other labels. There is one quota of the whole cluster at most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from korder.reserve.scenarios.orders import API_VERSION, TIERS
from pocketkube.simulation.script import Apply, Delete, Manifest, Patch, Step
from pocketkube.simulation.workloads.moments import moments

STAGE = "stage"
"""The label of namespaces by which quotas and allocations find them."""
STAGES = ("test", "prod")
_CPU = ("1", "1.75", "2500m", "4", "6.3")
_MEMORY = ("1000Mi", "2.5Gi", "4Gi")
_LIMITS = ("tickets", "reserved.cpu", "reserved.memory", "orders", "max-duration")
_FACTORS = ("0", "0.5", "1.5", 2, "3")
_ZONES = ("UTC", "Asia/Kolkata", "America/New_York")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """What limits people.

    Attributes:
        many: How many quotas there are.
        length: Seconds that all this goes on.
        edits: How often in an hour somebody changes a quota or relabels a namespace.
        namespaces: Where people book.
    """

    many: int
    length: float
    edits: float
    namespaces: Sequence[str] = field(default_factory=tuple)


def quotas(rng: Random, wanted: Quotas) -> Iterator[Step]:
    """All quotas of a run, and what happens to them."""
    if not wanted.many:
        return
    for name in wanted.namespaces:
        yield Step(1.5, _labelled(name, rng.choice(STAGES)))
    there = [_quota(rng, f"q{number}", wanted.namespaces) for number in range(wanted.many)]
    for quota in there:
        late = rng.random() < 0.2
        yield Step(rng.uniform(60, wanted.length / 2) if late else 2.0, Apply(quota))
    for at in moments(rng, 3600 / wanted.edits, 10.0, wanted.length):
        yield from _idea(rng, rng.choice(there), wanted.namespaces, at)


def _quota(rng: Random, name: str, namespaces: Sequence[str]) -> Manifest:
    spec: Manifest = {
        "scope": _scope(rng, namespaces, first=name == "q0"),
        "hard": _hard(rng),
        "enforcement": rng.choice(("Refuse", "Wait")),
    }
    if rng.random() < 0.7:
        spec["timeWindows"] = [_window(rng, f"w{number}") for number in range(rng.randint(1, 2))]
    if rng.random() < 0.4:
        spec["allocation"] = _allocation(rng, namespaces)
    return {"apiVersion": API_VERSION, "kind": "Quota", "metadata": {"name": name}, "spec": spec}


def _scope(rng: Random, namespaces: Sequence[str], *, first: bool) -> Manifest:
    kinds = ("NamespaceSelector", "NamespaceList", "ObjectSelector")
    match rng.choice((*kinds, "Cluster", "Cluster") if first else kinds):
        case "NamespaceSelector":
            labels = {"matchLabels": {STAGE: rng.choice(STAGES)}}
            return {"type": "NamespaceSelector", "namespaceSelector": labels}
        case "NamespaceList":
            chosen = rng.sample(namespaces, rng.randint(1, len(namespaces)))
            return {"type": "NamespaceList", "namespaces": chosen}
        case "ObjectSelector":
            tiers = rng.sample(TIERS, rng.randint(1, len(TIERS)))
            some = {"key": "tier", "operator": "In", "values": tiers}
            return {"type": "ObjectSelector", "objectSelector": {"matchExpressions": [some]}}
        case cluster:
            return {"type": cluster}


def _hard(rng: Random) -> Manifest:
    drawn: Manifest = {
        "tickets": rng.choice((str(rng.randint(2, 6)), rng.randint(2, 6))),
        "reserved.cpu": rng.choice(_CPU),
        "reserved.memory": rng.choice(_MEMORY),
        "orders": str(rng.randint(1, 4)),
        "max-duration": rng.choice(("10m", "1800", 1800)),
    }
    chosen = rng.choices(_LIMITS, (8, 8, 3, 3, 1), k=rng.randint(1, 3))
    return {key: drawn[key] for key in _LIMITS if key in chosen}


def _window(rng: Random, name: str) -> Manifest:
    window: Manifest = {"name": name, "timeZone": rng.choice(_ZONES)}
    match rng.choice(("firings", "firings", "hours", "cover")):
        case "firings":
            minutes = (f"*/{rng.choice((10, 20, 30))}", str(rng.randrange(60)))
            window["schedule"] = f"{rng.choice(minutes)} * * * *"
            window["duration"] = rng.choice(("3m", "7m", "25m"))
        case "hours":
            begins, length = rng.randrange(24 * 60), rng.randint(5, 600)
            window["hours"] = f"{_clock(begins)}-{_clock(begins + length)}"
        case _:
            begins, length = rng.randrange(24), rng.randint(1, 12)
            window["schedule"] = f"0 {begins}-{(begins + length) % 24} * * *"
    if rng.random() < 0.7:
        window["multiplier"] = rng.choice(_FACTORS)
    else:
        window["hard"] = {"tickets": rng.randint(1, 8), "reserved.cpu": rng.choice(_CPU)}
    if rng.random() < 0.3:
        window["priority"] = rng.randint(1, 2)
    return window


def _clock(minute: int) -> str:
    hour, rest = divmod(minute % (24 * 60), 60)
    return f"{hour:02}:{rest:02}"


def _allocation(rng: Random, namespaces: Sequence[str]) -> list[Manifest]:
    limits = {"tickets": str(rng.randint(1, 3)), "reserved.cpu": rng.choice(_CPU)}
    one: Manifest = {"namespace": rng.choice(namespaces), "limits": limits}
    some: Manifest = {
        "name": "staged",
        "namespaceSelector": {"matchLabels": {STAGE: rng.choice(STAGES)}},
        "limits": {"reserved.cpu": rng.choice(_CPU)},
        "borrow": rng.random() < 0.5,
    }
    return rng.choice(([one], [some], [one, some]))


def _idea(rng: Random, quota: Manifest, namespaces: Sequence[str], at: float) -> Iterator[Step]:
    name = quota["metadata"]["name"]
    match rng.choice(("relabel", "relabel", "limits", "limits", "windows", "manner", "again")):
        case "relabel":
            yield Step(at, _labelled(rng.choice(namespaces), rng.choice(STAGES)))
        case "limits":
            cleared = dict.fromkeys(_LIMITS)
            yield Step(at, _edited(name, {"hard": {**cleared, **_hard(rng)}}))
        case "windows":
            yield Step(at, _edited(name, {"timeWindows": rng.choice((None, [_window(rng, "w0")]))}))
        case "manner":
            yield Step(at, _edited(name, {"enforcement": rng.choice(("Refuse", "Wait"))}))
        case _:
            yield Step(at, Delete(API_VERSION, "Quota", name))
            yield Step(at + rng.uniform(0, 60), Apply(quota))


def _edited(name: str, spec: Manifest) -> Patch:
    return Patch(API_VERSION, "Quota", name, {"spec": spec})


def _labelled(namespace: str, stage: str) -> Patch:
    return Patch("v1", "Namespace", namespace, {"metadata": {"labels": {STAGE: stage}}})
