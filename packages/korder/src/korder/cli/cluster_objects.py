"""Putting objects of an installation into a cluster and taking them away again, for `install` and `uninstall`.

Everything is applied as one field manager, so that repeating it changes nothing and an upgrade changes only what differs.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from korder.install_config import MANAGER, NAMESPACE, PART_OF
from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError, NotFound
from kubeloop.client.rest_mapper import Catalog, Served
from kubeloop.objects.core import NAMESPACES, ReportedCondition, reported
from kubeloop.objects.machinery import CLUSTER_ROLE_BINDINGS, CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import Patch, PatchType
from kubeloop.objects.workloads import DEPLOYMENTS

T = TypeVar("T", bound=HasMetadata)
PATIENCE = 30.0
POLICIES = ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy")
"""What a server must serve to do without webhooks."""


def key_of(body: Mapping[str, JSON]) -> Key:
    """The name of an object that is not yet anywhere."""
    meta = cast("dict[str, JSON]", body["metadata"])
    return Key(str(meta.get("namespace", "")), str(meta["name"]))


def kind_of(catalog: Catalog, body: Mapping[str, JSON]) -> Served:
    """The kind of an object.

    Raises:
        KubeError: the server does not serve it.
    """
    version, kind = str(body["apiVersion"]), str(body["kind"])
    found = catalog.of(version, kind)
    if found is None:
        raise KubeError(f"the server does not serve {kind} of {version}")
    return found


async def apply(client: Client, catalog: Catalog, body: Mapping[str, JSON]) -> str:
    """Applies one object and says what it is called."""
    found, key = kind_of(catalog, body), key_of(body)
    await client.patch(found.kind, key, body, PatchType.APPLY, force=True)
    return found.called(key.name)


async def is_others(client: Client, namespace: str) -> bool:
    """Says whether a namespace is there that `install` has not made; the usual one is ours, whoever made it."""
    if namespace == NAMESPACE:
        return False
    try:
        found = await client.get(NAMESPACES, Key("", namespace))
    except NotFound:
        return False
    return not PART_OF.items() <= found.metadata.labels.items()


async def homes(client: Client) -> frozenset[str]:
    """The namespaces whose manager has its rights in the whole cluster; none if korder is not installed."""
    try:
        binding = await client.get(CLUSTER_ROLE_BINDINGS, Key("", MANAGER))
    except NotFound:
        return frozenset()
    manager = ("ServiceAccount", MANAGER)
    return frozenset(
        each.namespace for each in binding.subjects if (each.kind, each.name) == manager
    )


async def is_deployed(client: Client, namespace: str) -> bool:
    """Says whether a manager was deployed there."""
    try:
        await client.get(DEPLOYMENTS, Key(namespace, MANAGER))
    except NotFound:
        return False
    return True


async def remove(client: Client, catalog: Catalog, body: Mapping[str, JSON]) -> str:
    """Deletes one object and says what it was called; empty if it was not there."""
    found, key = catalog.of(str(body["apiVersion"]), str(body["kind"])), key_of(body)
    if found is None:
        return ""
    try:
        await client.delete(found.kind, key)
    except NotFound:
        return ""
    return found.called(key.name)


async def carry_out(client: Client, step: Patch) -> None:
    """Writes one patch of the rules, with its preconditions."""
    await client.patch(
        step.kind,
        step.key,
        step.body,
        step.type,
        subresource=step.subresource,
        uid=step.uid,
        resource_version=step.resource_version,
    )


async def find(client: Client, kind: Kind[T], key: Key) -> T | None:
    """An object as it is now; None if it is gone."""
    try:
        return await client.get(kind, key)
    except NotFound:
        return None


async def define(client: Client, crd: dict[str, JSON]) -> str:
    """Applies one CRD and waits until the server serves it."""
    key = key_of(crd)
    applied = await client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, crd, PatchType.APPLY, force=True)
    try:
        async with asyncio.timeout(PATIENCE):
            while not _established(applied.status.conditions or ()):
                await asyncio.sleep(0.1)
                applied = await client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    except TimeoutError:
        conditions = applied.status.conditions or ()
        stated = "; ".join(c.message for c in conditions if c.status == "False" and c.message)
        raise KubeError(f"{key.name} was not established within {PATIENCE:g} s: {stated}") from None
    return key.name


def _established(conditions: Iterable[ReportedCondition]) -> bool:
    condition = reported(conditions, "Established")
    return condition is not None and condition.status == "True"
