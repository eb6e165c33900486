"""From a configuration to a client that really speaks to a server.

The command line and the manager call `open_client`; below it meet `kubeloop.client.config`, `kubeloop.client.auth` and the transport of `net`.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
import random

from kubeloop.client import auth
from kubeloop.client.client import DEADLINE, IN_FLIGHT, Client
from kubeloop.client.config import Config, load
from kubeloop.client.errors import ConfigError
from kubeloop.net import http
from kubeloop.net.client import HttpTransport
from kubeloop.net.tls import ClientTls, RotatingTls, TlsError


def connect(
    config: Config, now: Callable[[], datetime], credentials: auth.Credentials | None = None
) -> http.Transport:
    """Makes the transport to the server of `config`; certificates are looked at here, the server is not called yet."""
    proofs = credentials or auth.credentials(config.user, now)

    def tls() -> ClientTls:
        pair = proofs.certificate()
        return replace(config.tls, cert_data=pair[0], key_data=pair[1]) if pair else config.tls

    rotating = RotatingTls(tls) if config.server.startswith("https:") else None
    if rotating is not None:
        try:
            rotating.context()
        except TlsError as error:
            raise ConfigError(f"{config.source}: {error}") from error
    transport = HttpTransport(
        config.server,
        tls=rotating,
        authorize=proofs.headers,
        proxy=config.proxy,
        compress=config.compress,
    )
    return auth.Renewing(transport, proofs)


@asynccontextmanager
async def open_client(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    now: Callable[[], datetime],
    rng: random.Random,
    limit: int = IN_FLIGHT,
    deadline: float = DEADLINE,
    user_agent: str = "korder",
) -> AsyncGenerator[Client, None]:
    """Gives a client for the configured server and closes its connections at the end."""
    config = load(kubeconfig, context)
    credentials = auth.credentials(config.user, now)
    await credentials.headers()  # a plugin may take longer than the deadline of a call
    transport = connect(config, now, credentials)
    try:
        yield Client(transport, rng=rng, limit=limit, deadline=deadline, user_agent=user_agent)
    finally:
        await transport.close()
