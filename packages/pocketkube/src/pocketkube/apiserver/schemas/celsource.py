"""Rewrites CEL texts where Kubernetes knows more than the CEL library: macros it lacks, and types from schemas.

Called by `cel` before a text is compiled. Works on tokens, not on a syntax tree, because the library shows none. What it
does: `matches` gets a memory, macros with two variables become macros with one, validators of named formats answer optionals, `Object{...}` and
`JSONPatch{...}` become maps, fields are looked up in the schema, and texts that a schema calls timestamps or durations are
read as such where they are used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
import re
from typing import Final

from pocketkube.apiserver.schemas.schemanodes import Node

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      |(?P<text>[rRbB]{0,2}(?:'''(?:\\.|.)*?'''|\"\"\"(?:\\.|.)*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))
      |(?P<number>[0-9][0-9a-zA-Z.]*(?:(?<=[eE])[+-][0-9]+)?)
      |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      |(?P<mark>\.\?|\[\?|&&|\|\||[=!<>]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_OPENERS: Final = {"(": ")", "[": "]", "{": "}", "[?": "]"}
_CLOSERS: Final = frozenset(")]}")
_ONE_VARIABLE: Final = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_TWO_VARIABLES: Final = {"all": 3, "exists": 3, "exists_one": 3, "existsOne": 3}
_TRANSFORMS: Final = frozenset({"transformList", "transformMap", "transformMapEntry"})
_MACRO_WORDS: Final = re.compile(
    r"\.(?:all|exists|exists_one|existsOne|transform\w+|validate|named)\("
)
_READERS: Final = {"date-time": "timestamp", "date": "timestamp", "duration": "duration"}

UNESCAPED: Final = "unescaped"
"""Marks an object that Kubernetes describes itself, not by a schema: its members keep names that CEL reserves."""

RESERVED: Final = frozenset(
    {
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
    }
    | {"loop", "package", "namespace", "return", "var", "void", "while"}
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; `at` is its place."""

    kind: str
    text: str
    at: int


def tokens(source: str) -> list[Token]:
    """All pieces but the white space."""
    return [
        Token(found.lastgroup or "mark", found.group(), found.start())
        for found in _TOKEN.finditer(source)
        if found.lastgroup != "space"
    ]


def escape(name: str) -> str:
    """The identifier under which a rule sees a property; empty if it cannot see it."""
    if not name or name[0].isdigit() or re.search(r"[^A-Za-z0-9_./-]", name):
        return ""
    if name in RESERVED:
        return f"__{name}__"
    for mark, word in (
        ("__", "__underscores__"),
        (".", "__dot__"),
        ("-", "__dash__"),
        ("/", "__slash__"),
    ):
        name = name.replace(mark, word)
    return name


