"""A manager that writes as fast as it may, for the election test: patches of one object and creates under counted names."""

import asyncio
from datetime import datetime
import random
import signal
import sys

from kubeloop.client.connect import open_client
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import Create, Patch, Plan
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.informer import Scope
from kubeloop.runtime.leader import Terms
from kubeloop.runtime.manager import Manager, Settings


async def run(kubeconfig: str, namespace: str, lease: str, name: str) -> None:
    clock, rng = SystemClock(), random.Random(name)
    async with open_client(kubeconfig, now=clock.now, rng=rng, user_agent=name) as client:
        settings = Settings(
            identity=name,
            lease=Key(namespace, lease),
            terms=Terms(lease=8, renew=6, retry=0.5),
        )
        manager = Manager(client, settings, clock=clock, rng=rng)
        counters = manager.informers.of(CONFIG_MAPS, Scope(namespace=namespace))

        def reconcile(key: Key, now: datetime) -> Plan:
            counter = counters.reader.get(key)
            if counter is None or not key.name.startswith("counter-"):
                return Plan()
            count = int(counter.data["count"])
            child = Key(namespace, f"made-by-{key.name}-{count}")
            meta: JSON = {"name": child.name, "namespace": child.namespace}
            counted: JSON = {"data": {"count": str(count + 1)}}
            version = counter.metadata.resource_version
            plan = Plan()
            if counters.reader.get(child) is None:
                plan = plan.then(Create(CONFIG_MAPS, {"metadata": meta}))
            patch = Patch(CONFIG_MAPS, key, counted, resource_version=version)
            return plan.then(patch).requeue(now)

        manager.controller("count", reconcile).follow(counters)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await manager.run(stop)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
