"""Pods that are to become others: how each is first, and what it is to become."""

from tests.tables.pods.words import (
    CHOSEN,
    DROP,
    EMPTY,
    NEAR,
    NODES,
    SPREAD,
    VOL,
    C,
    Case,
    I,
    need,
    probe,
    tolerate,
    volume,
)

# fmt: off


GATED = {"spec.schedulingGates": [{"name": "g1"}, {"name": "g2"}]}
TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
MORE = {"matchExpressions": [*TERM["matchExpressions"], {"key": "c", "operator": "Exists"}]}

CHANGES: dict[str, tuple[Case, Case]] = {
    "nothing": ({}, {}),
    "an image": ({}, {f"{C}image": "img:2"}),
    "an image to nothing": ({}, {f"{C}image": ""}),
    "labels": ({}, {"metadata.labels.more": "x"}),
    "a deadline that was not there": ({}, {"spec.activeDeadlineSeconds": 5}),
    "a deadline to a later one": (
        {"spec.activeDeadlineSeconds": 5},
        {"spec.activeDeadlineSeconds": 6},
    ),
    "a deadline to an earlier one": (
        {"spec.activeDeadlineSeconds": 5},
        {"spec.activeDeadlineSeconds": 4},
    ),
    "a deadline to none": ({"spec.activeDeadlineSeconds": 5}, {"spec.activeDeadlineSeconds": DROP}),
    "a deadline to less than nothing": ({}, {"spec.activeDeadlineSeconds": -1}),
    "one more toleration": ({}, {"spec.tolerations.2": {"key": "b", "operator": "Exists"}}),
    "a toleration to another": (
        tolerate(key="a", operator="Exists"),
        {"spec.tolerations.0.key": "b"},
    ),
    "a toleration to a longer one": ({}, {"spec.tolerations.0.tolerationSeconds": 5}),
    "one gate less": (GATED, {"spec.schedulingGates": [{"name": "g2"}]}),
    "no gates any more": (GATED, {"spec.schedulingGates": DROP}),
    "one gate for another": (GATED, {"spec.schedulingGates": [{"name": "g3"}]}),
    "a gate that was not there": ({}, {"spec.schedulingGates": [{"name": "g3"}]}),
    "a selector of a gated pod": (GATED, {"spec.nodeSelector": {"a": "b"}}),
    "less of a selector of a gated pod": (
        {**GATED, "spec.nodeSelector": {"a": "b"}},
        {"spec.nodeSelector": {"c": "d"}},
    ),
    "a selector of a free pod": ({}, {"spec.nodeSelector": {"a": "b"}}),
    "wanted nodes of a gated pod": (GATED, {NODES: [TERM]}),
    "more demands of a gated pod": ({**GATED, NODES: [TERM]}, {NODES: [MORE]}),
    "fewer demands of a gated pod": ({**GATED, NODES: [MORE]}, {NODES: [TERM]}),
    "another choice of a gated pod": ({**GATED, NODES: [TERM]}, {NODES: [TERM, TERM]}),
    "wanted nodes of a free pod": ({}, {NODES: [TERM]}),
    "neighbours of a gated pod": (
        GATED,
        {NEAR: [{"topologyKey": "zone", "labelSelector": CHOSEN}]},
    ),
    "a gated pod's command": (GATED, {f"{C}command": ["x"]}),
    "a command": ({}, {f"{C}command": ["x", "y"]}),
    "a node": ({}, {"spec.nodeName": "n1"}),
    "amounts": (need({"cpu": "1"}), {f"{C}resources.requests.cpu": "2"}),
    "a container more": ({}, {"spec.containers.1": {"name": "b", "image": "img:1"}}),
    "a first container more": ({}, {I: [{"name": "i", "image": "img:1"}]}),
    "patience": ({}, {"spec.terminationGracePeriodSeconds": 1}),
    "a volume": ({}, {VOL: EMPTY}),
    "a priority": ({}, {"spec.priority": 5}),
    "the network": ({}, {"spec.hostNetwork": True}),
    "a probe and an environment": (
        {},
        {
            **probe(),
            f"{C}env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        },
    ),
    "wrong and forbidden at once": ({}, {"spec.restartPolicy": "Sometimes", f"{C}image": " x"}),
    "many things": (
        volume(configMap={"name": "m"}),
        {
            **volume(secret={"secretName": "s"}),
            "spec.hostname": "x",
            "spec.securityContext": {
                "runAsUser": 5,
                "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
            },
            "spec.topologySpreadConstraints": [{**SPREAD, "labelSelector": CHOSEN}],
        },
    ),
    "a bad label": ({}, {"metadata.labels.more": "x y", "metadata.annotations": {"a b": "c"}}),
    "a claim of the kubelet": ({}, {"metadata.annotations": {"kubernetes.io/config.mirror": "x"}}),
}
