"""korder without its extra `up`: what needs no embedded cluster works, the rest says what to install."""

import subprocess
import sys

import pytest
import yaml

_BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pocketkube", "cel_expr_python"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from korder.cli.main import main
sys.argv[0] = "korder"
main()
"""

pytestmark = pytest.mark.slow


def korder(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603  our own words
        [sys.executable, "-c", _BLOCKED, *words], capture_output=True, text=True, check=False
    )


def test_the_manager_can_be_started() -> None:
    answer = korder("manager", "--help")
    assert answer.returncode == 0, answer.stderr
    assert "--leader-elect" in answer.stdout
    assert "--guardian-image" in answer.stdout


def test_the_installation_is_printed() -> None:
    answer = korder("install", "--print", "--admission", "policy")
    assert answer.returncode == 0, answer.stderr
    assert {"CustomResourceDefinition", "ClusterRole"} <= {
        body["kind"] for body in yaml.safe_load_all(answer.stdout)
    }


@pytest.mark.parametrize("words", [["up", "--nodes", "3"], ["simulate", "-f", "x"], ["up"]])
def test_verbs_of_the_embedded_cluster_say_what_to_install(words: list[str]) -> None:
    answer = korder(*words)
    assert answer.returncode == 1
    assert answer.stderr == (
        f"korder: `korder {words[0]}` needs the embedded cluster: run `pip install 'korder[up]'`\n"
    )
    assert not answer.stdout


def test_all_verbs_are_listed() -> None:
    answer = korder("--help")
    assert answer.returncode == 0, answer.stderr
    assert "pip install 'korder[up]'" in answer.stdout
    assert "manager" in answer.stdout
