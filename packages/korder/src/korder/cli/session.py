"""What every verb that speaks to a cluster needs: a client, and errors that tell where the trouble is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random
import re

import typer

from korder.cli.paths import EMBEDDED, chosen_kubeconfig, kubeconfig_of_embedded
from kubeloop.client import config, discovery
from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import DeadlineExceeded, Forbidden, KubeError, Unreached
from kubeloop.runtime.clock import SystemClock

FIRST_ANSWER = 5.0
"""Seconds a server may take to say its version; a person is waiting."""


def checked_namespace(name: str | None) -> str | None:
    """Refuses what no namespace can be called, before anybody is asked."""
    if name is not None and not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise typer.BadParameter(f"{name!r} is not the name of a namespace")
    return name


def home(kubeconfig: str | None, context: str | None) -> str:
    """The namespace one is in: that of the pod, or of the kubeconfig's context."""
    return config.load(chosen_kubeconfig(kubeconfig), context).namespace


@asynccontextmanager
async def cluster(
    kubeconfig: str | None, context: str | None, rng: random.Random, *, patient: bool = False
) -> AsyncIterator[Client]:
    """Opens a client to a server that has already answered once.

    Where nobody listens a person hears so at once; whoever is `patient` gives a server that restarts a few seconds.
    """
    path = chosen_kubeconfig(kubeconfig)
    async with open_client(path, context, now=SystemClock().now, rng=rng) as client:
        try:
            hurried = client.with_deadline(FIRST_ANSWER)
            await _greet(hurried if patient else hurried.without_waiting())
        except (Unreached, DeadlineExceeded) as error:
            hint = _hint(config.load(path, context).source)
            raise KubeError(f"cannot reach the API server: {error}{hint}") from error
        yield client


async def _greet(client: Client) -> None:
    try:
        await discovery.server_version(client)
    except Forbidden:
        return  # some servers hide their version from strangers; what matters is asked for later


def _hint(source: str) -> str:
    """What to do about a server that is not there, when the embedded cluster may have been meant."""
    ours = kubeconfig_of_embedded()
    if source.startswith(str(ours)):
        return "; `korder up` starts the embedded cluster again"
    if ours.exists():
        return f" (from {source}); --kubeconfig {EMBEDDED} means the cluster of `korder up`"
    return f" (from {source})"
