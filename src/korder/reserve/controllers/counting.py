"""Keeps the tally of all quotas up with what the informers show; one for a process, whoever asks.

`setup` makes it; orders charge by it, quotas show it. It reads the caches of this process alone: what another has charged stands in the
ledgers, and whether these caches have seen enough to charge is the ledger's question.
"""

from korder.api.core import NAMESPACES, Namespace
from korder.api.quota import QUOTAS
from korder.api.reserve import ORDERS, TICKETS
from korder.reserve.rules.quotas.charging import View
from korder.reserve.rules.quotas.tally import Tally
from korder.runtime.manager import Manager
from korder.runtime.store import Change


class Counting:
    """The tally of one process."""

    def __init__(self, manager: Manager) -> None:
        self.tally = Tally()
        self._tickets = manager.informers.of(TICKETS)
        manager.informers.of(QUOTAS).on_change(lambda change: self.tally.quota_changed(*change))
        manager.informers.of(NAMESPACES).on_change(self._namespace_changed)
        self._tickets.on_change(lambda change: self.tally.ticket_changed(*change))
        manager.informers.of(ORDERS).on_change(lambda change: self.tally.order_changed(*change))

    @property
    def view(self) -> View:
        """What is to be seen now."""
        reader = self._tickets.reader
        return View(self.tally, reader.seen, reader.shown, reader.newest)

    def _namespace_changed(self, change: Change[Namespace]) -> None:
        new = change.new
        name = change.objects[0].metadata.name
        self.tally.namespace_changed(name, None if new is None else new.metadata.labels)
