"""Webhooks and policies decide here what they decide before a real API server, in the same words, seeing the same reviews."""

import base64
from collections.abc import AsyncIterator, Sequence
import datetime as dt
from pathlib import Path
import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tables.admission.mutating import MUTATING
from tests.tables.admission.parts import PARTS, PROBES
from tests.tables.admission.validating import VALIDATING
from tests.tables.admission.webhooks import PATCHES, WEBHOOKS
import yaml

from kubeloop.net import certificates
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Transport
from kubeloop.net.server import Server
from kubeloop.net.server_tls import ServerTls
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.runtime.clock import Clock

HOST = "127.0.0.1"
HERE = Path(__file__).parent
SIDES = SimpleNamespace(**runpy.run_path(str(HERE / "webhook_sides.py")))


@pytest.fixture
def settings(kubeconfig: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    return config


@pytest.fixture
async def transport(settings: dict[str, Any]) -> AsyncIterator[Transport]:
    """The administrator's way to the shared plane, without a client that would hide warnings and statuses."""
    cluster, user = settings["clusters"][0]["cluster"], settings["users"][0]["user"]
    trust = ClientTls(ca_data=base64.b64decode(cluster["certificate-authority-data"]))

    async def authorize() -> dict[str, str]:
        return {"Authorization": f"Bearer {user['token']}"}

    transport = HttpTransport(
        cluster["server"], tls=RotatingTls(lambda: trust), authorize=authorize
    )
    yield transport
    await transport.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "cases",
    [WEBHOOKS, PATCHES, [*VALIDATING, *MUTATING], PARTS],
    ids=["webhooks", "patches", "policies", "parts"],
)
async def test_admission_decides_what_a_real_server_decides(
    cases: Sequence[Any], transport: Transport, namespace: str, clock: Clock
) -> None:
    now = clock.now()
    life = certificates.Lifetime(now - dt.timedelta(hours=1), now + dt.timedelta(hours=1))
    authority = certificates.make_authority("agreement", life)
    tls = ServerTls()
    tls.load(certificates.issue(authority, [HOST], life))
    theirs, mine = SIDES.Answering([*cases, *PROBES]), SIDES.Answering(cases)
    server = Server(theirs, HOST, 0, tls)
    url = f"https://{HOST}:{await server.start()}"
    real = SIDES.Side(transport, namespace, theirs, url, authority.certificate)
    try:
        await real.configure(cases, PROBES)
        async with SIDES.embedded(namespace, mine, url, await real.user(), clock) as ours:
            await ours.configure(cases)
            different = {}
            for case in cases:
                expected, got = await real.carry_out(case), await ours.carry_out(case)
                if expected != got:
                    different[case.name] = expected, got
        assert different == {}
    finally:
        await real.clean()
        await server.stop(0.1)
