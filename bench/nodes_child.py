"""Nodes and kubelets for a cluster that is measured, in a process of their own; they end when nobody listens any more."""

import asyncio
from pathlib import Path
import sys

from bench.plane import a_client
from korder.cli import logs, loops
from kubeloop.runtime.clock import SystemClock
from pocketkube.nodes.machines import Shape
from pocketkube.testing.nodes import simulated_nodes

PODS = 200
"""How many pods a node takes."""


async def main(kubeconfig: str, count: int, cpu: str) -> None:
    """Plays the nodes until the input ends."""
    shape = Shape(cpu=cpu, memory="64Gi", pods=PODS)
    shapes = {f"node-{index}": shape for index in range(count)}
    async with (
        a_client(Path(kubeconfig)) as client,
        simulated_nodes(client, shapes, clock=SystemClock()),
    ):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    logs.configure(logs.LogFormat.TEXT)
    with asyncio.Runner(loop_factory=loops.fastest()) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
