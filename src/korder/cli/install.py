"""`korder install`: puts the CRDs into a cluster and waits until they can be used."""

import asyncio
from collections.abc import Iterable
import random
from typing import Annotated, cast

import typer

from korder.api import manifests
from korder.api.core import ReportedCondition, reported
from korder.api.machinery import CUSTOM_RESOURCE_DEFINITIONS
from korder.api.meta import JSON, Key
from korder.api.plan import PatchType
from korder.cli.session import cluster
from korder.kube.client import Client
from korder.kube.errors import KubeError

PATIENCE = 30.0


def run(
    kubeconfig: Annotated[str | None, typer.Option(help="The kubeconfig to use.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
) -> None:
    """Put the CRDs into the cluster of the current kubeconfig."""
    asyncio.run(_install(kubeconfig, context))


async def _install(kubeconfig: str | None, context: str | None) -> None:
    async with cluster(kubeconfig, context, random.Random()) as client:
        for crd in manifests.all_crds():
            name = await apply(client, crd)
            print(f"customresourcedefinition/{name} established")


async def apply(client: Client, crd: dict[str, JSON]) -> str:
    """Applies one CRD and waits until the server serves it; repeating it changes nothing."""
    name = cast("str", cast("dict[str, JSON]", crd["metadata"])["name"])
    key = Key("", name)
    applied = await client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, crd, PatchType.APPLY, force=True)
    try:
        async with asyncio.timeout(PATIENCE):
            while not _established(applied.status.conditions or ()):
                await asyncio.sleep(0.1)
                applied = await client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    except TimeoutError:
        conditions = applied.status.conditions or ()
        told = "; ".join(c.message for c in conditions if c.status == "False" and c.message)
        raise KubeError(f"{name} was not established within {PATIENCE:g} s: {told}") from None
    return name


def _established(conditions: Iterable[ReportedCondition]) -> bool:
    condition = reported(conditions, "Established")
    return condition is not None and condition.status == "True"
