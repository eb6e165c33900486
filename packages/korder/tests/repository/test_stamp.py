"""hack/stamp: a digest of folders, which changes with any file in them and with nothing else."""

from pathlib import Path
import shutil
import subprocess

import pytest

STAMP = Path(__file__).parents[4] / "hack/stamp"


class Tree:
    """A small repository with a copy of the script."""

    def __init__(self, root: Path) -> None:
        self.root = root
        subprocess.run(["git", "init", "-q", root], check=True)  # noqa: S603, S607
        for path in ("pyproject.toml", "packages/a/x.py", "packages/a/with space.py", "docs/y.md"):
            self.write(path, "first")
        (root / "hack").mkdir()
        shutil.copy(STAMP, root / "hack/stamp")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def stamp(self) -> str:
        command = [self.root / "hack/stamp", "packages/a"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(
    "path", ["packages/a/x.py", "packages/a/with space.py", "packages/a/new.py", "pyproject.toml"]
)
def test_a_changed_file_changes_the_stamp(tree: Tree, path: str) -> None:
    before = tree.stamp()
    tree.write(path, "second")
    assert tree.stamp() != before


def test_a_file_elsewhere_leaves_the_stamp(tree: Tree) -> None:
    before = tree.stamp()
    tree.write("docs/y.md", "second")
    assert tree.stamp() == before


def test_a_deleted_file_changes_the_stamp(tree: Tree) -> None:
    subprocess.run(["git", "-C", tree.root, "add", "."], check=True)  # noqa: S603, S607
    before = tree.stamp()
    (tree.root / "packages/a/x.py").unlink()
    assert tree.stamp() != before
