"""Manifests are tried on an empty server before a run: what it refuses would otherwise be found out in the middle of one.

`korder simulate` calls it. The server is a whole one without controllers, so its answers are those that the run, and a real server,
would give.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
import random

from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError
from kubeloop.client.rest_mapper import Catalog
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.storage import open_storage

Body = Mapping[str, JSON]
_TRIES = 50
_PAUSE = 0.02


def rehearse(bodies: Sequence[Body], now: datetime) -> list[str]:
    """Applies all of them in order and says, for each, why it is refused; empty if it is not."""
    return asyncio.run(_rehearse(bodies, now))


async def _rehearse(bodies: Sequence[Body], now: datetime) -> list[str]:
    rng = random.Random(0)
    made = keys.make(now, rng.randbytes)
    settings = access.Settings(made.signing_key, {made.admin_token: access.ADMIN})
    async with open_storage(None) as storage:
        server = assemble(storage, Surroundings(access=settings), now=lambda: now, rng=rng)
        await server.start()
        headers = {"Authorization": f"Bearer {made.admin_token}"}
        client = Client(InProcessTransport(server.handle, headers), rng=rng)
        try:
            return await _apply(client, bodies)
        finally:
            await server.close()


async def _apply(client: Client, bodies: Sequence[Body]) -> list[str]:
    catalog, refusals = await rest_mapper.discover(client), list[str]()
    defined = set[str]()
    await _apply_one(client, catalog, _account("default"))
    for body in bodies:
        kind = str(body.get("kind"))
        if kind in defined and catalog.of(str(body.get("apiVersion")), kind) is None:
            catalog = await _awaited(client, body)
        refusals.append(await _apply_one(client, catalog, body))
        defined |= _defines(body)
        if kind == "Namespace" and not refusals[-1]:
            await _apply_one(client, catalog, _account(_name(body)))
    return refusals


def _account(namespace: str) -> Body:
    """What a controller would give to every namespace."""
    meta: JSON = {"name": "default", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def _name(body: Body) -> str:
    meta = body.get("metadata")
    return str(meta.get("name")) if isinstance(meta, dict) else ""


async def _apply_one(client: Client, catalog: Catalog, body: Body) -> str:
    version, kind = str(body.get("apiVersion")), str(body.get("kind"))
    found = catalog.of(version, kind)
    if found is None:
        return f"the server does not serve {kind} of {version}"
    meta = body.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    namespace = str(meta.get("namespace") or "default") if found.kind.namespaced else ""
    key = Key(namespace, _name(body))
    try:
        await client.patch(found.kind, key, dict(body), PatchType.APPLY, force=True)
    except ApiError as error:
        return str(error)
    return ""


async def _awaited(client: Client, body: Body) -> Catalog:
    """What is served once a kind that was defined a moment ago is."""
    for _ in range(_TRIES):
        catalog = await rest_mapper.discover(client)
        if catalog.of(str(body.get("apiVersion")), str(body.get("kind"))) is not None:
            return catalog
        await asyncio.sleep(_PAUSE)
    return await rest_mapper.discover(client)


def _defines(body: Body) -> set[str]:
    spec = body.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    is_definition = body.get("kind") == "CustomResourceDefinition" and isinstance(names, dict)
    return {str(names.get("kind"))} if is_definition and isinstance(names, dict) else set()
