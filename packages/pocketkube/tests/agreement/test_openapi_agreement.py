"""What OpenAPI says of operations: the same as a real server's, as far as we serve them."""

from collections.abc import AsyncIterator
import json
from pathlib import Path
from typing import Any

import pytest

from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net import http
from kubeloop.runtime.clock import Clock
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.apiserver.serving.openapi import OpenAPI

NOT_OURS = {"ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector"}


@pytest.fixture
async def transport(kubeconfig: Path, clock: Clock) -> AsyncIterator[http.Transport]:
    transport = connect(load(str(kubeconfig), None), clock.now)
    yield transport
    await transport.close()


def operations(document: Any) -> dict[tuple[str, str], Any]:
    """All operations with what clients look up; parameters may stand at the path or at the operation."""
    return {
        (path, method): {
            "id": operation["operationId"],
            "action": operation.get("x-kubernetes-action"),
            "kind": operation.get("x-kubernetes-group-version-kind"),
            "patches": sorted(operation.get("requestBody", {}).get("content", ())),
            "parameters": {
                each["name"]
                for each in (*item.get("parameters", ()), *operation.get("parameters", ()))
            }
            - NOT_OURS,
        }
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method != "parameters" and not path.endswith("/log")
    }


async def test_operations_are_those_of_the_server(transport: http.Transport) -> None:
    api = OpenAPI(builtin())
    index = api.find("/openapi/v3")
    assert index is not None
    for path in json.loads(index.body)["paths"]:
        target = f"/openapi/v3/{path}"
        request = http.Request("GET", target, {"Accept": "application/json"})
        async with await transport.send(request) as response:
            theirs = operations(json.loads(await response.read()))
        document = api.find(target)
        assert document is not None
        ours = operations(json.loads(document.body))
        assert ours == {key: theirs.get(key) for key in ours}
