"""`korder uninstall`: takes away what `korder install` has put into a cluster, and with --purge what users made of it.

Without --purge nothing of a user is lost: as long as there is one object of ours the verb refuses. So it does if korder lives in another
namespace than the one it is to be taken out of: what is left there would have no rights. Objects that wait for a manager which
no longer runs are let go by taking our finalizers off.
"""

import asyncio
from collections.abc import Sequence
import random
from typing import Annotated, TypeVar

import typer

from korder.cli import cluster_objects
from korder.cli.session import checked_namespace, cluster
from korder.domain import Trace
from korder.domains import DOMAINS
from korder.install import crds, objects
from korder.install.objects import Admission
from korder.install_config import MANAGER, NAMESPACE, Site
from kubeloop.client import discovery, rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import Conflict, KubeError, NotFound
from kubeloop.client.request import Propagation
from kubeloop.client.rest_mapper import Catalog
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, Object, key_of
from kubeloop.objects.plan import AnyKind

T = TypeVar("T", bound=HasMetadata)
OURS = "korder.dev/"
"""How finalizers of ours begin."""
FAREWELL = 10.0
"""Seconds a manager has to let its objects go, before they are let go without it."""
_NAMED = 3


def run(
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Delete all orders, tickets and other objects of korder."),
    ] = False,
    namespace: Annotated[
        str, typer.Option(callback=checked_namespace, help="Where the manager lives.")
    ] = NAMESPACE,
    kubeconfig: Annotated[str | None, typer.Option(help="The kubeconfig to use.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
) -> None:
    """Take korder out of the cluster of the current kubeconfig."""
    asyncio.run(_uninstall(Site(namespace), kubeconfig, context, purge=purge))


async def _uninstall(
    place: Site, kubeconfig: str | None, context: str | None, *, purge: bool
) -> None:
    async with cluster(kubeconfig, context, random.Random()) as client:
        await _check_home(client, place.namespace)
        kinds = await _kinds(client)
        left = [(kind, each) for kind in kinds for each in (await client.list(kind)).items]
        if left and not purge:
            raise KubeError(_refusal(left))
        catalog = await rest_mapper.discover(client)
        for admission in Admission:
            await _remove(client, catalog, objects.admission_objects(place, admission))
        await _purge(client, kinds)
        await _remove_rest(client, catalog, place)
        for domain in DOMAINS:
            for trace in domain.traces:
                await _undo(client, trace)
        for domain in DOMAINS:
            if waiting := await domain.left_waiting(client):
                print(waiting, flush=True)


async def _check_home(client: Client, namespace: str) -> None:
    homes = await cluster_objects.homes(client)
    if homes and namespace not in homes:
        home = min(homes)
        raise KubeError(f"korder lives in namespace {home}: say --namespace {home}")


async def _kinds(client: Client) -> Sequence[Kind[Object]]:
    """Our kinds that the server serves, orders first: they would make new tickets."""
    absent = set(await discovery.missing(client, crds.KINDS))
    return [_bare(kind) for kind in crds.KINDS if kind not in absent]


def _bare(kind: AnyKind) -> Kind[Object]:
    """The same kind, read for its metadata only: what no longer fits its type has to go too."""
    return Kind(
        kind.group, kind.version, kind.kind, kind.plural, Object, namespaced=kind.namespaced
    )


def _refusal(left: Sequence[tuple[Kind[Object], HasMetadata]]) -> str:
    named = ", ".join(f"{kind.plural}/{key_of(each)}" for kind, each in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return f"{named}{more} would be lost: delete them first, or say --purge"


async def _purge(client: Client, kinds: Sequence[Kind[Object]]) -> None:
    for kind in kinds:
        for each in (await client.list(kind)).items:
            await _begin(client, kind, each)
    until = asyncio.get_running_loop().time() + FAREWELL
    for kind in kinds:
        await _finish(client, kind, until)


async def _begin(client: Client, kind: Kind[Object], each: Object) -> None:
    try:
        await client.delete(kind, key_of(each), propagation=Propagation.BACKGROUND)
    except NotFound:
        return
    print(f"{kind.plural}/{key_of(each)} deleted", flush=True)


async def _finish(client: Client, kind: Kind[Object], until: float) -> None:
    """Waits until all objects of a kind are gone, and from `until` on helps those that wait for nobody."""
    while left := (await client.list(kind)).items:
        for each in left:
            if each.metadata.deletion_timestamp is None:
                await _begin(client, kind, each)
            elif asyncio.get_running_loop().time() > until:
                await _free(client, kind, each)
        await asyncio.sleep(0.1)


async def _free(client: Client, kind: Kind[Object], each: Object) -> None:
    foreign = [name for name in each.metadata.finalizers if not name.startswith(OURS)]
    if foreign:
        raise KubeError(
            f"{kind.plural}/{key_of(each)} cannot go: it waits for {', '.join(foreign)}"
        )
    try:
        version = each.metadata.resource_version
        body: JSON = {"metadata": {"finalizers": None}}
        await client.patch(kind, key_of(each), body, resource_version=version)
    except (Conflict, NotFound):
        return


async def _remove(client: Client, catalog: Catalog, bodies: Sequence[dict[str, JSON]]) -> None:
    for body in reversed(bodies):
        if gone := await cluster_objects.remove(client, catalog, body):
            print(f"{gone} removed", flush=True)


async def _remove_rest(client: Client, catalog: Catalog, place: Site) -> None:
    deployed = Site(place.namespace, image="any")
    rest = [
        body for body in objects.objects(deployed, Admission.WEBHOOK) if body["kind"] != "Namespace"
    ]
    await _remove(client, catalog, rest)
    # Only now: a manager that still had its rights would write them anew.
    await _remove(client, catalog, objects.kept_by_managers(place))
    for crd in reversed(crds.all_crds()):
        try:
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, cluster_objects.key_of(crd))
            print(
                f"customresourcedefinition/{cluster_objects.key_of(crd).name} removed", flush=True
            )
        except NotFound:
            continue
    await _remove_namespace(client, place.namespace)


async def _remove_namespace(client: Client, name: str) -> None:
    if await cluster_objects.is_others(client, name):
        print(f"namespace/{name} stays: it was there before korder", flush=True)
        return
    pods = (await client.list(PODS, name)).items
    if any(pod.spec.service_account_name != MANAGER for pod in pods):
        print(f"namespace/{name} stays: others have pods in it", flush=True)
        return
    try:
        await client.delete(NAMESPACES, Key("", name))
        print(f"namespace/{name} removed", flush=True)
    except NotFound:
        return


async def _undo(client: Client, trace: Trace[T]) -> None:
    """Takes back what a manager has left on objects of others, each as it is now; no manager has the right to write it anew."""
    kind = trace.kind
    for each in (await client.list(kind)).items:
        found: T | None = each
        while found is not None and (patch := trace.step(found)) is not None:
            try:
                await cluster_objects.carry_out(client, patch)
            except (Conflict, NotFound):
                found = await cluster_objects.find(client, kind, key_of(each))
                continue
            print(f"{kind.plural}/{key_of(each)} released", flush=True)
            break
