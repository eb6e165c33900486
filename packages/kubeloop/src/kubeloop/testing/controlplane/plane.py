"""The control plane: etcd, API server, scheduler and controller manager, ready in seconds on free ports.

Tests start one with `async with ControlPlane() as plane:` and talk to it through `plane.kubeconfig()`. Each part is a
`processes.Process` that can be stopped, killed, paused and restarted while its port and its data stay. A plane belongs
to no event loop: it may be started in one and used in another.

Every plane is thrown away at its end, so ending it is a power cut for all parts: there is nothing worth a shutdown.
etcd does not wait for the disk for the same reason, unless the question is about durability (`durable`).
"""

import asyncio
import base64
from collections.abc import Collection, Mapping, Sequence
import json
from pathlib import Path
import shutil
import subprocess
import tempfile
from typing import Any, Self

from kubeloop.net import http
from kubeloop.net.client import HttpTransport
from kubeloop.net.ports import LOOPBACK, free_ports
from kubeloop.net.tls import ClientTls, RotatingTls
from kubeloop.testing.controlplane import flags as stated, programs as installed
from kubeloop.testing.controlplane.files import ADMIN, AuditLevel, Files
from kubeloop.testing.controlplane.programs import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KUBECTL,
    SCHEDULER,
)
from kubeloop.testing.processes import GRACE, Process

ANSWER_WITHIN = 5.0
"""Seconds a ready check may wait for its answer."""

ETCD_GRACE = 1.0
"""Seconds etcd may take to stop: it would spend seven on waiting for clients that stay connected."""


class CommandFailed(Exception):
    """A command was refused; the message is what the program said."""


