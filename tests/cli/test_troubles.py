"""What a user can get wrong ends in one sentence and a non-zero exit, never in a traceback."""

from collections.abc import Callable
from pathlib import Path
import subprocess
import sys

import pytest

from korder.net.ports import free_ports

pytestmark = [pytest.mark.enable_socket, pytest.mark.timeout(60)]

Korder = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def korder(tmp_path: Path) -> Korder:
    """Runs the command in an empty home."""

    def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "korder", *args],
            env={
                "HOME": str(tmp_path),
                "PATH": "/usr/bin:/bin",
                "NO_COLOR": "1",
                "COLUMNS": "200",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


def a_kubeconfig(path: Path, server: str, context: str = "here") -> str:
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: {context}
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: here, context: {{cluster: c, user: u}}}}]
"""
    )
    return str(path)


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The only line on standard error."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("verb", ["manager", "install"])
def test_a_file_that_is_not_there(korder: Korder, tmp_path: Path, verb: str) -> None:
    told = one_sentence(korder(verb, "--kubeconfig", str(tmp_path / "nothing")))
    assert str(tmp_path / "nothing") in told


def test_no_configuration_at_all(korder: Korder) -> None:
    told = one_sentence(korder("manager"))
    assert "KUBECONFIG" in told


def test_a_file_that_is_not_yaml(korder: Korder, tmp_path: Path) -> None:
    broken = tmp_path / "config"
    broken.write_text("clusters: [")
    assert str(broken) in one_sentence(korder("manager", "--kubeconfig", str(broken)))


def test_a_context_that_is_not_there(korder: Korder, tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path / "config", "https://127.0.0.1:1")
    told = one_sentence(korder("manager", "--context", "prod", KUBECONFIG=config))
    assert "prod" in told
    assert "here" in told


def test_a_server_that_cannot_be_reached(korder: Korder, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    config = a_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    told = one_sentence(korder("manager", "--kubeconfig", config))
    assert "cannot reach the API server" in told
    assert f"127.0.0.1:{port}" in told


@pytest.mark.parametrize("address", ["8080", "somewhere", ":http", ":99999"])
def test_an_address_nobody_can_listen_on(korder: Korder, address: str) -> None:
    done = korder("manager", "--metrics-bind-address", address)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert address in done.stderr


def test_an_unknown_verb(korder: Korder) -> None:
    done = korder("mangaer")
    assert done.returncode == 2
    assert "mangaer" in done.stderr


def test_help_names_every_verb(korder: Korder) -> None:
    done = korder("--help")
    assert done.returncode == 0
    for verb in ("manager", "install", "manifests", "version"):
        assert verb in done.stdout
