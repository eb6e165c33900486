"""Regular expressions of schemas, read the way Go reads them.

Called when a schema is compiled and by CEL's regex functions. Most patterns of CRDs are simple enough for Python's `re`
to give the same answer as RE2, and in a tenth of the time; the rest (repeated groups, which could also backtrack for
ever, and syntax that Python lacks) run on the RE2 inside the CEL library. That one reads its pattern anew each time, which
takes longer than anything else in a check, so its answers are remembered: the same few texts come again and again.
"""

from collections.abc import Callable
from functools import lru_cache, partial
import re
from typing import Final

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs lack the marker

_NOT_PLAIN: Final = re.compile(r"\)[*+{]|\(\?|\\[^.\-/^$*+?()|\[\]{}dwsDWS_:]|\[\[|&&|--|~~|\|\|")
_DOLLAR: Final = re.compile(r"(\\.)|(\[\^?\]?(?:\\.|[^\]])*\])|(\$)", re.DOTALL)
_RE2: Final = cel.NewEnv(variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING}).compile(
    "text.matches(pattern)"
)
_GO_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}

Matcher = Callable[[str], object]


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Matcher:
    """A function that says whether a text contains the pattern.

    Raises:
        ValueError: Go would refuse the pattern.
    """
    problem = _error(pattern)
    if problem:
        raise ValueError(problem)
    if _NOT_PLAIN.search(pattern) is None:
        return re.compile(to_python(pattern), re.ASCII).search
    return partial(_re2, pattern)


def search(text: str, pattern: str) -> bool:
    """Whether a text contains a pattern; the rules' `matches`."""
    return bool(matcher(pattern)(text))


@lru_cache(maxsize=8192)
def _re2(pattern: str, text: str) -> bool:
    return bool(_RE2.eval(data={"text": text, "pattern": pattern}).value())


def to_python(pattern: str) -> str:
    """The pattern with Go's meaning of `$`: the very end, not the place before a last line feed."""
    return _DOLLAR.sub(lambda found: r"\Z" if found.group(3) else found.group(0), pattern)


def _error(pattern: str) -> str:
    answer = _RE2.eval(data={"text": "", "pattern": pattern})
    if answer.type() != cel.Type.ERROR:
        return ""
    why, _, where = str(answer.value()).partition("regular expression: ")[2].rpartition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(why, why)}: `{where}`"
