"""From a kubeconfig to answers of a server on loopback."""

from collections.abc import AsyncIterator
import contextlib
from datetime import UTC, datetime
import json
from pathlib import Path
import random
import sys

from aiohttp import web
import pytest
import yaml

from kubeloop.client import errors
from kubeloop.client.config import load
from kubeloop.client.connect import connect, open_client
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Key

HOST = "127.0.0.1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@contextlib.asynccontextmanager
async def serving(accepted: set[str]) -> AsyncIterator[str]:
    """Runs a server that knows the bearers of some tokens."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in accepted:
            return web.json_response({"kind": "Status", "reason": "Unauthorized"}, status=401)
        return web.json_response({"metadata": {"name": request.path.rpartition("/")[2]}})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    try:
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def write(path: Path, server: str, user: dict[str, object]) -> str:
    content = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "users": [{"name": "it", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.mark.enable_socket
async def test_a_client_reads_an_object(tmp_path: Path) -> None:
    async with serving({"abc"}) as url:
        path = write(tmp_path / "config", url, {"token": "abc"})
        async with open_client(path, now=lambda: NOW, rng=random.Random(1)) as client:
            assert (await client.get(PODS, Key("shop", "web"))).metadata.name == "web"


@pytest.mark.enable_socket
async def test_a_renewed_token_is_used_after_a_refusal(tmp_path: Path) -> None:
    accepted = {"one"}
    token = tmp_path / "token"
    token.write_text("one")
    async with serving(accepted) as url:
        path = write(tmp_path / "config", url, {"tokenFile": "token"})
        async with open_client(path, now=lambda: NOW, rng=random.Random(1)) as client:
            await client.get(PODS, Key("shop", "web"))
            accepted.clear()
            with pytest.raises(errors.Unauthorized, match="credentials"):
                await client.get(PODS, Key("shop", "web"))
            accepted.add("two")
            token.write_text("two")
            assert (await client.get(PODS, Key("shop", "web"))).metadata.name == "web"


@pytest.mark.enable_socket
async def test_a_plugin_gives_the_token(tmp_path: Path) -> None:
    api_version = "client.authentication.k8s.io/v1"
    said = json.dumps(
        {"apiVersion": api_version, "kind": "ExecCredential", "status": {"token": "abc"}}
    )
    exec_ = {
        "apiVersion": api_version,
        "command": sys.executable,
        "args": ["-c", f"print({said!r})"],
    }
    async with serving({"abc"}) as url:
        path = write(tmp_path / "config", url, {"exec": exec_})
        async with open_client(path, now=lambda: NOW, rng=random.Random(1)) as client:
            assert (await client.get(PODS, Key("shop", "web"))).metadata.name == "web"


def test_certificates_are_looked_at_before_the_first_request(tmp_path: Path) -> None:
    path = write(tmp_path / "config", "https://api.invalid", {"client-certificate": "none.crt"})
    with pytest.raises(errors.ConfigError, match=r"config \(context it\): .*none\.crt"):
        connect(load(path, environment={}), lambda: NOW)
