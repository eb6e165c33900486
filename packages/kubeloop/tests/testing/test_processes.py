from collections.abc import Iterator
import os
from pathlib import Path
import select
import signal
import subprocess
import sys

import pytest

from kubeloop.testing import processes
from kubeloop.testing.processes import Process, ProgramFailed

# Children live in real time, which a virtual loop would not give them.
pytestmark = pytest.mark.enable_socket

SERVES = "import os, signal; print('ready', os.getpid(), flush=True); signal.pause()"
IGNORES_SIGTERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SERVES}"


class Bench:
    """Makes programs of a line of Python that are ready once they have written so to their log."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.made: list[Process] = []

    def program(self, code: str, grace: float = processes.GRACE) -> Process:
        log = self._folder / "program.log"

        async def is_ready() -> bool:
            return f"ready {process.pid}\n" in log.read_text()

        command = (sys.executable, "-c", code)
        process = Process("counter", command, log=log, is_ready=is_ready, grace=grace)
        self.made.append(process)
        return process


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for process in bench.made:
        process.kill()


def exists(pid: int) -> bool:
    return Path("/proc", str(pid)).exists()


def state(process: Process) -> str:
    return Path("/proc", str(process.pid), "stat").read_text().split()[2]


def goes_on(process: Process) -> bool:
    assert process.pid is not None
    return os.waitid(os.P_PID, process.pid, os.WCONTINUED) is not None


async def test_a_started_program_runs_and_a_stopped_one_is_gone(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    pid = process.pid
    assert pid is not None
    assert exists(pid)
    await process.stop()
    assert process.pid is None
    assert not exists(pid)


async def test_a_restarted_program_is_a_new_process_and_keeps_its_log(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    first = process.pid
    await process.restart()
    assert process.pid not in (None, first)
    assert process.log.read_text() == f"ready {first}\nready {process.pid}\n"


async def test_a_program_that_runs_is_not_started_twice(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    with pytest.raises(ProgramFailed, match="counter runs already"):
        await process.start()
    assert process.pid is not None


async def test_a_program_that_dies_at_start_says_why(bench: Bench) -> None:
    process = bench.program("import sys; print('before'); sys.exit('the port is taken')")
    with pytest.raises(ProgramFailed) as failure:
        await process.start()
    message = str(failure.value)
    assert message.startswith("counter ended with exit code 1.")
    assert "the port is taken" in message
    assert str(process.log) in message


async def test_only_the_end_of_a_long_log_is_shown(bench: Bench) -> None:
    process = bench.program("import sys; print(*range(1000), sep='\\n'); sys.exit(1)")
    with pytest.raises(ProgramFailed) as failure:
        await process.start()
    lines = str(failure.value).splitlines()
    assert len(lines) == 1 + processes.LAST_LINES
    assert lines[-1].strip() == "999"


async def test_a_program_that_is_never_ready_is_killed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.2)
    process = bench.program("import signal; signal.pause()")
    with pytest.raises(ProgramFailed, match=r"counter was not ready after .* \(empty\)"):
        await process.start()
    assert process.pid is None


async def test_waiting_for_a_program_that_was_never_started_fails_at_once(bench: Bench) -> None:
    process = bench.program(SERVES)
    process.log.touch()
    with pytest.raises(ProgramFailed, match="counter was not started"):
        await process.ready()


async def test_a_program_that_does_not_listen_is_killed_when_its_grace_is_over(
    bench: Bench,
) -> None:
    process = bench.program(IGNORES_SIGTERM, grace=0.05)
    await process.start()
    await process.stop()
    assert process.pid is None


async def test_a_paused_program_stands_still_until_it_is_resumed(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    process.pause()
    assert state(process) == "T"
    process.resume()
    assert goes_on(process)
    process.pause()
    assert state(process) == "T"


async def test_a_paused_program_can_be_stopped_and_killed(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    process.pause()
    await process.stop()
    await process.start()
    process.pause()
    process.kill()
    assert process.pid is None


async def test_a_program_that_does_not_run_cannot_be_paused(bench: Bench) -> None:
    with pytest.raises(ProgramFailed, match="does not run"):
        bench.program(SERVES).pause()


async def test_ending_what_has_ended_is_fine(bench: Bench) -> None:
    process = bench.program(SERVES)
    process.kill()
    await process.stop()
    await process.start()
    process.kill()
    process.kill()
    await process.stop()


async def test_ctrl_c_at_the_terminal_does_not_reach_a_program(bench: Bench) -> None:
    process = bench.program(SERVES)
    await process.start()
    assert process.pid is not None
    assert os.getpgid(process.pid) != os.getpgrp()


PARENT = f"""
from pathlib import Path
import signal, sys
from kubeloop.testing.processes import Process

async def never(): ...

child = Process("child", (sys.executable, "-c", {SERVES!r}), log=Path(sys.argv[1]), is_ready=never)
child.spawn()
while "ready" not in child.log.read_text():
    pass
print(child.pid, flush=True)
if sys.argv[2] == "stay":
    signal.pause()
"""


@pytest.mark.parametrize("end", ["killed", "normal"])
def test_a_program_does_not_outlive_the_process_that_started_it(tmp_path: Path, end: str) -> None:
    stay = "stay" if end == "killed" else "go"
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log"), stay]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:  # noqa: S603 - our own
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if end == "killed":
            child = os.pidfd_open(pid)
            parent.send_signal(signal.SIGKILL)
            gone, _, _ = select.select([child], [], [], 5)
            os.close(child)
            assert gone
    if end == "normal":
        assert not exists(pid)
