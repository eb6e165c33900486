"""`korder quota`: used, allowed, and the limits of the coming week."""

import asyncio
from collections.abc import Callable
from pathlib import Path
import random
import subprocess

import pytest
from tests.reserve.quotas.quotas import a_quota

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS
from korder.testing.builders import an_order
from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.builders import Builder

pytestmark = [pytest.mark.enable_socket, pytest.mark.xdist_group("cli")]

Done = subprocess.CompletedProcess[str]
Korder = Callable[..., Done]
NOWHERE: JSON = {"type": "NamespaceList", "namespaces": ["nowhere"]}


def put(home: Path, *quotas: Builder[Quota]) -> None:
    asyncio.run(_put(home, *quotas))


async def _put(home: Path, *quotas: Builder[Quota]) -> None:
    kubeconfig = home / ".local" / "share" / "korder" / "kubeconfig"
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    client = Client(transport, rng=random.Random(1))
    for quota in quotas:
        key = Key("", quota.build().metadata.name)
        await client.patch(QUOTAS, key, quota.json, PatchType.APPLY, force=True)
    await transport.close()


def test_quotas_tell_used_and_allowed_and_the_week(home: Path, here: Korder) -> None:
    window: JSON = {"name": "weekend", "weekdays": ["Sat", "Sun"], "multiplier": "2"}
    allocation: JSON = [{"namespace": "nowhere", "limits": {"tickets": "2"}}]
    quota = a_quota("calm", dict(NOWHERE), tickets="5", max__duration="24h").but(
        {"spec": {"timeWindows": [window], "allocation": allocation}}
    )
    put(home, quota, a_quota("plain", dict(NOWHERE), reserved_cpu="3"))
    done = here("quota")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["QUOTA", "LIMIT", "USED", "HARD", "PART"]
    first = [line for line in lines if line[:2] == ["calm", "tickets"]]
    assert first in ([["calm", "tickets", "0", "5", "0%"]], [["calm", "tickets", "0", "10", "0%"]])
    assert ["calm", "max-duration", "24h0m0s"] in lines
    assert ["plain", "reserved.cpu", "0", "3", "0%"] in lines
    assert any(line[:2] == ["calm/nowhere", "tickets"] for line in lines)
    assert "calm means namespaces nowhere; refuses what goes beyond" in done.stdout
    assert "weekend: tickets 10, max-duration 24h0m0s" in done.stdout
    assert "no window: tickets 5, max-duration 24h0m0s" in done.stdout


def test_one_quota_can_be_named(home: Path, here: Korder) -> None:
    put(home, a_quota("one", dict(NOWHERE), tickets="1"), a_quota("two", dict(NOWHERE), orders="1"))
    done = here("quota", "one")
    assert done.returncode == 0, done.stderr
    assert "one" in done.stdout
    assert "two" not in done.stdout


@pytest.mark.parametrize("word", ["quota", "quotas", "kquota", "quota.core.korder.dev"])
def test_a_quota_can_be_explained(home: Path, here: Korder, word: str) -> None:
    """`quota` is also the short word for a ResourceQuota; kubectl prefers what has it for its name, and so do we."""
    put(home, a_quota("told", dict(NOWHERE), tickets="1"))
    done = here("explain", word, "told")
    assert done.returncode == 0, done.stderr
    assert "It means namespaces nowhere; refuses what goes beyond." in done.stdout
    assert ["told", "tickets", "0", "1", "0%"] in [
        line.split() for line in done.stdout.splitlines()
    ]


def test_a_quota_that_is_not_there_is_reported_in_one_sentence(here: Korder) -> None:
    done = here("quota", "nobody")
    assert done.returncode == 1
    assert done.stderr.startswith("korder: ")
    assert "nobody" in done.stderr


def test_an_order_may_use_all_of_its_quota(home: Path, here: Korder) -> None:
    """What korder itself has charged is not weighed a second time when it makes the tickets."""
    here("apply", "-f", "-", stdin="{apiVersion: v1, kind: Namespace, metadata: {name: full}}")
    put(home, a_quota("full", {"type": "NamespaceList", "namespaces": ["full"]}, tickets="2"))
    order = an_order("all", 2).but({"metadata": {"namespace": "full"}})
    made = here("apply", "-f", "-", stdin=f"{order.json}")
    assert made.returncode == 0, made.stderr
    asyncio.run(_until_held(home, Key("full", "all"), 2))


async def _until_held(home: Path, key: Key, count: int) -> None:
    """Waits until an order has so many tickets that can be claimed."""
    kubeconfig = home / ".local" / "share" / "korder" / "kubeconfig"
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    client = Client(transport, rng=random.Random(1))
    async with asyncio.timeout(100):
        while (await client.get(ORDERS, key)).status.available_replicas != count:
            await asyncio.sleep(0.05)
    await transport.close()
