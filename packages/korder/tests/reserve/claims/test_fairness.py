"""In which order the claims on one node are served: namespaces round robin, so that many claims of one do not delay those of another."""

from datetime import timedelta

import pytest
from tests.reserve.claims.batches import (
    NODE,
    NOMINATE,
    NOW,
    claiming,
    decide,
    gated,
    guardian,
    member,
)

from korder.reserve.handovers import handover_state
from korder.reserve.handovers.handover_state import Member, Settings
from kubeloop.objects.core import PODS
from kubeloop.objects.plan import Delete, Patch, Step
from kubeloop.testing.builders import a_node


def claim(name: str, namespace: str, age: float = 0, priority: int = 0) -> Member:
    """A claim whose pod was created so many seconds ago."""
    born = (NOW - timedelta(seconds=age)).isoformat()
    pod = gated(name, cpu="100m").but(
        {
            "metadata": {"namespace": namespace, "creationTimestamp": born},
            "spec": {"priority": priority},
        }
    )
    home = {"metadata": {"namespace": namespace}}
    ticket = claiming(name, name).but({"status": {"claimedBy": {"namespace": namespace}}})
    return member(ticket.but(home), pod, guardian(f"g-{name}", "100m").but(home))


def names(members: list[Member]) -> list[str]:
    return [each.ticket.metadata.name for each in members]


def test_in_a_namespace_priority_comes_first_and_then_age() -> None:
    given = [claim("young", "a", 1), claim("old", "a", 9), claim("urgent", "a", 1, priority=5)]
    assert names(handover_state.in_fair_order(given)) == ["urgent", "old", "young"]


def test_namespaces_take_turns_whatever_their_number_of_claims_and_priorities() -> None:
    given = [
        *(claim(f"a{n}", "a", 100 - n, priority=5) for n in range(3)),
        *(claim(f"b{n}", "b", 50 - n) for n in range(2)),
        claim("c0", "c", 1),
    ]
    assert names(handover_state.in_fair_order(given)) == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_a_claim_without_a_pod_has_its_place() -> None:
    given = [claim("old", "default", 9), member(claiming("gone"), None)]
    assert set(names(handover_state.in_fair_order(given))) == {"old", "gone"}


@pytest.mark.parametrize("settings", [Settings(), NOMINATE], ids=["taint", "nominate"])
@pytest.mark.parametrize("cpu", ["10100m", "11000m"], ids=["full node", "room for some beside"])
def test_the_one_claim_of_a_namespace_is_among_the_first_beside_a_hundred_of_another(
    settings: Settings, cpu: str
) -> None:
    many = [claim(f"a{n}", "a", 1000 - n, priority=5) for n in range(100)]
    node = a_node(NODE).offering(cpu=cpu, pods="300").stored("uid-node")
    plan = decide(*many, claim("b0", "b"), node=node, settings=settings)
    served = [step for step in plan.steps if _serves(step)]
    places = [place for place, step in enumerate(served) if _name(step) in ("b0", "g-b0")]
    assert places
    assert places[0] <= 1


def _serves(step: Step) -> bool:
    """Whether a step lets a pod go, or sends a guardian away."""
    opens = isinstance(step, Patch) and step.kind == PODS and "spec" in str(step.body)
    return opens or isinstance(step, Delete)


def _name(step: Step) -> str:
    assert isinstance(step, Delete | Patch)
    return step.key.name
