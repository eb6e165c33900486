"""Counts what the contract says: `python -m tests.contract.behaviours` prints the behaviours of each area.

A behaviour is a test function; rows of one table exercise the same code and count once.
"""

import ast
from pathlib import Path
import sys

HERE = Path(__file__).parent


def areas() -> dict[str, int]:
    """How many behaviours each area has."""
    return {
        path.stem.removeprefix("test_").replace("_", " "): _tests(path)
        for path in sorted(HERE.glob("test_*.py"))
        if _tests(path)
    }


def _tests(path: Path) -> int:
    tree = ast.parse(path.read_text())
    return sum(
        isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test_")
        for node in tree.body
    )


def main() -> None:
    """Prints the table."""
    counted = areas()
    for area, count in [*counted.items(), ("all", sum(counted.values()))]:
        sys.stdout.write(f"{count:5}  {area}\n")


if __name__ == "__main__":
    main()
