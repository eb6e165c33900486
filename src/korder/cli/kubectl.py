"""`korder kubectl ...`: the real kubectl on the embedded cluster, or a sentence about how to get one."""

import os
from pathlib import Path
import shutil

import typer

from korder.cli.places import EMBEDDED, chosen_kubeconfig
from korder.kube.errors import ConfigError

HOW_TO_GET_ONE = (
    "kubectl is not on the PATH. Your system's packages have it (apt: kubernetes-client, brew: kubernetes-cli), and so does "
    "https://kubernetes.io/docs/tasks/tools; for the daily verbs there are korder get, watch, apply, describe and delete"
)


def run(context: typer.Context) -> None:
    """Run kubectl on the embedded cluster, or on that of KUBECONFIG."""
    program = shutil.which("kubectl")
    if program is None:
        raise ConfigError(HOW_TO_GET_ONE)
    environment = dict(os.environ)
    if not environment.get("KUBECONFIG"):
        environment["KUBECONFIG"] = chosen_kubeconfig(EMBEDDED) or ""
    os.execve(program, [Path(program).name, *context.args], environment)  # noqa: S606  it replaces this process
