"""Objects of the kinds of Kubernetes, good and bad, to be sent to a real server and to the strategies.

`CREATES` are tried as new objects; `UPDATES` are pairs, of which the first is created and the second replaces it.
"""

from tests.tables.kinds.admitting import ADMITTING
from tests.tables.kinds.plain import PLAIN

CREATES = [*PLAIN, *ADMITTING]
