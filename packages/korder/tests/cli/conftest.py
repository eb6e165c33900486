"""One embedded cluster for the tests of the command line, and two ways to type a command: as a child, and in this process.

A child takes a second to import itself, so only what takes over the process (`up`, `manager`, `kubectl`) or proves that it can be
typed at all is one.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
import io
import os
from pathlib import Path
import subprocess
import sys

import pytest

from korder.cli.main import main
from korder.testing.up import UpProcess

Done = subprocess.CompletedProcess[str]
Korder = Callable[..., Done]


def environment(home: Path, **more: str) -> dict[str, str]:
    """What surrounds a command in a home of its own."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        **more,
    }


def child(home: Path, *args: str, stdin: str = "", **more: str) -> Done:
    """Runs the command as a child."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "korder", *args],
        env=environment(home, **more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def typed(home: Path, *args: str, stdin: str = "", **more: str) -> Done:
    """Runs the command in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in os.environ:
            patch.delenv(name)
        for name, value in environment(home, **more).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["korder", *args])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Done(args, code, out.getvalue(), err.getvalue())


@pytest.fixture
def korder(tmp_path: Path) -> Korder:
    """Runs the command in an empty home, as a child."""
    return lambda *args, **given: child(tmp_path, *args, **given)


@pytest.fixture
def quick(tmp_path: Path) -> Korder:
    """Runs the command in an empty home, in this process."""
    return lambda *args, **given: typed(tmp_path, *args, **given)


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
    """Runs the command where the embedded cluster runs, in this process."""
    return lambda *args, **given: typed(home, *args, **given)
