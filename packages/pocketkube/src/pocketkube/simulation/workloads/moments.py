"""When things happen that happen at random but with a steady rate: tenants who come, ideas they have, troubles.

`traffic`, `tenants` and `troubles` call it.
"""

from collections.abc import Iterator
from random import Random


def moments(rng: Random, gap: float, begins: float, ends: float) -> Iterator[float]:
    """The moments of a Poisson process within a span, `gap` seconds apart on average."""
    at = begins
    while (at := at + rng.expovariate(1.0) * gap) < ends:
        yield at
