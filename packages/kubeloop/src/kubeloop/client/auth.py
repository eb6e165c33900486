"""Who we are to the server: credentials that may change while we run.

`kubeloop.client.connect` makes them from a `User` and hands them to the transport: headers for each request, a certificate for each new
connection. `Renewing` stands around the transport and gives a request a second chance when the server answers 401 and the
credentials can be had anew. That is safe for writes too: a server that does not know who asks has not acted.
"""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from kubeloop.client.errors import ConfigError
from kubeloop.client.exec_plugin import Plugin, PluginCredential, run
from kubeloop.net import http

REREAD_SECONDS = 60.0
"""A token file is read again at least this often, whether or not it looks changed."""

FRESH_SECONDS = 10.0
"""A plugin is not asked again for this long after it answered, or a wrong plugin would run with every request."""


@dataclass(frozen=True, slots=True)
class User:
    """How a kubeconfig says that we prove who we are; the certificate is in its `ClientTls`."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: Plugin | None = None


class Credentials(Protocol):
    """Live credentials."""

    async def headers(self) -> Mapping[str, str]:
        """Gives the headers that prove who we are, fresh if need be."""

    def certificate(self) -> tuple[bytes, bytes] | None:
        """Gives a certificate and key in PEM, if the last `headers` brought one."""

    def refused(self, used: Mapping[str, str]) -> bool:
        """Takes note that the server answered 401 to `used`; says whether another try is worth it."""


def credentials(user: User, now: Callable[[], datetime]) -> Credentials:
    """Chooses as other clients do: a token (its file first), then a plugin, then name and password."""
    if user.token_file:
        return TokenFile(user.token_file, user.token)
    if user.token:
        return Fixed({"Authorization": f"Bearer {user.token}"})
    if user.plugin is not None:
        return FromPlugin(user.plugin, now)
    if user.username:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return Fixed({"Authorization": f"Basic {pair}"})
    return Fixed({})


class Fixed:
    """Credentials that never change, or none."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    def certificate(self) -> tuple[bytes, bytes] | None:
        return None

    def refused(self, _: Mapping[str, str]) -> bool:
        return False


class TokenFile:
    """A token that somebody else renews in a file; if the file cannot be read, the last token is used on."""

    def __init__(self, path: str, token: str = "") -> None:
        self._path = Path(path)
        self._token = token
        self._stamp: tuple[int, int] | None = None
        self._read_at = -REREAD_SECONDS

    async def headers(self) -> Mapping[str, str]:
        too_old = asyncio.get_running_loop().time() - self._read_at >= REREAD_SECONDS
        if too_old or self._look() != self._stamp:
            self._read()
        return {"Authorization": f"Bearer {self._token}"}

    def certificate(self) -> tuple[bytes, bytes] | None:
        return None

    def refused(self, used: Mapping[str, str]) -> bool:
        self._read()
        return used.get("Authorization") != f"Bearer {self._token}"

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _read(self) -> None:
        self._stamp = self._look()
        self._read_at = asyncio.get_running_loop().time()
        try:
            self._token = self._path.read_text().strip() or self._token
        except OSError as error:
            if not self._token:
                raise ConfigError(
                    f"the token file {self._path} cannot be read: {error.strerror}"
                ) from error
        if not self._token:
            raise ConfigError(f"the token file {self._path} is empty")


class FromPlugin:
    """Credentials from a program, kept until they expire or are refused."""

    def __init__(self, plugin: Plugin, now: Callable[[], datetime]) -> None:
        self._plugin = plugin
        self._now = now
        self._credential: PluginCredential | None = None
        self._asked_at = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        async with self._one_at_a_time:
            if self._credential is None or self._credential.is_over(self._now()):
                self._credential = await run(self._plugin)
                self._asked_at = asyncio.get_running_loop().time()
        return self._headers()

    def _headers(self) -> Mapping[str, str]:
        token = self._credential.token if self._credential else ""
        return {"Authorization": f"Bearer {token}"} if token else {}

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._credential.certificate if self._credential else None

    def refused(self, used: Mapping[str, str]) -> bool:
        if used != self._headers():
            return True
        if asyncio.get_running_loop().time() - self._asked_at < FRESH_SECONDS:
            return False
        self._credential = None
        return True


class Renewing:
    """A transport that tries once more, with new credentials, what was answered with 401."""

    def __init__(self, transport: http.Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def send(self, request: http.Request, guard: http.Guard | None = None) -> http.Response:
        used = await self._credentials.headers()
        response = await self._transport.send(request, guard)
        if response.status != 401 or not self._credentials.refused(used):
            return response
        async with response:
            await response.read()
        return await self._transport.send(request, guard)

    async def close(self) -> None:
        await self._transport.close()
