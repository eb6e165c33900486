"""What a domain contributes to simulation. This module needs pocketkube; `korder.domain` does not."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from korder.domain import Domain
from kubeloop.objects.meta import JSON
from pocketkube.simulation.auditing.invariant import Invariant, Tolerance
from pocketkube.simulation.report.extension import Extension
from pocketkube.simulation.world import Setup

ApiKind = tuple[str, str]
"""API version and kind."""
Suite = Callable[[int, float], Setup]
"""Makes a run from a seed and a number of hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a domain contributes to simulation.

    Attributes:
        kinds: Kinds whose objects are rows of the report.
        acted: Other kinds that its controllers act on.
        concerns: Says whether an object needs the domain's controllers.
        invariants: What must hold, for one run.
        report: What it adds to the report.
        suites: Runs with made-up users, by name.
    """

    kinds: tuple[ApiKind, ...]
    acted: tuple[ApiKind, ...]
    concerns: Callable[[JSON], bool]
    invariants: Callable[[Tolerance], Iterable[Invariant]]
    report: Extension
    suites: Mapping[str, Suite]


def scenarios(domains: Iterable[Domain[Any]]) -> tuple[Scenario, ...]:
    """Loads the scenarios of all domains that have one."""
    return tuple(_load(each.scenario) for each in domains if each.scenario)


def _load(place: str) -> Scenario:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Scenario)  # noqa: S101  see `Domain.scenario`
    return found
