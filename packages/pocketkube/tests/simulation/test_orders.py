"""Our own runtime under simulation: informers, queue, own writes and election keep the promises of a small operator in any weather."""

import os

import pytest
from tests.simulation.playing import setup
from tests.simulation.traffic import CALM, STORM, Weather

from pocketkube.simulation.world import simulate

HOUR = 3600.0
SEEDS = range(1, 21)
SOAK_SEEDS = range(1_000, 1_000 + 10 * int(os.environ.get("KORDER_SEEDS", "20")))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def keeps_its_promises(seed: int, weather: Weather) -> None:
    outcome = simulate(setup(seed, HOUR, weather))
    assert not outcome.violation, outcome.report
    assert outcome.writes > 300


@pytest.mark.parametrize("seed", SEEDS)
def test_promises_are_kept_in_a_storm(seed: int) -> None:
    keeps_its_promises(seed, STORM)


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_in_calm_weather_nothing_is_late(seed: int) -> None:
    keeps_its_promises(seed, CALM)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_promises_are_kept_for_many_seeds(seed: int) -> None:
    keeps_its_promises(seed, STORM)
