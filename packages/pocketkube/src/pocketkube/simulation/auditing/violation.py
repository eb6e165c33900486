"""A violation as a text that says all a reader needs: what was promised, what happened, to whom, since what, and how to see it again.

Pure; the engine knows seed and replay command and finds the last writes in its journal, `cli` and tests print the answer.
"""

from collections.abc import Iterable, Sequence

from kubeloop.objects import instant
from pocketkube.simulation.auditing.auditor import Violation

_WIDTH = 13


def render(violation: Violation, *, seed: int, writes: Sequence[str], replay: str) -> str:
    """Writes the report; `writes` are lines of the journal about the objects concerned, oldest first."""
    at = instant.render_micro(violation.at)
    parts: tuple[tuple[str, Iterable[str]], ...] = (
        ("promise", (violation.promise,)),
        ("but", (violation.sentence,)),
        ("at", (f"{at}, after version {violation.version}",)),
        ("objects", map(str, violation.subjects)),
        ("last writes", writes or ("none in the journal",)),
        ("seed", (str(seed),)),
        ("to replay", (replay,)),
    )
    body = "\n".join(_part(title, list(lines)) for title, lines in parts)
    return f"BROKEN: {violation.invariant}\n{body}\n"


def _part(title: str, lines: Sequence[str]) -> str:
    margin = "\n" + " " * (_WIDTH + 2)
    return f"  {title:<{_WIDTH}}" + margin.join(lines)
