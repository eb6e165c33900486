"""Where the programs of Kubernetes come from: a folder that is named, or one that the repository builds.

`plane` asks here unless it is handed a folder. Building takes minutes once; later calls only ask the build script
for the folder it has already filled.
"""

from collections.abc import Iterable
import os
from pathlib import Path
import subprocess

ETCD = "etcd"
APISERVER = "kube-apiserver"
SCHEDULER = "kube-scheduler"
CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"
PROGRAMS = (ETCD, APISERVER, SCHEDULER, CONTROLLER_MANAGER, KUBECTL)

VARIABLE = "KORDER_CONTROLPLANE"
"""The environment variable that names a folder with all five programs."""

_BUILD = Path("hack", "controlplane", "build")


class ProgramsMissing(Exception):
    """There is no Kubernetes to start; the message says what to do."""


def find() -> Path:
    """Names the folder with the programs; builds them if the repository is at hand and they are not."""
    if named := os.environ.get(VARIABLE):
        return checked(Path(named))
    for above in Path(__file__).resolve().parents:
        if (above / _BUILD).is_file():
            return checked(_built_by(above / _BUILD))
    raise ProgramsMissing(
        f"No Kubernetes to start: set {VARIABLE} to a folder with {', '.join(PROGRAMS)}."
    )


def checked(folder: Path) -> Path:
    """Returns the folder if it holds all programs."""
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise ProgramsMissing(f"{folder} lacks {', '.join(missing)}.")
    return folder


def known(names: Iterable[str]) -> frozenset[str]:
    """Returns the names if each is one of a program."""
    unknown = set(names) - set(PROGRAMS)
    if unknown:
        raise LookupError(
            f"No such program: {', '.join(unknown)}; there are {', '.join(PROGRAMS)}."
        )
    return frozenset(names)


def _built_by(script: Path) -> Path:
    run = subprocess.run(  # noqa: S603 - a script of this repository
        [script], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        reason = run.stderr.strip() or f"exit code {run.returncode}"
        raise ProgramsMissing(f"Kubernetes could not be built by {script}: {reason}")
    return Path(run.stdout.splitlines()[-1])
