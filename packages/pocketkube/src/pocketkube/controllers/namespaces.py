"""Namespaces: what is in one that is deleted goes first, then it goes itself; and each has its `default` ServiceAccount.

The contents are read from the server, kind by kind, and not from caches: a namespace must not be let go because a watch is late.
Objects with finalizers are waited for. The last step, removing `kubernetes` from the finalizers in the spec, is the one write of
these actors that is not a step of a plan: the finalize subresource knows only PUT. It carries the version that was read.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import cast

import msgspec

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.client.request import ACCEPT_JSON
from kubeloop.net.http import Request
from kubeloop.objects.core import NAMESPACES, SERVICE_ACCOUNTS
from kubeloop.objects.meta import JSON, HasMetadata, Key
from kubeloop.objects.plan import NOTHING, AnyKind, Create, Plan
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control

FINALIZER = "kubernetes"
LOOK_AGAIN = timedelta(seconds=0.5)
DEFAULT_ACCOUNT = "default"

Kinds = Callable[[], Awaitable[Iterable[AnyKind]]]
"""Tells which kinds there are at the moment; namespaces are emptied of all of them."""


class Namespaces:
    """Empties and removes namespaces that are deleted."""

    def __init__(self, manager: Manager, client: Client, kinds: Kinds) -> None:
        self._client = client
        self._kinds = kinds
        self._namespaces = manager.informers.of(NAMESPACES)
        manager.controller("namespaces", self._reconcile, workers=4).follow(self._namespaces)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        namespace = self._namespaces.reader.get(key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return NOTHING
        left = [
            (kind, obj)
            for kind in await self._kinds()
            if kind.namespaced
            for obj in await self._contents(kind, key.name)
        ]
        if not left:
            await self._finalize(key.name, namespace.metadata.uid)
            return NOTHING
        doomed = (
            pod_control.end(kind, obj)
            for kind, obj in left
            if obj.metadata.deletion_timestamp is None
        )
        return Plan().then(*doomed).requeue(now + LOOK_AGAIN)

    async def _contents(self, kind: AnyKind, namespace: str) -> tuple[HasMetadata, ...]:
        try:
            return (await self._client.list(kind, namespace)).items
        except NotFound:
            return ()  # the kind itself has just gone, and all its objects with it

    async def _finalize(self, name: str, uid: str) -> None:
        """Says that the namespace is empty; all other fields go back as they were read."""
        path = f"/api/v1/namespaces/{name}"
        try:
            answer = await self._client.raw(Request("GET", path, ACCEPT_JSON))
        except NotFound:
            return
        found = cast("dict[str, JSON]", msgspec.json.decode(answer))
        meta = cast("dict[str, JSON]", found["metadata"])
        spec = cast("dict[str, JSON]", found.get("spec") or {})
        finalizers = cast("list[JSON]", spec.get("finalizers") or [])
        if meta["uid"] != uid or FINALIZER not in finalizers:
            return
        kept: list[JSON] = [each for each in finalizers if each != FINALIZER]
        body = {**found, "spec": {**spec, "finalizers": kept}}
        await self._client.replace(NAMESPACES, body, "finalize")


class DefaultAccounts:
    """Gives each namespace the ServiceAccount that pods use unless they name another."""

    def __init__(self, manager: Manager) -> None:
        self._namespaces = manager.informers.of(NAMESPACES)
        self._accounts = manager.informers.of(SERVICE_ACCOUNTS)
        controller = manager.controller("default-accounts", self._reconcile)
        controller.follow(self._namespaces)
        controller.follow(self._accounts, lambda account: (Key("", account.metadata.namespace),))

    def _reconcile(self, key: Key, _: datetime) -> Plan:
        namespace = self._namespaces.reader.get(key)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            return NOTHING
        if self._accounts.reader.get(Key(key.name, DEFAULT_ACCOUNT)) is not None:
            return NOTHING
        meta: JSON = {"name": DEFAULT_ACCOUNT, "namespace": key.name}
        return Plan().then(Create(SERVICE_ACCOUNTS, {"metadata": meta}))
