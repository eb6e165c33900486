"""One program as a child of the test: started until ready, stopped, killed, paused, and never left behind.

`controlplane` makes one `Process` for each part of Kubernetes; tests of whole programs can do the same. Nothing here
belongs to an event loop, so a program started in one loop can be used and ended in another.

A child dies with us however we end: normally through `atexit`, and on Linux, if we are killed, because the kernel was
asked to (PDEATHSIG). The child asks for that itself, in a line of Python that then becomes the program: asking between
fork and exec is not safe where there are threads. The kernel counts the death of the *thread* that started the child,
so a program started elsewhere than in the main thread has only `atexit`.
"""

import asyncio
import atexit
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading

PATIENCE = 60.0
"""Seconds a program may take to become ready."""

GRACE = 20.0
"""Seconds a program may take to end by itself after SIGTERM, unless it is given less."""

POLL = 0.02
"""Seconds between two looks at a child or its ready check."""

LAST_LINES = 15
"""How much of a log an error message carries."""

_ON_A_LEASH = """\
import ctypes, os, sys
PR_SET_PDEATHSIG, SIGKILL = 1, 9
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent ended before the program began")
os.execv(sys.argv[2], sys.argv[2:])
"""


class ProgramFailed(Exception):
    """A program ended or never became ready; the message carries the end of its log and says where the rest is."""


class Process:
    """A program that can be started again and again with the same command and the same log."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        is_ready: Callable[[], Awaitable[bool]],
        environment: Mapping[str, str] | None = None,
        grace: float = GRACE,
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._is_ready = is_ready
        self._environment = environment
        self._grace = grace
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running program, None if it does not run."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    async def start(self) -> None:
        """Starts the program and waits until it is ready; one that is not is killed."""
        self.spawn()
        try:
            await self.ready()
        except BaseException:
            self.kill()
            raise

    def spawn(self) -> None:
        """Starts the program without waiting."""
        if self.pid is not None:
            raise ProgramFailed(f"{self.name} runs already, as process {self.pid}.")
        with self.log.open("ab") as log:
            # Its own session keeps Ctrl-C from reaching it before the test could end it properly.
            self._child = subprocess.Popen(  # noqa: S603 - the caller's own program
                _leashed(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        atexit.register(self.kill)

    async def ready(self) -> None:
        """Waits until the program answers that it is ready."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not await self._is_ready():
                    if self.pid is None:
                        raise ProgramFailed(self._explain(f"{self.name} {self._fate()}"))
                    await asyncio.sleep(POLL)
        except TimeoutError:
            problem = f"{self.name} was not ready after {PATIENCE:.0f} s"
            raise ProgramFailed(self._explain(problem)) from None

    async def stop(self) -> None:
        """Asks the program to end, and kills it if it does not; one that is paused is resumed for that."""
        self._signal(signal.SIGTERM)
        await self._end()

    async def interrupt(self) -> None:
        """Ends the program as Ctrl-C would, and kills it if that does not."""
        self._signal(signal.SIGINT)
        await self._end()

    async def _end(self) -> None:
        self._signal(signal.SIGCONT)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                while self.pid is not None:
                    await asyncio.sleep(POLL)
        self.kill()

    def kill(self) -> None:
        """Ends the program as a power cut would; it is gone on return."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            atexit.unregister(self.kill)

    async def restart(self) -> None:
        """Stops the program and starts it again."""
        await self.stop()
        await self.start()

    def pause(self) -> None:
        """Freezes the program; it stands still on return."""
        if self._child is None or self.pid is None:
            raise ProgramFailed(f"{self.name} does not run and cannot be paused.")
        self._signal(signal.SIGSTOP)
        seen = os.waitid(os.P_PID, self._child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if seen is not None and seen.si_code == os.CLD_STOPPED:
            os.waitid(os.P_PID, self._child.pid, os.WSTOPPED)

    def resume(self) -> None:
        """Lets a paused program go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        # Popen knows whether the child was reaped, so the signal can never hit a stranger with its old id.
        if self._child is not None:
            self._child.send_signal(number)

    def _fate(self) -> str:
        code = None if self._child is None else self._child.returncode
        if code is None:
            return "was not started"
        return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"

    def _explain(self, problem: str) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        tail = "".join(f"\n    {line}" for line in lines[-LAST_LINES:])
        return f"{problem}. The end of its log, {self.log}:{tail or ' (empty)'}"


def _leashed(command: Sequence[str]) -> Sequence[str]:
    on_main_thread = threading.current_thread() is threading.main_thread()
    if not (on_main_thread and sys.platform == "linux"):
        return command
    return (sys.executable, "-I", "-S", "-c", _ON_A_LEASH, str(os.getpid()), *command)
