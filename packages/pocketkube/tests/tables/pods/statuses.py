"""Statuses that somebody reports, good and bad."""

from tests.tables.pods.words import DROP, Case

# fmt: off


S = "status."
ENDED = {"terminated": {"exitCode": 0, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}
FAILED = {"terminated": {"exitCode": 1, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}
GOING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def state(current: Case, name: str = "a") -> Case:
    return {f"{S}containerStatuses": [{"name": name, "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": current}]}


def conditions(*types: str) -> Case:
    return {f"{S}conditions": [{"type": one, "status": "True"} for one in types]}


BOUND = {"spec.nodeName": "n1"}
BEGUN = {f"{S}startTime": "2026-01-01T00:00:00Z"}
OVER = {f"{S}completionTime": "2026-01-01T00:00:05Z"}

STATUSES: dict[str, dict[str, tuple[Case, Case, Case]]] = {
    "Pod": {
        "running": ({}, {}, {f"{S}phase": "Running", **state(GOING), f"{S}podIP": "10.0.0.1", f"{S}podIPs": [{"ip": "10.0.0.1"}]}),
        "another class": ({}, {}, {f"{S}qosClass": "Guaranteed"}),
        "no class": ({}, {}, {f"{S}qosClass": DROP}),
        "a nomination": ({}, {}, {f"{S}nominatedNodeName": "n2"}),
        "a bad nomination": ({}, {}, {f"{S}nominatedNodeName": "N 2"}),
        "a nomination of a bound pod": (BOUND, {}, {f"{S}nominatedNodeName": "n2"}),
        "bad conditions": ({}, {}, {f"{S}conditions": [{"type": "a b", "status": "True", "observedGeneration": -1}]}),
        "a negative generation": ({}, {}, {f"{S}observedGeneration": -1}),
        "generations that are kept": ({}, {f"{S}observedGeneration": 1, f"{S}conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}, {f"{S}observedGeneration": DROP, f"{S}conditions": [{"type": "Ready", "status": "False"}]}),
        "bad addresses": ({}, {}, {f"{S}podIPs": [{"ip": "x"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], f"{S}hostIP": "1.1.1.1", f"{S}hostIPs": [{"ip": "1.1.1.2"}]}),
        "a restart": ({}, state(ENDED), state(GOING)),
        "a restart that is not allowed": ({"spec.restartPolicy": "Never"}, state(ENDED), state(GOING)),
        "a restart on failure": ({"spec.restartPolicy": "OnFailure"}, state(FAILED), state(GOING)),
        "a restart on success": ({"spec.restartPolicy": "OnFailure"}, state(ENDED), state(GOING)),
        "a spec and a label on the way": ({}, {}, {"spec.priority": 5, "metadata.labels.more": "x", f"{S}phase": "Running"}),
        "owners on the way": ({}, {}, {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}], f"{S}phase": "Running"}),
        "fine amounts": ({}, {}, {f"{S}containerStatuses": [{"name": "a", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "allocatedResources": {"cpu": "1.0001"}}]}),
    },
    "Deployment": {
        "numbers": ({}, {}, {f"{S}replicas": 2, f"{S}readyReplicas": 1, f"{S}availableReplicas": 1, f"{S}updatedReplicas": 2}),
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}updatedReplicas": 2, f"{S}unavailableReplicas": -1}),
        "fewer collisions": ({}, {f"{S}collisionCount": 2}, {f"{S}collisionCount": 1}),
        "labels on the way": ({}, {}, {"metadata.labels": {"x": "y"}, f"{S}replicas": 1}),
    },
    "ReplicaSet": {
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}fullyLabeledReplicas": 2}),
    },
    "StatefulSet": {
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}currentReplicas": 2, f"{S}updatedReplicas": 2}),
    },
    "DaemonSet": {
        "bad numbers": ({}, {}, {f"{S}numberReady": -1, f"{S}currentNumberScheduled": -1}),
    },
    "Job": {
        "begun": ({}, {}, {**BEGUN, f"{S}active": 1}),
        "complete": ({}, BEGUN, {**OVER, **conditions("SuccessCriteriaMet", "Complete")}),
        "complete at once": ({}, BEGUN, conditions("Complete")),
        "failed at once": ({}, BEGUN, conditions("Failed")),
        "failed": ({}, BEGUN, conditions("FailureTarget", "Failed")),
        "failed and complete": ({}, BEGUN, {**OVER, **conditions("Failed", "Complete")}),
        "ready but not active": ({}, {}, {f"{S}ready": 2, f"{S}active": 1}),
        "fewer failures": ({}, {f"{S}failed": 2}, {f"{S}failed": 1}),
        "over but not complete": ({}, BEGUN, OVER),
        "complete but active": ({}, BEGUN, {**OVER, **conditions("SuccessCriteriaMet", "Complete"), f"{S}active": 1}),
    },
}
