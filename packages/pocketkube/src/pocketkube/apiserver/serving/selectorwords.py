"""What a server says about a label selector or a field selector that is none.

Called by `selection` after `korder.api` has refused a text: the text is read once more as Go reads it, up to the first thing
that is wrong.
"""

import re

from pocketkube.apiserver.fielderrors import quote
from pocketkube.apiserver.kinds import naming

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))")
_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_COMPARING = ("=", "==", "!=", "<", ">")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_END = ("", "")


class _Problem(Exception):
    """The first thing that is wrong."""


class _Reader:
    """Tokens of a selector: words have a kind of "word", marks that of themselves."""

    def __init__(self, text: str) -> None:
        found = _TOKEN.finditer(text)
        self._tokens = [(m[1], m[1]) if m[1] else ("word", m[2]) for m in found]
        self._at = 0

    def ahead(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def take(self) -> tuple[str, str]:
        token = self.ahead()
        self._at += 1
        return token


def label_problem(text: str) -> str:
    """What is wrong with a label selector."""
    reader = _Reader(text)
    try:
        while True:
            kind, word = reader.ahead()
            if kind not in ("word", "!"):
                return f"found '{word}', expected: !, identifier, or 'end of string'"
            _requirement(reader)
            kind, word = reader.take()
            if kind != ",":
                return f"found '{word}', expected: ',' or 'end of string'"
            kind, word = reader.ahead()
            if kind not in ("word", "!"):
                return f"found '{word}', expected: identifier after ','"
    except _Problem as problem:
        return f"unable to parse requirement: {problem}"


def _requirement(reader: _Reader) -> None:
    kind, key = reader.take()
    absent = kind == "!"
    if absent:
        kind, key = reader.take()
    if kind != "word":
        raise _Problem(f"found '{key}', expected: identifier")
    _check("<nil>", key, naming.label_key(key))
    if reader.ahead()[0] in ("", ","):
        return
    kind, operator = reader.take()
    if operator in ("in", "notin"):
        values = _values(reader)
    elif kind in _COMPARING:
        values = [_value(reader)]
    else:
        raise _Problem(f"found '{operator}', expected: {', '.join(_OPERATORS)}")
    if kind in ("<", ">") and not _INTEGER.fullmatch(values[0]):
        _check("values[0]", values[0], ["for 'Gt', 'Lt' operators, the value must be an integer"])
    for place, value in enumerate(sorted(set(values))):
        _check(f"values[{place}][{key}]", value, naming.label_value(value))


def _values(reader: _Reader) -> list[str]:
    kind, word = reader.take()
    if kind != "(":
        raise _Problem(f"found '{word}' expected: '('")
    found: list[str] = []
    while True:
        kind, word = reader.take()
        if kind == ")":
            return found or [""]
        if kind == "word":
            found.append(word)
            if reader.ahead()[0] not in (",", ")"):
                raise _Problem(f"found '{reader.ahead()[1]}', expected: ',' or ')'")
        elif kind != ",":
            expected = "',', or identifier" if found else "',', ')' or identifier"
            raise _Problem(f"found '{word}', expected: {expected}")


def _value(reader: _Reader) -> str:
    if reader.ahead()[0] in ("", ","):
        return ""
    kind, word = reader.take()
    if kind != "word":
        raise _Problem(f"found '{word}', expected: identifier")
    return word


def _check(field: str, value: str, stated: list[str]) -> None:
    if stated:
        raise _Problem(f"{field}: Invalid value: {quote(value)}: {'; '.join(stated)}")


def field_problem(text: str) -> str:
    """What is wrong with a field selector."""
    for part in sorted(re.findall(r"((?:[^\\,]|\\.?)+)", text)):
        found = re.search(r"!=|==|=", part)
        if found is None:
            return f"invalid selector: '{text}'; can't understand '{part}'"
        value = part[found.end() :]
        bad = re.search(r"\\[^\\,=]|\\$", value)
        if bad:
            return f"invalid field selector: invalid escape sequence: {bad[0]}"
        if re.search(r"(?:^|[^\\])=", value):
            return f"invalid field selector: unescaped character in value: {ord('=')}"
    return f"invalid selector: '{text}'"
