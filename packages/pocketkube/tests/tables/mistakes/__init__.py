"""Mistakes that a real API server must refuse with our CRDs, each with the field its answer must name.

Pure data: a good object of every kind, and rows that spoil it. How a row is sent:

1. `before` is None: create `after`.
2. otherwise create `before`; if it has a status, put that to its status subresource; then put `after`, to the status
   subresource if `status` is set.

The last request must be refused as invalid (422), and one of its causes must name `field` and contain `says`. For the
two schema words that have no field of their own in an answer, `oneOf` and `not`, the name stands in the cause's text.
"""

from tests.tables.mistakes.booking import BOOKING
from tests.tables.mistakes.broker import BROKER
from tests.tables.mistakes.mesh import MESH
from tests.tables.mistakes.orders import ORDERS
from tests.tables.mistakes.quotas import QUOTAS
from tests.tables.mistakes.spoiling import Mistake
from tests.tables.mistakes.tickets import TICKETS

MISTAKES: tuple[Mistake, ...] = (*ORDERS, *TICKETS, *QUOTAS, *BROKER, *BOOKING, *MESH)
