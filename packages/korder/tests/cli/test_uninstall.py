"""What `korder uninstall` takes off objects of others: the taint of hand-overs that nobody will end, and our finalizer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from korder.api.reserve import HANDOVER_TAINT, RETURN_FINALIZER
from korder.cli import uninstall
from korder.install_config import Site
from kubeloop.client.client import Client
from kubeloop.objects.core import NODES, PODS, SERVICE_ACCOUNTS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_node, a_pod
from pocketkube.testing.apiserver import embedded_server

OTHERS = "example.com/dedicated"
ADDED = "node.kubernetes.io/not-ready"
"""The server puts it on every new node."""


async def test_taints_of_hand_overs_and_our_finalizer_go_and_those_of_others_stay(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No manager runs that would take them off."""
    async with embedded_server(clock) as server:
        client = server.client()

        @asynccontextmanager
        async def cluster(*_: str | Random | None) -> AsyncIterator[Client]:
            yield client

        monkeypatch.setattr(uninstall, "cluster", cluster)
        for name, keys in (("theirs", [OTHERS]), ("ours", [OTHERS, HANDOVER_TAINT])):
            taints: JSON = [{"key": key, "value": "1", "effect": "NoSchedule"} for key in keys]
            await client.create(NODES, a_node(name).but({"spec": {"taints": taints}}).json)
        account: JSON = {"name": "default", "namespace": "default"}
        await client.create(SERVICE_ACCOUNTS, {"metadata": account})
        held: JSON = {"metadata": {"finalizers": ["example.com/x", RETURN_FINALIZER]}}
        await client.create(PODS, a_pod("used").but(held).json)

        await uninstall._uninstall(Site(), None, None, purge=False)

        for name in ("theirs", "ours"):
            node = await client.get(NODES, Key("", name))
            assert [each.key for each in node.spec.taints if each.key != ADDED] == [OTHERS]
        pod = await client.get(PODS, Key("default", "used"))
        assert pod.metadata.finalizers == ("example.com/x",)
        shown = capsys.readouterr().out
        assert "nodes/ours released" in shown
        assert "nodes/theirs" not in shown
