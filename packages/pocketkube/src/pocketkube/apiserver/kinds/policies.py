"""Admission policies and their bindings: expressions must compile, and a binding must say what to do.

A mutating policy is judged like a validating one, except for its mutations, of which only the outline is checked.
"""

from collections.abc import Iterator, Mapping, Sequence
import re
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import admissionrules, names, naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_REINVOCATIONS: Final = ("IfNeeded", "Never")
_PATCHES: Final = ("ApplyConfiguration", "JSONPatch")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_SOMETHING: Final = "validations or auditAnnotations must contain at least one item"

Spec = Mapping[str, Any]


class Policies(Plain):
    """How both kinds of policies are completed and judged."""

    qualified_finalizers = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        _default_match(spec.get("matchConstraints"))

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        yield from admissionrules.one_of(
            "spec.failurePolicy", spec.get("failurePolicy"), admissionrules.FAILURE_POLICIES
        )
        if spec.get("paramKind") is not None:
            yield from _param_kind(spec["paramKind"], "spec.paramKind")
        yield from _constraints(spec.get("matchConstraints"))
        known: tuple[str, ...] = ("object", "oldObject", "request", "namespaceObject")
        known += ("params",) if spec.get("paramKind") else ()
        yield from admissionrules.conditions(
            spec.get("matchConditions"), "spec.matchConditions", known
        )
        known += ("variables",) if spec.get("variables") else ()
        yield from _variables(spec.get("variables") or (), known)
        if self.kind == "MutatingAdmissionPolicy":
            yield from _mutations(spec)
        else:
            yield from _validations(spec, obj["metadata"].get("name", ""), known)


class PolicyBindings(Plain):
    """How both kinds of bindings are completed and judged."""

    qualified_finalizers = False

    def default(self, obj: Object) -> None:
        _default_match((obj.get("spec") or {}).get("matchResources"))

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        name = spec.get("policyName", "")
        if not name:
            yield fe.required("spec.policyName")
        else:
            yield from naming.named("spec.policyName", name, names.subdomain)
        if spec.get("paramRef") is not None:
            yield from _param_ref(spec["paramRef"], "spec.paramRef")
        yield from _match(spec.get("matchResources"), "spec.matchResources")
        if self.kind == "ValidatingAdmissionPolicyBinding":
            yield from _actions(spec.get("validationActions") or [], "spec.validationActions")


def _default_match(match: dict[str, Any] | None) -> None:
    if match is not None:
        admissionrules.default_matching(match)
        admissionrules.default_rules(match.get("resourceRules"))
        admissionrules.default_rules(match.get("excludeResourceRules"))


def _constraints(match: Spec | None) -> Iterator[Cause]:
    if match is None:
        yield fe.required("spec.matchConstraints")
        return
    yield from _match(match, "spec.matchConstraints")
    if not match.get("resourceRules"):
        yield fe.required("spec.matchConstraints.resourceRules")


def _match(match: Spec | None, place: str) -> Iterator[Cause]:
    if match is not None:
        yield from admissionrules.matching(match, place)
        for member in ("resourceRules", "excludeResourceRules"):
            yield from admissionrules.rules(match.get(member), f"{place}.{member}")


def _param_kind(given: Spec, place: str) -> Iterator[Cause]:
    version, kind = given.get("apiVersion", ""), given.get("kind", "")
    if not version:
        yield fe.required(f"{place}.apiVersion")
    elif version.count("/") > 1:
        stated = f"unexpected GroupVersion string: {version}"
        yield fe.invalid(f"{place}.apiVersion", version, stated)
    else:
        group, _, short = version.rpartition("/")
        yield from _joined(f"{place}.apiVersion", group, names.subdomain(group) if group else [])
        yield from _joined(f"{place}.apiVersion", short, naming.dns_1035(short))
    if not kind:
        yield fe.required(f"{place}.kind")
    else:
        wrong = naming.dns_1035(kind.lower())
        mixed = [f"may have mixed case, but should otherwise match: {','.join(wrong)}"]
        yield from _joined(f"{place}.kind", kind, mixed if wrong else [])


def _joined(place: str, text: str, wrong: Sequence[str]) -> Iterator[Cause]:
    if wrong:
        yield fe.invalid(place, text, ",".join(wrong))


