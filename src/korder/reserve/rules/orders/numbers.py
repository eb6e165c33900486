"""Sets of ticket numbers as short texts: `0-2,5`.

`orderplan` keeps them in the status of an order, where an order of a thousand tickets must not take a page. Calls nothing.
"""

from collections.abc import Iterable


def render(numbers: Iterable[int]) -> str:
    """Writes numbers in order, neighbours as ranges."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def parse(text: str) -> frozenset[int]:
    """Reads what `render` has written."""
    found: set[int] = set()
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