class ControlPlane:
    """Four programs, their folder and their users.

    Args:
        folder: A folder, empty as yet, for logs, kubeconfigs and the audit log; it stays afterwards. Without one a
            temporary folder is used and removed at the end. etcd's data are always removed.
        programs: The folder with the programs; found by `programs.find` if not given.
        users: Names of users who may do nothing until a test binds roles to them.
        audit: Log all writes in this detail; see `audit_lines`.
        without: Names of programs that are not started with the plane; a test may start them later. Without
            "kube-controller-manager" nobody makes service accounts, so pods do not need one.
        scheduler: Fields to put over those of the scheduler's configuration, such as `profiles` or `leaderElection`.
        flags: More flags for a program, by its name.
        durable: Let etcd sync every write to the disk, as it does in a cluster that is not thrown away.
    """

    def __init__(  # noqa: PLR0913  each is a wish of its own
        self,
        *,
        folder: Path | None = None,
        programs: Path | None = None,
        users: Collection[str] = ("viewer",),
        audit: AuditLevel | None = None,
        without: Collection[str] = (),
        scheduler: Mapping[str, object] | None = None,
        flags: Mapping[str, Sequence[str]] | None = None,
        durable: bool = False,
    ) -> None:
        self.programs = installed.find() if programs is None else installed.checked(programs)
        self.users = frozenset((ADMIN, *users))
        self._audited = audit is not None
        self._without = installed.known(without)
        self._flags = flags or {}
        installed.known(self._flags)
        self._owns_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="kubeloop-controlplane-"))
        self._files = files = Files(self.folder)
        ports = stated.Ports(*free_ports(len(stated.Ports._fields)))
        self.server = f"https://{LOOPBACK}:{ports.apiserver}"
        self._etcd_url = f"http://{LOOPBACK}:{ports.etcd}"

        files.write_certificates()
        files.write_users(self.users, self.server)
        files.write_scheduler(scheduler or {})
        if audit is not None:
            files.write_audit_policy(audit)

        self.etcd = self._part(
            ETCD,
            stated.etcd(files, ports, durable=durable),
            f"{self._etcd_url}/readyz",
            grace=ETCD_GRACE,
        )
        self.apiserver = self._part(
            APISERVER,
            stated.apiserver(
                files,
                ports,
                audited=self._audited,
                service_accounts=CONTROLLER_MANAGER not in self._without,
            ),
            f"{self.server}/readyz",
        )
        self.scheduler = self._part(
            SCHEDULER,
            stated.scheduler(files, ports),
            f"https://{LOOPBACK}:{ports.scheduler}/readyz",
        )
        self.controller_manager = self._part(
            CONTROLLER_MANAGER,
            stated.controller_manager(files, ports),
            f"https://{LOOPBACK}:{ports.controller_manager}/healthz",
        )

    @property
    def parts(self) -> tuple[Process, ...]:
        """The programs, in the order in which they need each other."""
        return (self.etcd, self.apiserver, self.scheduler, self.controller_manager)

    async def start(self) -> None:
        """Starts the parts that belong to this plane and waits until they are ready.

        Raises:
            ProgramFailed: one of them is not; all are ended again, and the folder stays because the logs are in it.
        """
        try:
            for part in (self.etcd, self.apiserver):
                if part.name not in self._without:
                    await part.start()
            for part in (self.scheduler, self.controller_manager):
                if part.name not in self._without:
                    part.spawn()
            await self.ready()
        except BaseException:
            self._end()
            raise

    async def ready(self) -> None:
        """Waits until all parts of the plane answer that they are ready."""
        for part in self.parts:
            if part.name not in self._without or part.pid is not None:
                await part.ready()

    async def stop(self) -> None:
        """Ends all parts and removes what they leave."""
        self._end()
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """Names the kubeconfig file of a user."""
        if user not in self.users:
            known = ", ".join(sorted(self.users))
            raise LookupError(f"This control plane does not know {user!r}, only {known}.")
        return self._files.kubeconfig(user)

    async def kubectl(self, *args: str, input: str | None = None, user: str = ADMIN) -> str:  # noqa: A002 - as subprocess calls it
        """Runs kubectl as a user and returns what it prints."""
        command = [str(self.programs / KUBECTL), f"--kubeconfig={self.kubeconfig(user)}", *args]
        return await asyncio.to_thread(self._run, command, input)

    async def compact(self) -> int:
        """Makes etcd forget all history and returns the revision that is left.

        The API server remembers recent changes by itself; after its restart a watch from an older version is refused as
        expired (410), as is the rest of a list that was begun before.
        """
        anything = {"key": base64.b64encode(b"/").decode(), "count_only": True}
        state = await self._ask_etcd("/v3/kv/range", anything)
        revision = int(state["header"]["revision"])
        await self._ask_etcd("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def audit_lines(self) -> list[dict[str, Any]]:
        """Reads the audit log so far: one `audit.k8s.io/v1` Event for each answered write, oldest first."""
        if not self._audited:
            raise LookupError(
                "This control plane keeps no audit log; make it with audit='Metadata'."
            )
        if not self._files.audit_log.exists():
            return []
        *whole, _ = self._files.audit_log.read_bytes().split(b"\n")
        return [json.loads(line) for line in whole]

    def _part(
        self, program: str, flags: Sequence[str], ready_url: str, grace: float = GRACE
    ) -> Process:
        async def is_ready() -> bool:
            try:
                async with asyncio.timeout(ANSWER_WITHIN):
                    status, _ = await self._call(ready_url, "GET")
            except (http.NetError, TimeoutError):
                return False
            return status == 200

        return Process(
            program,
            (str(self.programs / program), *flags, *self._flags.get(program, ())),
            log=self._files.log(program),
            is_ready=is_ready,
            environment=self._surroundings(),
            grace=grace,
        )

    def _surroundings(self) -> Mapping[str, str]:
        # Nothing of the caller's: no proxy, no other cluster, no settings or caches in a home folder.
        return {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}

    def _run(self, command: Sequence[str], typed: str | None) -> str:
        run = subprocess.run(  # noqa: S603 - the kubectl of this plane
            command,
            input=typed,
            env=self._surroundings(),
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise CommandFailed(run.stderr.strip())
        return run.stdout

    async def _ask_etcd(self, path: str, question: Mapping[str, object]) -> dict[str, Any]:
        status, body = await self._call(
            self._etcd_url + path, "POST", json.dumps(question).encode()
        )
        if status != 200:
            raise CommandFailed(f"etcd answered {status} to {path}: {body.decode()}")
        answer: dict[str, Any] = json.loads(body)
        return answer

    async def _call(self, url: str, method: str, body: bytes = b"") -> tuple[int, bytes]:
        tls = RotatingTls(lambda: ClientTls(ca_file=str(self._files.authority)))
        transport = HttpTransport(url, tls=tls)
        try:
            async with await transport.send(http.Request(method, "", body=body)) as response:
                return response.status, await response.read()
        finally:
            await transport.close()

    def _end(self) -> None:
        for part in self.parts:
            part.kill()
        shutil.rmtree(self._files.etcd_data, ignore_errors=True)
