"""The quick start, typed by hand: on the embedded cluster, and on a real control plane with `korder install` and `korder manager`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
import os
from pathlib import Path
import random
import shlex
from typing import NamedTuple

import pytest
from tests.e2e.installation import ACCOUNT, NAMESPACE, install, korder, managed

from korder.testing.up import UpProcess
from kubeloop.client.connect import open_client
from kubeloop.net.ports import free_ports
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane, programs
from pocketkube.fleet import fleet
from pocketkube.testing.nodes import simulated_nodes

Plane = Callable[..., Awaitable[ControlPlane]]

EXAMPLES = Path(__file__).parents[2] / "examples"
ALL_NODES = 5

CLAIMING_BY_HAND = """
apiVersion: v1
kind: Pod
metadata:
  name: by-hand
  annotations: {korder.dev/ticket-claimed: my-order-0, korder.dev/ticket-node: node-1}
spec: {containers: [{name: app, image: nginx}]}
"""
UNCLEAR = """
apiVersion: v1
kind: Pod
metadata: {name: unclear, annotations: {korder.dev/required: perhaps}}
spec: {containers: [{name: app, image: nginx}]}
"""
NEVER = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: never}
spec: {strategy: {type: Scheduled, schedule: "0 25 * * *"}, template: {spec: {}}}
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """kubectl at one cluster, in the folder of the examples."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self._surroundings = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
        }

    async def try_(self, line: str, stdin: str = "") -> Done:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            str(programs.find() / "kubectl"),
            *shlex.split(line),
            cwd=EXAMPLES,
            env=self._surroundings,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        out, err = await process.communicate(stdin.encode())
        return Done(process.returncode or 0, out.decode(), err.decode())

    async def __call__(self, line: str, stdin: str = "") -> str:
        done = await self.try_(line, stdin)
        assert done.code == 0, f"kubectl {line}: {done.err}"
        return done.out

    async def until(self, thing: str, path: str, value: str, namespace: str = "default") -> None:
        await self(f"wait {thing} -n {namespace} --for=jsonpath='{{{path}}}'={value} --timeout=60s")

    async def rows(self, line: str) -> list[list[str]]:
        return [row.split() for row in (await self(line)).splitlines()]


@asynccontextmanager
async def on_embedded(folder: Path) -> AsyncIterator[Kubectl]:
    async with UpProcess(folder / "up", "--memory") as up:
        yield Kubectl(folder, up.kubeconfig)


@asynccontextmanager
async def on_real(
    plane: ControlPlane, clock: Clock, folder: Path, *flags: str
) -> AsyncIterator[Kubectl]:
    """A plane with nodes and a manager."""
    config = str(plane.kubeconfig())
    async with (
        open_client(config, now=clock.now, rng=random.Random(0)) as client,
        simulated_nodes(client, fleet(ALL_NODES), clock=clock),
        managed(plane, folder, *flags),
    ):
        yield Kubectl(folder, plane.kubeconfig())


async def quick_start(kubectl: Kubectl) -> None:
    """S1, S10, S17, S20: what the README tells to type, and what not to."""
    await kubectl("apply -f first-order/order.yaml")
    await kubectl.until("order/my-order", ".status.availableReplicas", "3")
    header, row = await kubectl.rows("get orders")
    assert row[header.index("AVAILABLE")] == "3"
    held = await kubectl.rows("get tickets --no-headers")
    assert [(row[0], row[1]) for row in held] == [
        (f"my-order-{number}", "Reserved") for number in range(3)
    ]
    assert len(await kubectl.rows("get pods -l korder.dev/role=guardian --no-headers")) == 3

    await nothing_is_consumed(kubectl)

    await kubectl("apply -f first-order/business-pod.yaml")
    await kubectl("wait pod/my-business-pod --for=condition=Ready --timeout=60s")
    stated = await kubectl("get pods my-business-pod -o yaml")
    assert "korder.dev/ticket-claimed: my-order-" in stated
    assert "korder.dev/ticket-node: node-" in stated
    pod = "get pod my-business-pod -o jsonpath="
    name = await kubectl(pod + r"'{.metadata.annotations.korder\.dev/ticket-claimed}'")
    await kubectl.until(f"ticket/{name}", ".status.phase", "Claimed")
    uid = await kubectl(pod + "'{.metadata.uid}'")
    assert await kubectl(f"get ticket {name} -o jsonpath='{{.status.claimedBy.uid}}'") == uid
    await kubectl.until("order/my-order", ".status.claimedReplicas", "1")
    await kubectl.until("order/my-order", ".status.availableReplicas", "3")
    assert "Events:" in await kubectl("describe order my-order")


