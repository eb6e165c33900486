"""Leases: how long a leader leads."""

from collections.abc import Iterator

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object


class Leases(Plain):
    """How leases are judged; coordinated election is off, so its members are dropped."""

    qualified_finalizers = False

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        _drop_coordination(obj)

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        _drop_coordination(obj)

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if seconds is not None and seconds <= 0:
            yield fe.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
        if transitions is not None and transitions < 0:
            stated = "must be greater than or equal to 0"
            yield fe.invalid("spec.leaseTransitions", transitions, stated)


def _drop_coordination(obj: Object) -> None:
    spec = obj.get("spec") or {}
    spec.pop("strategy", None)
    spec.pop("preferredHolder", None)
