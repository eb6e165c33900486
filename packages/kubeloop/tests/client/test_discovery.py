"""What a server says it is and serves."""

from collections.abc import Callable
from typing import Any

import pytest

from kubeloop.client import discovery
from kubeloop.client.errors import Undecodable
from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import Request
from kubeloop.objects.core import LEASES, NODES, PODS
from kubeloop.objects.meta import Kind, Object

Make = Callable[..., Any]
TICKETS: Kind[Object] = Kind("core.korder.dev", "v1alpha1", "Ticket", "tickets", Object)


async def test_the_version_is_asked(script: Make, client: Make, answer: Make) -> None:
    wire = script(answer({"gitVersion": "v1.36.3", "major": "1", "minor": "36"}))
    assert (await discovery.server_version(client(wire))).git_version == "v1.36.3"
    assert wire.targets == ["GET /version"]


async def test_something_else_at_the_address_is_noticed(script: Make, client: Make) -> None:
    with pytest.raises(Undecodable, match="does not speak like an API server"):
        await discovery.server_version(client(script(Canned(200, b"<html>"))))


async def test_what_is_missing_is_found_with_one_question_per_version(
    script: Make, client: Make, answer: Make
) -> None:
    def serve(request: Request) -> Canned:
        if request.target == "/api/v1":
            return answer({"resources": [{"name": "pods", "kind": "Pod"}]})
        if request.target == "/apis/coordination.k8s.io/v1":
            return answer({"resources": [{"name": "leases", "kind": "Lease"}]})
        return refusal(404, "NotFound")

    wire = script(serve)
    missing = await discovery.missing(client(wire), [PODS, TICKETS, LEASES, NODES])
    assert missing == (TICKETS, NODES)
    assert len(wire.requests) == 3
