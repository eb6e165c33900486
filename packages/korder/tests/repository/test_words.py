"""No identifier and no file name of the sources brings a retired word back."""

from collections.abc import Iterator
import io
import keyword
from pathlib import Path
import re
import tokenize

import pytest

ROOT = Path(__file__).parents[4]
RETIRED = re.compile(
    "told|deeds?|doors|telling|pretenders?|likeness|heirs?|crews?|accusations?|turns?"
)
"""Parts of identifiers; `turn` was a reconcile. Parts such as `return` and `turnaround` are other words."""


def test_no_retired_word_is_an_identifier():
    found = [f"{place}: {name}" for place, name in identifiers() if retired(name)]
    assert not found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_is_told", True),
        ("UserDeed", True),
        ("TURN_SECONDS", True),
        ("turn2", True),
        ("HTTPTurn", True),
        ("their_names", False),
        ("return_value", False),
        ("ReturnTo", False),
        ("turnaround", False),
        ("indeed", False),
    ],
)
def test_words_are_parts_of_names(name: str, *, expected: bool):
    assert retired(name) is expected


def retired(name: str) -> bool:
    """Says whether a part of a name in snake or camel case is retired."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(RETIRED.fullmatch(part.lower()) for part in parts)


def identifiers() -> Iterator[tuple[str, str]]:
    """Yields each name in the sources, also of files and folders, with its place."""
    for source in sorted(ROOT.glob("packages/*/src")):
        for path in sorted(source.rglob("*")):
            place = path.relative_to(ROOT)
            yield f"{place}", path.stem
            if path.suffix != ".py" or not any(map(retired, set(words(path)))):
                continue
            for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
                if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                    yield f"{place}:{token.start[0]}", token.string


def words(path: Path) -> list[str]:
    """Everything in a file that could be an identifier: finding that is much faster than tokens."""
    return re.findall(r"\w+", path.read_text())
