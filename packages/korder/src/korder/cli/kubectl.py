"""`korder kubectl ...`: the real kubectl on the embedded cluster, or a sentence about how to get one.

The words are taken as they were typed: a parser would drop the `--` that stands before another program's words.
"""

from collections.abc import Sequence
from itertools import takewhile
import os
from pathlib import Path
import shutil
import sys

from korder.cli.paths import EMBEDDED, chosen_kubeconfig
from kubeloop.client.errors import ConfigError

HOW_TO_GET_ONE = (
    "kubectl is not on the PATH. Your system's packages have it (apt: kubernetes-client, brew: kubernetes-cli), and so does "
    "https://kubernetes.io/docs/tasks/tools; for the daily verbs there are korder get, watch, apply, describe and delete"
)


def run() -> None:
    """Run kubectl on the embedded cluster, or on that of KUBECONFIG."""
    program, words = shutil.which("kubectl"), sys.argv[2:]
    if program is None:
        raise ConfigError(HOW_TO_GET_ONE)
    environment = dict(os.environ)
    if not environment.get("KUBECONFIG"):
        environment["KUBECONFIG"] = _kubeconfig(words)
    os.execve(program, [Path(program).name, *words], environment)  # noqa: S606  it replaces this process


def _kubeconfig(words: Sequence[str]) -> str:
    try:
        return chosen_kubeconfig(EMBEDDED) or ""
    except ConfigError:
        if _asks_for_help(words):
            return ""
        raise


def _asks_for_help(words: Sequence[str]) -> bool:
    """Whether kubectl answers without a cluster; what stands behind `--` is said to another program."""
    own = list(takewhile(lambda word: word != "--", words))
    return not own or own[0] == "help" or not {"-h", "--help"}.isdisjoint(own)