def _variables(given: Sequence[Spec], known: Sequence[str]) -> Iterator[Cause]:
    for index, variable in enumerate(given):
        place = f"spec.variables[{index}]"
        name, text = variable.get("name", ""), variable.get("expression", "")
        if not name.strip():
            yield fe.required(f"{place}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            yield fe.invalid(f"{place}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            yield fe.required(f"{place}.expression", "expression is not specified")
        else:
            yield from admissionrules.expression(f"{place}.expression", text, known)


def _validations(spec: Spec, name: str, known: Sequence[str]) -> Iterator[Cause]:
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield fe.required("spec.validations", _SOMETHING)
        yield fe.required("spec.auditAnnotations", _SOMETHING)
    for index, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{index}]", known)
    for index, annotation in enumerate(annotations):
        place, key = f"spec.auditAnnotations[{index}]", annotation.get("key", "")
        yield from naming.named(f"{place}.key", f"{name}/{key}", naming.label_key)
        text = (annotation.get("valueExpression") or "").strip()
        if not text:
            yield fe.required(f"{place}.valueExpression", "valueExpression is not specified")
        else:
            yield from admissionrules.expression(
                f"{place}.valueExpression", text, known, "string", "null"
            )
        if key in [each.get("key", "") for each in annotations[:index]]:
            yield fe.duplicate(f"{place}.key", key)


def _validation(given: Spec, place: str, known: Sequence[str]) -> Iterator[Cause]:
    text, message = given.get("expression", ""), given.get("message") or ""
    if not text.strip():
        yield fe.required(f"{place}.expression", "expression is not specified")
    else:
        yield from admissionrules.expression(f"{place}.expression", text, known, "bool")
    stated = given.get("messageExpression") or ""
    if stated and not stated.strip():
        yield fe.invalid(f"{place}.messageExpression", stated, "must be non-empty if specified")
    elif stated:
        yield from admissionrules.expression(f"{place}.messageExpression", stated, known, "string")
    if message and not message.strip():
        yield fe.invalid(f"{place}.message", message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        yield fe.invalid(f"{place}.message", message, "must not contain line breaks")
    yield from admissionrules.one_of(f"{place}.reason", given.get("reason"), _REASONS)


def _mutations(spec: Spec) -> Iterator[Cause]:
    if not spec.get("mutations"):
        yield fe.required("spec.mutations", "mutations must contain at least one item")
    if not spec.get("reinvocationPolicy"):
        yield fe.required("spec.reinvocationPolicy")
    else:
        yield from admissionrules.one_of(
            "spec.reinvocationPolicy", spec["reinvocationPolicy"], _REINVOCATIONS
        )
    for index, mutation in enumerate(spec.get("mutations") or ()):
        place = f"spec.mutations[{index}].patchType"
        if not mutation.get("patchType"):
            yield fe.required(place)
        else:
            yield from admissionrules.one_of(place, mutation["patchType"], _PATCHES)


def _param_ref(given: Spec, place: str) -> Iterator[Cause]:
    name, selector = given.get("name", ""), given.get("selector")
    both = "name and selector are mutually exclusive"
    if name:
        yield from naming.named(f"{place}.name", name, names.path_segment)
        if selector is not None:
            yield fe.forbidden(f"{place}.name", both)
    yield from naming.selector(f"{place}.selector", selector)
    if name and selector is not None:
        yield fe.forbidden(f"{place}.selector", both)
    if not name and selector is None:
        yield fe.required(place, "one of name or selector must be specified")
    action = given.get("parameterNotFoundAction")
    if not action:
        yield fe.required(f"{place}.parameterNotFoundAction")
    else:
        yield from admissionrules.one_of(f"{place}.parameterNotFoundAction", action, _NOT_FOUND)


def _actions(given: list[str], place: str) -> Iterator[Cause]:
    for index, action in enumerate(given):
        yield from admissionrules.one_of(f"{place}[{index}]", action, _ACTIONS)
        if action in given[:index]:
            yield fe.duplicate(f"{place}[{index}]", action)
    if "Deny" in given and "Warn" in given:
        stated = (
            "must not contain both Deny and Warn (repeating the same validation failure information "
            "in the API response and headers serves no purpose)"
        )
        yield fe.invalid(place, given, stated)
    if not given:
        yield fe.required(place, "at least one validation action is required")
