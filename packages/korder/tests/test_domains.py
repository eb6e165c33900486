"""A domain is one object: what it states reaches every verb, and adding one touches the list of domains only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from korder import domains
from korder.cli import command, domain_flags, explain
from korder.domain import Domain, Flag
from korder.explanation import Explanation
from korder.install import objects, rbac
from korder.install.objects import Admission
from korder.install_config import Site
from korder.rbac import Rbac, may
from kubeloop.client.client import Client
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.webhook.handler import AdmissionHandler


@dataclass(frozen=True)
class Options:
    speed: Annotated[int, Flag("How fast.", "--parcel-speed")] = 3
    stops: Annotated[tuple[str, ...], Flag("Where to stop.")] = ()
    gently: Annotated[bool, Flag("Do it gently.")] = True
    internal: int = 7


def _controllers(_: Manager, __: Options, ___: Clock) -> Mapping[str, AdmissionHandler]:
    return {}


async def _explain(_: Client, key: Key, __: str) -> Explanation:
    return Explanation(f"{key.name} is on its way.")


def _object(name: str) -> dict[str, JSON]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


PARCELS: Domain[Options] = Domain(
    name="parcels",
    options=Options(),
    controllers=_controllers,
    rbac=Rbac(
        cluster=(may(("get",), "parcels.example", "parcels"),),
        namespaces={"post": (may(("list",), "", "secrets"),)},
        roles=(_object("a-role"),),
    ),
    objects=lambda _: (_object("always"),),
    webhooks=lambda _: (_object("by-webhook"),),
    policies=lambda _: (_object("by-policy"),),
    guards=lambda _: (_object("guard"),),
    verbs={"parcels": "korder.cli.kubectl"},
    explains={CONFIG_MAPS: _explain},
)


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*domains.DOMAINS, PARCELS)
    for module in (domains, domain_flags, explain, objects, rbac):
        monkeypatch.setattr(module, "DOMAINS", more)


def names(admission: Admission) -> set[str]:
    found = objects.objects(Site(), admission)
    return {str(body["metadata"]["name"]) for body in found}  # type: ignore[index, call-overload]


def test_its_objects_are_installed() -> None:
    assert {"always", "by-webhook", "guard", "a-role"} <= names(Admission.WEBHOOK)
    assert {"always", "by-policy", "guard", "a-role"} <= names(Admission.POLICY)
    assert "by-policy" not in names(Admission.WEBHOOK)


def test_the_manager_gets_its_permissions() -> None:
    roles = {
        (body["kind"], body["metadata"].get("namespace", "")): body.get("rules")  # type: ignore[union-attr]
        for body in rbac.rights(Site())
        if body["metadata"]["name"] == "korder-controller-manager"  # type: ignore[index, call-overload]
    }
    assert PARCELS.rbac.cluster[0] in roles["ClusterRole", ""]  # type: ignore[operator]
    assert roles["Role", "post"] == [*PARCELS.rbac.namespaces["post"]]


def test_its_options_are_flags_of_the_manager() -> None:
    seen = dict[str, object]()

    @domain_flags.with_domain_flags("last")
    def run(first: int = 1, last: int = 2, *, options: domain_flags.OptionsOf) -> None:
        seen.update(options, first=first, last=last)

    app = typer.Typer()
    app.command()(run)
    typed = [
        "--parcel-speed",
        "9",
        "--stops",
        "a",
        "--stops",
        "b",
        "--no-gently",
        "--last",
        "5",
        "--guardian-image",
        "x",
    ]
    answer = CliRunner().invoke(app, typed)
    assert answer.exit_code == 0, answer.output
    assert seen["parcels"] == Options(9, ("a", "b"), gently=False)
    assert (seen["first"], seen["last"]) == (1, 5)
    assert seen["reserve"].guardian_image == "x"  # type: ignore[attr-defined]


def test_its_verbs_are_verbs_of_the_command() -> None:
    assert command.verbs("parcels") == {"parcels": "korder.cli.kubectl"}
    assert list(command.verbs(""))[-9:] == [
        "quota",
        "parcels",
        "explain",
        "kubectl",
        "simulate",
        "manager",
        "install",
        "uninstall",
        "manifests",
    ]


def test_its_kinds_are_explained() -> None:
    assert explain._explains()["", "ConfigMap"] is _explain
    assert explain._unexplained("Secret") == (
        "korder explains pods, orders, tickets, quotas, nodes and configmaps, and nothing of a Secret"
    )
