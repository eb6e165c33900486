"""Policies and their bindings, compiled; `validating` and `mutating` add what a policy does.

A policy without a binding does nothing. Policies come in the order of their names, and so do the bindings of each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pocketkube.apiserver.admission import matching
from pocketkube.apiserver.admission.compiled import Compiled, Whole
from pocketkube.apiserver.admission.expressions import Compiler, Conditions
from pocketkube.apiserver.admission.matching import Equivalents, Index, Scope
from pocketkube.apiserver.view import View

Object = dict[str, Any]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy is used; without a scope everywhere."""

    name: str
    policy: str
    scope: Scope | None
    param_ref: Mapping[str, Any] | None
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy(Generic[R]):
    """What all policies have; `rules` is what this one does."""

    name: str
    scope: Scope
    param_kind: Mapping[str, str] | None
    ignore_failures: bool
    reinvoked: bool
    compiler: Compiler
    conditions: Conditions
    rules: R


@dataclass(frozen=True, slots=True)
class Bound(Generic[R]):
    """A policy with its bindings."""

    policy: Policy[R]
    bindings: Sequence[Binding]


def bound(
    view: View,
    plural: str,
    binding_plural: str,
    compile_rules: Callable[[Mapping[str, Any], Compiler], R],
    equivalents: Equivalents,
) -> Whole[Index[Bound[R]]]:
    """All policies of a resource that are used."""
    policies = Compiled(view, plural, lambda obj: _policy(obj, compile_rules))
    bindings = Compiled(view, binding_plural, _binding)

    def make() -> Index[Bound[R]]:
        used: dict[str, list[Binding]] = {}
        for binding in bindings.all():
            used.setdefault(binding.policy, []).append(binding)
        return Index(
            [
                (policy.scope, Bound(policy, used[policy.name]))
                for policy in policies.all()
                if policy.name in used
            ],
            equivalents,
            all_without_rules=True,
        )

    return Whole(make, policies, bindings)


def _policy(obj: Object, compile_rules: Callable[[Mapping[str, Any], Compiler], R]) -> Policy[R]:
    spec = obj.get("spec") or {}
    compiler = Compiler(params=bool(spec.get("paramKind")))
    for each in spec.get("variables") or ():
        compiler.variable(str(each.get("name", "")), str(each.get("expression", "")))
    return Policy(
        str(obj["metadata"].get("name", "")),
        matching.scope(spec.get("matchConstraints") or {}),
        spec.get("paramKind") or None,
        spec.get("failurePolicy") == "Ignore",
        spec.get("reinvocationPolicy") == "IfNeeded",
        compiler,
        Conditions(spec.get("matchConditions") or (), compiler),
        compile_rules(spec, compiler),
    )


def _binding(obj: Object) -> Binding:
    spec = obj.get("spec") or {}
    resources = spec.get("matchResources")
    return Binding(
        str(obj["metadata"].get("name", "")),
        str(spec.get("policyName", "")),
        matching.scope(resources) if resources else None,
        spec.get("paramRef") or None,
        tuple(spec.get("validationActions") or ()),
    )
