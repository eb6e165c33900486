"""korder on a real control plane as users put it there: `korder install`, and `korder manager` as a process with its own rights."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
import re
import sys

from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.ports import free_ports
from kubeloop.testing.controlplane import ControlPlane
from kubeloop.testing.processes import Process

ACCOUNT = "korder-controller-manager"
NAMESPACE = "korder-system"


async def korder(*args: str) -> tuple[int, str, str]:
    """Runs a verb to its end: exit code, standard output, standard error."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "korder", *args, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def install(plane: ControlPlane, *flags: str) -> str:
    """Installs korder and says what was told."""
    code, out, err = await korder("install", "--kubeconfig", str(plane.kubeconfig()), *flags)
    assert (code, err) == (0, ""), err
    return out


async def account(plane: ControlPlane, folder: Path) -> Path:
    """A kubeconfig of the manager's service account: it may do what its roles say, and nothing else."""
    token = (await plane.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE)).strip()
    config = folder / "manager.kubeconfig"
    config.write_text(re.sub(r"token: .*", f"token: {token}", plane.kubeconfig().read_text()))
    return config


@asynccontextmanager
async def managed(
    plane: ControlPlane, folder: Path, *flags: str, elect: bool = True
) -> AsyncIterator[Process]:
    """Runs a manager while the block does; it is ready when the block begins.

    Without an election, one that was killed and is started again acts at once.
    """
    probes, metrics = free_ports(2)
    process = Process(
        "korder manager",
        (
            sys.executable,
            "-m",
            "korder",
            "manager",
            f"--kubeconfig={await account(plane, folder)}",
            *(("--leader-elect",) if elect else ()),
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            *flags,
        ),
        log=folder / "manager.log",
        is_ready=lambda: _answers(probes),
    )
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


async def _answers(port: int) -> bool:
    transport = HttpTransport(f"http://127.0.0.1:{port}")
    try:
        async with await transport.send(Request("GET", "/readyz")) as answer:
            await answer.read()
            return answer.status == 200
    except Unreachable:
        return False
    finally:
        await transport.close()
