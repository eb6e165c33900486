"""Disruption budgets: our count against that of kube-controller-manager."""

import asyncio
import json
from typing import Any

import msgspec

from kubeloop.client.client import Client
from kubeloop.objects import instant
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Key
from kubeloop.objects.workloads import REPLICA_SETS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.controllers import disruption
from pocketkube.objects.policy import POD_DISRUPTION_BUDGETS, PodDisruptionBudgetStatus

SPECS: dict[str, dict[str, Any]] = {
    "at-least-two": {"minAvailable": 2},
    "more-than-there-are": {"minAvailable": 9},
    "a-share-that-must-stay": {"minAvailable": "30%"},
    "at-most-one": {"maxUnavailable": 1},
    "a-share-that-may-go": {"maxUnavailable": "30%"},
    "all-may-go": {"maxUnavailable": 9},
    "neither": {},
}
LABELS = {"app": "web"}


async def test_budgets_are_counted_alike(
    control_plane: ControlPlane, client: Client, namespace: str, clock: Clock
) -> None:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    selector = {"matchLabels": LABELS}
    meta = {"name": "web", "namespace": namespace}
    spec: Any = {"replicas": 4, "selector": selector, "template": template}
    await client.create(REPLICA_SETS, {"metadata": meta, "spec": spec})
    while len(pods := (await client.list(PODS, namespace)).items) < 4:
        await asyncio.sleep(0.1)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": instant.render(clock.now())}
    for pod in pods[:3]:
        body: Any = {"status": {"conditions": [ready]}}
        key = Key(namespace, pod.metadata.name)
        await client.patch(PODS, key, body, subresource="status")
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector, **said},
        }
        for name, said in SPECS.items()
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": budgets}
    await control_plane.kubectl("apply", "-f", "-", input=json.dumps(listed))
    for name in SPECS:
        wait = ("wait", "-n", namespace, "--for=jsonpath={.status.currentHealthy}=3")
        await control_plane.kubectl(*wait, f"pdb/{name}")
    pods = (await client.list(PODS, namespace)).items
    owner = await client.get(REPLICA_SETS, Key(namespace, "web"))
    scales = {owner.metadata.uid: owner.spec.replicas}
    for budget in (await client.list(POD_DISRUPTION_BUDGETS, namespace)).items:
        fresh = msgspec.structs.replace(budget, status=PodDisruptionBudgetStatus())
        ours = disruption.status_of(fresh, pods, {}, scales, clock.now())
        theirs = budget.status
        (mine,), (seen,) = ours.conditions, theirs.conditions
        since = msgspec.structs.replace(mine, last_transition_time=seen.last_transition_time)
        assert msgspec.structs.replace(ours, conditions=(since,)) == theirs, budget.metadata.name
