"""Who schedules, by the lease of kube-scheduler.

`handovers` and `tickets` ask, because a scheduler that has just begun does not know of nominations of gated pods, up to 1.36: every new
one is told again.
"""

from collections.abc import Callable

from korder.api.core import LEASES, Lease
from korder.api.meta import Key
from korder.runtime.informer import Scope
from korder.runtime.manager import Manager
from korder.runtime.store import Change

SCHEDULER_LEASE = Key("kube-system", "kube-scheduler")


class Schedulers:
    """The scheduler that is at work now."""

    def __init__(self, manager: Manager) -> None:
        only = Scope(SCHEDULER_LEASE.namespace, fields=f"metadata.name={SCHEDULER_LEASE.name}")
        self._leases = manager.informers.of(LEASES, only)

    @property
    def at_work(self) -> str:
        """Its identity, as far as is known."""
        return _holder(self._leases.reader.get(SCHEDULER_LEASE))

    def on_new(self, call: Callable[[], None]) -> None:
        """Calls when another one takes over; that one renews its lease is no news."""

        def changed(change: Change[Lease]) -> None:
            old, new = change
            if _holder(old) != _holder(new):
                call()

        self._leases.on_change(changed)


def _holder(lease: Lease | None) -> str:
    return (lease.spec.holder_identity or "") if lease is not None else ""
