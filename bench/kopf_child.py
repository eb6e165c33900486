"""The operator of `kopf-order`: what korder does for an order and its tickets, written with kopf as its manual shows.

Why it is fair. It is the same operator as far as a ticket's life without claims goes: tickets of an order, a guardian for each, Reserved once
that is bound, expiry, guardians that go before their ticket, and an order that counts its tickets; what korder does beside that (healing,
schedules, roll-outs, claims, webhooks) is left out, to kopf's advantage. It uses what kopf does best: async handlers throughout, a plain
`on.event` handler for guardians, which leaves no marks on pods, filters so that no other pod wakes it, one namespace, and a timer that counts
once a second instead of at every change. Requests go over the official asynchronous client, as many at a time as korder has, and it runs
on uvloop without log lines. It tells the same Events as korder. Settings are those that kopf comes with, as korder runs with its own, and
so kopf writes a finalizer and notes of what was handled to every object: its promises across restarts rest on them.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
import logging
import sys
from typing import Any

import kopf
from kubernetes.aio import client as kube, config
from kubernetes.aio.client.exceptions import ApiException
import uvloop

from kubeloop.objects import duration
from kubeloop.runtime.clock import SystemClock

GROUP, VERSION = "core.korder.dev", "v1alpha1"
AT_A_TIME = 32
GUARDIAN, ORDER = "korder.dev/guardian", "korder.dev/order"
_MERGE = "application/merge-patch+json"
_now = SystemClock().now


class _Api:
    """The official client, opened once."""

    def __init__(self) -> None:
        self.client: kube.ApiClient | None = None
        self.slots = asyncio.Semaphore(AT_A_TIME)

    @property
    def pods(self) -> kube.CoreV1Api:
        return kube.CoreV1Api(self.client)

    @property
    def custom(self) -> kube.CustomObjectsApi:
        return kube.CustomObjectsApi(self.client)

    async def report(
        self, plural: str, namespace: str, name: str, status: Mapping[str, Any]
    ) -> None:
        """Writes to a status."""
        async with self.slots:
            await self.custom.patch_namespaced_custom_object_status(
                *(GROUP, VERSION, namespace, plural, name, {"status": status}), _content_type=_MERGE
            )

    async def dismiss(self, namespace: str, ticket: str) -> None:
        """Deletes the guardian of a ticket, if it is there."""
        async with self.slots:
            try:
                await self.pods.delete_namespaced_pod(f"korder-guardian-{ticket}", namespace)
            except ApiException as error:
                if error.status != 404:
                    raise


api = _Api()


@kopf.on.startup()
async def begin(**_: Any) -> None:
    """Opens the client."""
    await config.load_kube_config()
    api.client = kube.ApiClient()


@kopf.on.cleanup()
async def end(**_: Any) -> None:
    """Closes the client."""
    if api.client is not None:
        await api.client.close()


@kopf.on.create(GROUP, VERSION, "orders")
async def issue(body: kopf.Body, spec: kopf.Spec, name: str, namespace: str, **_: Any) -> None:
    """Makes the tickets of an order."""

    async def make(index: int) -> None:
        ticket = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "Ticket",
            "metadata": {"name": f"{name}-{index}", "labels": {ORDER: name}},
            "spec": spec["template"]["spec"],
        }
        kopf.adopt(ticket, owner=body)
        async with api.slots:
            await api.custom.create_namespaced_custom_object(
                GROUP, VERSION, namespace, "tickets", ticket
            )

    await asyncio.gather(*(make(index) for index in range(spec["replicas"])))
    kopf.info(body, reason="TicketsCreated", message=f"made {spec['replicas']} tickets")


@kopf.index(GROUP, VERSION, "tickets")
async def phases(labels: Mapping[str, str], name: str, status: kopf.Status, **_: Any) -> Any:
    """The phases of the tickets of each order."""
    return {labels.get(ORDER, ""): (name, status.get("phase", ""))}


@kopf.timer(GROUP, VERSION, "orders", interval=1.0)
async def count(
    name: str,
    namespace: str,
    status: kopf.Status,
    phases: kopf.Index[str, tuple[str, str]],
    **_: Any,
) -> None:
    """Says how many tickets an order has."""
    found = [phase for _, phase in phases.get(name, [])]
    counted = {"replicas": len(found), "availableReplicas": found.count("Reserved")}
    if any(status.get(field) != number for field, number in counted.items()):
        await api.report("orders", namespace, name, counted)


@kopf.on.create(GROUP, VERSION, "tickets")
async def guard(body: kopf.Body, spec: kopf.Spec, name: str, namespace: str, **_: Any) -> None:
    """Makes the guardian of a ticket."""
    container = {
        "name": "guardian",
        "image": "registry.k8s.io/pause:3.10",
        "resources": dict(spec["resources"]),
    }
    pod = {
        "metadata": {"name": f"korder-guardian-{name}", "labels": {GUARDIAN: "true"}},
        "spec": {
            "priorityClassName": "korder-guardian",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
        },
    }
    kopf.adopt(pod, owner=body)
    async with api.slots:
        await api.pods.create_namespaced_pod(namespace, pod)


@kopf.on.event("pods", labels={GUARDIAN: "true"})
async def hold(body: kopf.Body, namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    """Notes that the room of a ticket is held once its guardian is bound."""
    node = body.spec.get("nodeName")
    if not node or memo.get("told"):
        return
    memo["told"] = True
    owner = body.metadata["ownerReferences"][0]
    status = {
        "phase": "Reserved",
        "nodeName": node,
        "guardianPod": f"{namespace}/{name}",
        "activationTime": _now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    await api.report("tickets", namespace, owner["name"], status)
    ticket = {**owner, "metadata": {**owner, "namespace": namespace}}
    kopf.info(ticket, reason="Reserved", message=f"guardian holds room on {node}")


@kopf.daemon(GROUP, VERSION, "tickets", field="status.phase", value="Reserved")
async def expire(
    body: kopf.Body,
    spec: kopf.Spec,
    name: str,
    namespace: str,
    stopped: kopf.DaemonStopped,
    **_: Any,
) -> None:
    """Ends a ticket when its time is over."""
    began = datetime.fromisoformat(body.status["activationTime"]).astimezone(UTC)
    ends: timedelta = began + duration.parse(spec["duration"]).timedelta - _now()
    if not await stopped.wait(max(ends.total_seconds(), 0.0)):
        await api.report("tickets", namespace, name, {"phase": "Expired"})
        await api.dismiss(namespace, name)
        kopf.info(body, reason="Expired", message="nobody claimed the room in time")


@kopf.on.delete(GROUP, VERSION, "tickets")
async def release(name: str, namespace: str, **_: Any) -> None:
    """Lets the guardian go before its ticket does."""
    await api.dismiss(namespace, name)


async def main(namespace: str) -> None:
    """Runs until the input ends."""
    ready, stop = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(
            kopf.operator(namespaces=[namespace], ready_flag=ready, stop_flag=stop, standalone=True)
        )
        await ready.wait()
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        stop.set()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    # It is cut off at its end, of which the loop would tell.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    uvloop.run(main(sys.argv[2]))
