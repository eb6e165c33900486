"""Workloads that are to become others."""

from tests.tables.pods.changes import TERM
from tests.tables.pods.words import CHOSEN, Case
from tests.tables.pods.workloads import CLAIM, J, T

# fmt: off


MADE_AND_CHANGED: dict[str, dict[str, tuple[Case, Case]]] = {
    "Deployment": {
        "nothing": ({}, {}),
        "a number": ({}, {"spec.replicas": 2}),
        "an annotation": ({}, {"metadata.annotations": {"a": "b"}}),
        "a label": ({}, {"metadata.labels": {"a": "b"}}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
        "the template": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "the template and a label badly": (
            {},
            {f"{T}spec.containers.0.name": "A", "metadata.labels": {"a b": "c"}},
        ),
    },
    "ReplicaSet": {
        "a number": ({}, {"spec.replicas": 2}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
    },
    "ReplicationController": {
        "the selector": ({}, {"spec.selector": {"app": "b"}, f"{T}metadata.labels": {"app": "b"}}),
    },
    "StatefulSet": {
        "a number": ({}, {"spec.replicas": 2}),
        "the service": ({}, {"spec.serviceName": "t"}),
        "the claims": ({}, {"spec.volumeClaimTemplates": [CLAIM]}),
        "the policy": ({}, {"spec.podManagementPolicy": "Parallel"}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
        "the rest": (
            {},
            {
                "spec.minReadySeconds": 5,
                "spec.ordinals": {"start": 1},
                f"{T}spec.containers.0.image": "img:2",
                "spec.revisionHistoryLimit": 3,
            },
        ),
    },
    "DaemonSet": {
        "the template": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "the history": ({}, {"spec.revisionHistoryLimit": 3}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
    },
    "Job": {
        "nothing": ({}, {}),
        "the parallelism": ({}, {"spec.parallelism": 3}),
        "the parallelism to less than nothing": (
            {},
            {"spec.parallelism": -3, "metadata.labels.more": "x y"},
        ),
        "the completions": ({}, {"spec.completions": 3}),
        "the completions with indexes": (
            {"spec.completionMode": "Indexed", "spec.completions": 2},
            {"spec.completions": 3, "spec.parallelism": 3},
        ),
        "the completions with indexes alone": (
            {"spec.completionMode": "Indexed", "spec.completions": 2},
            {"spec.completions": 3},
        ),
        "the mode": ({"spec.completions": 2}, {"spec.completionMode": "Indexed"}),
        "a number of retries": ({}, {"spec.backoffLimit": 3}),
        "the image while suspended": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "nodes while suspended": (
            {},
            {
                f"{T}spec.nodeSelector": {"a": "b"},
                f"{T}spec.tolerations": [{"operator": "Exists"}],
                f"{T}metadata.annotations": {"x": "y"},
            },
        ),
        "wanted nodes while suspended": (
            {},
            {
                f"{T}spec.affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [TERM]
                        }
                    }
                }
            },
        ),
        "amounts while suspended": (
            {},
            {f"{T}spec.containers.0.resources": {"requests": {"cpu": "1"}}},
        ),
        "the manager": ({}, {"spec.managedBy": "a.b/c"}),
        "the policy": (
            {},
            {
                "spec.podFailurePolicy": {
                    "rules": [
                        {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}
                    ]
                },
                "spec.podReplacementPolicy": "Failed",
            },
        ),
        "a selector": ({}, {"spec.selector": CHOSEN}),
    },
    "CronJob": {
        "the timetable": ({}, {"spec.schedule": "* * * * *"}),
        "the jobs": ({}, {f"{J}parallelism": 5}),
    },
    "PodTemplate": {
        "the template": ({}, {"template.spec.containers.0.image": "img:2"}),
    },
}
