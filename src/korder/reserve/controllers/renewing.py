"""Says whether tickets may be renewed, by the quotas that this process counts.

`setup` makes it, the ticket controller asks it when a term is over; `rules.quotas.renewal` decides. It remembers whom it has refused until
that is to be seen, since the next who asks may be served in the same breath. A refusal before the end of a term is not remembered: the ticket
stays.
"""

from datetime import datetime

from korder.api.meta import Key, key_of
from korder.api.reserve import Ticket
from korder.reserve.rules.quotas import renewal
from korder.reserve.rules.quotas.tally import Tally


class Renewing:
    """Judges renewals one after the other."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._refused: dict[Key, Ticket] = {}

    def barred(self, ticket: Ticket, now: datetime) -> str:
        """Why a ticket may not be held for another term; empty if it may."""
        self._refused = {key: each for key, each in self._refused.items() if self._stands(each)}
        self._refused.pop(key_of(ticket), None)
        short = renewal.refused(self._tally, ticket, self._refused.values(), now)
        ends = ticket.status.expiration_time
        if short and ends is not None and ends <= now:
            self._refused[key_of(ticket)] = ticket
        return "; ".join(map(str, short))

    def _stands(self, ticket: Ticket) -> bool:
        """Says whether nothing has happened to a ticket yet that was refused."""
        return self._tally.version_of(key_of(ticket)) == int(ticket.metadata.resource_version or 0)
