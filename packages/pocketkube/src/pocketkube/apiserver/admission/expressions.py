"""Expressions of webhooks and policies: compiled once, evaluated over one write.

`webhooks` and `policies` compile with `Compiler` and evaluate over an `Activation`, which makes its parts when they are
first asked for. Variables of policies are computed when an expression names them; one that fails is left out of what the
expression sees, so that only an expression that really touches it fails.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
import re
from typing import Any, Final

from pocketkube.apiserver.admission import reviews
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.schemas import cel, celadmission, celauthorizer, celsource

Object = dict[str, Any]
Ask = celauthorizer.Ask

_MEMBER: Final = re.compile(r"\b(object|oldObject|params|namespaceObject)\.(\w+)")


class Failed(Exception):
    """An expression came to no value; the message is the server's."""


class Expression:
    """One expression, or the reason why it is none."""

    __slots__ = ("problem", "program", "text", "uses")

    def __init__(
        self, text: str, program: cel.Program | None, problem: str, uses: Sequence[str]
    ) -> None:
        self.text = text
        self.program = program
        self.problem = problem
        self.uses = uses


class Compiler:
    """Compiles the expressions of one policy or webhook; variables are known to those that follow them."""

    def __init__(self, *, params: bool = False, variables: bool = True) -> None:
        names = ["object", "oldObject", "request", "namespaceObject"]
        names += ["params"] if params else []
        self._names = [*names, "variables"] if variables else names
        self.variables: dict[str, Expression] = {}

    def variable(self, name: str, text: str) -> Expression:
        """Compiles a variable and makes it known."""
        self.variables[name] = made = self.expression(text)
        return made

    def expression(
        self, text: str, returns: Iterable[str] = (), *, authorizer: bool = True
    ) -> Expression:
        """Compiles an expression that must be of one of the types, if any are given."""
        try:
            program = cel.compile_admission(
                text, self._names, fields=self.variables, authorizer=authorizer
            )
        except cel.CompileError as error:
            return Expression(text, None, f"compilation failed: {error}", ())
        wanted = tuple(returns)
        if wanted and not celadmission.fits(program.returns, wanted, text):
            options = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
            problem = f"must evaluate to {options} but got {program.returns}"
            return Expression(text, None, problem, ())
        return Expression(text, program, "", self._used(text))

    def _used(self, text: str) -> Sequence[str]:
        pieces = celsource.tokens(text)
        named = {
            third.text
            for first, second, third in zip(pieces, pieces[1:], pieces[2:], strict=False)
            if first.text == "variables" and second.text in (".", ".?")
        }
        return [name for name in self.variables if name in named]


class Activation:
    """What the expressions of one webhook or policy see of one write."""

    def __init__(
        self,
        attributes: Attributes,
        target: Resource,
        *,
        params: Object | None = None,
        namespace: Object | None = None,
        variables: Mapping[str, Expression] | None = None,
        ask: Ask | None = None,
    ) -> None:
        self._attributes = attributes
        self._target = target
        self._params = params
        self._namespace = namespace
        self._variables = variables or {}
        self._ask = ask
        self._computed: dict[str, Any] = {}
        self._failed: dict[str, str] = {}

    def evaluate(self, expression: Expression) -> Any:
        """The value of an expression.

        Raises:
            Failed: it does not compile or has none here.
        """
        if expression.program is None:
            raise Failed(f"compilation error: {expression.problem}")
        try:
            return self._run(expression)
        except cel.EvaluationError as error:
            text = self._blame(str(error), expression)
            raise Failed(f"expression '{expression.text}' resulted in error: {text}") from None

    def _run(self, expression: Expression) -> Any:
        assert expression.program is not None  # noqa: S101 callers have looked
        for name in expression.uses:
            if name not in self._computed and name not in self._failed:
                self._compute(name)
        values = {**self._seen, "variables": self._computed}
        with celauthorizer.asking(self._ask):
            return expression.program.evaluate(values)

    def _compute(self, name: str) -> None:
        variable = self._variables[name]
        if variable.program is None:
            self._failed[name] = (
                f'composited variable "{name}" fails to compile: {variable.problem}'
            )
            return
        try:
            self._computed[name] = self._run(variable)
        except cel.EvaluationError as error:
            text = self._blame(str(error), variable)
            self._failed[name] = f'composited variable "{name}" fails to evaluate: {text}'

    def _blame(self, text: str, expression: Expression) -> str:
        """A variable that failed is missing where it is used; the reason is its own. Null has no members, says a server."""
        if text == "no such overload":
            for name, member in _MEMBER.findall(expression.text):
                if self._seen[name] is None:
                    return f"no such key: {member}"
        missing = text.removeprefix("no such key: ")
        return self._failed.get(missing, text) if missing != text else text

    @cached_property
    def _seen(self) -> Mapping[str, Any]:
        attributes, target = self._attributes, self._target
        return {
            "object": reviews.as_version(attributes.object, attributes, target),
            "oldObject": reviews.as_version(attributes.old, attributes, target),
            "request": self.request,
            "params": self._params,
            "namespaceObject": self._namespace,
            **celauthorizer.values(self.request),
        }

    @cached_property
    def request(self) -> Object:
        return reviews.request(self._attributes, self._target)


class Conditions:
    """matchConditions: all must hold; one that is false decides even if others fail."""

    def __init__(self, written: Sequence[Mapping[str, Any]], compiler: Compiler) -> None:
        self._conditions = [
            compiler.expression(str(each.get("expression", "")), ("bool",)) for each in written
        ]

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def hold(self, activation: Callable[[], Activation], *, ignore_failures: bool) -> bool:
        """Says whether they hold.

        Raises:
            Failed: some have no value, none is false, and failures count.
        """
        if not self._conditions:
            return True
        seen, failed = activation(), []
        for condition in self._conditions:
            try:
                if seen.evaluate(condition) is False:
                    return False
            except Failed as failure:
                failed.append(str(failure))
        if failed and not ignore_failures:
            raise Failed(failed[0] if len(failed) == 1 else f"[{', '.join(dict.fromkeys(failed))}]")
        return not failed