async def nothing_is_consumed(kubectl: Kubectl) -> None:
    """S17, S20: dry runs, a claim by hand and nonsense leave every ticket as it was."""
    before = await kubectl("get tickets -o jsonpath='{.items[*].metadata.resourceVersion}'")
    dry = await kubectl("apply --dry-run=server -f first-order/business-pod.yaml -o yaml")
    assert "korder.dev/ticket\n" in dry
    by_hand = await kubectl.try_("apply -f -", CLAIMING_BY_HAND)
    assert by_hand.code == 0
    assert "is written by korder and never read" in by_hand.err
    stated = "event -n default --for=create --field-selector=reason=NotAClaim --timeout=30s"
    assert "condition met" in await kubectl(f"wait {stated}")
    unclear = await kubectl.try_("apply -f -", UNCLEAR)
    assert unclear.code == 1
    assert "annotation korder.dev/required must be true or false" in unclear.err
    never = await kubectl.try_("apply -f -", NEVER)
    assert never.code == 1
    assert "schedule" in never.err
    assert await kubectl("get tickets -o jsonpath='{.items[*].metadata.resourceVersion}'") == before


async def daemonset_mode(kubectl: Kubectl) -> None:
    """S36: the README's second half."""
    await kubectl("apply -f daemonset/monitoring-agent.yaml")
    order = "order/monitoring-agent-reservation"
    await kubectl.until(order, ".status.availableReplicas", str(ALL_NODES), NAMESPACE)
    chosen = "-l korder.dev/order=monitoring-agent-reservation"
    tickets = await kubectl.rows(f"get tickets -n {NAMESPACE} {chosen} --no-headers")
    assert len(tickets) == ALL_NODES


async def test_the_quick_start_on_the_embedded_cluster(tmp_path: Path) -> None:
    async with on_embedded(tmp_path) as kubectl:
        await quick_start(kubectl)
        await daemonset_mode(kubectl)


@pytest.mark.timeout(240)
async def test_the_quick_start_on_a_real_control_plane(
    a_control_plane: Plane, clock: Clock, tmp_path: Path
) -> None:
    """Policies do admission here; at the end everything of korder is taken away again."""
    plane = await a_control_plane(audit="Metadata")
    assert "mutatingadmissionpolicy.admissionregistration.k8s.io/korder-pods applied" in (
        await install(plane)
    )
    config = ("--kubeconfig", str(plane.kubeconfig()))
    async with on_real(plane, clock, tmp_path) as kubectl:
        await quick_start(kubectl)
        await daemonset_mode(kubectl)
        assert not refused_to_the_manager(plane)
        code, _, err = await korder("uninstall", *config)
        assert code == 1
        assert "would be lost: delete them first, or say --purge" in err
        code, out, err = await korder("uninstall", "--purge", *config)
        assert (code, err) == (0, "")
        assert "orders/default/my-order deleted" in out
        assert not (await kubectl("get pods -A -l korder.dev/role=guardian -o name")).strip()
        assert (await kubectl("get pod my-business-pod -o jsonpath='{.status.phase}'")) == "Running"


@pytest.mark.timeout(240)
async def test_the_quick_start_with_webhooks_and_what_happens_without_them(
    a_control_plane: Plane, clock: Clock, tmp_path: Path
) -> None:
    """S38: the manager serves the webhooks, and then it is gone."""
    plane = await a_control_plane()
    (port,) = free_ports(1)
    await install(plane, "--admission=webhook", f"--webhook-url=https://127.0.0.1:{port}")
    async with on_real(
        plane, clock, tmp_path, f"--webhook-bind-address=127.0.0.1:{port}"
    ) as kubectl:
        await trusted(kubectl)
        await quick_start(kubectl)
    plain = UNCLEAR.replace("{korder.dev/required: perhaps}", "{}")
    await kubectl("apply -f -", plain.replace("unclear", "plain"))
    prefers = UNCLEAR.replace("korder.dev/required: perhaps", "korder.dev/order: my-order")
    await kubectl("apply -f -", prefers.replace("unclear", "prefers"))
    refused = await kubectl.try_("apply -f -", UNCLEAR.replace("perhaps", "'true'"))
    assert refused.code == 1
    assert 'failed calling webhook "ticket-required.korder.dev"' in refused.err


def refused_to_the_manager(plane: ControlPlane) -> list[str]:
    """Rights that the manager lacks."""
    return [
        f"{line['verb']} {line['requestURI']}"
        for line in plane.audit_lines()
        if line.get("responseStatus", {}).get("code") == 403
        and line["user"]["username"].endswith(ACCOUNT)
    ]


async def trusted(kubectl: Kubectl) -> None:
    """Waits until the API server knows the webhooks' certificate."""
    async with asyncio.timeout(100):
        while (await kubectl.try_("apply --dry-run=server -f first-order/order.yaml")).code:
            await asyncio.sleep(0.2)
