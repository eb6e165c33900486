"""Who comes to a cluster in a history: machines of a few sizes, and applications whose pods have wishes of every kind."""

import random

from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import PodBuilder, a_pod
from pocketkube.nodes.machines import Shape

LOW, HIGH = "arrivals-low", "arrivals-high"
IMPORTANT: dict[str, JSON] = {"priorityClassName": HIGH}
PRIORITIES = {LOW: -10, HIGH: 1000}
"""Priority classes that must be there before a history is played."""
SOUGHT = "app0"
"""An application of which there is something everywhere, and which others seek."""
ZONES = ("a", "b", "c")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def a_machine(rng: random.Random, zone: str) -> Shape:
    """A machine of one of a few sizes."""
    cpu, memory = rng.choice((("4", "8Gi"), ("4", "16Gi"), ("8", "16Gi"), ("8", "32Gi")))
    labels = {"zone": zone, "disk": rng.choice(("ssd", "ssd", "hdd"))}
    effect = rng.choice(("NoSchedule", "PreferNoSchedule"))
    taint = {"key": "dedicated", "value": "batch", "effect": effect}
    return Shape(cpu, memory, labels=labels, taints=(taint,) if rng.random() < 0.25 else ())


def an_application(rng: random.Random, name: str) -> PodBuilder:
    """What every pod of an application is like.

    Who cannot be just anywhere is important, and so is who is large: they push others aside, and it does not depend on earlier
    choices how many of them find a place.
    """
    if name == SOUGHT:
        return _pod(rng, name, "500m").but({"spec": {**_spread(name, 1), **IMPORTANT}})
    pod = _pod(rng, name, "500m").but({"spec": _place(rng)})
    standing = rng.random()
    if standing < 0.3:
        return pod.but({"spec": {**_company(rng), **_inclination(rng, name)}})
    if standing < 0.6:
        low: JSON = {"priorityClassName": LOW}
        return pod.but({"spec": low}).but({"spec": _company(rng)})
    if standing < 0.75:
        return _pod(rng, name, rng.choice(("1", "2"))).but({"spec": {**_place(rng), **IMPORTANT}})
    return pod.but({"spec": {**_distance(rng, name), **IMPORTANT}})


def _pod(rng: random.Random, name: str, cpu: str) -> PodBuilder:
    memory: dict[str, JSON] = {"memory": rng.choice(("256Mi", "512Mi", "1Gi"))}
    requests = {"cpu": cpu, **(memory if rng.random() < 0.8 else {})}
    container: JSON = {"name": "app", "image": "app", "resources": {"requests": requests}}
    return a_pod(name).labelled({"app": name}).but({"spec": {"containers": [container]}})


def _place(rng: random.Random) -> dict[str, JSON]:
    """Which machines it wants."""
    zone: JSON = {"key": "zone", "operator": "In", "values": rng.sample(ZONES, 2)}
    expression: JSON = {"matchExpressions": [zone]}
    tolerated: JSON = {"key": "dedicated", "operator": "Exists"}
    spec: dict[str, JSON] = {"tolerations": [tolerated] if rng.random() < 0.3 else []}
    chance = rng.random()
    if chance < 0.15:
        spec["nodeSelector"] = {"disk": "ssd"}
    elif chance < 0.3:
        terms: JSON = {"nodeSelectorTerms": [expression]}
        spec["affinity"] = {"nodeAffinity": {REQUIRED: terms}}
    elif chance < 0.5:
        wish: JSON = {"weight": rng.randint(1, 100), "preference": expression}
        spec["affinity"] = {"nodeAffinity": {PREFERRED: [wish]}}
    return spec


def _company(rng: random.Random) -> dict[str, JSON]:
    """Which pods it wants near it, and which rather far."""
    key = rng.choice(("zone", "kubernetes.io/hostname"))
    wish: JSON = {"weight": rng.randint(1, 100), "podAffinityTerm": _term("app1", key)}
    return rng.choice(
        [
            {},
            {"affinity": {"podAffinity": {REQUIRED: [_term(SOUGHT, "zone")]}}},
            {"affinity": {"podAffinity": {PREFERRED: [wish]}}},
            {"affinity": {"podAntiAffinity": {PREFERRED: [wish]}}},
        ]
    )


def _inclination(rng: random.Random, name: str) -> dict[str, JSON]:
    """How evenly it would like to be spread."""
    return _spread(name, rng.randint(1, 3), "ScheduleAnyway") if rng.random() < 0.5 else {}


def _distance(rng: random.Random, name: str) -> dict[str, JSON]:
    """How its pods keep away from each other."""
    port: JSON = {"containerPort": 80, "hostPort": 8080, "name": "http"}
    kind = rng.randrange(3)
    if kind == 0:
        own: JSON = _term(name, "kubernetes.io/hostname")
        return {"affinity": {"podAntiAffinity": {REQUIRED: [own]}}}
    if kind == 1:
        return _spread(name, rng.randint(1, 3))
    return {"containers": [{"name": "app", "image": "app", "ports": [port]}]}


def _spread(name: str, skew: int, action: str = "DoNotSchedule") -> dict[str, JSON]:
    constraint: JSON = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"app": name}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _term(application: str, key: str) -> JSON:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": application}}}
