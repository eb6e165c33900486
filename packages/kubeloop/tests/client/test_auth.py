"""Credentials that change, and the second chance after a 401."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
import json
import os
from pathlib import Path
import sys
from typing import Any

import pytest

from kubeloop.client import auth
from kubeloop.client.auth import Fixed, FromPlugin, Renewing, TokenFile, User
from kubeloop.client.errors import ConfigError
from kubeloop.client.exec_plugin import Plugin
from kubeloop.net.faults import Canned, refusal
from kubeloop.net.http import Request

Make = Callable[..., Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GET = Request("GET", "/")
GIVEN, PASSWORD = "abc", "öl"


def never() -> datetime:
    raise AssertionError("the time does not matter here")


@pytest.mark.parametrize(
    ("user", "header"),
    [
        pytest.param(User(token=GIVEN), "Bearer abc", id="a token"),
        pytest.param(
            User(username="ann", password=PASSWORD), "Basic YW5uOsO2bA==", id="a password"
        ),
        pytest.param(
            User(token=GIVEN, username="ann"), "Bearer abc", id="a token before a password"
        ),
        pytest.param(User(), None, id="nobody"),
    ],
)
async def test_a_user_becomes_a_header(user: User, header: str | None) -> None:
    found = await auth.credentials(user, never).headers()
    assert found.get("Authorization") == header


def test_secrets_are_not_shown() -> None:
    user = User(
        token=GIVEN, password=PASSWORD, plugin=Plugin("v1", "get", env={"SECRET": "s3cr3t"})
    )
    assert not any(secret in repr(user) for secret in (GIVEN, PASSWORD, "s3cr3t"))


class TestTokenFile:
    async def token(self, credentials: TokenFile) -> str:
        return (await credentials.headers())["Authorization"].removeprefix("Bearer ")

    async def test_a_changed_file_is_read_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("one\n")
        credentials = TokenFile(str(file))
        assert await self.token(credentials) == "one"
        (tmp_path / "next").write_text("two")
        (tmp_path / "next").rename(file)
        assert await self.token(credentials) == "two"

    async def test_a_file_is_read_every_minute_even_if_it_looks_the_same(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "token"
        file.write_text("one")
        os.utime(file, (0, 0))
        credentials = TokenFile(str(file))
        await self.token(credentials)
        file.write_text("two")
        os.utime(file, (0, 0))
        await asyncio.sleep(59)
        assert await self.token(credentials) == "one"
        await asyncio.sleep(2)
        assert await self.token(credentials) == "two"

    async def test_a_file_that_vanishes_leaves_the_last_token(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("one")
        credentials = TokenFile(str(file))
        await self.token(credentials)
        file.write_text("")
        assert await self.token(credentials) == "one"
        file.unlink()
        assert await self.token(credentials) == "one"

    async def test_a_given_token_stands_in_for_a_missing_file(self, tmp_path: Path) -> None:
        assert await self.token(TokenFile(str(tmp_path / "none"), "given")) == "given"

    @pytest.mark.parametrize(("content", "complaint"), [(None, "No such file"), ("", "empty")])
    async def test_without_any_token_the_file_is_named(
        self, content: str | None, complaint: str, tmp_path: Path
    ) -> None:
        file = tmp_path / "token"
        if content is not None:
            file.write_text(content)
        with pytest.raises(ConfigError, match=f"{file}.* {complaint}"):
            await TokenFile(str(file)).headers()

    async def test_after_a_refusal_only_a_new_token_is_worth_a_try(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("one")
        credentials = TokenFile(str(file))
        used = await credentials.headers()
        assert not credentials.refused(used)
        file.write_text("two")
        assert credentials.refused(used)
        assert credentials.refused(used), "a second request may have been sent with the old token"


@pytest.fixture
def plugin(tmp_path: Path) -> Make:
    """A plugin that counts its runs in the token it gives."""

    def make(**status: str) -> Plugin:
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        runs = tmp_path / "runs"
        program = (
            f"import json, pathlib; runs = pathlib.Path({str(runs)!r}); runs.open('a').write('x');"
            f"print(json.dumps({credential!r} | {{'status': {status!r} | {{'token': str(len(runs.read_text()))}}}}))"
        )
        return Plugin(credential["apiVersion"], sys.executable, ("-c", program))

    return make


@pytest.mark.enable_socket
class TestFromPlugin:
    async def test_a_credential_is_kept_until_it_expires(self, plugin: Make) -> None:
        now = NOW
        credentials = FromPlugin(plugin(expirationTimestamp="2026-01-01T01:00:00Z"), lambda: now)
        first = await asyncio.gather(*(credentials.headers() for _ in range(3)))
        assert first == [{"Authorization": "Bearer 1"}] * 3
        now += timedelta(minutes=59)
        assert await credentials.headers() == {"Authorization": "Bearer 1"}
        now += timedelta(minutes=1)
        assert await credentials.headers() == {"Authorization": "Bearer 2"}

    async def test_a_certificate_comes_with_the_headers(self, plugin: Make) -> None:
        credentials = FromPlugin(
            plugin(clientCertificateData="CERT", clientKeyData="KEY"), lambda: NOW
        )
        assert credentials.certificate() is None
        await credentials.headers()
        assert credentials.certificate() == (b"CERT", b"KEY")

    async def test_a_fresh_credential_that_is_refused_is_not_asked_for_again(
        self, plugin: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        credentials = FromPlugin(plugin(), lambda: NOW)
        used = await credentials.headers()
        assert not credentials.refused(used)
        monkeypatch.setattr(auth, "FRESH_SECONDS", 0.0)
        assert credentials.refused(used)
        assert await credentials.headers() == {"Authorization": "Bearer 2"}


class Once(Fixed):
    """Credentials that can be renewed so many times."""

    def __init__(self, times: int) -> None:
        super().__init__({})
        self.times = times

    def refused(self, _: Mapping[str, str]) -> bool:
        self.times -= 1
        return self.times >= 0


class TestRenewing:
    async def test_a_refused_request_is_sent_once_more(self, script: Make) -> None:
        wire = script(refusal(401, "Unauthorized"), Canned(200, b"ok"))
        guarded: list[int] = []
        response = await Renewing(wire, Once(1)).send(GET, lambda: guarded.append(1))
        assert (response.status, len(wire.requests), guarded) == (200, 2, [1, 1])

    async def test_a_second_refusal_is_final(self, script: Make) -> None:
        wire = script(refusal(401, "Unauthorized"))
        response = await Renewing(wire, Once(9)).send(GET)
        assert (response.status, len(wire.requests)) == (401, 2)

    async def test_without_anything_new_the_refusal_stands(self, script: Make) -> None:
        wire = script(refusal(401, "Unauthorized"))
        response = await Renewing(wire, Fixed({})).send(GET)
        assert json.loads(await response.read())["reason"] == "Unauthorized"
        assert len(wire.requests) == 1

    async def test_other_answers_pass(self, script: Make) -> None:
        wire = script(refusal(403, "Forbidden"))
        assert (await Renewing(wire, Once(1)).send(GET)).status == 403
