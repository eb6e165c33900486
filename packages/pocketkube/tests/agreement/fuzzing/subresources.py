"""Requests to subresources other than status: binding, eviction, finalize, scale and the rest."""

from collections.abc import Callable
import random
from typing import Any

from tests.agreement.fuzzing.kinds import Kind, a_change
from tests.agreement.fuzzing.step import Step
from tests.agreement.fuzzing.values import mangled, sometimes

Object = dict[str, Any]
Maker = Callable[[random.Random, Kind], Step]


def _name(rng: random.Random, kind: Kind) -> tuple[str, str]:
    name = rng.choice(kind.names)
    return name, f"{kind.resource}/{name}"


def binding(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    body: Any = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": rng.choice(("node-1", "node-2"))},
    }
    if sometimes(rng, 0.25):
        body["metadata"] |= rng.choice(
            (
                {"uid": f"{{uid:{about}}}"},
                {"uid": "x"},
                {"annotations": {"a": "b"}},
                {"labels": {"zone": "z"}},
                {"name": "other"},
            )
        )
    if sometimes(rng, 0.15):
        body = mangled(rng, body)
    return Step("POST", kind.path(name, "binding"), about, {}, body)


def eviction(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    body: Any = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if sometimes(rng, 0.3):
        body["deleteOptions"] = rng.choice(
            (
                {"gracePeriodSeconds": 0},
                {"dryRun": ["All"]},
                {"preconditions": {"uid": f"{{uid:{about}}}"}},
                {"preconditions": {"uid": "00000000-0000-4000-8000-000000000009"}},
                {"preconditions": {"resourceVersion": f"{{old:{about}}}"}},
                {"propagationPolicy": "Foreground"},
            )
        )
    if sometimes(rng, 0.2):
        body = mangled(rng, body)
    return Step("POST", kind.path(name, "eviction"), about, {}, body)


def ephemeral(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    added = rng.choice(
        (
            [{"name": "debug", "image": "x"}],
            [{"name": "debug", "image": "x", "targetContainerName": "main"}],
            [{"name": "main", "image": "x"}],
            [{"name": "debug", "image": "x", "ports": [{"containerPort": 1}]}],
            [],
        )
    )
    edits = ((("spec", "ephemeralContainers"), added),)
    path = kind.path(name, "ephemeralcontainers")
    return Step("PUT", path, about, {}, kind.whole(rng, name), "current", edits)


def resize(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    wanted = rng.choice(
        (
            {"requests": {"cpu": "200m"}},
            {"limits": {"cpu": "2"}},
            {"requests": {"memory": "1Gi"}},
            {},
        )
    )
    edits = ((("spec", "containers", 0, "resources"), wanted),)
    if sometimes(rng, 0.2):
        edits += a_change(rng, kind)
    return Step(
        "PUT", kind.path(name, "resize"), about, {}, kind.whole(rng, name), "current", edits
    )


def finalize(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    edits: tuple[Any, ...] = (
        (("spec", "finalizers"), rng.choice(([], [], ["kubernetes"], ["example.com/x"], ["bad"]))),
    )
    if sometimes(rng, 0.2):
        edits += a_change(rng, kind)
    basis = rng.choice(("current", "current", "stale", ""))
    return Step("PUT", kind.path(name, "finalize"), about, {}, kind.whole(rng, name), basis, edits)


def write_scale(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    meta: Object = {"name": name, "namespace": "{home}"}
    if sometimes(rng, 0.5):
        meta["resourceVersion"] = rng.choice((f"{{rv:{about}}}", f"{{old:{about}}}"))
    body: Any = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": meta,
        "spec": {"replicas": rng.choice((0, 1, 4, 11, -1))},
    }
    if sometimes(rng, 0.2):
        body = mangled(rng, body)
    return Step("PUT", kind.path(name, "scale"), about, {}, body)


def patch_scale(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    body = rng.choice(({"spec": {"replicas": 3}}, {"spec": {"replicas": "x"}}, {"spec": None}, {}))
    content = "application/merge-patch+json"
    return Step("PATCH", kind.path(name, "scale"), about, {}, body, content=content)


def read(rng: random.Random, kind: Kind) -> Step:
    name, about = _name(rng, kind)
    sub = rng.choice(("status", "scale", "binding", "missing"))
    return Step("GET", kind.path(name, sub), about)


SUBRESOURCES: dict[str, tuple[Maker, ...]] = {
    "pods": (binding, binding, eviction, ephemeral, resize, read),
    "namespaces": (finalize, finalize, read),
    "widgets": (write_scale, patch_scale, read),
    "configmaps": (read,),
}
