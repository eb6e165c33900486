"""The objects every cluster has from its first moment.

`server` brings in those that are missing by its own verbs, so that they are completed and checked like any other; other
parts of the server add what they need (roles and bindings). To do so takes longer than all else in the start of a server, and
simulations and tests start many: what an empty storage gets depends on chance and the clock alone, and `begin` remembers it.
"""

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kubeloop.net.http import Request
from pocketkube.apiserver.access.user import AUTHENTICATED, MASTERS, User
from pocketkube.apiserver.serving import dispatch, documents, routing
from pocketkube.apiserver.serving.call import World
from pocketkube.apiserver.storage import FIRST_VERSION, Create, Key

Object = dict[str, Any]


def _namespace(name: str) -> Object:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}


def _priority(name: str, value: int, stated: str) -> Object:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": value,
        "description": stated,
    }


OBJECTS: tuple[Object, ...] = (
    *map(_namespace, ("kube-system", "kube-public", "kube-node-lease", "default")),
    _priority(
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    _priority(
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.96.0.1",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    },
)


def tracked_since(now: datetime) -> Object:
    """Says from which day on the use of old tokens is noted; kube-controller-manager asks for it before it removes any."""
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "kube-apiserver-legacy-service-account-token-tracking",
            "namespace": "kube-system",
        },
        "data": {"since": f"{now:%Y-%m-%d}"},
    }


SERVER = User("system:apiserver", (MASTERS, AUTHENTICATED))
_HEADERS = {"User-Agent": "kube-apiserver/v1.36", "Content-Type": "application/json"}


async def bring_in(world: World, objects: Sequence[Object]) -> None:
    """Creates what is missing; kinds that are not served are passed over."""
    for obj in objects:
        key = _key(world, obj)
        if key is None or world.storage.get(key) is not None:
            continue
        root = "apis" if "/" in obj["apiVersion"] else "api"
        place = f"/namespaces/{key.namespace}" if key.namespace else ""
        plural, _, _ = key.resource.partition(".")
        target = f"/{root}/{obj['apiVersion']}{place}/{plural}"
        request = Request("POST", target, _HEADERS, documents.encode(obj))
        route = routing.read(request.method, request.target)
        await dispatch.dispatch(world, request, route, SERVER)


def _key(world: World, obj: Object) -> Key | None:
    group, _, version = obj["apiVersion"].rpartition("/")
    resource, meta = world.registry.by_kind(group, version, obj["kind"]), obj["metadata"]
    if resource is None:
        return None
    return Key(resource.stored, meta.get("namespace", ""), meta["name"])


class _Beginning(NamedTuple):
    """What was written to an empty storage, and how chance goes on after that."""

    writes: tuple[Create, ...]
    chance: tuple[Any, ...]


_MOST = 16
_beginnings: dict[Hashable, _Beginning] = {}
"""By chance and clock before the start, the oldest first."""


async def begin(world: World, objects: Sequence[Object]) -> None:
    """Does the same as `bring_in` for servers that are all put together alike."""
    if world.storage.version > FIRST_VERSION:
        await bring_in(world, objects)
        return
    before = world.rng.getstate(), world.now()
    known = _beginnings.get(before)
    if known is not None:
        await world.storage.write(*known.writes)
        world.rng.setstate(known.chance)
        return
    await bring_in(world, objects)
    if world.now() == before[1]:
        _remember(before, world, objects)


def _remember(before: Hashable, world: World, objects: Sequence[Object]) -> None:
    keys = [key for obj in objects if (key := _key(world, obj)) is not None]
    found = [record for key in keys if (record := world.storage.get(key)) is not None]
    if len(found) < world.storage.version - FIRST_VERSION:
        return  # something was written twice, and a record tells only of the last time
    found.sort(key=lambda record: record.version)
    if len(_beginnings) == _MOST:
        del _beginnings[next(iter(_beginnings))]
    writes = tuple(Create(record.key, documents.redraft(record)) for record in found)
    _beginnings[before] = _Beginning(writes, world.rng.getstate())
