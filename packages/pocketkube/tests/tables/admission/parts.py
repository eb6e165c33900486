"""Ways to write and parts of objects that webhooks are asked about, and the probes that tell when all are in force."""

from typing import Any

from tests.tables.admission.words import (
    POD,
    Case,
    Object,
    Step,
    applying,
    deny,
    hook,
    must,
    policy,
    rule,
)


def _asked(name: str, resources: str, operation: str, *steps: Step) -> Case:
    """A webhook that denies; its review and the words of the refusal are compared."""
    rules = [rule(resources, operations=(operation,))]
    condition = {
        "name": "mine",
        "expression": f"object.?metadata.name.orValue('').contains('{name}') || oldObject.?metadata.name.orValue('').contains('{name}')",
    }
    return Case(
        name,
        (hook(deny("no"), rules=rules, objectSelector={}, matchConditions=[condition]),),
        steps=steps,
    )


def _made(name: str, kind: str = "ConfigMap", **more: Any) -> Object:
    meta = {"name": name, "labels": {"case": name}, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


MAPS, THE_PODS = "/api/v1/namespaces/{ns}/configmaps", "/api/v1/namespaces/{ns}/pods"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
UNSCHEDULED = {"spec": {**POD["spec"], "schedulerName": "nobody"}}
"""A pod that no scheduler writes to: its writes would be sent to the webhooks too."""
PARTS = (
    _asked(
        "part-status",
        "pods/status",
        "UPDATE",
        Step("POST", THE_PODS, _made("part-status", "Pod", **UNSCHEDULED)),
        Step("PATCH", f"{THE_PODS}/part-status/status", {"status": {"phase": "Running"}}, MERGE),
    ),
    _asked(
        "part-binding",
        "pods/binding",
        "CREATE",
        Step("POST", THE_PODS, _made("part-binding", "Pod", **UNSCHEDULED)),
        Step(
            "POST",
            f"{THE_PODS}/part-binding/binding",
            {"metadata": {"name": "part-binding"}, "target": {"kind": "Node", "name": "n"}},
        ),
    ),
    _asked(
        "part-eviction",
        "pods/eviction",
        "CREATE",
        Step("POST", THE_PODS, _made("part-eviction", "Pod", **UNSCHEDULED)),
        Step(
            "POST",
            f"{THE_PODS}/part-eviction/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "part-eviction"}},
        ),
    ),
    _asked(
        "part-generated",
        "configmaps",
        "CREATE",
        Step("POST", MAPS, {"metadata": {"generateName": "part-generated-"}}),
    ),
    _asked(
        "part-applied",
        "configmaps",
        "CREATE",
        Step("PATCH", f"{MAPS}/part-applied?fieldManager=me", _made("part-applied"), APPLY),
    ),
    _asked(
        "part-forced",
        "configmaps",
        "CREATE",
        Step(
            "PATCH", f"{MAPS}/part-forced?fieldManager=me&force=true", _made("part-forced"), APPLY
        ),
    ),
    _asked(
        "part-merged",
        "configmaps",
        "UPDATE",
        Step("POST", MAPS, _made("part-merged")),
        Step("PATCH", f"{MAPS}/part-merged", {"data": {"a": "b"}}, MERGE),
    ),
    _asked("part-put", "configmaps", "CREATE", Step("PUT", f"{MAPS}/part-put", _made("part-put"))),
    _asked(
        "part-deleted",
        "configmaps",
        "DELETE",
        Step("POST", MAPS, _made("part-deleted")),
        Step(
            "DELETE",
            f"{MAPS}/part-deleted",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "propagationPolicy": "Background",
            },
        ),
    ),
    _asked(
        "part-collection",
        "configmaps",
        "DELETE",
        Step("POST", MAPS, _made("part-collection")),
        Step("DELETE", f"{MAPS}?labelSelector=case%3Dpart-collection"),
    ),
    _asked(
        "part-namespace",
        "namespaces",
        "CREATE",
        Step(
            "POST",
            "/api/v1/namespaces",
            {
                "metadata": {
                    "name": "{ns}-part-namespace",
                    "labels": {"kubernetes.io/metadata.name": "{ns}"},
                }
            },
        ),
    ),
    _asked(
        "part-dry",
        "configmaps",
        "CREATE",
        Step(
            "POST", f"{MAPS}?dryRun=All&fieldManager=me&fieldValidation=Strict", _made("part-dry")
        ),
    ),
)
PROBES = (
    Case("zz-mutating", (hook(deny("no"), mutating=True),)),
    Case("zz-validating", (hook(deny("no")),)),
    Case("zz-policy", policies=(policy(must("false")),)),
    Case(
        "zz-mutating-policy",
        policies=(policy(mutations=(applying("Object{data: {'a': object.data.none}}"),)),),
    ),
)
"""The last of each kind to be configured: when they refuse, all others have an effect."""
