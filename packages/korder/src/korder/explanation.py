"""What a person is told who asks why: the common part of the explanations of pods, tickets and orders.

`korder explain` prints it. Explanations ask the rules that decide, so they are right even where no manager runs, and they
never decide anything themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubeloop.objects import resources
from kubeloop.objects.resources import Resources

MOST_ROWS = 20
"""More than this nobody reads; what follows from them is in the sentence above."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer.

    Attributes:
        verdict: How it stands, in one sentence.
        facts: What else matters, a sentence each.
        titles: What the columns of the rows say.
        rows: What was looked at one by one.
    """

    verdict: str
    facts: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def shortened(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The first rows, and how many more there are."""
    given = tuple(rows)
    if len(given) <= MOST_ROWS:
        return given
    rest = f"and {len(given) - MOST_ROWS} more"
    return (*given[:MOST_ROWS], (rest, *[""] * (len(given[0]) - 1)))


def amounts(some: Resources) -> str:
    """Resources in a sentence, such as `cpu 500m, memory 1Gi`."""
    stated = resources.render(some)
    return ", ".join(f"{name} {stated[name]}" for name in sorted(stated)) or "nothing"


def pairs(some: Mapping[str, str]) -> str:
    """Annotations or labels in a sentence, such as `korder.dev/required=true`."""
    return ", ".join(f"{name}={value}" for name, value in sorted(some.items()))
