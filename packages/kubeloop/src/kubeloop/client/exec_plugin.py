"""Credential plugins: programs that print a token or a certificate (client.authentication.k8s.io).

`kubeloop.client.auth` runs them when it has no valid credential. They get no terminal, so one that insists on asking somebody is refused
before it is started.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
import os

import msgspec

from kubeloop.client.errors import ConfigError
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON, Base

API_VERSIONS = frozenset(
    {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}
)

PATIENCE = 60.0
"""Seconds a plugin may take."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a kubeconfig says about a plugin; `cluster` is what it may know of the server, if it wants to."""

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = ""
    cluster: JSON = None


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """What a plugin gave us."""

    token: str = field(default="", repr=False)
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)
    expires: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.expires is not None and now >= self.expires


class _Status(Base):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(Base):
    api_version: str = ""
    kind: str = ""
    status: _Status = _Status()


async def run(plugin: Plugin) -> PluginCredential:
    """Runs the program and reads what it prints."""
    _check(plugin)
    process = await _start(plugin)
    try:
        async with asyncio.timeout(PATIENCE):
            printed, complaint = await process.communicate()
    except TimeoutError:
        raise ConfigError(
            f"the credential plugin {plugin.command} did not answer within {PATIENCE:g} s"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last_words = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConfigError(
            f"the credential plugin {plugin.command} failed with exit code {process.returncode}: {last_words}"
        )
    return _read(plugin, printed)


def _check(plugin: Plugin) -> None:
    if plugin.api_version not in API_VERSIONS:
        raise ConfigError(
            f"the credential plugin {plugin.command} speaks {plugin.api_version or 'no API version'};"
            f" supported are {' and '.join(sorted(API_VERSIONS))}"
        )
    if plugin.interactive_mode == "Always":
        raise ConfigError(
            f"the credential plugin {plugin.command} wants to ask somebody, and nobody is here to answer;"
            " use another user or a token"
        )


async def _start(plugin: Plugin) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env={**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": _exec_info(plugin)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except ValueError as error:
        raise ConfigError(
            f"the credential plugin {plugin.command!r} cannot be started: {error}"
        ) from error
    except OSError as error:
        hint = f" {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise ConfigError(
            f"the credential plugin {plugin.command} cannot be started: {error.strerror}.{hint}"
        ) from error


def _exec_info(plugin: Plugin) -> str:
    spec: dict[str, JSON] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()


def _read(plugin: Plugin, printed: bytes) -> PluginCredential:
    try:
        answer = codec.decode(printed, _ExecCredential)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the credential plugin {plugin.command} did not print an ExecCredential: {error}"
        ) from error
    status = answer.status
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise ConfigError(
            f"the credential plugin {plugin.command} printed {answer.api_version} {answer.kind}"
            f" instead of {plugin.api_version} ExecCredential"
        )
    certificate = (status.client_certificate_data.encode(), status.client_key_data.encode())
    if not status.token and not all(certificate):
        raise ConfigError(
            f"the credential plugin {plugin.command} gave neither a token nor a certificate with its key"
        )
    return PluginCredential(
        status.token, certificate if all(certificate) else None, status.expiration_timestamp
    )