class _Pieces:
    """Tokens with their brackets matched."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.all = tokens(source)
        self.partner: dict[int, int] = {}
        stack: list[int] = []
        for index, token in enumerate(self.all):
            if token.kind == "mark" and token.text in _OPENERS:
                stack.append(index)
            elif token.kind == "mark" and token.text in _CLOSERS and stack:
                opener = stack.pop()
                self.partner[opener], self.partner[index] = index, opener

    def is_mark(self, index: int, *texts: str) -> bool:
        return (
            0 <= index < len(self.all)
            and self.all[index].kind == "mark"
            and self.all[index].text in texts
        )

    def name(self, index: int) -> str:
        if 0 <= index < len(self.all) and self.all[index].kind == "name":
            return self.all[index].text
        return ""

    def slice(self, start: int, end: int) -> str:
        """The text of tokens from start up to and without end."""
        if start >= end:
            return ""
        last = self.all[end - 1]
        return self.source[self.all[start].at : last.at + len(last.text)]

    def arguments(self, opener: int) -> list[tuple[int, int]]:
        closer = self.partner.get(opener, opener)
        spans, start, index = [], opener + 1, opener + 1
        while index < closer:
            if self.is_mark(index, ","):
                spans.append((start, index))
                start = index + 1
            index = (
                self.partner.get(index, index) + 1 if self.is_mark(index, *_OPENERS) else index + 1
            )
        return [*spans, (start, closer)] if closer > opener + 1 else []

    def operand(self, dot: int) -> int:
        """Where the operand that ends before a dot begins."""
        index = dot - 1
        while True:
            if self.is_mark(index, *_CLOSERS):
                index = self.partner.get(index, index)
                before = index - 1
                called = self.is_mark(index, "(") and self.name(before)
                indexed = self.is_mark(index, "[", "[?") and (
                    self.name(before) not in RESERVED | {""} or self.is_mark(before, *_CLOSERS)
                )
                if called:
                    index = before
                elif indexed:
                    index = before
                    continue
            if not self.is_mark(index - 1, ".", ".?"):
                return index
            index -= 2


def expand(source: str) -> str:
    """The text without the macros and literals the library lacks."""
    if re.search(r"\b(?:Object|JSONPatch)\b", source):
        source = _literals(_Pieces(source))
    while _MACRO_WORDS.search(source):
        changed = _expand_once(_Pieces(source))
        if changed is None:
            break
        source = changed
    return _remembered(source) if ".matches(" in source else source


def _remembered(source: str) -> str:
    """`matches` with a memory; the library's own reads the pattern at each call."""
    pieces = _Pieces(source)
    for index in range(len(pieces.all) - 1, 0, -1):
        token = pieces.all[index]
        if (
            token.text == "matches"
            and pieces.is_mark(index - 1, ".")
            and pieces.is_mark(index + 1, "(")
        ):
            source = f"{source[: token.at]}k8s_{source[token.at :]}"
    return source


def _expand_once(pieces: _Pieces) -> str | None:
    for index in range(2, len(pieces.all)):
        name = pieces.name(index)
        if not name or not pieces.is_mark(index - 1, ".") or not pieces.is_mark(index + 1, "("):
            continue
        arguments = [pieces.slice(*span) for span in pieces.arguments(index + 1)]
        start = pieces.operand(index - 1)
        made = _made(name, pieces.slice(start, index - 1), arguments)
        if made:
            end = pieces.all[pieces.partner[index + 1]].at + 1
            return pieces.source[: pieces.all[start].at] + made + pieces.source[end:]
    return None


def _made(name: str, operand: str, arguments: list[str]) -> str:
    if name == "validate" and len(arguments) == 1:
        return f"optional.ofNonZeroValue({operand}.k8s_validate({arguments[0]}))"
    if name == "named" and operand == "format" and len(arguments) == 1:
        return f"optional.ofNonZeroValue(format.k8s_named({arguments[0]}))"
    keys = f"k8s_keys({operand})"
    if _TWO_VARIABLES.get(name) == len(arguments):
        key, value, condition = arguments
        macro = "exists_one" if name == "existsOne" else name
        return f"{keys}.{macro}({key}, cel.bind({value}, {operand}[{key}], {condition}))"
    if name in _TRANSFORMS and len(arguments) in (3, 4):
        key, value, *chosen, result = arguments
        for condition in chosen:
            keys = f"{keys}.filter({key}, cel.bind({value}, {operand}[{key}], {condition}))"
        mapped = f"{keys}.map({key}, cel.bind({value}, {operand}[{key}], {result}))"
        if name == "transformList":
            return mapped
        return f"k8s_zip({keys}, {mapped})" if name == "transformMap" else f"k8s_merge({mapped})"
    return ""


def _literals(pieces: _Pieces) -> str:
    """`Object.spec{replicas: 1}` becomes `dyn({"replicas": 1})`; as plain maps, two literals could differ in type."""
    dropped: set[int] = set()
    keys: set[int] = set()
    braces: dict[int, str] = {}
    for opener, closer in pieces.partner.items():
        start = (
            _literal(pieces, opener) if opener < closer and pieces.is_mark(opener, "{") else opener
        )
        if start == opener:
            continue
        dropped.update(range(start, opener))
        braces |= {opener: "dyn({", closer: "})"}
        for first, _ in pieces.arguments(opener):
            key = first + 1 if pieces.is_mark(first, "?") else first
            keys.update([key] if pieces.name(key) and pieces.is_mark(key + 1, ":") else [])
    return " ".join(
        braces.get(index) or (f'"{token.text}"' if index in keys else token.text)
        for index, token in enumerate(pieces.all)
        if index not in dropped
    )


