"""What Go says about JSON that is none: the sentence a client of a real server reads.

Called by `bodies` after decoding has failed, so it may take its time: it walks the text to the first character that cannot stand there.
"""

import re

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?P<point>\.(?P<fraction>[0-9]*))?(?P<e>[eE][+-]?(?P<exponent>[0-9]*))?"
)
_WORDS = {"t": "true", "f": "false", "n": "null"}
_ENDED = "unexpected end of JSON input"
DEEPEST = 10_000


class _Problem(Exception):
    """The first thing that is wrong."""


def problem(text: str) -> str:
    """What is wrong with a text that could not be decoded."""
    try:
        _walk(text)
    except _Problem as found:
        return str(found)
    return "exceeded max depth"


def _walk(text: str) -> None:
    """Follows the text with a stack of open brackets instead of calls: nesting may be deep."""
    open_: list[str] = []
    at = _value(text, _skip(text, 0), open_)
    while True:
        at = _skip(text, at)
        if not open_:
            if at < len(text):
                raise _wrong(text, at, "after top-level value")
            return
        at = _next(text, at, open_)
        if len(open_) > DEEPEST:
            raise _Problem("exceeded max depth")


def _next(text: str, at: int, open_: list[str]) -> int:
    """Goes on behind a value, or behind a bracket that was just opened."""
    state, char = open_[-1], _char(text, at)
    if char == {"{": "}", "[": "]", "{+": "}", "[+": "]"}[state]:
        open_.pop()
        return at + 1
    if state in ("{+", "[+"):
        if char != ",":
            what = "object key:value pair" if state == "{+" else "array element"
            raise _wrong(text, at, f"after {what}")
        at = _skip(text, at + 1)
    if state[0] == "{":
        open_[-1] = "{+"
        return _member(text, at, open_)
    open_[-1] = "[+"
    return _value(text, at, open_)


def _member(text: str, at: int, open_: list[str]) -> int:
    if _char(text, at) != '"':
        raise _wrong(text, at, "looking for beginning of object key string")
    at = _skip(text, _string(text, at + 1))
    if _char(text, at) != ":":
        raise _wrong(text, at, "after object key")
    return _value(text, _skip(text, at + 1), open_)


def _value(text: str, at: int, open_: list[str]) -> int:
    char = _char(text, at)
    if char in "{[":
        open_.append(char)
        return at + 1
    if char == '"':
        return _string(text, at + 1)
    if char in _WORDS:
        return _word(text, at, _WORDS[char])
    if char == "-" or (char.isascii() and char.isdigit()):
        return _number(text, at)
    raise _wrong(text, at, "looking for beginning of value")


def _string(text: str, at: int) -> int:
    while True:
        found = _STRING.match(text, at)
        at = found.end() if found else at
        char = _char(text, at)
        if char == '"':
            return at + 1
        if char != "\\":
            raise _wrong(text, at, "in string literal")
        at = _escape(text, at + 1)


def _escape(text: str, at: int) -> int:
    char = _char(text, at)
    if char in '"\\/bfnrt':
        return at + 1
    if char != "u":
        raise _wrong(text, at, "in string escape code")
    for digit in range(at + 1, at + 5):
        if _char(text, digit) not in "0123456789abcdefABCDEF":
            raise _wrong(text, digit, "in \\u hexadecimal character escape")
    return at + 5


def _word(text: str, at: int, word: str) -> int:
    for place, expected in enumerate(word):
        if _char(text, at + place) != expected:
            raise _wrong(text, at + place, f"in literal {word} (expecting '{expected}')")
    return at + len(word)


def _number(text: str, at: int) -> int:
    found = _NUMBER.match(text, at)
    if found is None:
        raise _wrong(text, at + 1, "in numeric literal")
    if found["e"] and not found["exponent"]:
        raise _wrong(text, found.end(), "in exponent of numeric literal")
    if found["point"] and not found["fraction"]:
        raise _wrong(text, found.end("point"), "after decimal point in numeric literal")
    return found.end()


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _char(text: str, at: int) -> str:
    if at >= len(text):
        raise _Problem(_ENDED)
    return text[at]


def _escaped(char: str) -> str:
    code = ord(char)
    return char.encode("unicode_escape").decode() if code < 128 else f"\\u{code:04x}"


def _wrong(text: str, at: int, where: str) -> _Problem:
    char = _char(text, at)
    shown = {"'": "'\\''", '"': "'\"'"}.get(char)
    if shown is None:
        shown = f"'{char if char.isprintable() else _escaped(char)}'"
    return _Problem(f"invalid character {shown} {where}")
