"""Looks once at every new pod that carries our answer, and lets `rules.doors.pretending` tell those that wrote it themselves."""

from datetime import datetime

from korder.api.core import PODS, Pod
from korder.api.meta import Key, key_of
from korder.api.plan import NOTHING, Plan
from korder.api.reserve import TICKETS
from korder.reserve.controllers.claims import BY_CLAIMANT, by_claimant
from korder.reserve.rules.doors import pretending
from korder.runtime.manager import Manager
from korder.runtime.store import Change


class Pretenders:
    """Finds claims that are none."""

    def __init__(self, manager: Manager) -> None:
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._tickets.add_index(BY_CLAIMANT, by_claimant)
        self._controller = manager.controller("pretenders", self._turn, workers=1)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        old, new = change
        if old is None and new is not None and pretending.words(new):
            self._controller.queue.add(key_of(new))

    def _turn(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        if pod is None:
            return NOTHING
        claimed = self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid)
        return pretending.plan(pod, now, claims=bool(claimed))
