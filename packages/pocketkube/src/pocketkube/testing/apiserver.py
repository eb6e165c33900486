"""The embedded API server for tests: whole, without sockets, on inline storage, alone or with whatever the test adds.

It answers in the same process with the bytes it would put on a wire, and runs in virtual time as well as in real time.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import random

from kubeloop.client.client import Client
from kubeloop.net.in_process import InProcessTransport
from kubeloop.runtime.clock import Clock
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access
from pocketkube.apiserver.admission.webhooks import Connect, over_network
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.server import ApiServer
from pocketkube.apiserver.storage import Storage, open_storage


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A server that runs.

    Attributes:
        api: The server itself; `korder.api.handle` answers requests.
        storage: What it stores in; `compact` makes it forget its past.
        admin_token: The token of somebody who may do everything.
    """

    api: ApiServer
    storage: Storage
    admin_token: str

    def transport(self) -> InProcessTransport:
        """Carries requests as they are: who sends them says who it is."""
        return InProcessTransport(self.api.handle)

    def client(self, seed: int = 1) -> Client:
        """The administrator's client."""
        headers = {"Authorization": f"Bearer {self.admin_token}"}
        transport = InProcessTransport(self.api.handle, headers)
        return Client(transport, rng=random.Random(seed))


@asynccontextmanager
async def embedded_server(
    clock: Clock, seed: int = 1, connect: Connect = over_network
) -> AsyncIterator[EmbeddedServer]:
    """Runs an API server without any controllers while the block does; it reaches webhooks with `connect`."""
    rng = random.Random(seed)
    made = keys.make(clock.now(), rng.randbytes)
    settings = access.Settings(made.signing_key, {made.admin_token: access.ADMIN})
    async with open_storage(None) as storage:
        server = assemble(
            storage, Surroundings(access=settings, connect=connect), now=clock.now, rng=rng
        )
        await server.start()
        try:
            yield EmbeddedServer(server, storage, made.admin_token)
        finally:
            await server.close()
