"""What the documents tell people to type can be typed: every verb, flag and target in them is there."""

import importlib
from pathlib import Path
import re
import shlex

import pytest
import typer
from typer.core import TyperGroup, TyperOption

from korder.cli.command import command, verbs

TREE = Path(__file__).parents[4]
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ROADMAP.md",
    "SECURITY.md",
    "docs/benchmarks.md",
    "docs/concepts.md",
    "docs/embedded-differences.md",
    "docs/embedded.md",
    "docs/glossary.md",
    "docs/reference.md",
    "docs/simulation.md",
    "docs/tasks.md",
    "docs/testing.md",
    "docs/troubleshooting.md",
)
_TYPED = re.compile(r"(?:`|^\$ )(?:\.venv/bin/)?(korder [a-z][^`\n]*)", re.MULTILINE)
_MADE = re.compile(r"(?:`|^\$ )make ([a-z0-9-]+)", re.MULTILINE)


def found(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    texts = {name: (TREE / name).read_text() for name in DOCUMENTS}
    return sorted({(name, text) for name in texts for text in pattern.findall(texts[name])})


def the_command(verb: str) -> TyperGroup:
    group = typer.main.get_command(command(verb))
    assert isinstance(group, TyperGroup)
    return group


@pytest.mark.parametrize(("name", "line"), found(_TYPED))
def test_every_command_in_the_documents_can_be_typed(name: str, line: str) -> None:
    verb, *words = shlex.split(line, comments=True)[1:]
    group = the_command(verb)
    assert verb in group.commands, f"{name} says {line!r}"
    if words:
        group.commands[verb].make_context(verb, words)


def test_every_target_in_the_documents_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (TREE / "Makefile").read_text(), re.MULTILINE))
    assert {target for _, target in found(_MADE)} <= targets


def test_the_table_of_flags_is_that_of_the_command() -> None:
    text = (TREE / "docs/embedded.md").read_text()
    stated = re.findall(r"^\| `(--[a-z-]+)(?: ([^`]+))?` \|", text, re.MULTILINE)
    options = [o for o in the_command("up").commands["up"].params if isinstance(o, TyperOption)]
    assert [flag for flag, _ in stated] == [option.opts[0] for option in options]
    defaults = {option.opts[0]: option.default for option in options}
    for flag in ("--nodes", "--node-shape", "--port", "--log-format"):
        assert dict(stated)[flag] == str(defaults[flag])


def test_every_verb_is_reported() -> None:
    text = "".join((TREE / name).read_text() for name in DOCUMENTS)
    assert [verb for verb in verbs() if verb not in text] == []


def test_the_table_of_flags_of_simulate_is_that_of_the_command() -> None:
    text = (TREE / "docs/simulation.md").read_text().partition("## The shape")[0]
    stated = set(re.findall(r"`(--[a-z-]+)", text))
    options = [
        option
        for option in the_command("simulate").commands["simulate"].params
        if isinstance(option, TyperOption)
    ]
    assert {option.opts[0] for option in options} <= stated
    assert stated <= {option.opts[0] for option in options}


_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"^from ([a-z_.]+) import (.+)$", re.MULTILINE)


@pytest.mark.parametrize(
    ("module", "names"),
    sorted(
        {
            found
            for block in _PYTHON.findall((TREE / "docs/testing.md").read_text())
            for found in _IMPORT.findall(block)
        }
    ),
)
def test_what_the_examples_import_is_there(module: str, names: str) -> None:
    there = importlib.import_module(module)
    for name in names.split(", "):
        assert hasattr(there, name) or importlib.import_module(f"{module}.{name}")


def test_paths_in_the_documents_exist() -> None:
    """Paths that begin at the root of the tree; a pattern in a path is left out."""
    pattern = re.compile(r"`((?:packages|tests|bench|docs|hack|examples|manifests)/[\w./-]+)`")
    named = {path for name in DOCUMENTS for path in pattern.findall((TREE / name).read_text())}
    assert sorted(path for path in named if not (TREE / path).exists()) == []
