from pathlib import Path

import pytest

from kubeloop.testing.controlplane import ProgramsMissing, programs


def a_folder(at: Path, *names: str) -> Path:
    at.mkdir()
    for name in names:
        (at / name).touch(mode=0o755)
    return at


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_folder(tmp_path / "bin", *programs.PROGRAMS)
    monkeypatch.setenv(programs.VARIABLE, str(folder))
    assert programs.find() == folder


def test_a_folder_that_lacks_programs_is_refused_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_folder(tmp_path / "bin", "etcd", "kubectl", "kube-apiserver")
    monkeypatch.setenv(programs.VARIABLE, str(folder))
    with pytest.raises(ProgramsMissing, match=r"lacks kube-scheduler, kube-controller-manager\.$"):
        programs.find()


def test_a_file_that_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "bin", *programs.PROGRAMS)
    (folder / "etcd").chmod(0o644)
    with pytest.raises(ProgramsMissing, match="lacks etcd"):
        programs.checked(folder)


def a_repository(at: Path, script: str) -> Path:
    """Makes a repository with a build script and returns where a module of it would be."""
    build = at / "hack" / "controlplane" / "build"
    build.parent.mkdir(parents=True)
    build.write_text(f"#!/bin/sh\n{script}\n")
    build.chmod(0o755)
    return at / "src" / "korder" / "testing" / "programs.py"


def test_the_repository_builds_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_folder(tmp_path / "bin", *programs.PROGRAMS)
    module = a_repository(tmp_path / "repository", f"echo building\necho {folder}")
    monkeypatch.delenv(programs.VARIABLE, raising=False)
    monkeypatch.setattr(programs, "__file__", str(module))
    assert programs.find() == folder


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = a_repository(tmp_path / "repository", "echo install Go 1.26 >&2; exit 69")
    monkeypatch.delenv(programs.VARIABLE, raising=False)
    monkeypatch.setattr(programs, "__file__", str(module))
    with pytest.raises(ProgramsMissing, match=r"could not be built by .*: install Go 1\.26$"):
        programs.find()


def test_outside_the_repository_somebody_has_to_name_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(programs.VARIABLE, raising=False)
    monkeypatch.setattr(programs, "__file__", str(tmp_path / "site-packages" / "programs.py"))
    with pytest.raises(ProgramsMissing, match="set KORDER_CONTROLPLANE to a folder with etcd"):
        programs.find()


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(LookupError, match="No such program: kubelet"):
        programs.known(["etcd", "kubelet"])
