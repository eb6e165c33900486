"""Our CRDs on a real API server: established without a warning, seeds accepted, mistakes refused by the field's name."""

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
from tests.e2e.waiting import accepted
from tests.tables.mistakes import MISTAKES
from tests.tables.mistakes.near_misses import NEAR_MISSES
from tests.tables.mistakes.spoiling import good
import yaml

from korder.api.reserve import ORDERS
from korder.install import crds
from kubeloop.client import request as requests
from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError, Invalid
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import PatchType
from kubeloop.testing.controlplane import CommandFailed, ControlPlane

SEEDS = sorted(Path("packages/korder/tests/seeds").glob("*.yaml"))
DOCUMENTS = {seed: yaml.load(seed.read_text(), Loader=yaml.BaseLoader) for seed in SEEDS}  # noqa: S506  all stays text
KINDS = {kind.kind: kind for kind in crds.KINDS}
LANES = 16


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> str:
    """All CRDs, applied by kubectl from the generated files; what it printed."""
    folder = Path(__file__).parents[2] / "manifests" / "crds"
    command = control_plane.kubectl("apply", "--server-side", "-f", str(folder))
    printed = asyncio.run(command)
    wait = ("wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/part-of=korder")
    asyncio.run(control_plane.kubectl(*wait))
    return printed


async def test_all_crds_are_established_without_warnings(installed: str, client: Client) -> None:
    assert len(installed.splitlines()) == len(crds.KINDS)
    for crd in crds.all_crds():
        name = str(cast("dict[str, JSON]", crd["metadata"])["name"])
        stored = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", name))
        conditions = {c.type: c.status for c in stored.status.conditions or ()}
        assert conditions["Established"] == "True"
        assert conditions["NamesAccepted"] == "True"
        assert "NonStructuralSchema" not in conditions
        sent = requests.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            Key("", name),
            crd,
            PatchType.APPLY,
            options=requests.Options(field_manager="korder", dry_run=True, force=True),
        )
        async with await client._sender.transport.send(sent) as answer:
            assert answer.status == 200
            assert "Warning" not in answer.headers


async def test_everything_of_ours_is_one_category(
    installed: str, control_plane: ControlPlane, namespace: str
) -> None:
    async def kubectl(*words: str) -> str:
        """What is said once the kinds are in discovery, a moment after they are established."""
        return await accepted(lambda: control_plane.kubectl(*words), CommandFailed)

    assert await kubectl("get", "korder", "-n", namespace) == ""
    assert "Always" in await kubectl("explain", "orders.spec.strategy.refreshPolicy")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)
@pytest.mark.parametrize("how", ["apply", "apply --server-side"])
async def test_a_manifest_of_the_seeds_is_accepted_unchanged(
    installed: str, control_plane: ControlPlane, namespace: str, seed: Path, how: str
) -> None:
    document = DOCUMENTS[seed]
    named = document["metadata"].get("namespace")
    if named not in (None, "default"):
        await control_plane.kubectl(
            "apply",
            "-f",
            "-",
            input=f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {named}}}}}",
        )
        await control_plane.kubectl("wait", "-n", named, "--for=create", "serviceaccount/default")
    where = () if named else ("-n", namespace)
    try:
        printed = await control_plane.kubectl(*how.split(), *where, "-f", str(seed))
        assert document["metadata"]["name"] in printed
    finally:
        await control_plane.kubectl(
            "delete", *where, "-f", str(seed), "--wait=true", "--grace-period=1"
        )


def kind_of(obj: dict[str, Any]) -> Kind[HasMetadata]:
    return KINDS[obj["kind"]]


class Sender:
    """Sends rows of the table, each object under a name of its own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def placed(self, obj: dict[str, Any], row: int) -> dict[str, Any]:
        made = deepcopy(obj)
        made["metadata"] = {**made.get("metadata", {}), "name": f"row-{row}-{made['kind'].lower()}"}
        if kind_of(made).namespaced:
            made["metadata"]["namespace"] = self._namespace
        else:
            made["metadata"]["name"] += f"-{self._namespace}"
        return made

    async def send(self, row: Any, number: int) -> None:
        """Does what the table's docstring says; the last request is the one that matters."""
        after = self.placed(row.after, number)
        kind = kind_of(after)
        if row.before is None:
            await self._client.create(kind, after, dry_run=True)
            return
        before = self.placed(row.before, number)
        made = await self._client.create(kind, before)
        key = Key(made.metadata.namespace, made.metadata.name)
        try:
            if "status" in before:
                before["metadata"]["resourceVersion"] = made.metadata.resource_version
                made = await self._client.replace(kind, before, "status")
            after["metadata"]["resourceVersion"] = made.metadata.resource_version
            await self._client.replace(kind, after, "status" if row.status else "")
        finally:
            await self._client.delete(kind, key)

    async def verdict(self, row: Any, number: int) -> str:
        """What is wrong with how a mistake was refused, or nothing."""
        try:
            await self.send(row, number)
        except Invalid as refusal:
            causes = [(cause.field, cause.message) for cause in refusal.causes]
            if any("evaluating rule" in text for _, text in causes):
                return f"{row.id}: refused by a rule that failed itself: {causes}"
            if any(self._names(row, field, text) for field, text in causes):
                return ""
            return f"{row.id}: refused, but not by {row.field}: {causes}"
        except ApiError as other:
            return f"{row.id}: {type(other).__name__}: {other}"
        return f"{row.id}: accepted"

    @staticmethod
    def _names(row: Any, field: str, text: str) -> bool:
        return (
            field == row.field or (field in ("", "<nil>") and row.field in text)
        ) and row.says in text


async def every(rows: Any, check: Any) -> list[str]:
    numbered = iter(enumerate(rows))
    stated: list[str] = []

    async def lane() -> None:
        for number, row in numbered:
            stated.append(await check(row, number))

    async with asyncio.TaskGroup() as group:
        for _ in range(LANES):
            group.create_task(lane())
    return [line for line in stated if line]


async def test_every_mistake_is_refused_by_the_name_of_its_field(
    installed: str, client: Client, namespace: str
) -> None:
    assert len(MISTAKES) >= 60
    assert len({mistake.id for mistake in MISTAKES}) == len(MISTAKES)
    assert await every(MISTAKES, Sender(client, namespace).verdict) == []


async def test_what_is_nearly_a_mistake_is_accepted(
    installed: str, client: Client, namespace: str
) -> None:
    sender = Sender(client, namespace)

    async def accepted(row: Any, number: int) -> str:
        try:
            await sender.send(row, number)
        except ApiError as refusal:
            return f"{row.id}: {refusal}"
        return ""

    assert await every(NEAR_MISSES, accepted) == []


async def test_an_order_that_has_opened_is_scaled_as_one_likes(
    installed: str, control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    order = good("Order", {"spec.minAvailable": 2, "metadata.namespace": namespace})
    made = await client.create(ORDERS, order)
    scale = ("scale", "order", made.metadata.name, "-n", namespace, "--replicas=1")

    with pytest.raises(CommandFailed, match="minAvailable must not be greater than replicas"):
        await control_plane.kubectl(*scale)
    opened = {**order, "status": {"opened": True}}
    opened["metadata"] = {**order["metadata"], "resourceVersion": made.metadata.resource_version}
    await client.replace(ORDERS, opened, "status")
    assert "scaled" in await control_plane.kubectl(*scale)
