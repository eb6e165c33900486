"""Credential plugins as real programs; they live in real time."""

from collections.abc import Callable
from datetime import UTC, datetime
import json
from pathlib import Path
import sys
from typing import Any

import pytest

from kubeloop.client import exec_plugin
from kubeloop.client.errors import ConfigError
from kubeloop.client.exec_plugin import Plugin

pytestmark = pytest.mark.enable_socket

SHOWN = "abc"
V1 = "client.authentication.k8s.io/v1"
Make = Callable[..., Plugin]


def credential(api_version: str = V1, **status: str) -> str:
    return json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status})


def printing(text: str, **more: Any) -> Plugin:
    return program(f"print({text!r})", **more)


def program(code: str, api_version: str = V1, **more: Any) -> Plugin:
    return Plugin(api_version, sys.executable, ("-c", code), **more)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_token_with_its_end(version: str) -> None:
    api_version = f"client.authentication.k8s.io/{version}"
    text = credential(api_version, token=SHOWN, expirationTimestamp="2026-01-01T00:00:00Z")
    found = await exec_plugin.run(printing(text, api_version=api_version))
    assert (found.token, found.expires) == ("abc", datetime(2026, 1, 1, tzinfo=UTC))
    assert "abc" not in repr(found)


async def test_a_certificate() -> None:
    found = await exec_plugin.run(
        printing(credential(clientCertificateData="C", clientKeyData="K"))
    )
    assert (found.certificate, found.expires) == ((b"C", b"K"), None)


async def test_a_plugin_gets_its_variables_and_knows_what_it_is_asked() -> None:
    code = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "seen = json.dumps([os.environ['REGION'], info['kind'], info['apiVersion'], info['spec']]);"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': {'token': seen}}))"
    )
    stated = {"server": "https://api"}
    found = await exec_plugin.run(program(code, env={"REGION": "north"}, cluster=stated))
    spec = {"interactive": False, "cluster": stated}
    assert json.loads(found.token) == ["north", "ExecCredential", V1, spec]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        pytest.param(
            Plugin(V1, "korder-no-such-program", install_hint="Get it from the shop.\n"),
            r"korder-no-such-program cannot be started: No such file or directory\. Get it from the shop\.$",
            id="is not installed",
        ),
        pytest.param(
            program("import sys; sys.exit('first\\nlog in first')"),
            r"failed with exit code 1: log in first",
            id="fails",
        ),
        pytest.param(printing("nonsense"), "did not print an ExecCredential", id="prints nonsense"),
        pytest.param(printing("[]"), "did not print an ExecCredential", id="prints something else"),
        pytest.param(
            printing(credential("client.authentication.k8s.io/v1beta1", token=SHOWN)),
            "printed client.authentication.k8s.io/v1beta1 ExecCredential instead of",
            id="speaks another version than it says",
        ),
        pytest.param(
            printing(credential()), "neither a token nor a certificate", id="gives nothing"
        ),
        pytest.param(
            printing(credential(clientCertificateData="C")), "neither", id="keeps the key to itself"
        ),
        pytest.param(
            printing("", api_version="client.authentication.k8s.io/v1alpha1"),
            "v1alpha1; supported are",
            id="is too old",
        ),
        pytest.param(
            printing("", interactive_mode="Always"), "nobody is here to answer", id="wants to talk"
        ),
    ],
)
async def test_a_plugin_that(asked: Plugin, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await exec_plugin.run(asked)


async def test_a_plugin_that_never_answers_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "PATIENCE", 0.05)
    with pytest.raises(ConfigError, match="did not answer"):
        await exec_plugin.run(program("import time; time.sleep(60)"))
