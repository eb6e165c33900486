"""What a job makes of the ends of its pods: policies for failure, success and replacement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import handlers, internal

Values = Mapping[str, Any]

_ACTIONS: Final = "Count", "FailIndex", "FailJob", "Ignore"
_REPLACING: Final = "Failed", "TerminatingOrFailed"
_STATES: Final = "False", "True", "Unknown"


def check(field: str, spec: Values) -> Iterator[Cause]:
    """All policies of a job."""
    failing = spec.get("podFailurePolicy")
    if failing is not None:
        yield from _check_failing(
            f"{field}.podFailurePolicy.rules", failing.get("rules") or (), spec
        )
    success = spec.get("successPolicy")
    if success is not None:
        if spec.get("completionMode") == "Indexed":
            where = f"{field}.successPolicy.rules"
            yield from _check_success(where, success.get("rules") or (), spec)
        else:
            stated = internal.text("SuccessPolicy", success)
            said = "requires indexed completion mode"
            yield fielderrors.written(f"{field}.successPolicy", stated, said)
    replacing = spec.get("podReplacementPolicy")
    allowed = _REPLACING[:1] if failing is not None else _REPLACING
    if replacing is not None and replacing not in allowed:
        yield fielderrors.not_supported(f"{field}.podReplacementPolicy", replacing, allowed)


def check_manager(field: str, name: str) -> Iterator[Cause]:
    """Who carries out the job if it is not Kubernetes itself."""
    domain, slash, path = name.partition("/")
    if not name:
        yield fielderrors.required(field)
        return
    if not slash or not domain or not path:
        said = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield fielderrors.invalid(field, name, said)
    else:
        for said in naming.dns_subdomain(domain):
            yield fielderrors.invalid(field, domain, said)
    if len(name.encode()) > 63:
        yield fielderrors.too_long(field, 63)


def _check_failing(field: str, rules: Sequence[Values], spec: Values) -> Iterator[Cause]:
    if len(rules) > 20:
        yield fielderrors.too_many(field, len(rules), 20)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = [
        one.get("name", "")
        for kind in ("containers", "initContainers")
        for one in pod.get(kind) or ()
    ]
    for at, rule in enumerate(rules):
        where, action = f"{field}[{at}]", rule.get("action", "")
        if not action:
            yield fielderrors.required(f"{where}.action", f"valid values: {_quoted(_ACTIONS)}")
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                said = "requires the backoffLimitPerIndex to be set"
                yield fielderrors.invalid(f"{where}.action", action, said)
        elif action not in _ACTIONS:
            yield fielderrors.not_supported(f"{where}.action", action, _ACTIONS)
        yield from _check_reasons(where, rule, containers)


def _check_reasons(field: str, rule: Values, containers: Sequence[str]) -> Iterator[Cause]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _check_codes(f"{field}.onExitCodes", codes, containers)
    where = f"{field}.onPodConditions"
    if len(conditions) > 20:
        yield fielderrors.too_many(where, len(conditions), 20)
    for at, one in enumerate(conditions):
        yield from naming.named(f"{where}[{at}].type", one.get("type", ""), naming.label_key)
        if one.get("status") not in _STATES:
            yield fielderrors.not_supported(f"{where}[{at}].status", one.get("status", ""), _STATES)
    if codes is not None and conditions:
        said = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield fielderrors.unshown(field, said)
    if codes is None and not conditions:
        said = "specifying one of OnExitCodes and OnPodConditions is required"
        yield fielderrors.unshown(field, said)


def _check_codes(field: str, codes: Values, containers: Sequence[str]) -> Iterator[Cause]:
    operator, values = codes.get("operator", ""), codes.get("values") or ()
    if not operator:
        yield fielderrors.required(f"{field}.operator", 'valid values: ["In" "NotIn"]')
    elif operator not in ("In", "NotIn"):
        yield fielderrors.not_supported(f"{field}.operator", operator, ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        said = "must be one of the container or initContainer names in the pod template"
        yield fielderrors.invalid(f"{field}.containerName", name, said)
    if not values:
        yield fielderrors.invalid(f"{field}.values", None, "at least one value is required")
    elif len(values) > 255:
        yield fielderrors.too_many(f"{field}.values", len(values), 255)
    for at, code in enumerate(values):
        if operator == "In" and code == 0:
            said = "must not be 0 for the In operator"
            yield fielderrors.invalid(f"{field}.values[{at}]", code, said)
        if code in values[:at]:
            yield fielderrors.duplicate(f"{field}.values[{at}]", code)
    if list(values) != sorted(values):
        yield fielderrors.invalid(f"{field}.values", list(values), "must be ordered")


def _check_success(field: str, rules: Sequence[Values], spec: Values) -> Iterator[Cause]:
    if not rules:
        said = "at least one rules must be specified when the successPolicy is specified"
        yield fielderrors.required(field, said)
    if len(rules) > 20:
        yield fielderrors.too_many(field, len(rules), 20)
    completions = spec.get("completions") or 0
    for at, rule in enumerate(rules):
        count = rule.get("succeededCount")
        where = f"{field}[{at}]"
        if count is None and rule.get("succeededIndexes") is None:
            said = "at least one of succeededCount or succeededIndexes must be specified"
            yield fielderrors.required(where, said)
        yield from handlers.not_negative(f"{where}.succeededCount", count)
        if count is not None and count > completions:
            said = (
                f"must be less than or equal to {completions} (the number of specified completions)"
            )
            yield fielderrors.invalid(f"{where}.succeededCount", count, said)


def _quoted(words: Sequence[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
