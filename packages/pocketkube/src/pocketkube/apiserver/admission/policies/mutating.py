"""MutatingAdmissionPolicies: expressions that change what is written.

Part of the chain of `admission`. Nothing is matched anew while the policies of one round follow each other, except for
their matchConditions, which see what the policies before them have changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kubeloop.objects.machinery import StatusCause
from pocketkube.apiserver.admission import matching, reinvocation, verdicts
from pocketkube.apiserver.admission.attributes import Attributes, Operation, Plugin
from pocketkube.apiserver.admission.expressions import Compiler, Failed
from pocketkube.apiserver.admission.matching import Equivalents
from pocketkube.apiserver.admission.policies import definitions, patching
from pocketkube.apiserver.admission.policies.invocations import AskFor, Invocation, Invocations
from pocketkube.apiserver.admission.policies.parameters import FindKind
from pocketkube.apiserver.admission.policies.patching import Mutation
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.view import View

_POLICIES: Final = f"mutatingadmissionpolicies.{matching.GROUP}"
_BINDINGS: Final = f"mutatingadmissionpolicybindings.{matching.GROUP}"

Rules = Sequence[Mutation]


class MutatingPolicies(Plugin):
    """Changes writes by all policies that are bound."""

    def __init__(
        self,
        view: View,
        find_kind: FindKind,
        *,
        equivalents: Equivalents = matching.no_equivalents,
        ask_for: AskFor | None = None,
    ) -> None:
        policies = definitions.bound(view, _POLICIES, _BINDINGS, _rules, equivalents)
        self._invocations = Invocations(view, policies, find_kind, equivalents, ask_for)

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.operation is Operation.DELETE:
            return
        invocations = self._invocations.of(attributes)
        if not invocations:
            return
        hearing = reinvocation.hearing(attributes, _POLICIES)
        hearing.open()
        problems: list[tuple[Invocation[Rules], str]] = []
        touched = False
        for invocation in invocations:
            if invocation.problem:
                problems.append((invocation, invocation.problem))
                continue
            try:
                if not self._wanted(invocation, attributes) or not hearing.admits(invocation.key):
                    continue
            except Failed as failure:
                problems.append((invocation, str(failure)))
                continue
            changed, failures = self._carry_out(invocation, attributes)
            problems.extend((invocation, failure) for failure in failures)
            touched = touched or len(failures) < len(invocation.policy.rules)
            hearing.heard(invocation.key, changed=changed, wants_more=invocation.policy.reinvoked)
        hearing.close(touched=touched)
        serious = [each for each in problems if not each[0].policy.ignore_failures]
        if serious:
            raise _refusal(attributes, serious)

    def _wanted(self, invocation: Invocation[Rules], attributes: Attributes) -> bool:
        policy = invocation.policy
        return policy.conditions.hold(
            lambda: self._invocations.activation(invocation, attributes),
            ignore_failures=policy.ignore_failures,
        )

    def _carry_out(
        self, invocation: Invocation[Rules], attributes: Attributes
    ) -> tuple[bool, list[str]]:
        changed, failures = False, []
        for mutation in invocation.policy.rules:
            if attributes.object is None:
                break
            seen = self._invocations.activation(invocation, attributes)
            try:
                changed = mutation.carry_out(attributes, seen) or changed
            except Failed as failure:
                failures.append(str(failure))
        return changed, failures


def _refusal(attributes: Attributes, problems: Sequence[tuple[Invocation[Rules], str]]) -> Refused:
    messages = [_reported(invocation, problem) for invocation, problem in problems]
    status = verdicts.denied(attributes, messages[0]).status
    assert status.details is not None  # noqa: S101 a refusal by admission names what it is about
    causes = tuple(StatusCause(message=each) for each in messages)
    # A server says 403 and Invalid in one breath, unless the policy itself is unusable.
    reason = "Forbidden" if problems[0][0].problem else "Invalid"
    return Refused(
        msgspec.structs.replace(
            status,
            message=messages[0],
            reason=reason,
            details=msgspec.structs.replace(status.details, causes=causes),
        )
    )


def _reported(invocation: Invocation[Rules], problem: str) -> str:
    name, binding = invocation.policy.name, invocation.binding
    if binding is None:
        return f'policy "{name}" denied request: {problem}'
    return f"policy '{name}' with binding '{binding.name}' denied request: {problem}"


def _rules(spec: Mapping[str, Any], compiler: Compiler) -> Rules:
    return [patching.mutation(each, compiler) for each in spec.get("mutations") or ()]
