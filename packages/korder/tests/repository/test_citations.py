"""Every rule, scenario and section that code or tests cite by number has its anchor in docs/spec/reserve.md."""

from collections.abc import Iterator
import io
from pathlib import Path
import re
import tokenize

import pytest

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/spec/reserve.md"
FOLDERS = ("packages/kubeloop", "packages/korder", "packages/pocketkube/src", "tests", "bench")
"""Tests of the embedded cluster cite nothing, and name their objects as they like."""

LIST = r"\d+(?:(?:, and |, | and | to |-)\d+)*"
NUMBERS = re.compile(rf"\b[Rr]ules? ({LIST})\b")
SCENARIOS = re.compile(r"\bS([1-9]\d?)(?:-S?(\d+))?\b")
FACTS = re.compile(r"\bK([1-9]\d?)\b")
SECTIONS = re.compile(
    r"\b(?:[Tt]able|[Ss]pec|[Ss]ections?|[Ss]tep \d+ of) (\d\.\d+(?:(?:, | and )\d\.\d+)*)"
)
BARE = re.compile(r"(?:(?:rules? [\d, and]+|[SK]\d+(?:-S?\d+)?)[,. ]*(?:and )?)+", re.IGNORECASE)


def test_every_citation_has_an_anchor():
    anchors = set(re.findall(r'<a id="([^"]+)">', PAGE.read_text()))
    missing = [
        f"{place}: {anchor}"
        for place, text in texts()
        for anchor in cited(text)
        if anchor not in anchors
    ]
    assert not missing


def test_the_page_has_every_number_once():
    ids = re.findall(r'<a id="([^"]+)">', PAGE.read_text())
    assert len(ids) == len(set(ids))
    wanted = {f"s{n}" for n in range(1, 41)} | {f"rule-{n}" for n in range(1, 25)}
    assert wanted <= set(ids)
    linked = set(re.findall(r"\]\(#([^)]+)\)", PAGE.read_text()))
    assert linked <= set(ids)


def test_no_docstring_is_a_bare_number():
    bare = [
        f"{place}: {text}"
        for place, text in texts()
        if text.startswith('"""') and BARE.fullmatch(text.strip('"'))
    ]
    assert not bare


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("it waits (rule 2)", {"rule-2"}),
        ("Rules 1, 5 and 20: ...", {"rule-1", "rule-5", "rule-20"}),
        ("S1, S3-S5 and S7", {"s1", "s3", "s4", "s5", "s7"}),
        ("by table 1.8, spec 1.15", {"1.8", "1.15"}),
        ("sections 1.4 and 1.9", {"1.4", "1.9"}),
        ("one patch (K5)", {"k5"}),
        ("Kubernetes 1.28, 5 rules", set()),
    ],
)
def test_citations_are_found(text: str, anchors: set[str]):
    assert set(cited(text)) == anchors


def texts() -> Iterator[tuple[str, str]]:
    """Yields each comment and string of the sources with its place."""
    for path in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        if path == Path(__file__) or not any(cited(text)):
            continue
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield f"{path.relative_to(ROOT)}:{token.start[0]}", token.string


def cited(text: str) -> Iterator[str]:
    """Yields the anchors that a text cites."""
    for found in NUMBERS.finditer(text):
        yield from (f"rule-{number}" for number in re.findall(r"\d+", found[1]))
    for found in SCENARIOS.finditer(text):
        first, last = int(found[1]), int(found[2] or found[1])
        yield from (f"s{number}" for number in range(first, last + 1))
    yield from (f"k{found[1]}" for found in FACTS.finditer(text))
    for found in SECTIONS.finditer(text):
        yield from re.findall(r"\d\.\d+", found[1])
