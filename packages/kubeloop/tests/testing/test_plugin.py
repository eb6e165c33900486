"""The pytest plugin: a test that leaves a task behind fails and says which."""

from pathlib import Path
import subprocess
import sys

SUITE = """
import asyncio

pytest_plugins = ["kubeloop.testing.plugin"]
tasks = set()

async def forgotten():
    await asyncio.sleep(3600)

async def test_leaves_a_task_behind():
    tasks.add(asyncio.get_running_loop().create_task(forgotten(), name="to do"))

async def test_a_day_passes_at_once(clock):
    before = clock.now()
    await asyncio.sleep(86_400)
    assert (clock.now() - before).days == 1
"""


def test_a_leaked_task_fails_its_test_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    run = subprocess.run(  # noqa: S603
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-o",
            "asyncio_mode=auto",
            "-p",
            "no:randomly",
            str(tmp_path),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "left tasks running: to do (forgotten)" in run.stdout
    assert "2 passed, 1 error" in run.stdout
