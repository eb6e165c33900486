"""The promises of orders and tickets as a whole: each is one sentence, and the documentation lists them."""

from pathlib import Path

from korder.reserve.scenarios.invariants.catalogue import competing, reserving
from pocketkube.simulation.invariants import catalogue

DOCS = Path(__file__).parents[5] / "docs" / "simulation.md"


def test_the_documentation_lists_every_promise() -> None:
    _, _, section = DOCS.read_text().partition(
        "\n## What the auditor checks of orders and tickets\n"
    )
    section, _, _ = section.partition("\n## ")
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{each.name}` | {each.promise} |" for each in reserving()]


def test_the_documentation_lists_every_promise_under_competition() -> None:
    _, _, section = DOCS.read_text().partition("\n## What the auditor checks under competition\n")
    section, _, _ = section.partition("\n## ")
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{each.name}` | {each.promise} |" for each in competing()]


def test_every_promise_is_one_sentence_under_a_name_of_its_own() -> None:
    ours = (*reserving(), *competing())
    everything = (*catalogue.standard(), *ours)
    assert len({each.name for each in everything}) == len(everything)
    for each in ours:
        assert each.promise[0].isupper()
        assert each.promise.endswith(".")
        assert each.promise.count(". ") == 0
