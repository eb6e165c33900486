"""`korder up` again and again on one folder: what is kept, what is forgotten, two at once, and Ctrl-C at any moment."""

import asyncio
from collections.abc import Callable
from pathlib import Path
import signal
import subprocess
from subprocess import PIPE, STDOUT
import sys

import pytest

from korder.testing.up import UpProcess

pytestmark = [pytest.mark.enable_socket]

Korder = Callable[..., subprocess.CompletedProcess[str]]

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that verbs in the home of the test look into."""
    folder = tmp_path / ".local" / "share" / "korder"
    folder.mkdir(parents=True)
    return folder


def test_state_is_kept_nodes_follow_the_flags_and_a_reset_forgets(
    quick: Korder, folder: Path
) -> None:
    def shown(*what: str) -> list[str]:
        return quick("get", *what, "-o", "name").stdout.split()

    async def next_run(up: UpProcess, *flags: str) -> UpProcess:
        await up.interrupt()
        following = UpProcess(folder, *flags)
        await following.start()
        return following

    up = UpProcess(folder, "--nodes", "3")
    asyncio.run(up.start())
    assert quick("apply", "-f", "-", stdin=MAP).stdout == "configmap/kept created\n"
    assert shown("nodes") == ["node/node-1", "node/node-2", "node/node-3"]
    port = (folder / "port").read_text()

    up = asyncio.run(next_run(up, "--nodes", "1"))
    assert (folder / "port").read_text() == port
    assert shown("cm", "kept") == ["configmap/kept"]
    assert shown("nodes") == ["node/node-1"]

    up = asyncio.run(next_run(up, "--nodes", "0", "--reset"))
    assert shown("cm", "kept") == []
    assert shown("nodes") == []
    asyncio.run(up.stop())


@pytest.mark.parametrize(
    ("first", "others", "following"),
    [
        pytest.param([], [[], ["--reset"], ["--memory"]], ["--memory"], id="it keeps state"),
        pytest.param(["--memory"], [[], ["--memory"]], [], id="it keeps nothing"),
    ],
)
def test_a_folder_has_one_cluster_at_a_time_and_is_free_as_soon_as_that_is_killed(
    korder: Korder,
    quick: Korder,
    folder: Path,
    first: list[str],
    others: list[list[str]],
    following: list[str],
) -> None:
    up = UpProcess(folder, "--nodes", "1", *first)
    asyncio.run(up.start())
    files = written(folder)
    for flags in others:
        second = korder("up", *flags)
        assert second.returncode == 1
        assert second.stderr == (
            f"korder: {folder} is in use by another `korder up`:"
            " end that one, or give this one a folder of its own with --data-dir\n"
        )
    assert written(folder) == files
    assert quick("get", "nodes", "-o", "name").stdout == "node/node-1\n"
    up.kill()
    up = UpProcess(folder, "--nodes", "1", *following)
    asyncio.run(up.start())
    asyncio.run(up.stop())


def written(folder: Path) -> dict[str, int]:
    """What is there and when it was written; 0 for what a cluster at work writes all the time."""
    busy = ("state.db", "up.log")
    return {
        file.name: 0 if file.name.startswith(busy) else file.stat().st_mtime_ns
        for file in folder.iterdir()
    }


def test_ctrl_c_during_the_start_ends_it_quietly_and_the_next_start_works(folder: Path) -> None:
    command = [sys.executable, "-m", "korder", "up", "--data-dir", str(folder), "--nodes", "1"]
    with subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, text=True) as starting:  # noqa: S603
        asyncio.run(appears(folder / "state.db"))
        starting.send_signal(signal.SIGINT)
        said, _ = starting.communicate(timeout=100)
    assert (starting.returncode, said) == (130, "")
    up = UpProcess(folder, "--nodes", "1")
    asyncio.run(up.start())
    asyncio.run(up.stop())


async def appears(file: Path) -> None:
    """Waits until there is such a file: the start is under way."""
    async with asyncio.timeout(100):
        while not file.exists():  # noqa: ASYNC240  a look, nothing is read
            await asyncio.sleep(0.005)