def _literal(pieces: _Pieces, opener: int) -> int:
    """Where the name of a typed literal begins that opens here; the opener itself if it is a plain map."""
    start = opener - 1
    if not pieces.name(start):
        return opener
    while pieces.is_mark(start - 1, ".") and pieces.name(start - 2):
        start -= 2
    return start if pieces.name(start) in ("Object", "JSONPatch") else opener


@dataclass(slots=True)
class Typed:
    """A text with its schema applied: what to compile, the errors found, and which variables it names."""

    source: str
    problems: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def apply_types(source: str, variables: Mapping[str, Node]) -> Typed:
    """Looks up the fields of variables in their schemas."""
    pieces = _Pieces(source)
    typed = Typed(source)
    scopes: list[tuple[str, Node, int, int]] = [
        (name, node, 0, len(pieces.all)) for name, node in variables.items()
    ]
    inserted: dict[int, str] = {}
    for index, token in enumerate(pieces.all):
        if token.kind != "name" or pieces.is_mark(index - 1, ".", ".?"):
            continue
        bound = [
            node for name, node, low, high in scopes if name == token.text and low <= index < high
        ]
        if token.text in variables:
            typed.names.add(token.text)
        if bound and not pieces.is_mark(index + 1, "("):
            _follow(pieces, index, bound[-1], scopes, inserted, typed)
    for place in sorted(inserted, reverse=True):
        typed.source = typed.source[:place] + inserted[place] + typed.source[place:]
    return typed


def _follow(
    pieces: _Pieces,
    start: int,
    node: Node,
    scopes: list[tuple[str, Node, int, int]],
    inserted: dict[int, str],
    typed: Typed,
) -> None:
    end, optional = start + 1, False
    while True:
        if pieces.is_mark(end, ".", ".?") and pieces.name(end + 1):
            name = pieces.name(end + 1)
            if pieces.is_mark(end + 2, "("):
                if name in _ONE_VARIABLE and not optional:
                    scopes.extend(_scope(pieces, end + 2, node))
                break
            below = _property(node, name)
            if below is None:
                if _is_closed(node):
                    typed.problems.append(_problem(pieces.source, pieces.all[end].at, name))
                return
            optional = optional or pieces.is_mark(end, ".?")
            node, end = below, end + 2
        elif pieces.is_mark(end, "[", "[?") and end in pieces.partner:
            below = node.items or node.additional
            if below is None:
                return
            optional = optional or pieces.is_mark(end, "[?")
            node, end = below, pieces.partner[end] + 1
        else:
            break
    reader = _READERS.get(node.format) if node.type == "string" else None
    tested = pieces.name(start - 2) == "has" and pieces.is_mark(start - 1, "(")
    if reader and not optional and not tested:
        last = pieces.all[end - 1]
        inserted[pieces.all[start].at] = f"{reader}("
        inserted[last.at + len(last.text)] = ")"


def _scope(pieces: _Pieces, opener: int, node: Node) -> Iterator[tuple[str, Node, int, int]]:
    variable, closer = pieces.name(opener + 1), pieces.partner.get(opener, opener)
    below = node.items
    if variable and below is not None and pieces.is_mark(opener + 2, ","):
        yield variable, below, opener + 2, closer


def _property(node: Node, name: str) -> Node | None:
    if node.additional is not None:
        return node.additional
    if name in node.properties and node.schema.get(UNESCAPED):
        return node.properties[name]
    return next((below for given, below in node.properties.items() if escape(given) == name), None)


def _is_closed(node: Node) -> bool:
    """Whether a rule may name only what the schema names."""
    return node.type == "object" and not node.int_or_string


def _problem(source: str, at: int, name: str) -> str:
    line = source.count("\n", 0, at)
    column = at - (source.rfind("\n", 0, at) + 1)
    text = source.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{column + 1}: undefined field '{name}'\n | {text}\n | {'.' * column}^"
