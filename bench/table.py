"""Rows of the benchmark table: what was measured, against what, and whether the bar was met."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path("build/bench.json")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; `ratio` is `value / baseline`, and the bar is the most it may be, or with `at_least` the least."""

    name: str
    value: float
    unit: str
    baseline: float
    bar: float
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.value / self.baseline

    @property
    def ok(self) -> bool:
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def as_json(self) -> dict[str, object]:
        """The row as it stands in build/bench.json."""
        row: dict[str, object] = asdict(self)
        del row["at_least"]
        return {**row, "ratio": self.ratio, "ok": self.ok}


def publish(rows: Iterable[Row]) -> bool:
    """Prints the table, writes the file, and says whether every bar was met."""
    rows = sorted(rows, key=lambda row: row.name)
    table = Table("name", "value", "baseline", "ratio", "bar", "")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.value:.4g} {row.unit}",
            f"{row.baseline:.4g} {row.unit}",
            f"{row.ratio:.2f}",
            f"{'>=' if row.at_least else '<='} {row.bar:g}",
            "ok" if row.ok else "[red]misses the bar",
        )
    Console().print(table)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n")
    return all(row.ok for row in rows)
