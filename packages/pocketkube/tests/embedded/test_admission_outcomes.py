"""What webhooks and policies decide, case by case, as a real API server decided it.

The cases are those of `tests/e2e/test_webhook_agreement.py`; their outcomes before kube-apiserver 1.36.3 are written down, so
that the words stay the same where no such server is at hand.
"""

from dataclasses import asdict
import json
from pathlib import Path
import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tables.admission.mutating import MUTATING
from tests.tables.admission.parts import PARTS
from tests.tables.admission.validating import VALIDATING
from tests.tables.admission.webhooks import PATCHES, WEBHOOKS
from tests.tables.admission.words import Case

from kubeloop.runtime.clock import Clock
from pocketkube.apiserver.access.user import User

HERE = Path(__file__).parent
E2E = HERE.parent / "agreement"
SIDES = SimpleNamespace(**runpy.run_path(str(E2E / "webhook_sides.py")))
OUTCOMES: dict[str, Any] = json.loads((HERE / "admission_outcomes.json").read_text())
URL = "https://127.0.0.1:2"
ADMIN = User("admin", ("system:masters", "system:authenticated"), uid="admin")


@pytest.mark.parametrize(
    "cases",
    [WEBHOOKS, PATCHES, VALIDATING, MUTATING, PARTS],
    ids=["webhooks", "patches", "validating", "mutating", "parts"],
)
async def test_writes_end_as_they_do_before_a_real_server(
    cases: tuple[Case, ...], clock: Clock
) -> None:
    answering = SIDES.Answering(cases)
    async with SIDES.embedded("namespace", answering, URL, ADMIN, clock) as server:
        await server.configure(cases)
        ended = {case.name: _reported(await server.carry_out(case)) for case in cases}
    assert ended == {case.name: OUTCOMES[case.name] for case in cases}


def _reported(outcome: Any) -> dict[str, Any]:
    """An outcome as it is written down: without what is empty, reviews only counted."""
    stated = json.loads(json.dumps(asdict(outcome)).replace(URL, "URL"))
    asked = len(stated.pop("asked"))
    return {key: value for key, value in stated.items() if value} | {"asked": asked}
