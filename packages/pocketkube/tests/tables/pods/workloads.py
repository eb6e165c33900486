"""Workloads, good and bad, as changes to a small one of their kind."""

from tests.tables.pods.words import CHOSEN, DROP, Case

# fmt: off


TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "a", "image": "img:1"}]},
}
ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
T = "spec.template."
J = "spec.jobTemplate.spec."
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
COMPLETE = {"type": "Complete", "status": "True"}

WORKLOADS: dict[str, Case] = {
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": 0, "selector": CHOSEN, "template": TEMPLATE},
    },
    "ReplicaSet": {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "spec": {"replicas": 0, "selector": CHOSEN, "template": TEMPLATE},
    },
    "ReplicationController": {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "spec": {"replicas": 0, "template": TEMPLATE},
    },
    "StatefulSet": {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {"replicas": 0, "selector": CHOSEN, "serviceName": "s", "template": TEMPLATE},
    },
    "DaemonSet": {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "spec": {"selector": CHOSEN, "template": TEMPLATE},
    },
    "Job": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "template": ONCE}},
    "CronJob": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "spec": {
            "schedule": "0 0 1 1 *",
            "suspend": True,
            "jobTemplate": {"spec": {"template": ONCE}},
        },
    },
    "PodTemplate": {"apiVersion": "v1", "kind": "PodTemplate", "template": TEMPLATE},
}

