"""One run of the sample operator: its script, its luck, its weather and its promises."""

from tests.simulation.orders import Operator
from tests.simulation.promises import promises
from tests.simulation.traffic import Weather, script

from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.world import Setup

SETTLE = 400.0


def setup(seed: int, length: float, weather: Weather, operator: Operator | None = None) -> Setup:
    """Everything about a run is made anew: operators and promises remember."""
    operator = operator or Operator()
    return Setup(
        seed=seed,
        script=script(seed, length, weather),
        length=length,
        settle=SETTLE,
        programs=operator.programs(),
        luck=Chance(seed, weather.rate),
        invariants=promises(operator, weather.tolerance),
    )
