"""One embedded cluster for all tests of the command line, and the command as a person types it."""

import asyncio
from collections.abc import Callable, Iterator
import os
from pathlib import Path
import subprocess
import sys

import pytest

from korder.testing.up import UpProcess

Done = subprocess.CompletedProcess[str]
Korder = Callable[..., Done]


def command(home: Path, *args: str, stdin: str = "", **environment: str) -> Done:
    """Runs the command in a home of its own."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "korder", *args],
        env={
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **environment,
        },
        input=stdin,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.fixture
def korder(tmp_path: Path) -> Korder:
    """Runs the command in an empty home."""
    return lambda *args, **given: command(tmp_path, *args, **given)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose embedded cluster runs."""
    home = tmp_path_factory.mktemp("home")
    up = UpProcess(home / ".local" / "share" / "korder", "--memory", "--nodes", "2")
    up.folder.mkdir(parents=True)
    asyncio.run(up.start())
    yield home
    asyncio.run(up.stop())


@pytest.fixture
def here(home: Path) -> Korder:
    """Runs the command where the embedded cluster runs."""
    return lambda *args, **given: command(home, *args, **given)
