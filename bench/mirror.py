"""What korder writes for the tickets of an order, written again by a bare client: what the API server and the scheduler alone take for it.

`orders` calls it after korder has held an order in the same cluster. The tickets, guardians and statuses are copies of those of one ticket there,
made 32 at a time: all tickets, then all guardians, each owned by its ticket, and when these are bound all statuses. Who writes has nothing
to decide, and no Events to tell.
"""

import json
from time import perf_counter
from typing import Any, cast

from bench.cluster import Cluster, a_witness, in_lanes, is_bound
from korder.api.reserve import TICKETS, Ticket
from kubeloop.objects import codec
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON, Key, owner_reference

_SAID = ("labels", "annotations", "finalizers")
_BY_THE_SERVER = (
    "nodeName",
    "preemptionPolicy",
    "priority",
    "serviceAccount",
    "serviceAccountName",
    "tolerations",
)


async def same_writes(cluster: Cluster, source: str, target: str, count: int) -> float:
    """Seconds in which as many tickets, guardians and statuses are written to a namespace as there are in another."""
    client = cluster.client
    ticket = await _first(cluster, "tickets", source)
    guardian = await _first(cluster, "pods", source)
    spec = {
        field: value for field, value in guardian["spec"].items() if field not in _BY_THE_SERVER
    }
    made: dict[int, Ticket] = {}

    async def make_ticket(index: int) -> None:
        meta = _meta(ticket, f"crowd-{index}", target)
        made[index] = await client.create(TICKETS, {"metadata": meta, "spec": ticket["spec"]})

    async def make_guardian(index: int) -> None:
        meta = _meta(guardian, f"korder-guardian-crowd-{index}", target)
        meta["ownerReferences"] = [codec.plain(owner_reference(TICKETS, made[index]))]
        await client.create(PODS, {"metadata": meta, "spec": spec})

    async def write_status(index: int) -> None:
        body: JSON = {"status": ticket["status"]}
        key, version = Key(target, f"crowd-{index}"), made[index].metadata.resource_version
        await client.patch(TICKETS, key, body, subresource="status", resource_version=version)

    async with a_witness(client, PODS, target, is_bound) as bound:
        started = perf_counter()
        await in_lanes(make_ticket, range(count))
        await in_lanes(make_guardian, range(count))
        await bound.all(count)
        await in_lanes(write_status, range(count))
        return perf_counter() - started


async def _first(cluster: Cluster, plural: str, namespace: str) -> dict[str, Any]:
    """An object of a namespace, with everything that is said in it."""
    text = await cluster.plane.kubectl("get", plural, "-n", namespace, "-o", "json")
    return cast("dict[str, Any]", json.loads(text)["items"][0])


def _meta(of: dict[str, Any], name: str, namespace: str) -> dict[str, JSON]:
    said = {field: of["metadata"][field] for field in _SAID if field in of["metadata"]}
    return {**said, "name": name, "namespace": namespace}
