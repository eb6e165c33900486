"""The rules of a schema (`x-kubernetes-validations`): compiled once, evaluated against an object and its predecessor.

Called by `structural` after all other checks have passed. A rule that names `oldSelf` runs only where an old value
correlates; what is false but unchanged since the object was stored is forgiven, as by a server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any, Final, NamedTuple

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas import cel, celsource, celtypes, correlation
from pocketkube.apiserver.schemas.correlation import NOTHING
from pocketkube.apiserver.schemas.schemanodes import Node, compile_node

VALIDATIONS: Final = "x-kubernetes-validations"
_LONGEST_MESSAGE: Final = 5 * 1024
_STEP: Final = re.compile(r"\.([^.\[]+)|\['((?:[^'\\]|\\.)*)'\]")
_META_SCHEMA: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}


class RuleError(ValueError):
    """A rule cannot be compiled; `member` is the part of it that is wrong."""

    def __init__(self, member: str, detail: str) -> None:
        super().__init__(detail)
        self.member = member


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule."""

    program: cel.Program | None
    message_program: cel.Program | None
    problem: str
    text: str
    message: str
    reason: str
    path: str
    uses_old: bool
    old_is_optional: bool
    canonical: bool

    @property
    def stated(self) -> str:
        return self.message or self.text


@dataclass(frozen=True, slots=True)
class RuleNode:
    """The rules of one place of a schema and of all places below."""

    node: Node
    is_resource: bool
    rules: tuple[Rule, ...]
    all_of: tuple["RuleNode", ...]
    properties: Mapping[str, "RuleNode"]
    additional: "RuleNode | None"
    items: "RuleNode | None"
    convert: celtypes.Convert | None
    canonical: celtypes.Convert | None


class _Part(NamedTuple):
    """A part of the new object beside the old part it came from."""

    node: Node
    old: Any
    new: Any

    def unchanged(self) -> bool:
        return correlation.same(self.node, self.old, self.new)


def compile_rules(
    node: Node, *, is_resource: bool = False, only: Node | None = None
) -> RuleNode | None:
    """Everything that has rules at or below a node; `only` takes rules from an allOf schema for values of the node."""
    source = only or node
    sees = celtypes.signature(node)
    found = tuple(
        _compiled(node, rule, is_resource) for rule in source.schema.get(VALIDATIONS) or ()
    )
    properties = {}
    for name, below in source.properties.items():
        target = node.properties.get(name)
        if target is not None and celtypes.signature(target):
            made = compile_rules(target, is_resource=target.embedded, only=below if only else None)
            if made is not None:
                properties[name] = made
    additional = _below(node.additional, source.additional, only=only)
    items = _below(node.items, source.items, only=only)
    nested = (compile_rules(node, is_resource=is_resource, only=rule) for rule in source.all_of)
    all_of = tuple(made for made in nested if made is not None)
    if not sees or not (found or properties or additional or items or all_of):
        return None
    return RuleNode(
        node=node,
        is_resource=is_resource,
        rules=found,
        all_of=all_of,
        properties=properties,
        additional=additional,
        items=items,
        convert=celtypes.converter(node) if found else None,
        canonical=celtypes.converter(node, canonical=True) if found else None,
    )


def _below(node: Node | None, source: Node | None, *, only: Node | None) -> RuleNode | None:
    if node is None or source is None:
        return None
    return compile_rules(node, is_resource=node.embedded, only=source if only else None)


def _compiled(node: Node, rule: Mapping[str, Any], is_resource: bool) -> Rule:  # noqa: FBT001  passed through
    program: cel.Program | None = None
    message: cel.Program | None = None
    problem = ""
    try:
        program, message = compile_rule(node, rule, is_resource=is_resource)
    except RuleError as error:
        problem = str(error) if error.member == "rule" else ""
    text = str(rule.get("rule", "")).strip()
    uses_old = names_old(text)
    compares = "==" in text or "!=" in text
    return Rule(
        program=program,
        message_program=message,
        problem=problem,
        text=text,
        message=str(rule.get("message", "")).strip(),
        reason=str(rule.get("reason", "")),
        path=field_path(node, str(rule.get("fieldPath", ""))) or "",
        uses_old=uses_old,
        old_is_optional=bool(rule.get("optionalOldSelf")),
        canonical=node.has_lists and uses_old and compares and "[" not in text,
    )


def names_old(text: str) -> bool:
    """Whether a rule compares with the old value."""
    found = celsource.tokens(text)
    return any(
        token.text == "oldSelf" and token.kind == "name" and (not i or found[i - 1].text != ".")
        for i, token in enumerate(found)
    )


def compile_rule(
    node: Node, rule: Mapping[str, Any], *, is_resource: bool
) -> tuple[cel.Program, cel.Program | None]:
    """The programs of a rule and of its messageExpression.

    Raises:
        RuleError: one of them is wrong.
    """
    sees = celtypes.signature(node)
    variables = {"self": sees, "oldSelf": sees, "k8s_has_old": "bool"}
    known = _with_meta(node) if is_resource else node
    text, optional = str(rule.get("rule", "")).strip(), bool(rule.get("optionalOldSelf"))
    schemas = {"self": known} if optional else {"self": known, "oldSelf": known}
    if optional:
        old = "k8s_has_old ? optional.of(oldSelf) : optional.none()"
        text = f"cel.bind(oldSelf, {old}, (\n{text}\n))"
    program = _program("rule", text, variables, schemas, "bool")
    written = str(rule.get("messageExpression", ""))
    schemas = {"self": known, "oldSelf": known}
    said = _program("messageExpression", written, variables, schemas, "string") if written else None
    return program, said


