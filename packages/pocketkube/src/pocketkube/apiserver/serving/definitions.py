"""What follows from a CustomResourceDefinition: its conditions, the resources it brings, and the end of its objects.

A real server does this in controllers some moments later; here it is done before the write of the definition is answered, so
whoever created one can use it at once. `start` does it for everything that was stored before.
"""

from typing import Any

from kubeloop.objects import instant
from pocketkube.apiserver.kinds import custom
from pocketkube.apiserver.kinds.definition import CLEANUP, GROUP, KIND, STORED, TERMINATING
from pocketkube.apiserver.managed_fields import apply as ownership, endpoints
from pocketkube.apiserver.schemas import crds
from pocketkube.apiserver.serving.call import ATTEMPTS, World
from pocketkube.apiserver.storage import Conflict, Delete, Key, NotFound, Record, Update
from pocketkube.apiserver.view import decoded, draft, fresh

Object = dict[str, Any]
_STATUS = endpoints.builtin(f"{GROUP}/v1", KIND, endpoints.STATUS)
_MANAGER = "kube-apiserver"


class Definitions:
    """Follows the writes of definitions; its own writes it does not follow."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def start(self) -> None:
        """Serves everything that is stored."""
        for record in self._world.storage.page(STORED).records:
            await self.follow(record.key)

    async def follow(self, key: Key) -> None:
        """Does what a definition asks for after it was written or deleted, and gives names that became free to those who wait."""
        await self._settle(key)
        _, _, group = key.name.partition(".")
        for record in self._world.storage.page(STORED).records:
            other = decoded(record)
            if record.key != key and other["spec"]["group"] == group and not _is_accepted(other):
                await self._settle(record.key)

    async def _settle(self, key: Key) -> None:
        for _ in range(ATTEMPTS):
            try:
                await self._follow(key)
            except (Conflict, NotFound):
                continue
            return

    async def _follow(self, key: Key) -> None:
        record = self._world.storage.get(key)
        if record is None:
            self._world.registry.install(key.name, ())
            return
        definition = decoded(record)
        if "deletionTimestamp" in definition["metadata"]:
            await self._clean_up(key, definition)
            return
        status = self._status(definition)
        if status != definition.get("status"):
            changed = {**fresh(record), "status": status}
            changed = ownership.update(_STATUS, definition, changed, _MANAGER, self._world.now())
            await self._world.storage.write(Update(key, draft(changed), record.version))
        accepted = bool(status["acceptedNames"]["plural"])
        self._install(key.name, definition if accepted else None)

    def _install(self, name: str, definition: Object | None) -> None:
        registry, version = self._world.registry, self._world.storage.version
        found = custom.resources(definition, registry.added(name), version) if definition else ()
        registry.install(name, found)

    def _status(self, definition: Object) -> Object:
        others = self._world.view.all(STORED)
        wanted = crds.status_of(definition, others, instant.render(self._world.now()))
        there = definition.get("status") or {}
        stored = there.get("storedVersions") or []
        wanted["storedVersions"] = list(dict.fromkeys([*stored, *wanted["storedVersions"]]))
        wanted["conditions"] = _kept(there.get("conditions") or [], wanted["conditions"])
        return wanted

    async def _clean_up(self, key: Key, definition: Object) -> None:
        """Removes all objects of a definition that is being deleted, then the definition."""
        await self._tell_of_end(key, definition)
        world, spec = self._world, definition["spec"]
        resource = f"{spec['names']['plural']}.{spec['group']}"
        for record in world.storage.page(resource).records:
            await self._condemn(record)
        if world.storage.page(resource).records:
            # Somebody's finalizer keeps an object; whenever one goes, it is looked at again.
            world.followers[resource] = lambda _: self.follow(key)
            if _is_accepted(definition) and not world.registry.added(key.name):
                world.registry.install(key.name, custom.resources(definition))
            return
        world.followers.pop(resource, None)
        world.registry.install(key.name, ())
        await self._let_go(key)

    async def _tell_of_end(self, key: Key, definition: Object) -> None:
        stored, status = self._world.storage.get(key), definition.get("status") or {}
        there = status.get("conditions") or []
        others = [each for each in there if each["type"] != TERMINATING]
        ending = crds.terminating(instant.render(self._world.now()))
        conditions = [*others, *_kept(there, [ending])]
        if stored is None or conditions == there:
            return
        changed = {**fresh(stored), "status": {**status, "conditions": conditions}}
        owned = ownership.update(_STATUS, definition, changed, _MANAGER, self._world.now())
        await self._world.storage.write(Update(key, draft(owned), stored.version))

    async def _condemn(self, record: Record) -> None:
        obj = fresh(record)
        meta = obj["metadata"]
        if not meta.get("finalizers"):
            await self._world.storage.write(Delete(record.key, draft(obj), record.version))
        elif "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = instant.render(self._world.now())
            meta["deletionGracePeriodSeconds"] = 0
            if meta.get("generation"):
                meta["generation"] += 1
            await self._world.storage.write(Update(record.key, draft(obj), record.version))

    async def _let_go(self, key: Key) -> None:
        stored = self._world.storage.get(key)
        if stored is None:
            return
        changed = fresh(stored)
        left = [each for each in changed["metadata"].get("finalizers") or () if each != CLEANUP]
        changed["metadata"]["finalizers"] = left
        write = Update if left else Delete
        await self._world.storage.write(write(key, draft(changed), stored.version))


def _is_accepted(definition: Object) -> bool:
    return bool(((definition.get("status") or {}).get("acceptedNames") or {}).get("plural"))


def _kept(there: list[Object], wanted: list[Object]) -> list[Object]:
    """Conditions that say what they said before keep their times."""
    before = {each["type"]: each for each in there}
    found = []
    for each in wanted:
        old = before.get(each["type"])
        same = old is not None and old["status"] == each["status"]
        found.append(
            {**each, "lastTransitionTime": old["lastTransitionTime"]} if old and same else each
        )
    return found
