"""Messages are for people: no module of korder compares or searches one, so that rewording a message never changes behaviour."""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "korder"
_SEARCHES = frozenset(
    {"startswith", "endswith", "find", "index", "count", "split", "partition", "rpartition"}
)


def compared(source: str) -> list[int]:
    """The lines that compare or search an attribute with the name `message`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others):
                parts = [left, *others]
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _SEARCHES:
                parts = [value]
            case _:
                continue
        if any(_reads_message(each) for part in parts for each in _operands(part)):
            found.append(node.lineno)
    return found


def _operands(part: ast.expr) -> list[ast.expr]:
    return part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]


def _reads_message(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "message"


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES))
)
def test_no_code_depends_on_the_text_of_a_message(path: Path) -> None:
    assert compared(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "stated.message == words",
        "why in each.message",
        "(old.reason, old.message) == (wait.reason, wait.message)",
        "stated.message.startswith('Ticket ')",
    ],
)
def test_a_comparison_is_found(code: str) -> None:
    assert compared(code) == [1]


@pytest.mark.parametrize("code", ["words = status.message", "f'{status.message}'", "a.reason == b"])
def test_a_message_may_be_shown(code: str) -> None:
    assert compared(code) == []