MADE: dict[str, dict[str, Case]] = {
    "Deployment": {
        "a small one": {},
        "without numbers": {"spec.replicas": DROP},
        "fewer than none": {
            "spec.replicas": -1,
            "spec.minReadySeconds": -1,
            "spec.revisionHistoryLimit": -1,
            "spec.progressDeadlineSeconds": -1,
        },
        "a deadline that is too short": {"spec.minReadySeconds": 700},
        "no selector": {"spec.selector": DROP},
        "an empty selector": {"spec.selector": {}},
        "a selector of others": {"spec.selector": {"matchLabels": {"app": "b"}}},
        "a bad selector": {
            "spec.selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}
        },
        "a bad selector value": {"spec.selector": {"matchLabels": {"app": "b c"}}},
        "no template": {"spec.template": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "a template with bad labels": {
            f"{T}metadata.labels": {"app": "a", "b c": "d e"},
            f"{T}metadata.annotations": {"a b": "c"},
        },
        "a template with a bad container": {
            f"{T}spec.containers.0.name": "A",
            f"{T}spec.containers.0.image": DROP,
        },
        "a template with limits": {
            f"{T}spec.containers.0.resources": {"limits": {"cpu": "1.0001"}}
        },
        "a template with the network of the host": {
            f"{T}spec.hostNetwork": True,
            f"{T}spec.containers.0.ports": [{"containerPort": 80}],
        },
        "a template with many parts": {
            f"{T}spec.volumes": [{"name": "v", "secret": {"secretName": "s"}}],
            f"{T}spec.initContainers": [{"name": "i", "image": "x"}],
            f"{T}spec.containers.0.livenessProbe": {"httpGet": {"port": 1}},
        },
        "another strategy": {"spec.strategy": {"type": "Recreate"}},
        "two strategies": {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "no strategy that is known": {"spec.strategy": {"type": "Fast"}},
        "no pods to spare": {
            "spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
        },
        "bad shares": {
            "spec.strategy": {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "150%"}}
        },
        "negative shares": {"spec.strategy": {"rollingUpdate": {"maxSurge": -1}}},
    },
    "ReplicaSet": {
        "a small one": {},
        "without numbers": {"spec.replicas": DROP},
        "fewer than none": {"spec.replicas": -1, "spec.minReadySeconds": -1},
        "an empty selector": {"spec.selector": {}},
        "a selector of others": {"spec.selector": {"matchLabels": {"app": "b"}}},
        "a template that ends": {f"{T}spec.restartPolicy": "Never"},
    },
    "ReplicationController": {
        "a small one": {},
        "fewer than none": {"spec.replicas": -1, "spec.minReadySeconds": -1},
        "a selector of others": {"spec.selector": {"app": "b"}},
        "no template": {"spec.template": DROP},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
    },
    "StatefulSet": {
        "a small one": {},
        "with claims": {
            "spec.volumeClaimTemplates": [CLAIM],
            f"{T}spec.containers.0.volumeMounts": [{"name": "data", "mountPath": "/d"}],
        },
        "with bad claims": {
            "spec.volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]
        },
        "a bad name": {"metadata.name": "a.b"},
        "no policy that is known": {
            "spec.podManagementPolicy": "Wild",
            "spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Sell"},
        },
        "another strategy": {"spec.updateStrategy": {"type": "OnDelete"}},
        "two strategies": {
            "spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}
        },
        "no strategy that is known": {"spec.updateStrategy": {"type": "Fast"}},
        "how many may be away": {"spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}},
        "a part below nothing": {
            "spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}
        },
        "fewer than none": {
            "spec.replicas": -1,
            "spec.minReadySeconds": -1,
            "spec.ordinals": {"start": -1},
        },
        "a bad service": {"spec.serviceName": "A"},
        "a bad selector": {
            "spec.selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}
        },
        "an empty selector": {"spec.selector": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "a template with bad labels": {f"{T}metadata.labels": {"app": "a", "b c": "d"}},
    },
    "DaemonSet": {
        "a small one": {},
        "no selector": {"spec.selector": DROP},
        "an empty selector": {"spec.selector": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "no strategy that is known": {"spec.updateStrategy": {"type": "Fast"}},
        "another strategy": {"spec.updateStrategy": {"type": "OnDelete"}},
        "both shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        },
        "no shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
        },
        "bad shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": "200%", "maxUnavailable": 0}}
        },
        "fewer than none": {"spec.minReadySeconds": -1, "spec.revisionHistoryLimit": -1},
    },
    "Job": {
        "a small one": {},
        "for ever": {f"{T}spec.restartPolicy": "Always"},
        "no restart policy": {f"{T}spec.restartPolicy": DROP},
        "a strange restart policy": {f"{T}spec.restartPolicy": "Sometimes"},
        "only parallel": {"spec.parallelism": 2},
        "only complete": {"spec.completions": 3},
        "fewer than none": {
            "spec.parallelism": -1,
            "spec.completions": -1,
            "spec.backoffLimit": -1,
            "spec.activeDeadlineSeconds": -1,
            "spec.ttlSecondsAfterFinished": -1,
        },
        "with indexes": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 2,
        },
        "with indexes but no number": {"spec.completionMode": "Indexed", "spec.parallelism": 1},
        "with more failures than indexes": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 4,
        },
        "without indexes but limits for them": {
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 2,
        },
        "no mode that is known": {"spec.completionMode": "Random"},
        "a failure policy": {
            "spec.podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            }
        },
        "a bad failure policy": {
            "spec.podFailurePolicy": {
                "rules": [
                    {
                        "action": "",
                        "onExitCodes": {
                            "operator": "In",
                            "values": [0, 2, 1, 2],
                            "containerName": "zz",
                        },
                    },
                    {"action": "FailIndex"},
                    {
                        "action": "Cry",
                        "onExitCodes": {"operator": "Like"},
                        "onPodConditions": [{"type": "a b", "status": "Maybe"}],
                    },
                ]
            }
        },
        "a failure policy with restarts": {
            f"{T}spec.restartPolicy": "OnFailure",
            "spec.podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}
                ]
            },
        },
        "a success policy": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.successPolicy": {"rules": [{"succeededCount": 4}, {}]},
        },
        "a success policy without indexes": {
            "spec.successPolicy": {"rules": [{"succeededCount": 4}]}
        },
        "no replacement policy that is known": {"spec.podReplacementPolicy": "Soon"},
        "a selector of its own": {"spec.selector": CHOSEN},
        "a selector by hand": {"spec.selector": CHOSEN, "spec.manualSelector": True},
        "a manager": {"spec.managedBy": "a.b/c"},
        "a bad manager": {"spec.managedBy": "abc"},
        "labels of its own": {f"{T}metadata.labels": {"job-name": "x"}},
    },
    "CronJob": {
        "a small one": {},
        "no timetable": {"spec.schedule": ""},
        "a short timetable": {"spec.schedule": "* * *"},
        "a strange timetable": {"spec.schedule": "61 * * * *"},
        "a stranger timetable": {"spec.schedule": "a * * * *"},
        "a backward timetable": {"spec.schedule": "5-3 * * * *"},
        "a timetable with names": {"spec.schedule": "*/5 1,2 * jan mon-fri"},
        "a timetable by a word": {"spec.schedule": "@daily"},
        "a timetable by a strange word": {"spec.schedule": "@often"},
        "a timetable with a zone": {"spec.schedule": "TZ=UTC * * * * *"},
        "a zone": {"spec.timeZone": "Europe/Berlin"},
        "a strange zone": {"spec.timeZone": "Mars/Base"},
        "a local zone": {"spec.timeZone": "Local"},
        "no policy that is known": {"spec.concurrencyPolicy": "Maybe"},
        "fewer than none": {
            "spec.startingDeadlineSeconds": -1,
            "spec.successfulJobsHistoryLimit": -1,
            "spec.failedJobsHistoryLimit": -1,
        },
        "jobs with a selector": {f"{J}selector": CHOSEN, f"{J}manualSelector": True},
        "jobs for ever": {f"{J}template.spec.restartPolicy": "Always", f"{J}parallelism": -1},
        "a long name": {"metadata.name": "a" * 53},
    },
    "PodTemplate": {
        "a small one": {},
        "a bad container": {"template.spec.containers.0.name": "A"},
    },
}
