"""ARCHITECTURE.md names paths of the present tree, and has a row for most changes."""

from pathlib import Path
import re

import pytest

TREE = Path(__file__).parents[4]
TEXT = (TREE / "ARCHITECTURE.md").read_text()
_PATH = re.compile(r"`((?:packages|tests|bench|docs|hack|examples|manifests)/[^`\s]+)`")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
PAGES = sorted({*TREE.glob("*.md"), *TREE.glob("docs/**/*.md"), *TREE.glob("packages/*/*.md")})


def to_change() -> list[tuple[str, str]]:
    """The rows of the table "To change X, open Y"."""
    section = TEXT.partition("\n## To change X, open Y\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [(what.strip(), where) for what, where in (line[1:-1].split("|") for line in lines)]


def test_every_path_exists() -> None:
    named = _PATH.findall(TEXT)
    assert [path for path in named if not (TREE / path).exists()] == []


def test_every_slice_exists() -> None:
    section = TEXT.partition("| slice of `")[2]
    folder = TREE / section.partition("`")[0]
    slices = re.findall(r"^\| `([a-z_.]+)` \|", section.partition("\n\n")[0], re.MULTILINE)
    assert [name for name in slices if not (folder / name).exists()] == []
    folders = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(slices)


def test_the_table_has_at_least_20_rows_and_each_names_a_path() -> None:
    rows = to_change()
    assert len(rows) >= 20
    assert len({what for what, _ in rows}) == len(rows)
    assert [what for what, where in rows if not _PATH.search(where)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    targets = _LINK.findall(page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("record", sorted(TREE.glob("docs/decisions/0*.md")), ids=lambda p: p.stem)
def test_every_decision_has_a_status_and_a_date_and_is_listed(record: Path) -> None:
    title, _, text = record.read_text().partition("\n\n")
    status, date = text.splitlines()[:2]
    assert re.match(r"Status: (accepted|superseded by \[\d{4}\])", status)
    assert re.fullmatch(r"Date: \d{4}-\d\d-\d\d", date)
    number, name = title.removeprefix("# ").split(" ", 1)
    listed = (record.parent / "README.md").read_text()
    assert f"| [{number}]({record.name}) | {name} |" in listed
