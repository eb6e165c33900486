"""What docs/reference.md has to say: the fields of orders, tickets and quotas, and every word and metric that people can meet."""

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
import random
import re

from korder.api import quota, reserve
from korder.install import crds
from korder.reserve.metrics import Measuring
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.webhook.handler import HandlerMetrics
from kubeloop.testing.memory import MemoryServer

TREE = Path(__file__).parents[5]
DOCUMENT = TREE / "docs" / "reference.md"
_PODS_OWN = ("affinity", "tolerations", "topologySpreadConstraints", "conditions", "podSelector")
"""Fields that are as in a pod, or in any object; nobody needs them explained here."""


def rows(title: str) -> list[tuple[str, ...]]:
    """The table below a heading of the document, without its head; code marks are taken off."""
    text = DOCUMENT.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]


def named(title: str) -> set[str]:
    """The names in the first column of that table."""
    return {name.strip("`") for row in rows(title) for name in [row[0]]}


def fields(kind: str) -> list[tuple[str, ...]]:
    """The rows of a kind's fields: path, type with default, and what the field is for."""
    crd = next(crd for crd in crds.all_crds() if crd["spec"]["names"]["kind"] == kind)  # type: ignore[index, call-overload]
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[index, call-overload]
    assert isinstance(schema, dict)
    return [
        row for part in ("spec", "status") for row in _fields(part, _of(schema["properties"], part))
    ]


def _of(value: JSON, name: str) -> dict[str, JSON]:
    assert isinstance(value, dict)
    found = value.get(name, {})
    assert isinstance(found, dict)
    return found


def _fields(path: str, schema: dict[str, JSON]) -> Iterator[tuple[str, ...]]:
    yield f"`{path}`", _type(schema), str(schema.get("description", "")).replace("|", "\\|")
    leaf = path.rpartition(".")[2].removesuffix("[]")
    if leaf in _PODS_OWN or path == "spec.template.spec":
        return
    inner, mark = schema, ""
    if schema.get("type") == "array":
        inner, mark = _of(dict(schema), "items"), "[]"
    properties = inner.get("properties", {})
    assert isinstance(properties, dict)
    for name in properties:
        yield from _fields(f"{path}{mark}.{name}", _of(properties, name))


def _type(schema: dict[str, JSON]) -> str:
    kind = str(schema.get("format") or schema.get("type") or "integer or string")
    choices = schema.get("enum")
    if isinstance(choices, list):
        kind = ", ".join(map(str, choices))
    default = schema.get("default")
    plain = isinstance(default, str | int | float | bool) and default != ""
    return f"{kind}; {default}" if plain else kind


def constants(ending: str) -> dict[str, str]:
    """The constants of `korder.api.reserve` whose name ends so, such as all labels."""
    return {
        name: value
        for name, value in vars(reserve).items()
        if name.endswith(ending) and isinstance(value, str)
    }


def conditions() -> set[str]:
    """Every condition of an order, a ticket, a quota, and a pod that asks."""
    judged = (*reserve.OrderCondition, *reserve.TicketCondition, *quota.QuotaCondition)
    return {str(word) for word in judged} | set(constants("_CONDITION").values())


def reasons() -> set[str]:
    """Every word that can stand in a reason: of a condition, a status or an Event."""
    kinds = [
        value
        for name, value in (*vars(reserve).items(), *vars(quota).items())
        if name.endswith("Reason") and isinstance(value, type) and issubclass(value, StrEnum)
    ]
    phases = {str(phase) for phase in reserve.TicketPhase} - {"Pending"}
    return {str(word) for kind in kinds for word in kind} | set(_reported()) | phases


def _reported() -> Iterator[str]:
    """The reasons of Events that are written out where they are told."""
    for path in (TREE / "packages" / "korder" / "src" / "korder" / "reserve").rglob("*.py"):
        module = ast.parse(path.read_text())
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef):
                yield from _told_in(function, _values(module.body))


def _values(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _told_in(function: ast.FunctionDef, known: dict[str, ast.expr]) -> Iterator[str]:
    values = {**known, **_values(ast.walk(function))}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Emit":
            reason: ast.expr = node.args[2]
            if isinstance(reason, ast.Name):
                reason = values.get(reason.id, reason)
            for part in ast.walk(reason):
                if isinstance(part, ast.Constant) and re.fullmatch(r"[A-Z]\w+", str(part.value)):
                    yield str(part.value)


def metrics() -> dict[str, str]:
    """Every metric of a manager with webhooks, and its type."""
    client = Client(MemoryServer().connect(), rng=random.Random(1))
    manager = Manager(
        client,
        Settings(identity="x", component="korder", metric_prefix="korder"),
        clock=SystemClock(),
        rng=random.Random(1),
    )
    Measuring(manager)
    HandlerMetrics(manager.metrics.registry, "korder")
    found = {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in manager.metrics.registry.collect()
    }
    return {name: kind for name, kind in found.items() if name.startswith("korder_")}
