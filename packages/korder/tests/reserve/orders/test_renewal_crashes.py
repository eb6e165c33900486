"""Wherever the manager crashes around a firing or an expiry: no pod that waits gets the room of a ticket that is renewed."""

import pytest
from tests.reserve.orders.test_crashes import CLASS, KINDS, build

from korder.api import reserve
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON
from kubeloop.schema import crd
from kubeloop.testing.builders import a_pod
from pocketkube.simulation.changes import Change
from pocketkube.simulation.crash_points import walk
from pocketkube.simulation.processes import Program
from pocketkube.simulation.script import AddNode, Apply, Step
from pocketkube.simulation.world import Setup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "20"}
TERMS = 3


class Ledger:
    """Terms that tickets have begun, pods that got in, and guardians that went."""

    def __init__(self) -> None:
        self.renewals = 0
        self.bound: list[str] = []
        self.gone: list[str] = []

    def note(self, change: Change) -> None:
        before, after = change.before or {}, change.after or {}
        if change.resource == "pods" and change.name == "competitor":
            self.bound += [change.name] if after.get("spec", {}).get("nodeName") else []
        elif change.resource == "pods" and change.after is None:
            self.gone.append(change.name)
        elif change.resource == "tickets.core.korder.dev":
            old, new = (each.get("status", {}).get("activationTime") for each in (before, after))
            self.renewals += old is not None and new is not None and old != new


def a_run(ledger: Ledger, strategy: dict[str, JSON], duration: str) -> Setup:
    requests: JSON = {"cpu": "2", "memory": "1Gi"}
    template: JSON = {"spec": {"duration": duration, "resources": {"requests": requests}}}
    order = an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})
    return Setup(
        seed=1,
        script=(
            *(Step(0.0, Apply(crd.build(each))) for each in reserve.DEFINITIONS),
            Step(0.0, Apply(CLASS)),
            Step(0.0, AddNode("n1", ROOM)),
            Step(5.0, Apply(order.json)),
            Step(15.0, Apply(a_pod("competitor").requesting(cpu="1").json)),
        ),
        length=60.0 * (TERMS + 0.5),
        settle=20.0,
        programs=(Program("korder", build),),
        kinds=KINDS,
        observers=(ledger.note,),
    )


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param({"type": "OneTime", "refreshPolicy": "Always"}, id="OneTime Always"),
        pytest.param(
            {"type": "Recurring", "refreshPolicy": "OnClaim", "schedule": "* * * * *"},
            id="Recurring OnClaim",
        ),
        pytest.param(
            {
                "type": "Recurring",
                "refreshPolicy": "Always",
                "schedule": "* * * * *",
                "leadTime": "10s",
            },
            id="Recurring Always with lead time",
        ),
    ],
)
def test_no_crash_gives_the_room_of_a_renewed_ticket_away(strategy: dict[str, JSON]) -> None:
    ledgers: list[Ledger] = []

    def make() -> Setup:
        ledgers.append(Ledger())
        return a_run(ledgers[-1], strategy, "1m")

    for visit in walk(make, callers={"korder"}, visits=3):
        ledger = ledgers[-1]
        assert not visit.outcome.violation, f"{visit}: {visit.outcome.violation}"
        assert ledger.bound == [], str(visit)
        assert ledger.gone == [], str(visit)
        assert ledger.renewals >= 2 * (TERMS - 1), str(visit)
    assert len(ledgers) > 4
