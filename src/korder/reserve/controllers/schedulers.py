"""Who schedules, by the lease of kube-scheduler.

`handovers` and `tickets` ask, because a scheduler that has just begun does not know of nominations of gated pods, up to 1.36: every new
one is told again.
"""

from collections.abc import Callable

from korder.api.core import LEASES, Lease
from korder.api.meta import Key
from korder.reserve.rules.claims.scene import SchedulerSigns
from korder.runtime.informer import Scope
from korder.runtime.manager import Manager
from korder.runtime.store import Change

SCHEDULER_LEASE = Key("kube-system", "kube-scheduler")


class Schedulers:
    """The scheduler that is at work now."""

    def __init__(self, manager: Manager) -> None:
        only = Scope(SCHEDULER_LEASE.namespace, fields=f"metadata.name={SCHEDULER_LEASE.name}")
        self._clock = manager.clock
        self._leases = manager.informers.of(LEASES, only)
        self._signs: SchedulerSigns | None = None
        self._leases.on_change(self._seen)

    @property
    def at_work(self) -> str:
        """Its identity, as far as is known."""
        return _holder(self._leases.reader.get(SCHEDULER_LEASE))

    @property
    def signs(self) -> SchedulerSigns | None:
        """What its lease shows; None if it has none."""
        return self._signs if self.at_work else None

    def _seen(self, change: Change[Lease]) -> None:
        """Notes by our own clock that the lease changed: others may be wrong."""
        old, new = change
        now, last = self._clock.now(), self._signs
        is_taken = last is not None and _holder(old) != _holder(new)
        taken = now if is_taken else (last.taken if last is not None else None)
        self._signs = SchedulerSigns(now, taken)

    def on_new(self, call: Callable[[], None]) -> None:
        """Calls when another one takes over; that one renews its lease is no news."""

        def changed(change: Change[Lease]) -> None:
            old, new = change
            if _holder(old) != _holder(new):
                call()

        self._leases.on_change(changed)


def _holder(lease: Lease | None) -> str:
    return (lease.spec.holder_identity or "") if lease is not None else ""
