"""`korder up` as a child of a test or benchmark: started until ready, killed, started again on the same data.

For everything that wants a whole process: clients of others over TLS, power cuts, memory, the time until it is ready. A test that
only wants an API server has `pocketkube.testing.apiserver` without a process.
"""

from pathlib import Path
import sys
from types import TracebackType
from typing import Self

from kubeloop.testing.processes import Process


class UpProcess:
    """One embedded cluster in a process and a folder of its own.

    Args:
        folder: Where it keeps its things; the log is there too.
        flags: More flags of `korder up`.
    """

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self._log = folder / "up.log"
        self._reported = 0
        self.process = Process(
            "korder up",
            (sys.executable, "-m", "korder", "up", "--data-dir", str(folder), *flags),
            log=self._log,
            is_ready=self._is_ready,
        )

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    async def start(self) -> None:
        """Starts it and waits until it says that it is ready."""
        self._reported = self._log.stat().st_size if self._log.exists() else 0
        await self.process.start()

    async def stop(self) -> None:
        """Lets it end properly."""
        await self.process.stop()

    async def interrupt(self) -> None:
        """Ends it with Ctrl-C and waits until it is gone."""
        await self.process.interrupt()

    def kill(self) -> None:
        """Cuts its power."""
        self.process.kill()

    async def __aenter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _is_ready(self) -> bool:
        return b"ready in" in self._log.read_bytes()[self._reported :]
