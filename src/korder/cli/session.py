"""What every verb that speaks to a cluster needs: a client, and errors that tell where the trouble is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random

from korder.kube import config, discovery
from korder.kube.client import Client
from korder.kube.connect import open_client
from korder.kube.errors import DeadlineExceeded, Forbidden, KubeError, Unauthorized, Unreached
from korder.runtime.clock import SystemClock

FIRST_ANSWER = 5.0
"""Seconds a server may take to say its version; a person is waiting."""


def home(kubeconfig: str | None, context: str | None) -> str:
    """The namespace one is in: that of the pod, or of the kubeconfig's context."""
    return config.load(kubeconfig, context).namespace


@asynccontextmanager
async def cluster(
    kubeconfig: str | None, context: str | None, rng: random.Random
) -> AsyncIterator[Client]:
    """Opens a client to a server that has already answered once."""
    async with open_client(kubeconfig, context, now=SystemClock().now, rng=rng) as client:
        await _greet(client.with_deadline(FIRST_ANSWER))
        yield client


async def _greet(client: Client) -> None:
    try:
        await discovery.server_version(client)
    except (Unreached, DeadlineExceeded) as error:
        raise KubeError(f"cannot reach the API server: {error}") from error
    except Unauthorized as error:
        raise KubeError(
            f"the API server does not accept these credentials (expired or wrong token?): {error}"
        ) from error
    except Forbidden:
        return  # some servers hide their version from strangers; what matters is asked for later
