"""ValidatingAdmissionPolicies: expressions that must be true of what would be stored.

Part of the chain of `admission`. Audit annotations are evaluated, because one that fails denies, and go nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubeloop.objects.machinery import StatusCause
from pocketkube.apiserver.admission import matching, verdicts
from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.expressions import Activation, Compiler, Expression, Failed
from pocketkube.apiserver.admission.matching import Equivalents
from pocketkube.apiserver.admission.policies import definitions
from pocketkube.apiserver.admission.policies.invocations import AskFor, Invocation, Invocations
from pocketkube.apiserver.admission.policies.parameters import FindKind
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.view import View

_POLICIES: Final = f"validatingadmissionpolicies.{matching.GROUP}"
_BINDINGS: Final = f"validatingadmissionpolicybindings.{matching.GROUP}"
_LONGEST_MESSAGE: Final = 5 * 1024
_CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413}


@dataclass(frozen=True, slots=True)
class Validation:
    """One thing that must hold, and what is said if it does not."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What a validating policy does."""

    validations: Sequence[Validation]
    annotations: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class Denial:
    """One thing that does not hold."""

    invocation: Invocation[Rules]
    message: str
    reason: str = "Invalid"

    def stated(self) -> str:
        policy, binding = self.invocation.policy.name, self.invocation.binding
        bound = f" with binding '{binding.name}'" if binding else ""
        return f"ValidatingAdmissionPolicy '{policy}'{bound} denied request: {self.message}"


class ValidatingPolicies(Plugin):
    """Judges writes by all policies that are bound."""

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

    async def validate(self, attributes: Attributes) -> None:
        denials: list[Denial] = []
        for invocation in self._invocations.of(attributes):
            denials.extend(self._judge(invocation, attributes))
        if denials:
            raise _refusal(attributes, denials[0])

    def _judge(self, invocation: Invocation[Rules], attributes: Attributes) -> list[Denial]:
        policy, binding = invocation.policy, invocation.binding
        if invocation.problem or binding is None:
            return [] if policy.ignore_failures else [Denial(invocation, invocation.problem)]
        seen = self._invocations.activation(invocation, attributes)
        try:
            if not policy.conditions.hold(lambda: seen, ignore_failures=policy.ignore_failures):
                return []
        except Failed as failure:
            return _acted(binding.actions, [Denial(invocation, str(failure))], attributes)
        found = [_validated(each, invocation, seen) for each in policy.rules.validations]
        denied = _acted(binding.actions, [each for each in found if each], attributes)
        return denied + _annotated(invocation, seen)


def _validated(
    validation: Validation, invocation: Invocation[Rules], seen: Activation
) -> Denial | None:
    try:
        if seen.evaluate(validation.expression) is True:
            return None
    except Failed as failure:
        ignored = invocation.policy.ignore_failures
        return None if ignored else Denial(invocation, str(failure))
    return Denial(invocation, _message(validation, seen), validation.reason)


def _message(validation: Validation, seen: Activation) -> str:
    made: Any = ""
    if validation.message_expression is not None:
        try:
            made = seen.evaluate(validation.message_expression)
        except Failed:
            made = ""
    text = made.strip() if isinstance(made, str) else ""
    if len(text.encode()) > _LONGEST_MESSAGE or "\n" in text:
        text = ""
    fallback = validation.message.strip() or (
        f"failed expression: {validation.expression.text.strip()}"
    )
    return text or fallback


def _acted(
    actions: Sequence[str], denials: Sequence[Denial], attributes: Attributes
) -> list[Denial]:
    """What is left to be denied after warnings were given."""
    denied: list[Denial] = []
    for denial in denials:
        for action in actions:
            if action == "Deny":
                denied.append(denial)
            elif action == "Warn":
                policy, binding = denial.invocation.policy, denial.invocation.binding
                bound = binding.name if binding else ""
                attributes.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' "
                    f"with binding '{bound}': {denial.message}"
                )
    return denied


def _annotated(invocation: Invocation[Rules], seen: Activation) -> list[Denial]:
    denied = []
    for expression in invocation.policy.rules.annotations:
        try:
            value = seen.evaluate(expression)
        except Failed as failure:
            if not invocation.policy.ignore_failures:
                denied.append(Denial(invocation, str(failure)))
            continue
        if value is not None and not isinstance(value, str):
            why = (
                f"valueExpression '{expression.text}' resulted in unsupported return type: "
                f"{type(value).__name__}. Return type must be either string or null."
            )
            denied.append(Denial(invocation, why))
    return denied


def _refusal(attributes: Attributes, denial: Denial) -> Refused:
    message = denial.stated()
    status = verdicts.denied(attributes, message).status
    assert status.details is not None  # noqa: S101 a refusal by admission names what it is about
    details = msgspec.structs.replace(status.details, causes=(StatusCause(message=message),))
    code = _CODES.get(denial.reason, 422)
    return Refused(
        msgspec.structs.replace(status, reason=denial.reason, code=code, details=details)
    )


def _rules(spec: Mapping[str, Any], compiler: Compiler) -> Rules:
    return Rules(
        [_validation(each, compiler) for each in spec.get("validations") or ()],
        [
            compiler.expression(str(each.get("valueExpression", "")), ("string", "null"))
            for each in spec.get("auditAnnotations") or ()
        ],
    )


def _validation(written: Mapping[str, Any], compiler: Compiler) -> Validation:
    message = written.get("messageExpression")
    return Validation(
        compiler.expression(str(written.get("expression", "")), ("bool",)),
        str(written.get("message") or ""),
        compiler.expression(str(message), ("string",), authorizer=False) if message else None,
        str(written.get("reason") or "Invalid"),
    )