def _with_meta(node: Node) -> Node:
    properties = {**node.schema.get("properties", {}), **_META_SCHEMA}
    return compile_node({**node.schema, "properties": properties})


def _program(
    member: str, text: str, variables: dict[str, str], schemas: dict[str, Node], expected: str
) -> cel.Program:
    prefix = "" if member == "rule" else "messageExpression "
    try:
        program = cel.compile_program(text, variables, schemas)
    except cel.CompileError as problem:
        raise RuleError(member, f"{prefix}compilation failed: {problem}") from None
    if program.returns not in (expected, "dyn"):
        subject = "cel expression" if member == "rule" else "messageExpression"
        raise RuleError(member, f"{subject} must evaluate to a {expected}")
    return program


def field_path(node: Node, path: str) -> str | None:
    """A rule's fieldPath as a field of an error; None if the schema has no such field."""
    made, at, place = "", 0, node
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        name = found[1] or re.sub(r"\\(.)", r"\1", found[2])
        if place.properties:
            below = place.properties.get(name)
            made += f".{name}" if made else name
        else:
            below = place.additional
            made += f"[{name}]"
        if below is None:
            return None
        place, at = below, found.end()
    return made


def evaluate(rules: RuleNode, obj: Any, old: Any) -> list[Cause]:
    """A cause for every rule that is false or fails."""
    causes: list[Cause] = []
    whole = None if old is None else _Part(rules.node, old, obj)
    _evaluate(rules, "", obj, NOTHING if old is None else old, (whole, None), causes)
    return causes


_Correlation = tuple[_Part | None, _Part | None]
"""The part itself if it correlates, and the nearest one above that does."""


def _evaluate(
    rules: RuleNode, at: str, value: Any, old: Any, known: _Correlation, causes: list[Cause]
) -> None:
    if value is None:
        return
    if rules.rules:
        _apply(rules, at, value, old, known, causes)
    for nested in rules.all_of:
        _evaluate(nested, at, value, old, (None, known[1]), causes)
    if isinstance(value, dict):
        for name, member in value.items():
            below = rules.properties.get(name)
            place = f"{at}.{name}" if at else name
            if below is None:
                below, place = rules.additional, f"{at}[{name}]"
            if below is not None:
                was = correlation.member(old, name)
                _evaluate(below, place, member, was, _step(known, below.node, was, member), causes)
    elif isinstance(value, list) and rules.items is not None:
        entries = correlation.Entries(rules.node, old)
        for index, entry in enumerate(value):
            was = entries.get(entry)
            further = _step(known, rules.items.node, was, entry)
            _evaluate(rules.items, f"{at}[{index}]", entry, was, further, causes)


def _step(known: _Correlation, node: Node, old: Any, new: Any) -> _Correlation:
    here = known[0]
    if here is None:
        return known
    return (None if old is NOTHING else _Part(node, old, new)), here


def _is_unchanged(known: _Correlation) -> bool:
    part = known[0] or known[1]
    return part is not None and part.unchanged()


def _apply(
    rules: RuleNode, at: str, value: Any, old: Any, known: _Correlation, causes: list[Cause]
) -> None:
    has_old = old is not NOTHING and old is not None
    bound: dict[bool, Any] = {}
    for rule in rules.rules:
        if rule.program is None:
            if rule.problem:
                named = rules.node.type
                causes.append(
                    fe.invalid(at or fe.NO_FIELD, named, f"rule compile error: {rule.problem}")
                )
            continue
        if rule.uses_old and not has_old and not rule.old_is_optional:
            continue
        if rule.canonical not in bound:
            convert = rules.canonical if rule.canonical else rules.convert
            values = {"self": value, "k8s_has_old": has_old}
            if has_old:
                values["oldSelf"] = old
            if convert is not None:
                values = {k: v if k == "k8s_has_old" else convert(v) for k, v in values.items()}
            bound[rule.canonical] = rule.program.bind(values)
        try:
            verdict = rule.program.run(bound[rule.canonical])
        except cel.EvaluationError as error:
            causes.append(_failed(rules.node, rule, at, str(error)))
            continue
        if verdict is not True and (rule.uses_old or not _is_unchanged(known)):
            causes.append(_refusal(rules.node, rule, at, value, bound[rule.canonical]))


def _failed(node: Node, rule: Rule, at: str, error: str) -> Cause:
    if error.startswith("no such overload"):
        signature = "call arguments did not match a supported operator, function or macro signature"
        return fe.invalid(
            at or fe.NO_FIELD, node.type, f"'{error}': {signature} for rule: {rule.stated}"
        )
    return fe.invalid(at or fe.NO_FIELD, node.type, f"{error} evaluating rule: {rule.stated}")


def _message(rule: Rule, bound: Any) -> str:
    """What the messageExpression says, if it says something usable."""
    if rule.message_program is None:
        return ""
    try:
        said = rule.message_program.run(bound)
    except cel.EvaluationError:
        return ""
    text = said.strip() if isinstance(said, str) else ""
    return "" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text


def _refusal(node: Node, rule: Rule, at: str, value: Any, bound: Any) -> Cause:
    message = _message(rule, bound) or rule.message or f"failed rule: {rule.text}"
    field = ".".join(part for part in (at, rule.path) if part) or fe.NO_FIELD
    if rule.reason == fe.FORBIDDEN:
        return fe.forbidden(field, message)
    if rule.reason == fe.REQUIRED:
        return fe.required(field, message)
    compound = node.type in ("object", "array")
    if rule.reason == fe.DUPLICATE:
        return (
            fe.Cause(field=field, reason=fe.DUPLICATE, message="Duplicate value")
            if compound
            else fe.duplicate(field, value)
        )
    return fe.unshown(field, message) if compound else fe.invalid(field, value, message)
