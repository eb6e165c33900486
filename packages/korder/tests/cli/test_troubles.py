"""What a user can get wrong ends in one sentence and a non-zero exit, never in a traceback."""

from collections.abc import Callable
from pathlib import Path
import socket
import subprocess
import sys

import pytest

from korder.cli.command import verbs
from kubeloop.net.ports import free_ports

pytestmark = [pytest.mark.enable_socket]

Korder = Callable[..., subprocess.CompletedProcess[str]]


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
    stated = one_sentence(korder(verb, "--kubeconfig", str(tmp_path / "nothing")))
    assert str(tmp_path / "nothing") in stated


def test_no_configuration_at_all(korder: Korder) -> None:
    stated = one_sentence(korder("manager"))
    assert "KUBECONFIG" in stated


def test_a_file_that_is_not_yaml(korder: Korder, tmp_path: Path) -> None:
    broken = tmp_path / "config"
    broken.write_text("clusters: [")
    assert str(broken) in one_sentence(korder("manager", "--kubeconfig", str(broken)))


def test_a_context_that_is_not_there(korder: Korder, tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path / "config", "https://127.0.0.1:1")
    stated = one_sentence(korder("manager", "--context", "prod", KUBECONFIG=config))
    assert "prod" in stated
    assert "here" in stated


INTERRUPTED_IMPORT = """
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from korder.cli.main import main
main()
"""


def test_an_interrupt_while_modules_are_still_imported() -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_server_that_cannot_be_reached(korder: Korder, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    config = a_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    stated = one_sentence(korder("manager", "--kubeconfig", config))
    assert "cannot reach the API server" in stated
    assert f"127.0.0.1:{port}" in stated


@pytest.mark.parametrize("address", ["8080", "somewhere", ":http", ":99999"])
def test_an_address_nobody_can_listen_on(quick: Korder, address: str) -> None:
    done = quick("manager", "--metrics-bind-address", address)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert address in done.stderr


def test_an_unknown_verb(quick: Korder) -> None:
    done = quick("mangaer")
    assert done.returncode == 2
    assert "mangaer" in done.stderr


def test_help_tells_of_every_verb_in_one_line(quick: Korder) -> None:
    done = quick("--help", COLUMNS="80")
    assert done.returncode == 0
    stated = done.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in stated] == [*verbs(), "version"]
    assert all(line.endswith(".") and not line.endswith("...") for line in stated)


def test_help_on_a_narrow_terminal_cuts_no_word(quick: Korder) -> None:
    stated = quick("get", "--help", COLUMNS="50").stdout
    assert "--all-namespaces" in stated
    assert "…" not in stated
    assert max(map(len, stated.splitlines())) <= 50


def test_no_cluster_at_all(quick: Korder) -> None:
    stated = one_sentence(quick("get", "pods"))
    assert "korder up" in stated
    assert "KUBECONFIG" in stated


def test_a_cluster_that_was_stopped(quick: Korder, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    ours = tmp_path / ".local" / "share" / "korder" / "kubeconfig"
    ours.parent.mkdir(parents=True)
    a_kubeconfig(ours, f"http://127.0.0.1:{port}")
    assert "`korder up` starts the embedded cluster again" in one_sentence(quick("get", "pods"))


def test_another_cluster_that_is_away_while_there_is_an_embedded_one(
    quick: Korder, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    ours = tmp_path / ".local" / "share" / "korder" / "kubeconfig"
    ours.parent.mkdir(parents=True)
    ours.touch()
    config = a_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    assert "--kubeconfig embedded" in one_sentence(quick("get", "pods", KUBECONFIG=config))


def test_kubectl_that_is_not_installed(korder: Korder, tmp_path: Path) -> None:
    assert "not on the PATH" in one_sentence(korder("kubectl", "get", "pods", PATH=str(tmp_path)))


@pytest.mark.parametrize(
    ("flags", "stated"),
    [
        pytest.param(["--node-shape", "nonsense"], "not resource=quantity", id="no shape"),
        pytest.param(["--node-shape", "cpu=many"], "not a quantity", id="no quantity"),
        pytest.param(["--nodes", "-1"], "--nodes", id="fewer than no nodes"),
        pytest.param(["--without", "kubelet"], "scheduler", id="an unknown part"),
        pytest.param(["--port", "70000"], "--port", id="no port"),
    ],
)
def test_a_cluster_nobody_can_start(quick: Korder, flags: list[str], stated: str) -> None:
    done = quick("up", *flags)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert stated in done.stderr


def test_a_data_folder_that_is_a_file(korder: Korder, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    stated = one_sentence(korder("up", "--data-dir", str(tmp_path / "file")))
    assert "cannot hold a cluster: it is not a folder" in stated


def test_a_port_that_is_taken(korder: Korder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in one_sentence(korder("up", "--memory", "--port", port))
