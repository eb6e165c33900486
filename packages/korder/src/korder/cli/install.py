"""`korder install`: puts CRDs, rights, the guardians' priority class and admission into a cluster."""

import asyncio
from enum import StrEnum
import random
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer
import yaml

from korder.cli import cluster_objects
from korder.cli.session import checked_namespace, cluster
from korder.domains import DOMAINS
from korder.install import crds, objects
from korder.install.objects import Admission
from korder.install_config import NAMESPACE, Site
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import ConfigError, KubeError
from kubeloop.client.rest_mapper import Catalog
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON

_GUARD = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")


class Wish(StrEnum):
    """How admission is to be done; auto means without webhooks where the server can."""

    AUTO = "auto"
    WEBHOOK = "webhook"
    POLICY = "policy"


def _url(text: str | None) -> str | None:
    if text is not None and (urlsplit(text).scheme != "https" or not urlsplit(text).hostname):
        raise typer.BadParameter(f"{text!r} is not an address such as https://10.0.0.5:9443")
    return text


def run(  # noqa: PLR0913, PLR0917  the options of the verb
    admission: Annotated[
        Wish,
        typer.Option(
            help="Mark pods by policies of the API server (1.36 and newer) or by our webhooks."
        ),
    ] = Wish.AUTO,
    image: Annotated[
        str | None,
        typer.Option(help="The manager's image; without one the manager runs somewhere else."),
    ] = None,
    webhook_url: Annotated[
        str | None,
        typer.Option(
            callback=_url, help="Where a manager outside of the cluster serves its webhooks."
        ),
    ] = None,
    manager_user: Annotated[
        str | None,
        typer.Option(help="As whom the manager writes, if not with its service account."),
    ] = None,
    namespace: Annotated[
        str, typer.Option(callback=checked_namespace, help="Where the manager lives.")
    ] = NAMESPACE,
    allow_system_classes: Annotated[
        bool,
        typer.Option("--allow-system-classes", help="Let guardians have a system- priority class."),
    ] = False,
    show: Annotated[bool, typer.Option("--print", help="Only show what would be applied.")] = False,
    kubeconfig: Annotated[str | None, typer.Option(help="The kubeconfig to use.")] = None,
    context: Annotated[str | None, typer.Option(help="The context of the kubeconfig.")] = None,
) -> None:
    """Put korder into the cluster of the current kubeconfig."""
    place = Site(
        namespace, image or "", manager_user or "", webhook_url or "", allow_system_classes
    )
    if show and admission is not Wish.AUTO:
        _show(place, Admission(admission))
        return
    try:
        asyncio.run(_install(place, admission, kubeconfig, context, show=show))
    except ConfigError as error:
        if not show or kubeconfig or context:
            raise
        _show_without_cluster(place, error)


def _show_without_cluster(place: Site, error: ConfigError) -> None:
    """Webhooks need a manager that can be reached; without one only policies can be meant."""
    chosen = Admission.WEBHOOK if place.image or place.webhook_url else Admission.POLICY
    print(f"korder: {error}; printed for --admission={chosen}", file=sys.stderr)
    _show(place, chosen)


async def _install(
    place: Site, wish: Wish, kubeconfig: str | None, context: str | None, *, show: bool
) -> None:
    async with cluster(kubeconfig, context, random.Random()) as client:
        catalog = await rest_mapper.discover(client)
        admission = _chosen(wish, catalog, place)
        if show:
            _show(place, admission)
            return
        for crd in crds.all_crds():
            print(
                f"customresourcedefinition/{await cluster_objects.define(client, crd)} established"
            )
        await _apply(client, catalog, place, admission)


async def _apply(client: Client, catalog: Catalog, place: Site, admission: Admission) -> None:
    is_guarded = catalog.of(*_GUARD) is not None
    guards = objects.guards(place)
    for body in objects.objects(place, admission):
        if not is_guarded and body in guards:
            continue
        if body["kind"] == NAMESPACES.kind and await cluster_objects.is_others(
            client, place.namespace
        ):
            continue
        print(f"{await cluster_objects.apply(client, catalog, body)} applied")
    for body in objects.replaced(place, admission):
        if gone := await cluster_objects.remove(client, catalog, body):
            print(f"{gone} removed")
    for unguarded in () if is_guarded else (domain.unguarded for domain in DOMAINS):
        if unguarded:
            print(f"this server has no {_GUARD[1]} (Kubernetes 1.30 and newer): {unguarded}")
    if not place.image:
        print(await _about_manager(client, place))


async def _about_manager(client: Client, place: Site) -> str:
    if await cluster_objects.is_deployed(client, place.namespace):
        return (
            "the manager that was deployed before stays as it is: install with --image to change it;"
            f" admission judges what anybody but {place.manager_user} writes"
        )
    return (
        f"no manager was deployed: run `korder manager` as {place.manager_user}, or install with --image;"
        " admission judges what anybody else writes, so name another user with --manager-user"
    )


def _chosen(wish: Wish, catalog: Catalog, place: Site) -> Admission:
    able = catalog.of(*cluster_objects.POLICIES) is not None
    if wish is Wish.POLICY and not able:
        raise KubeError(
            "this server has no MutatingAdmissionPolicy v1 (Kubernetes 1.36 and newer): "
            "use --admission=webhook"
        )
    if wish is Wish.POLICY or (wish is Wish.AUTO and able):
        return Admission.POLICY
    if not (place.image or place.webhook_url):
        raise KubeError(
            "webhooks need a manager that the API server can reach: give its --image, "
            "or with --webhook-url the address at which it serves them"
        )
    return Admission.WEBHOOK


def _show(place: Site, admission: Admission) -> None:
    shown: list[dict[str, JSON]] = [*crds.all_crds(), *objects.objects(place, admission)]
    print(yaml.safe_dump_all(shown, sort_keys=False, width=120), end="")
