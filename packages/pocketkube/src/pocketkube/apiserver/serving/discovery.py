"""What a server tells about its resources: groups, versions and resources, one by one or all at once.

Documents are made when somebody asks and kept until a definition comes or goes. Groups and versions stand in the order of a real
server: the core, then the groups of Kubernetes by their priority, then those of definitions by name; stable versions first.
"""

import base64
import hashlib
from typing import Any

from pocketkube.apiserver.kinds.resource import Resource, Subresource
from pocketkube.apiserver.kinds.versions import rank
from pocketkube.apiserver.serving import documents
from pocketkube.apiserver.serving.registry import Registry

Object = dict[str, Any]

_GROUPS = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)


class Discovery:
    """The documents of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._revision = 0
        self._made: dict[tuple[str, ...], Object] = {}

    def core(self, address: str) -> Object:
        """`/api`."""
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def groups(self) -> Object:
        """`/apis`."""
        made: Object = self._kept(("groups",), self._groups)
        return made

    def group(self, name: str) -> Object | None:
        """`/apis/<group>`."""
        found = next((each for each in self.groups()["groups"] if each["name"] == name), None)
        return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **found}

    def resources(self, group: str, version: str) -> Object | None:
        """`/api/v1` and `/apis/<group>/<version>`."""
        key = ("resources", group, version)
        made: Object | None = self._kept(key, lambda: self._resources(group, version))
        return made

    def aggregated(self, version: str, *, core: bool) -> tuple[Object, str]:
        """Everything about the core, or about all other groups; with its ETag."""
        made = self._kept(("all", version, str(core)), lambda: self._aggregated(version, core=core))
        tag = self._kept(("tag", version, str(core)), lambda: {"tag": _tag(made)})
        return made, tag["tag"]

    def paths(self) -> list[str]:
        """The paths of all groups and versions."""
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group in self.groups()["groups"]:
            found.append(f"/apis/{group['name']}")
            found += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
        return found

    def _kept(self, key: tuple[str, ...], make: Any) -> Any:
        if self._revision != self._registry.revision:
            self._made.clear()
            self._revision = self._registry.revision
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _by_group(self) -> dict[str, dict[str, list[Resource]]]:
        found: dict[str, dict[str, list[Resource]]] = {}
        for resource in self._registry.all():
            versions = found.setdefault(resource.group, {})
            versions.setdefault(resource.version, []).append(resource)
        order = {name: place for place, name in enumerate(_GROUPS)}
        names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
        return {
            name: dict(sorted(found[name].items(), key=lambda each: rank(each[0])))
            for name in names
        }

    def _groups(self) -> Object:
        groups = []
        for name, versions in self._by_group().items():
            if name:
                stated = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
                groups.append({"name": name, "versions": stated, "preferredVersion": stated[0]})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _resources(self, group: str, version: str) -> Object | None:
        found = self._by_group().get(group, {}).get(version)
        if found is None:
            return None
        found = sorted(found, key=lambda each: each.plural)
        entries = [entry for each in found for entry in _entries(each)]
        made: Object = {"kind": "APIResourceList"}
        if group:
            made["apiVersion"] = "v1"
        full = f"{group}/{version}" if group else version
        return {**made, "groupVersion": full, "resources": entries}

    def _aggregated(self, version: str, *, core: bool) -> Object:
        items = []
        for name, versions in self._by_group().items():
            if (not name) is core:
                stated = [_discovered(each, found) for each, found in versions.items()]
                meta: Object = {"name": name} if name else {}
                items.append({"metadata": meta, "versions": stated})
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }


def _tag(document: Object) -> str:
    return f'"{hashlib.sha512(documents.encode(document)).hexdigest().upper()}"'


def _entries(resource: Resource) -> list[Object]:
    entry: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if not resource.virtual:
        entry["storageVersionHash"] = _hash(resource)
    return [entry, *(_part(resource, each) for each in resource.subresources)]


def _part(resource: Resource, part: Subresource) -> Object:
    entry: Object = {
        "name": f"{resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if part.version:
        entry |= {"group": part.group, "version": part.version}
    return {**entry, "kind": part.kind, "verbs": list(part.verbs)}


def _hash(resource: Resource) -> str:
    text = f"{resource.group}/{resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _discovered(version: str, resources: list[Resource]) -> Object:
    entries = [_discovered_resource(each) for each in resources]
    return {
        "version": version,
        "resources": sorted(entries, key=lambda entry: entry["resource"]),
        "freshness": "Current",
    }


def _discovered_resource(resource: Resource) -> Object:
    entry: Object = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": each.name,
                "responseKind": _kind(
                    each.group if each.version else resource.group,
                    each.version or resource.version,
                    each.kind,
                ),
                "verbs": list(each.verbs),
            }
            for each in resource.subresources
        ]
    return entry


def _kind(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}
