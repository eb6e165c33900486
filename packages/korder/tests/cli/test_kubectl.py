"""`korder kubectl`: kubectl gets the words as they were typed, and the cluster that is meant."""

from collections.abc import Callable
from pathlib import Path
import subprocess

import pytest

Korder = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a kubectl that only says how it was called."""
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$KUBECONFIG"\nprintf "%s\\n" "$@"\nexit 7\n')
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"


def test_it_runs_on_the_embedded_cluster(korder: Korder, path: str, tmp_path: Path) -> None:
    ours = tmp_path / ".local" / "share" / "korder" / "kubeconfig"
    ours.parent.mkdir(parents=True)
    ours.touch()
    done = korder("kubectl", "get", "pods", "-A", "--help", "a b", PATH=path)
    assert done.stdout.splitlines() == [str(ours), "get", "pods", "-A", "--help", "a b"]
    assert done.returncode == 7
    other = korder("kubectl", "exec", "p", "--", "ls", "--", "-h", PATH=path)
    assert other.stdout.splitlines()[1:] == ["exec", "p", "--", "ls", "--", "-h"]
    named = korder("kubectl", "get", PATH=path, KUBECONFIG="/another")
    assert named.stdout.splitlines() == ["/another", "get"]


def test_without_a_cluster_it_says_how_to_get_one(korder: Korder, path: str) -> None:
    done = korder("kubectl", "get", "pods", PATH=path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "`korder up` starts one" in done.stderr


@pytest.mark.parametrize("words", [("--help",), ("get", "-h"), ("help", "get"), ()])
def test_help_needs_no_cluster(korder: Korder, path: str, words: tuple[str, ...]) -> None:
    done = korder("kubectl", *words, PATH=path)
    assert done.returncode == 7, done.stderr
    assert done.stdout.split() == list(words)


def test_what_another_program_is_reported_is_not_asked_of_kubectl(
    korder: Korder, path: str
) -> None:
    assert korder("kubectl", "exec", "p", "--", "ls", "-h", PATH=path).returncode == 1
