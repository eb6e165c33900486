"""Gives services their addresses and node ports, from what other services leave free.

What was given to a service whose write is under way counts as taken, so that two services made at the same time get different
addresses, and only one of them the address that both ask for.
"""

from collections.abc import Iterator
from functools import partial
import random

from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes, Operation, Plugin
from pocketkube.apiserver.kinds import serviceaddresses
from pocketkube.apiserver.kinds.serviceaddresses import Taken
from pocketkube.apiserver.view import Object, View


class ServiceAddresses(Plugin):
    """Assigns addresses while a write of a service is completed."""

    resources = frozenset({"services"})

    def __init__(self, view: View, rng: random.Random) -> None:
        self._view = view
        self._rng = rng
        self._under_way: dict[int, Attributes] = {}

    async def complete(self, attributes: Attributes) -> None:
        obj = attributes.object
        writes = attributes.operation in (Operation.CREATE, Operation.UPDATE)
        if (
            obj is None
            or not writes
            or attributes.resource.stored != "services"
            or attributes.subresource
        ):
            return
        taken = Taken.by(self._others(attributes))
        causes = serviceaddresses.assign(obj, attributes.old, taken, self._rng)
        if causes:
            raise refusal.invalid("Service", "", attributes.name, causes)
        self._under_way[id(attributes)] = attributes
        attributes.afterwards.append(partial(self._under_way.__delitem__, id(attributes)))

    def _others(self, attributes: Attributes) -> Iterator[Object]:
        me = attributes.namespace, attributes.name
        for other in self._view.all("services"):
            if (other["metadata"].get("namespace"), other["metadata"]["name"]) != me:
                yield other
        for write in self._under_way.values():
            if write.object is not None:
                yield write.object
