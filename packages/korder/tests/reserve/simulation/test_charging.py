"""Quotas in simulation: orders that crowd a quota, two replicas, changes of leader, lost answers and late requests."""

from collections.abc import Iterator
from dataclasses import replace
import random

import pytest
import structlog

from korder.reserve.quotas import ledger as quota_ledger
from korder.reserve.scenarios import orders as random_orders, setup as scenario_setup
from korder.reserve.scenarios.orders import Form
from korder.testing.seeds import hush
from korder.testing.suites import FAULTS
from kubeloop.objects.meta import JSON
from pocketkube.simulation.script import AddNode, Apply, Crash, Delete, Manifest, Step, in_order
from pocketkube.simulation.shrinking import what_broke
from pocketkube.simulation.world import Setup, simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BREAKS = {"charged-first", "used-is-counted"}
SCOPE: dict[str, JSON] = {"type": "NamespaceList", "namespaces": ["default"]}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = structlog.get_config()
    hush()
    yield
    structlog.configure(**before)


def _quota(name: str, scope: dict[str, JSON], **hard: str) -> dict[str, JSON]:
    limits: dict[str, JSON] = {key.replace("_", "."): amount for key, amount in hard.items()}
    return {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Quota",
        "metadata": {"name": name},
        "spec": {"scope": scope, "hard": limits},
    }


def _order(name: str, replicas: int) -> Manifest:
    form = Form(cpu=500, memory=256, duration="40s", ttl=5)
    spec = {"replicas": replicas, "template": random_orders.template(name, form)}
    strategy = {"type": "OneTime", "refreshPolicy": "Always"}
    return {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Order",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, "strategy": strategy},
    }


def crowded(seed: int, faults: float = FAULTS) -> Setup:
    """Two quotas that leave room for seven tickets of orders that want many more, come and go, while replicas crash."""
    rng = random.Random(seed)
    actions = [
        (0.0, AddNode("node-0", {"cpu": "64", "memory": "128Gi"})),
        (1.0, Apply(_quota("all", {"type": "Cluster"}, tickets="7"))),
        (1.0, Apply(_quota("some", SCOPE, reserved_cpu="6500m", tickets="20"))),
    ]
    for number in range(12):
        order = _order(f"o-{number}", rng.randint(1, 3))
        at = rng.choice([20.0, 20.0, 20.1, rng.uniform(30, 120)])
        actions.append((at, Apply(order)))
        if rng.random() < 0.5:
            gone = Delete("core.korder.dev/v1alpha1", "Order", f"o-{number}", "default")
            actions.append((at + rng.uniform(5, 60), gone))
    actions += [
        (rng.uniform(20, 100), Crash(name, rng.uniform(1, 20))) for name in scenario_setup.REPLICAS
    ]
    script = in_order([Step(*each) for each in actions])
    return replace(scenario_setup.played(seed, script, 200.0, faults), settle=150.0)


@pytest.mark.parametrize("seed", range(1, 5))
def test_no_more_is_made_than_quotas_allow(seed: int) -> None:
    """No more is made than quotas allow (S31, S26)."""
    outcome = simulate(crowded(seed))
    assert not outcome.violation, outcome.report


def test_a_ledger_of_which_entries_do_not_count_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_ledger, "is_made", lambda entry, quota_cache: True)
    for seed in range(1, 30):
        outcome = simulate(crowded(seed))
        if outcome.violation:
            assert what_broke(outcome.violation) in BREAKS, outcome.report
            return
    pytest.fail("not found")
