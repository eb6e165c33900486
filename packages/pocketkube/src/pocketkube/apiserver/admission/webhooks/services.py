"""Where a service is that a webhook stands behind.

There is no network inside of the embedded cluster, hence no addresses of services: an ExternalName is taken by its word,
every other service is the first ready endpoint of its slices. A manager on the same machine publishes such a slice with a
loopback address.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pocketkube.apiserver.view import View

Resolve = Callable[[str, str, int], str]
"""Finds `host:port` for the namespace, name and port of a service."""

_SLICES = "endpointslices.discovery.k8s.io"
_SERVICE = "kubernetes.io/service-name"


class Unresolved(Exception):
    """There is no way to the service."""


def by_endpoints(view: View) -> Resolve:
    """Resolves by what is stored."""

    def resolve(namespace: str, name: str, port: int) -> str:
        service = view.get("services", namespace, name)
        if service is None:
            raise Unresolved(f'service "{name}" not found')
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return _joined(str(spec.get("externalName", "")), port)
        named = [each for each in spec.get("ports") or () if each.get("port") == port]
        if not named:
            raise Unresolved(f'no service port {port} found for service "{name}"')
        slices = [
            each
            for each in view.all(_SLICES, namespace)
            if (each["metadata"].get("labels") or {}).get(_SERVICE) == name
        ]
        for found in _ready(slices, str(named[0].get("name") or "")):
            return found
        raise Unresolved(f'no endpoints available for service "{name}"')

    return resolve


def _ready(slices: Iterable[dict[str, Any]], port_name: str) -> Iterable[str]:
    for each in slices:
        for port in each.get("ports") or ():
            if (port.get("name") or "") != port_name or not port.get("port"):
                continue
            for endpoint in each.get("endpoints") or ():
                ready = (endpoint.get("conditions") or {}).get("ready")
                if ready is not False and endpoint.get("addresses"):
                    yield _joined(endpoint["addresses"][0], port["port"])


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
