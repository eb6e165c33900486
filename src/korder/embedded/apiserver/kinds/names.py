"""What names, labels and keys may look like: each rule answers with the sentences a server has for what is wrong.

`objectmeta` and the strategies of the kinds ask here. Rules for names of objects also take beginnings of names
(`generateName`), which may end with a dash.
"""

import re
from typing import Final, Protocol


class NameRule(Protocol):
    """What is wrong with a name, or with the beginning of one."""

    def __call__(self, text: str, *, beginning: bool = False) -> list[str]: ...


_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY: Final = r"[-._a-zA-Z0-9]+"
_ENDS: Final = "and must start and end with an alphanumeric character"

_is_label: Final = re.compile(_LABEL).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_label_1035: Final = re.compile(_LABEL_1035).fullmatch
_is_key: Final = re.compile(_KEY).fullmatch
_is_config_key: Final = re.compile(_CONFIG_KEY).fullmatch
_is_port_name: Final = re.compile(r"[-a-z0-9]+").fullmatch


def _shape(told: str, pattern: str, *examples: str) -> str:
    such = " or ".join(f"'{example}', " for example in examples)
    return f"{told} (e.g. {such}regex used for validation is '{pattern}')"


_NO_LABEL: Final = _shape(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_NO_SUBDOMAIN: Final = _shape(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
_NO_LABEL_1035: Final = _shape(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_NO_KEY: Final = _shape(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    _KEY,
    "MyName",
    "my.name",
    "123-abc",
)
_NO_LABEL_VALUE: Final = _shape(
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    f"({_KEY})?",
    "MyValue",
    "my_value",
    "12345",
)
_NO_CONFIG_KEY: Final = _shape(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)


def too_long(most: int) -> str:
    """What is said of a longer text."""
    return f"must be no more than {most} characters"


def between(least: int, most: int) -> str:
    """What is said of a number outside of these bounds."""
    return f"must be between {least} and {most}, inclusive"


def subdomain(text: str, *, beginning: bool = False) -> list[str]:
    """A DNS subdomain: what most objects are called."""
    text = _completed(text) if beginning else text
    told = [too_long(253)] if len(text) > 253 else []
    return told if _is_subdomain(text) else [*told, _NO_SUBDOMAIN]


def label(text: str, *, beginning: bool = False) -> list[str]:
    """A DNS label: what namespaces are called."""
    text = _completed(text) if beginning else text
    told = [too_long(63)] if len(text) > 63 else []
    if _is_label(text):
        return told
    return [*told, "must not contain dots" if _is_subdomain(text) else _NO_LABEL]


def label_1035(text: str, *, beginning: bool = False) -> list[str]:
    """An old DNS label, which begins with a letter."""
    text = _completed(text) if beginning else text
    told = [too_long(63)] if len(text) > 63 else []
    return told if _is_label_1035(text) else [*told, _NO_LABEL_1035]


def path_segment(text: str, *, beginning: bool = False) -> list[str]:
    """What can stand between two slashes of a path."""
    told = [f"may not contain '{char}'" for char in "/%" if char in text]
    return [f"may not be '{text}'"] if text in (".", "..") and not beginning else told


def _completed(beginning: str) -> str:
    """A beginning as if something had been appended; a server drops one character too many, which is kept."""
    return beginning[:-2] + "a" if len(beginning) > 1 and beginning.endswith("-") else beginning


def label_key(text: str) -> list[str]:
    """The key of a label, a qualified name: `name` or `example.com/name`."""
    prefix, slash, name = text.partition("/")
    if "/" in name:
        return [
            f"a valid label key {_NO_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if not slash:
        prefix, name = "", prefix
    told = []
    if slash and not prefix:
        told.append("prefix part must be non-empty")
    elif slash:
        told += [f"prefix part {each}" for each in subdomain(prefix)]
    if not name:
        told.append("name part must be non-empty")
    elif len(name) > 63:
        told.append(f"name part {too_long(63)}")
    return told if _is_key(name) else [*told, f"name part {_NO_KEY}"]


def label_value(text: str) -> list[str]:
    """The value of a label."""
    told = [too_long(63)] if len(text) > 63 else []
    return told if not text or _is_key(text) else [*told, _NO_LABEL_VALUE]


def config_key(text: str) -> list[str]:
    """A key in the data of a ConfigMap or Secret; it becomes the name of a file."""
    told = [too_long(253)] if len(text) > 253 else []
    if not _is_config_key(text):
        told.append(_NO_CONFIG_KEY)
    if text in (".", ".."):
        told.append(f"must not be '{text}'")
    elif text.startswith(".."):
        told.append("must not start with '..'")
    return told


def port_name(text: str) -> list[str]:
    """The name of a port as IANA registers services."""
    told = [too_long(15)] if len(text) > 15 else []
    if not _is_port_name(text):
        told.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        told.append("must contain at least one letter (a-z)")
    if "--" in text:
        told.append("must not contain consecutive hyphens")
    if text and "-" in (text[0], text[-1]):
        told.append("must not begin or end with a hyphen")
    return told
