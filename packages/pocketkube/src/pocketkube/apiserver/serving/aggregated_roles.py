"""ClusterRoles that gather the rules of others: kept up to date with every write of a ClusterRole.

A real cluster has a controller for it; here it is done before the write is answered, so whoever labels a role for `admin` sees it
there at once. `assembly` registers `follow` for ClusterRoles.
"""

from pocketkube.apiserver.access import policy
from pocketkube.apiserver.access.rbac import CLUSTER_ROLES, GROUP
from pocketkube.apiserver.managed_fields import apply as ownership, endpoints
from pocketkube.apiserver.serving.call import ATTEMPTS, World
from pocketkube.apiserver.storage import Conflict, Key, NotFound, Update
from pocketkube.apiserver.view import decoded, draft, fresh

MANAGER = "clusterrole-aggregation-controller"


class Gathering:
    """Follows the writes of ClusterRoles; its own writes it does not follow."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._endpoint = endpoints.builtin(f"{GROUP}/v1", "ClusterRole")

    async def follow(self, key: Key) -> None:
        """Lets all roles gather after one was written or deleted."""
        del key
        await self.settle()

    async def settle(self) -> None:
        """Lets all roles gather."""
        for _ in range(ATTEMPTS):
            try:
                await self._gather()
            except (Conflict, NotFound):
                continue
            return

    async def _gather(self) -> None:
        storage = self._world.storage
        records = {record.key.name: record for record in storage.page(CLUSTER_ROLES).records}
        for name, rules in policy.gathered(list(map(decoded, records.values()))):
            record = records[name]
            wanted = {**fresh(record), "rules": rules}
            owned = ownership.update(
                self._endpoint, decoded(record), wanted, MANAGER, self._world.now()
            )
            await storage.write(Update(record.key, draft(owned), record.version))
