"""`korder manager` as a person runs it, on a cluster whose admission knows the manager by another name or by this one."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
import sys

import pytest
from tests.cli.conftest import environment, typed

from korder.testing.up import UpProcess
from kubeloop.testing.processes import Process

pytestmark = [pytest.mark.enable_socket]


@pytest.fixture
def unmanaged(tmp_path: Path) -> Iterator[Path]:
    """A home whose cluster has admission and leaves the manager to somebody else."""
    folder = tmp_path / ".local" / "share" / "korder"
    folder.mkdir(parents=True)
    up = UpProcess(folder, "--memory", "--nodes", "1", "--without", "korder")
    asyncio.run(up.start())
    yield tmp_path
    asyncio.run(up.stop())


def the_start(home: Path, *flags: str, sign: str = "synced") -> str:
    """What a manager says until it says that."""
    log = home / "manager.log"
    log.unlink(missing_ok=True)

    async def is_ready() -> bool:
        return sign in log.read_text()

    nowhere = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    command = (sys.executable, "-m", "korder", "manager", *nowhere, *flags)
    process = Process(
        "korder manager", command, log=log, is_ready=is_ready, environment=environment(home)
    )
    asyncio.run(process.start())
    asyncio.run(process.stop())
    return log.read_text()


def test_who_runs_the_manager_hears_that_admission_does_not_know_him_until_it_does(
    unmanaged: Path,
) -> None:
    said = the_start(unmanaged)
    assert "admission judges what this manager writes" in said
    assert "user=kubernetes-admin" in said
    assert "system:serviceaccount:korder-system:korder-controller-manager" in said
    assert typed(unmanaged, "install", "--manager-user", "kubernetes-admin").returncode == 0
    assert "admission judges" not in the_start(unmanaged)


def test_who_runs_the_manager_stands_for_election_where_korder_is_installed(
    unmanaged: Path,
) -> None:
    elected = partial(the_start, unmanaged, "--leader-elect", sign="leading")
    assert "lease=default/korder-manager" in elected()
    assert typed(unmanaged, "install").returncode == 0
    assert "lease=korder-system/korder-manager" in elected()
    assert "lease=default/korder-manager" in elected("--lease-namespace=default")
