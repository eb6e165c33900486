"""What webhooks and admission policies share: rules about resources, selectors, conditions in CEL, and their defaults."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming
from pocketkube.apiserver.schemas import cel, celadmission

FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS: Final = 64

Members = dict[str, Any]


def default_matching(holder: Members) -> None:
    """Completes what says which objects are meant, in a webhook or a policy."""
    holder.setdefault("matchPolicy", "Equivalent")
    holder.setdefault("namespaceSelector", {})
    holder.setdefault("objectSelector", {})


def default_rules(rules: Iterable[Members] | None) -> None:
    """Completes rules."""
    for rule in rules or ():
        rule.setdefault("scope", "*")


def one_of(place: str, value: Any, allowed: Sequence[str]) -> Iterator[Cause]:
    """Checks a word of a list, if it is there."""
    if value is not None and value not in allowed:
        yield fe.not_supported(place, value, allowed)


def matching(holder: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """The match policy and both selectors."""
    yield from one_of(f"{place}.matchPolicy", holder.get("matchPolicy"), _MATCH_POLICIES)
    for member in ("namespaceSelector", "objectSelector"):
        yield from naming.selector(f"{place}.{member}", holder.get(member))


def rules(given: Sequence[Members] | None, place: str) -> Iterator[Cause]:
    """Rules about resources."""
    for index, rule in enumerate(given or ()):
        yield from _names(rule.get("resourceNames") or (), f"{place}[{index}].resourceNames")
        yield from _operations(rule.get("operations") or [], f"{place}[{index}].operations")
        yield from _rule(rule, f"{place}[{index}]")


def _names(given: Sequence[str], place: str) -> Iterator[Cause]:
    for index, name in enumerate(given):
        yield from naming.named(f"{place}[{index}]", name, names.path_segment)
        if name in given[:index]:
            yield fe.duplicate(f"{place}[{index}]", name)


def _operations(given: list[str], place: str) -> Iterator[Cause]:
    if not given:
        yield fe.required(place)
    if len(given) > 1 and "*" in given:
        yield fe.invalid(place, given, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(given):
        yield from one_of(f"{place}[{index}]", operation, _OPERATIONS)


def _rule(rule: Members, place: str) -> Iterator[Cause]:
    for member, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        given = rule.get(member) or []
        if not given:
            yield fe.required(f"{place}.{member}")
        if len(given) > 1 and "*" in given:
            stated = f"if '*' is present, must not specify other {what}"
            yield fe.invalid(f"{place}.{member}", given, stated)
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield fe.required(f"{place}.apiVersions[{index}]")
    yield from _resources(rule.get("resources") or [], f"{place}.resources")
    yield from one_of(f"{place}.scope", rule.get("scope"), _SCOPES)


def _resources(given: list[str], place: str) -> Iterator[Cause]:
    if not given:
        yield fe.required(place)
    whole: set[str] = set()
    everywhere: set[str] = set()
    for index, text in enumerate(given):
        resource, slash, part = text.partition("/")
        if not text:
            yield fe.required(f"{place}[{index}]")
        if not slash:
            continue
        for found, pattern in (
            (resource in whole, f"{resource}/*"),
            (part in everywhere, f"*/{part}"),
        ):
            if found:
                stated = f"if '{pattern}' is present, must not specify {text}"
                yield fe.invalid(f"{place}[{index}]", text, stated)
        if part == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(part)
    yield from _wildcards(given, place)


def _wildcards(given: list[str], place: str) -> Iterator[Cause]:
    if len(given) > 1 and "*/*" in given:
        stated = "if '*/*' is present, must not specify other resources"
        yield fe.invalid(place, given, stated)
    plain = [text for text in given if text and "/" not in text]
    if "*" in given and plain[-1] != "*":
        stated = "if '*' is present, must not specify other resources without subresources"
        yield fe.invalid(place, given, stated)


def conditions(
    given: Sequence[Members] | None, place: str, variables: Sequence[str]
) -> Iterator[Cause]:
    """`matchConditions`."""
    if len(given or ()) > _MOST_CONDITIONS:
        yield fe.too_many(place, len(given or ()), _MOST_CONDITIONS)
    seen: set[str] = set()
    for index, condition in enumerate(given or ()):
        text, name = (condition.get("expression") or "").strip(), condition.get("name", "")
        if not text:
            yield fe.required(f"{place}[{index}].expression")
        else:
            yield from expression(f"{place}[{index}].expression", text, variables, "bool")
        if not name:
            yield fe.required(f"{place}[{index}].name")
        else:
            yield from naming.named(f"{place}[{index}].name", name, naming.label_key)
            if name in seen:
                yield fe.duplicate(f"{place}[{index}].name", name)
        seen.add(name)


def expression(place: str, text: str, variables: Sequence[str], *returns: str) -> Iterator[Cause]:
    """An expression in CEL; what it returns must be one of these types, if any are given."""
    try:
        program = cel.compile_admission(text, variables)
    except cel.CompileError as error:
        yield fe.invalid(place, text, f"compilation failed: {error}")
        return
    if returns and not celadmission.fits(program.returns, returns, text):
        wanted = " or ".join(returns)
        yield fe.invalid(place, text, f"must evaluate to {wanted} but got {program.returns}")
