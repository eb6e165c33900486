"""Nodes and pods of random clusters, in which every rule of scheduling has something to say; read by `test_scheduler`."""

import random

from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import PodBuilder, a_pod

KEYS = ("zone", "disk", "cores")


def maybe(rng: random.Random, chance: float, value: JSON) -> list[JSON]:
    return [value] if rng.random() < chance else []


def a_random_node(rng: random.Random, name: str, *, roomy: bool) -> dict[str, JSON]:
    labels: dict[str, JSON] = {"kubernetes.io/hostname": name}
    if rng.random() < 0.9:
        labels["zone"] = rng.choice("ab")
    if rng.random() < 0.5:
        labels["disk"] = rng.choice(("ssd", "hdd"))
    labels["cores"] = rng.choice(("4", "8", "many"))
    taint: JSON = {
        "key": rng.choice(("dedicated", "gpu")),
        "value": rng.choice(("", "x")),
        "effect": rng.choice(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    }
    offered: dict[str, JSON] = {
        "cpu": rng.choice(("1", "2", "1500m")),
        "memory": rng.choice(("1Gi", "2Gi")),
        "pods": "110" if roomy else rng.choice(("2", "3", "110")),
        **({"example.com/gpu": "1"} if rng.random() < 0.3 else {}),
    }
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": maybe(rng, 0.35, taint), "unschedulable": rng.random() < 0.1},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def a_random_pod(rng: random.Random, name: str) -> PodBuilder:
    requests: dict[str, JSON] = {}
    if rng.random() < 0.7:
        requests["cpu"] = rng.choice(("300m", "500m", "1", "2"))
    if rng.random() < 0.4:
        requests["memory"] = rng.choice(("300Mi", "1Gi", "1500M"))
    limits: dict[str, JSON] = {"example.com/gpu": "1"} if rng.random() < 0.1 else {}
    port: JSON = {
        "containerPort": 80,
        "hostPort": rng.choice((8080, 8081)),
        **({"hostIP": "127.0.0.1"} if rng.random() < 0.3 else {}),
        "protocol": rng.choice(("TCP", "UDP")),
    }
    container: JSON = {
        "name": "app",
        "image": "app",
        "resources": {"requests": {**requests, **limits}, "limits": limits},
        "ports": maybe(rng, 0.3, port),
    }
    init: JSON = {
        "name": "init",
        "image": "app",
        "resources": {"requests": {"cpu": "900m"}},
        **({"restartPolicy": "Always"} if rng.random() < 0.5 else {}),
    }
    anywhere: JSON = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    spec: dict[str, JSON] = {
        "containers": [container],
        "initContainers": maybe(rng, 0.15, init),
        "tolerations": [anywhere, *maybe(rng, 0.4, a_random_toleration(rng))],
        "affinity": {"podAntiAffinity": {REQUIRED: maybe(rng, 0.15, a_random_term(rng))}},
    }
    labels: JSON = {"app": rng.choice("ab"), "tier": rng.choice("xy")}
    namespace = rng.choice(("default", "default", "elsewhere"))
    return a_pod(name).but({"metadata": {"namespace": namespace, "labels": labels}, "spec": spec})


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def a_random_toleration(rng: random.Random) -> JSON:
    return rng.choice(
        [
            {"key": "dedicated", "operator": "Exists"},
            {"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"key": "gpu", "operator": "Equal", "value": ""},
        ]
    )


def a_random_term(rng: random.Random) -> dict[str, JSON]:
    namespaces: dict[str, JSON] = rng.choice(
        [
            {},
            {},
            {"namespaces": ["elsewhere"]},
            {"namespaceSelector": {}},
            {"namespaceSelector": {"matchLabels": {"team": "other"}}},
        ]
    )
    return {
        "topologyKey": rng.choice(("kubernetes.io/hostname", "zone", "disk")),
        "labelSelector": {"matchLabels": {"app": rng.choice("ab")}},
        **namespaces,
    }


def a_random_requirement(rng: random.Random) -> JSON:
    return rng.choice(
        [
            {"key": "zone", "operator": "In", "values": ["a"]},
            {"key": "zone", "operator": "NotIn", "values": ["b"]},
            {"key": "disk", "operator": "Exists"},
            {"key": "disk", "operator": "DoesNotExist"},
            {"key": "cores", "operator": "Gt", "values": ["5"]},
            {"key": "cores", "operator": "Lt", "values": ["5"]},
        ]
    )


def a_random_constraint(rng: random.Random) -> dict[str, JSON]:
    action = rng.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"))
    fewest: dict[str, JSON] = {"minDomains": 3} if rng.random() < 0.2 else {}
    return {
        "maxSkew": rng.choice((1, 2)),
        "topologyKey": rng.choice(("zone", "kubernetes.io/hostname")),
        "whenUnsatisfiable": action,
        "labelSelector": rng.choice([{"matchLabels": {"app": "a"}}, {}]),
        "nodeAffinityPolicy": rng.choice(("Honor", "Ignore")),
        "nodeTaintsPolicy": rng.choice(("Honor", "Ignore")),
        **(fewest if action == "DoNotSchedule" else {}),
        **({"matchLabelKeys": ["tier"]} if rng.random() < 0.2 else {}),
    }


def a_wishful_pod(rng: random.Random) -> PodBuilder:
    """The pod that is to be scheduled, with all kinds of wishes."""
    pod = a_random_pod(rng, "pending")
    if rng.random() < 0.2:
        pod = pod.but({"spec": {"nodeSelector": {"disk": rng.choice(("ssd", "hdd"))}}})
    terms: list[JSON] = [
        {"matchExpressions": [a_random_requirement(rng)]} for _ in range(rng.choice((0, 0, 1, 2)))
    ]
    if terms:
        pod = pod.but(
            {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}}
        )
    if rng.random() < 0.25:
        pod = pod.but({"spec": {"affinity": {"podAffinity": {REQUIRED: [a_random_term(rng)]}}}})
    if rng.random() < 0.4:
        first, second = a_random_constraint(rng), a_random_constraint(rng)
        distinct = all(first[key] != second[key] for key in ("topologyKey", "whenUnsatisfiable"))
        both: list[JSON] = [first, *([second] if distinct and rng.random() < 0.4 else [])]
        pod = pod.but({"spec": {"topologySpreadConstraints": both}})
    return pod


def pinned(pod: PodBuilder, node: str) -> PodBuilder:
    """The pod with a node's name in every term of its node affinity."""
    name: JSON = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = pod.build().spec.affinity
    by_node = affinity.node_affinity if affinity else None
    terms = by_node.required.node_selector_terms if by_node and by_node.required else ()
    added: list[JSON] = [
        {
            "matchExpressions": [
                {"key": e.key, "operator": e.operator, "values": list(e.values)}
                for e in term.match_expressions
            ],
            "matchFields": [name],
        }
        for term in terms
    ] or [{"matchFields": [name]}]
    return pod.but(
        {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": added}}}}}
    )
