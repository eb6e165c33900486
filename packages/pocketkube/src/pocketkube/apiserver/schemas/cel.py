"""Kubernetes' CEL: compile once, evaluate in microseconds, in the words of an API server.

`rules` compiles the rules of schemas here, the admission chain its matchConditions and policy expressions with
`compile_admission`. Built on the bindings of cel-cpp. Known limits against kube-apiserver: objects are typed dynamically,
so a wrong operand type inside of an object shows when the rule runs and not when it is compiled; a field of a name that a
macro or `cel.bind` introduced is looked up only for lists of objects; instants and durations are read as such where a path
leads to them, not out of optionals, `min()` or `in`; lists of durations have no `sum()`; there is no cost
limit; `string()` of quantities and addresses, `type()` of them and `sortBy` are missing; the union of set and
map lists by `+` is a plain concatenation.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
import re
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs lack the marker
from cel_expr_python.ext import (  # type: ignore[import-untyped]
    ext_bindings,
    ext_encoders,
    ext_optional,
)

from pocketkube.apiserver.schemas import celadmission, celauthorizer, celfunctions, celsource
from pocketkube.apiserver.schemas.schemanodes import Node

ADMISSION: Final = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What expressions of policies can name; matchConditions know the first three."""

_PREFIX: Final = re.compile(r"^(?:[A-Z_]+: )?")
_SUFFIX: Final = re.compile(r" \[[A-Z_]+\]$")
_DOTTED: Final = re.compile(
    r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): undeclared reference to '(?P<name>\w+\.[\w.]+)' "
    r"\(in container ''\)\n \| (?P<text>.*)\n \| \.*\^"
)
_CONVERSION: Final = "type conversion error from 'string' to '"
_WORDS: Final = (
    (re.compile(r'Key not found in map : "?(.*?)"?$', re.DOTALL), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?[0-9]+) size=[0-9]+"), r"index out of bounds: \1"),
    (
        re.compile(
            r"No matching overloads found.*|Applying SELECT to non-message type.*", re.DOTALL
        ),
        "no such overload",
    ),
    (re.compile(r"divide by zero"), "division by zero"),
    (
        re.compile(r"String to (Duration|Timestamp) conversion failed.*", re.DOTALL),
        _CONVERSION + r"google.protobuf.\1'",
    ),
    (
        re.compile(r'(Duration|Timestamp) ".*(?:above|below).*', re.DOTALL),
        _CONVERSION + r"google.protobuf.\1'",
    ),
    (re.compile(r"cannot convert string to (\w+)"), _CONVERSION + r"\1'"),
    (re.compile(r"^Type conversion"), "type conversion"),
)


class CompileError(ValueError):
    """The text is no expression; the message lists the places."""


class EvaluationError(Exception):
    """An expression came to no value, in the words of a server."""


class Program:
    """A compiled expression."""

    __slots__ = ("_environment", "_expression", "returns")

    def __init__(self, environment: cel.Env, expression: cel.Expression) -> None:
        self._environment = environment
        self._expression = expression
        self.returns = expression.return_type().name().lower()

    def bind(self, values: Mapping[str, Any]) -> cel.Activation:
        """Values in the library's form, to be used for all programs with the same variables."""
        return self._environment.Activation(values)

    def run(self, bound: cel.Activation) -> Any:
        """The value; lists and maps come as plain Python.

        Raises:
            EvaluationError: there is none.
        """
        try:
            answer = self._expression.eval(bound)
        except RuntimeError as problem:
            raise EvaluationError(_reported(str(problem))) from None
        if answer.type() == cel.Type.ERROR:
            raise EvaluationError(_reported(str(answer.value())))
        return answer.plain_value()

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Binds and runs."""
        return self.run(self.bind(values))


def compile_program(
    source: str, variables: Mapping[str, str], schemas: Mapping[str, Node] | None = None
) -> Program:
    """Compiles a text over variables of the given types; schemas say more about those that are objects.

    Raises:
        CompileError: the text is wrong.
    """
    typed = celsource.apply_types(celsource.expand(source), schemas or {})
    if typed.problems:
        raise CompileError("\n".join(typed.problems))
    environment = _environment(tuple(variables.items()))
    try:
        return Program(environment, environment.compile(typed.source))
    except RuntimeError as problem:
        raise CompileError(_first_problem(environment, source) or _issues(problem)) from None


def compile_admission(
    source: str,
    variables: Iterable[str] = ADMISSION,
    *,
    fields: Iterable[str] | None = None,
    authorizer: bool = True,
) -> Program:
    """Compiles an expression of a webhook's matchConditions or of an admission policy.

    Args:
        source: The text.
        variables: The names it may use; objects are dynamic.
        fields: What `variables` has, if it is known.
        authorizer: Whether it may ask what the writer may do.

    Raises:
        CompileError: the text is wrong.
    """
    names = [*variables, *(celauthorizer.VARIABLES if authorizer else ())]
    types, schemas = dict.fromkeys(names, "dyn"), celadmission.schemas(fields)
    try:
        return compile_program(celadmission.null_safe(source), types, schemas)
    except CompileError:
        return compile_program(source, types, schemas)


def _first_problem(environment: cel.Env, source: str) -> str:
    """The issues of the text as it was written, so that the places are right."""
    try:
        environment.compile(source)
    except RuntimeError as problem:
        return _issues(problem)
    return ""


def _issues(problem: RuntimeError) -> str:
    return _DOTTED.sub(_first_name, _SUFFIX.sub("", _PREFIX.sub("", str(problem), count=1)))


def _first_name(found: re.Match[str]) -> str:
    """A server complains about the first part of an unknown `a.b`, the library about the last."""
    whole, _, _ = found["name"].rpartition(".")
    column = int(found["column"]) - len(whole)
    name = whole.partition(".")[0]
    line, text = found["line"], found["text"]
    place = f"ERROR: <input>:{line}:{column}: undeclared reference to '{name}' (in container '')"
    return f"{place}\n | {text}\n | {'.' * (column - 1)}^"


def _reported(text: str) -> str:
    text = _issues(RuntimeError(text))
    for pattern, words in _WORDS:
        text, found = pattern.subn(words, text, count=1)
        if found:
            break
    return text


@lru_cache(maxsize=512)
def _environment(variables: tuple[tuple[str, str], ...]) -> cel.Env:
    extensions = [
        ext_bindings.ExtBindings(),
        ext_encoders.ExtEncoders(),
        ext_optional.ExtOptional(),
    ]
    return cel.NewEnv(
        variables={name: cel.Type(signature) for name, signature in variables},
        extensions=extensions,
        functions=_functions(),
    )


@lru_cache(maxsize=1)
def _functions() -> list[cel.FunctionDecl]:
    return celfunctions.declarations()
