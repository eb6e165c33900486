"""How objects of a kind are shown in tables: columns, and what stands in them.

A `Resource` carries a printer; `serving` asks it for Tables, which `kubectl get` prints. The printers of the kinds of
Kubernetes are in `printing`. A server leaves nothing out of a table: what only `-o wide` shows has a priority.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Object = dict[str, Any]
Cells = list[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; those with a priority above 0 are only shown wide."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Object:
        """The column as a Table has it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME = Column("Name", format="name")


def no_conditions(obj: Object) -> list[Object]:
    """What is said about the rows of most kinds."""
    del obj
    return []


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind.

    Attributes:
        cells: What stands in the row of an object at an instant.
        conditions: What a table says about the row as a whole.
    """

    columns: tuple[Column, ...]
    cells: Callable[[Object, datetime], Cells]
    conditions: Callable[[Object], list[Object]] = no_conditions


def _plain(obj: Object, now: datetime) -> Cells:
    del now
    meta = obj["metadata"]
    return [meta.get("name", ""), meta.get("creationTimestamp")]


PLAIN = Printer((NAME, Column("Created At", "date")), _plain)
"""How a kind is shown of which nothing is known."""
