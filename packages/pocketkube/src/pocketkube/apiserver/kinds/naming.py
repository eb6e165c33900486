"""How names, label keys and the like must be spelled, and what a server says about those that are not.

Every check of a kind calls these; each returns what is wrong with a text, in the words of an API server, and nothing for a
good one. Whoever calls says which field it was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
import re
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause

Check = Callable[[str], list[str]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LOOSE: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DNS_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"

_GOOD_LABEL: Final = re.compile(_LABEL)
_GOOD_SUBDOMAIN: Final = re.compile(_SUBDOMAIN)
_GOOD_KEY: Final = re.compile(f"({_SUBDOMAIN}/)?{_KEY}")
_SHORT: Final = 63
"""Most texts are short and good, and found to be so by one look; only the others are taken apart."""

_KEY_RULE: Final = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_ANNOTATIONS: Final = 256 * 1024


def dns_label(text: str) -> list[str]:
    """A name without dots, such as that of a container."""
    if len(text) <= _SHORT and _GOOD_LABEL.fullmatch(text):
        return []
    wrong = _length(text, 63, "characters")
    if not _matches(_LABEL, text):
        if _matches(_SUBDOMAIN, text):
            return [*wrong, "must not contain dots"]
        rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
        wrong.append(spelled(rule, _LABEL, "my-name", "123-abc"))
    return wrong


def dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    """A name with dots, as most objects have."""
    if len(text) <= _SHORT and _GOOD_SUBDOMAIN.fullmatch(text):
        return []
    rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
    return _length(text, 253, unit) + _spelling(text, rule, _SUBDOMAIN, "example.com")


def dns_search(text: str) -> list[str]:
    """A search domain, which may hold underscores."""
    rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character"
    return _length(text, 253, "characters") + _spelling(
        text, rule, rf"{_LOOSE}(\.{_LOOSE})*", "example.com"
    )


def dns_1035(text: str) -> list[str]:
    """A name that begins with a letter, such as that of a service."""
    rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
    return _length(text, 63, "characters") + _spelling(text, rule, _DNS_1035, "my-name", "abc-123")


def label_key(text: str) -> list[str]:
    """A key of a label, with or without a prefix; conditions, gates and resources are named like this too."""
    if len(text) <= _SHORT and _GOOD_KEY.fullmatch(text):
        return []
    prefix, slash, name = text.rpartition("/")
    examples = "MyName", "my.name", "123-abc"
    if "/" in prefix:
        rule = spelled(_KEY_RULE, _KEY, *examples)
        return [
            f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    wrong = []
    if slash:
        said = dns_subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
        wrong += [f"prefix part {one}" for one in said]
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {one}" for one in _length(name, 63)]
    return wrong + [f"name part {one}" for one in _spelling(name, _KEY_RULE, _KEY, *examples)]


def label_value(text: str) -> list[str]:
    """A value of a label."""
    rule = f"a valid label must be an empty string or {_KEY_RULE.removeprefix('must ')}"
    return _length(text, 63) + _spelling(text, rule, f"({_KEY})?", "MyValue", "my_value", "12345")


def port_name(text: str) -> list[str]:
    """A name of a port."""
    wrong = _length(text, 15, "characters")
    if not re.fullmatch("[-a-z0-9]+", text):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def port_number(number: int) -> list[str]:
    """A number of a port."""
    return [] if 0 < number < 65536 else [between(1, 65535)]


def config_key(text: str) -> list[str]:
    """A key inside of a ConfigMap or Secret."""
    rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    wrong = _length(text, 253, "characters")
    wrong += _spelling(text, rule, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
    if text in (".", ".."):
        return [*wrong, f"must not be '{text}'"]
    return [*wrong, "must not start with '..'"] if text.startswith("..") else wrong


def variable(text: str) -> list[str]:
    """A name of an environment variable."""
    wrong = [] if text else ["environment variable name must be non-empty"]
    if any(not " " <= char <= "~" or char == "=" for char in text):
        rule = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        wrong.append(rule)
    return wrong


def header(text: str) -> list[str]:
    """A name of an HTTP header."""
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return _spelling(text, rule, _HEADER, "X-Header-Name")


def percent(text: str) -> list[str]:
    """A percentage."""
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return _spelling(text, rule, _PERCENT, "1%", "93%")


def between(least: int, most: int) -> str:
    """A number out of its range."""
    return f"must be between {least} and {most}, inclusive"


def spelled(rule: str, pattern: str, *examples: str) -> str:
    """A rule with examples and the pattern behind it."""
    given = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} ({'e.g. ' if examples else ''}{given}regex used for validation is '{pattern}')"


def named(field: str, text: str, check: Check) -> Iterator[Cause]:
    """The causes of one text in a field."""
    if not is_good(check, text):
        for said in check(text):
            yield fielderrors.invalid(field, text, said)


@lru_cache(maxsize=8192)
def is_good(check: Check, text: str) -> bool:
    """Whether there is nothing to say; labels and keys come again and again, hence the memory."""
    return not check(text)


def labels(field: str, given: Mapping[str, str] | None) -> Iterator[Cause]:
    """Keys and values of labels, which a server reports for the whole map."""
    for key, value in (given or {}).items():
        if not is_good(label_key, key):
            yield from named(field, key, label_key)
        if not is_good(label_value, value):
            yield from named(field, value, label_value)


def annotations(field: str, given: Mapping[str, str] | None) -> Iterator[Cause]:
    """Keys of annotations, and how much they hold together."""
    for key in given or {}:
        for said in () if is_good(label_key, key.lower()) else label_key(key.lower()):
            yield fielderrors.invalid(field, key, said)
    if sum(len(k.encode()) + len(v.encode()) for k, v in (given or {}).items()) > _ANNOTATIONS:
        yield fielderrors.too_long(field, _ANNOTATIONS)


def selector(field: str, given: Mapping[str, Any] | None) -> Iterator[Cause]:
    """A structured label selector."""
    if given is None:
        return
    yield from labels(f"{field}.matchLabels", given.get("matchLabels"))
    for at, one in enumerate(given.get("matchExpressions") or ()):
        yield from _requirement(f"{field}.matchExpressions[{at}]", one)


def _requirement(field: str, one: Mapping[str, Any]) -> Iterator[Cause]:
    values: Sequence[str] = one.get("values") or ()
    operator = one.get("operator", "")
    if operator in ("In", "NotIn"):
        if not values:
            yield fielderrors.required(
                f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield fielderrors.forbidden(
                f"{field}.values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
    else:
        yield fielderrors.invalid(f"{field}.operator", operator, "not a valid selector operator")
    yield from named(f"{field}.key", one.get("key", ""), label_key)
    for at, value in enumerate(values):
        yield from named(f"{field}.values[{at}]", value, label_value)


def _matches(pattern: str, text: str) -> bool:
    return _matcher(pattern)(text) is not None


@cache
def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern).fullmatch


def _spelling(text: str, rule: str, pattern: str, *examples: str) -> list[str]:
    return [] if _matches(pattern, text) else [spelled(rule, pattern, *examples)]


def _length(text: str, most: int, unit: str = "bytes") -> list[str]:
    size = len(text) if text.isascii() else len(text.encode())
    return [f"must be no more than {most} {unit}"] if size > most else []
