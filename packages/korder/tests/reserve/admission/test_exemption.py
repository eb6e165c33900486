"""A manager finds out at its start whether admission spares what it writes, and starts whatever it finds."""

import random
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.reserve.admission.admission_objects import admission_objects

from korder.api.reserve import MANAGER_USER_ANNOTATION
from korder.install.objects import Admission
from korder.install_config import JUDGING, Site
from korder.reserve.admission import webhook
from kubeloop.client.client import Client
from kubeloop.net.http import Guard, Request
from kubeloop.net.in_process import InProcessResponse, InProcessTransport
from kubeloop.objects.admission import VALIDATING_ADMISSION_POLICIES
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

ACCOUNT = "system:serviceaccount:korder-system:korder-controller-manager"
ODD = r"""o'neil\of "us" \' """


def speaking_as(server: EmbeddedServer, user: str, *groups: str) -> Client:
    headers = {"Authorization": f"Bearer {server.admin_token}", "Impersonate-User": user}
    if groups:
        headers["Impersonate-Group"] = groups[0]
    return Client(InProcessTransport(server.api.handle, headers), rng=random.Random(1))


async def stated(client: Client) -> list[dict[str, Any]]:
    with capture_logs() as logged:
        await webhook.check(client)
    return [dict(each) for each in logged]


@pytest.mark.parametrize("admission", Admission)
async def test_a_manager_that_admission_does_not_know_is_warned(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as cluster:
        (line,) = await stated(cluster.server.client())
    assert line["log_level"] == "warning"
    assert line["known"] == ACCOUNT
    assert line["user"] == "kubernetes-admin"
    assert "its tickets are refused" in line["event"]
    assert "--manager-user" in line["event"]


@pytest.mark.parametrize("user", ["someone", ODD])
@pytest.mark.parametrize("admission", Admission)
async def test_a_manager_that_admission_spares_hears_nothing(
    clock: Clock, admission: Admission, user: str
) -> None:
    async with admission_objects(clock, admission, Site(user=user)) as cluster:
        assert await stated(speaking_as(cluster.server, user, "system:masters")) == []


async def test_where_admission_is_not_installed_nothing_is_said(clock: Clock) -> None:
    async with embedded_server(clock) as server:
        assert await stated(server.client()) == []


async def test_who_may_not_read_admission_starts_all_the_same(clock: Clock) -> None:
    async with admission_objects(clock, Admission.POLICY) as cluster:
        (line,) = await stated(speaking_as(cluster.server, "stranger"))
    assert line["log_level"] == "info"
    assert "forbidden" in line["error"]


class Older(InProcessTransport):
    """A server from before SelfSubjectReview."""

    async def send(self, request: Request, guard: Guard | None = None) -> InProcessResponse:
        if "selfsubjectreviews" in request.target:
            request = Request("POST", "/apis/authentication.k8s.io/v9/selfsubjectreviews")
        return await super().send(request, guard)


async def test_a_server_that_does_not_tell_who_one_is_keeps_nobody_from_starting(
    clock: Clock,
) -> None:
    async with admission_objects(clock, Admission.POLICY) as cluster:
        headers = {"Authorization": f"Bearer {cluster.server.admin_token}"}
        wire = Older(cluster.server.api.handle, headers)
        (line,) = await stated(Client(wire, rng=random.Random(1)))
    assert line["log_level"] == "info"


async def test_admission_of_an_earlier_version_does_not_note_its_user(clock: Clock) -> None:
    async with admission_objects(clock, Admission.POLICY) as cluster:
        client = cluster.server.client()
        note = {"metadata": {"annotations": {MANAGER_USER_ANNOTATION: None}}}
        await client.patch(VALIDATING_ADMISSION_POLICIES, Key("", JUDGING), note)
        assert await stated(client) == []
