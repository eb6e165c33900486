"""`authorizer` of admission expressions: questions about what the writer, or a service account, may do.

Declared in every environment of `cel`, but only admission's expressions have the variables to begin with. A question is
built up as a map; whoever answers it is bound for the moment of an evaluation with `asking`, because a value of CEL cannot
carry a function.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs lack the marker

from pocketkube.apiserver.schemas.celvalues import Book

Question = Mapping[str, str]
"""verb, and either path or group, resource, subresource, namespace and name; serviceAccount if it is not the writer."""
Ask = Callable[[Question], tuple[bool, str]]
"""Answers whether somebody may, and why."""

VARIABLES: Final = ("authorizer", "authorizer.requestResource")
_MAP: Final = cel.Type.Map(cel.Type.DYN, cel.Type.DYN)
_ASKED: ContextVar[Ask | None] = ContextVar("asked", default=None)
_STEPS: Final = ("path", "group", "resource", "subresource", "namespace", "name")


@contextmanager
def asking(ask: Ask | None) -> Iterator[None]:
    """Answers the questions of expressions that are evaluated inside."""
    token = _ASKED.set(ask)
    try:
        yield
    finally:
        _ASKED.reset(token)


def values(request: Mapping[str, Any]) -> Mapping[str, Question]:
    """What the variables are for a write."""
    resource = request["requestResource"]
    about = {
        "group": resource["group"],
        "resource": resource["resource"],
        "subresource": request.get("requestSubResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }
    return {"authorizer": {}, "authorizer.requestResource": about}


def checks(book: Book) -> None:
    """Declares the functions."""
    text, yes = cel.Type.STRING, cel.Type.BOOL
    for step in _STEPS:
        book.add(step, _adding(step), _MAP, _MAP, text)
    for selector in ("fieldSelector", "labelSelector"):
        # Nobody who answers here looks at selectors.
        book.add(selector, lambda question, _: question, _MAP, _MAP, text)
    book.add("serviceAccount", _for_account, _MAP, _MAP, text, text)
    book.add("check", _check, _MAP, _MAP, text)
    book.add("allowed", lambda decision: decision["allowed"] == "yes", yes, _MAP)
    book.add("reason", lambda decision: decision["reason"], text, _MAP)
    book.add("errored", lambda decision: bool(decision["error"]), yes, _MAP)
    book.add("error", lambda decision: decision["error"], text, _MAP)


def _adding(step: str) -> Callable[[Question, str], Question]:
    def add(question: Question, value: str) -> Question:
        return {**question, step: value}

    return add


def _for_account(question: Question, namespace: str, name: str) -> Question:
    return {**question, "serviceAccount": f"system:serviceaccount:{namespace}:{name}"}


def _check(question: Question, verb: str) -> Question:
    ask = _ASKED.get()
    if ask is None:
        return {"allowed": "", "reason": "", "error": "nobody can be asked here"}
    allowed, reason = ask({**question, "verb": verb})
    return {"allowed": "yes" if allowed else "", "reason": reason, "error": ""}
