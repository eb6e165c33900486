"""The scene itself: nodes are there, a pod runs, and the parts under test can begin anew."""

from tests.reserve.scene import scene

from kubeloop.objects.core import NODES, PODS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod


async def test_a_pod_runs_on_a_node_of_the_scene(clock: Clock) -> None:
    async with scene(clock) as cluster:
        await cluster.put(a_pod("web").requesting(cpu="1"))
        pod = await cluster.until(PODS, "web", lambda pod: pod.status.phase == "Running")
        await cluster.restart()
        assert pod.spec.node_name in {node.metadata.name for node in await cluster.all(NODES)}
