"""Gives services their addresses and node ports, from what the stored services leave free.

What was handed out and is not stored yet is remembered for a while, so that two services made at the same time get
different addresses.
"""

from collections import deque
import random
from typing import Final

from korder.embedded.apiserver import refusal
from korder.embedded.apiserver.admission.attributes import Attributes, Operation, Plugin
from korder.embedded.apiserver.kinds import serviceaddresses
from korder.embedded.apiserver.kinds.serviceaddresses import Taken
from korder.embedded.apiserver.view import Object, View

_REMEMBERED: Final = 1024


class ServiceAddresses(Plugin):
    """Assigns addresses while a write of a service is completed."""

    def __init__(self, view: View, rng: random.Random) -> None:
        self._view = view
        self._rng = rng
        self._given: deque[str] = deque(maxlen=_REMEMBERED)

    async def mutate(self, attributes: Attributes) -> None:
        obj = attributes.object
        writes = attributes.operation in (Operation.CREATE, Operation.UPDATE)
        if (
            obj is None
            or not writes
            or attributes.resource.stored != "services"
            or attributes.subresource
        ):
            return
        others = [each for each in self._view.all("services") if not _same(each, attributes)]
        taken = Taken.by(others)
        asked = (obj.get("spec") or {}).get("clusterIP")
        if not asked:
            taken.addresses.update(self._given)
        causes = serviceaddresses.assign(obj, attributes.old, taken, self._rng)
        if causes:
            raise refusal.invalid("Service", "", attributes.name, causes)
        if not asked and obj["spec"].get("clusterIP") and attributes.old is None:
            self._given.append(obj["spec"]["clusterIP"])


def _same(other: Object, attributes: Attributes) -> bool:
    meta = other["metadata"]
    return (meta.get("namespace"), meta["name"]) == (attributes.namespace, attributes.name)
