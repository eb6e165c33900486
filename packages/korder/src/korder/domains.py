"""The domains of korder, in the order in which their kinds are installed. To add a domain, add a line."""

from typing import Any

from korder.api import booking, broker, mesh, reservation
from korder.domain import Domain
from korder.reserve.domain import RESERVE

DOMAINS: tuple[Domain[Any], ...] = (
    RESERVE,
    Domain(
        name="broker", definitions=(*broker.DEFINITIONS, *reservation.DEFINITIONS), options=None
    ),
    Domain(name="booking", definitions=booking.DEFINITIONS, options=None),
    Domain(name="mesh", definitions=mesh.DEFINITIONS, options=None),
)
