"""What stands in manifests/ is what the types say."""

from pathlib import Path

from korder.cli import manifests

TREE = Path(__file__).parents[4] / "manifests"


def test_the_tree_holds_exactly_what_make_manifests_writes() -> None:
    written = {str(path.relative_to(TREE)): path.read_text() for path in TREE.rglob("*.yaml")}
    assert written == manifests.render(), "run `make manifests` and commit the result"


def test_a_kind_that_is_gone_leaves_no_file(tmp_path: Path) -> None:
    stale = tmp_path / "crds" / "core.korder.dev_cronorders.yaml"
    stale.parent.mkdir()
    stale.write_text("old")
    foreign = stale.with_name("mine.yaml")
    foreign.write_text("not ours to touch")
    manifests.run(tmp_path)
    assert not stale.exists()
    assert foreign.exists()
    assert len(list(tmp_path.rglob("*.yaml"))) == len(manifests.render()) + 1
