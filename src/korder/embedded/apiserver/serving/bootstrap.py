"""The objects every cluster has from its first moment.

`server` brings in those that are missing by its own verbs, so that they are completed and checked like any other; other
parts of the server add what they need (roles and bindings).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from korder.embedded.apiserver.access.user import AUTHENTICATED, MASTERS, User
from korder.embedded.apiserver.serving import dispatch, documents, routing
from korder.embedded.apiserver.serving.call import World
from korder.embedded.apiserver.storage import Key
from korder.net.http import Request

Object = dict[str, Any]


def _namespace(name: str) -> Object:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}


def _priority(name: str, value: int, told: str) -> Object:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": value,
        "description": told,
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
        group, _, version = obj["apiVersion"].rpartition("/")
        resource = world.registry.by_kind(group, version, obj["kind"])
        if resource is None:
            continue
        meta = obj["metadata"]
        base = f"/apis/{obj['apiVersion']}" if group else f"/api/{version}"
        place = f"/namespaces/{meta['namespace']}" if resource.namespaced else ""
        target = f"{base}{place}/{resource.plural}"
        key = Key(resource.stored, meta.get("namespace", ""), meta["name"])
        if world.storage.get(key) is None:
            request = Request("POST", target, _HEADERS, documents.encode(obj))
            route = routing.read(request.method, request.target)
            await dispatch.dispatch(world, request, route, SERVER)
