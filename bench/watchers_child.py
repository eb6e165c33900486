"""The server of `embedded-watchers`: writes a burst of events when it is asked to and says how much processor time that took.

Asked by an empty line; answers with one number. Events are written straight into the storage, so that little but their delivery is in it.
"""

import asyncio
import gc
from pathlib import Path
import random
import sys
from time import process_time

from korder.cli import loops
from kubeloop.net.ports import LOOPBACK
from kubeloop.net.server import Server
from kubeloop.net.server_tls import ServerTls
from kubeloop.runtime.clock import SystemClock
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.storage import Create, Draft, Key, Storage, open_storage
from pocketkube.cluster import NAMES

BURST = 20
"""Events that are written together: few enough to fit into the buffers of a connection."""
_TURNS = 4
"""Turns of the loop after which an event is on its way: waking the watchers is one, writing another."""
_HEAD = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"'
_TAIL = b'","name":"%b","namespace":"default"},"data":{"text":"' + b"x" * 1000 + b'"}}'


async def write(storage: Storage, first: int) -> float:
    """Writes a burst, each event delivered before the next, since those delivered together cost less; returns the seconds of work."""
    started = process_time()
    for index in range(first, first + BURST):
        name = f"object-{index}"
        draft = Draft(_HEAD, _TAIL % name.encode())
        await storage.write(Create(Key("configmaps", "default", name), draft))
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    return process_time() - started


async def main(kubeconfig: Path) -> None:
    """Serves until nobody asks any more."""
    clock, loop = SystemClock(), asyncio.get_running_loop()
    made = keys.make(clock.now())
    settings = access.Settings(made.signing_key, {made.admin_token: access.ADMIN})
    async with open_storage(None) as storage:
        surroundings = Surroundings(access=settings)
        server = assemble(storage, surroundings, now=clock.now, rng=random.Random(1))
        await server.start()
        tls = ServerTls()
        tls.load(made.serving(NAMES, clock.now()))
        listener = Server(server.handle, LOOPBACK, 0, tls)
        port = await listener.start()
        keys.write_privately(kubeconfig, keys.kubeconfig(made, f"https://{LOOPBACK}:{port}"))
        print("ready", flush=True)
        first = 0
        while await loop.run_in_executor(None, sys.stdin.readline):
            gc.collect()
            print(await write(storage, first), flush=True)
            first += BURST
        await server.close()
        await listener.stop(grace=1.0)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loops.fastest()) as runner:
        runner.run(main(Path(sys.argv[1])))
