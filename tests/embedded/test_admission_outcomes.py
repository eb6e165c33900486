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

from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.storage import open_storage

HERE = Path(__file__).parent
E2E = HERE.parent / "e2e"
CASES = SimpleNamespace(**runpy.run_path(str(E2E / "webhook_cases.py")))
SIDES = SimpleNamespace(**runpy.run_path(str(E2E / "webhook_sides.py")))
OUTCOMES: dict[str, Any] = json.loads((HERE / "admission_outcomes.json").read_text())
URL = "https://127.0.0.1:2"
ADMIN = User("admin", ("system:masters", "system:authenticated"), uid="admin")


@pytest.mark.parametrize(
    "case", [*CASES.WEBHOOKS, *CASES.PATCHES, *CASES.POLICIES], ids=lambda case: case.name
)
async def test_a_write_ends_as_it_does_before_a_real_server(case: Any) -> None:
    async with open_storage(None) as storage:
        ours = SIDES.Ours(storage, "NAMESPACE", SIDES.Answering([case]), ADMIN)
        await ours.configure([case], URL)
        outcome = asdict(await ours.carry_out(case))
    asked = len(outcome.pop("asked"))
    told = json.loads(json.dumps(outcome).replace(URL, "URL"))
    assert {key: value for key, value in told.items() if value} | {"asked": asked} == OUTCOMES[
        case.name
    ]
