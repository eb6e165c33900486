"""The functions that Kubernetes adds to CEL, for the library that lacks them.

Declared once in `cel`'s environments. Values of Kubernetes' own types (quantities, addresses, URLs, versions, formats)
travel as small maps with one tagged member, because the library hands no foreign objects to functions; equal values have
equal maps.
"""

from collections.abc import Callable, Iterable
import datetime as dt
import ipaddress
import re
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from cel_expr_python import cel

from korder.api import quantity
from korder.embedded.apiserver import fielderrors, schemaformats, schemapatterns

T = cel.Type
Tagged = dict[str, Any]
_TAGGED: Final = T.Map(T.STRING, T.DYN)
_LIST: Final = T.List(T.DYN)
_TEXTS: Final = T.List(T.STRING)
_ANY: Final = (
    T.INT, T.STRING, T.BOOL, T.DOUBLE, T.UINT, T.LIST, T.MAP, T.BYTES, T.TIMESTAMP, T.DURATION, T.NULL,
)  # fmt: skip


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers across types, booleans only with booleans."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _index(items: Iterable[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index(items: list[Any], wanted: Any) -> int:
    found = _index(reversed(items), wanted)
    return len(items) - 1 - found if found >= 0 else -1


def _sum(items: list[Any]) -> Any:
    if items and isinstance(items[0], dt.timedelta):
        return sum(items, dt.timedelta())
    return sum(items)


def _extreme(choose: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def extreme(items: list[Any]) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return choose(items)

    return extreme


def _is_sorted(items: list[Any]) -> bool:
    return all(not items[i + 1] < items[i] for i in range(len(items) - 1))


def _distinct(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if _index(items, item) == i]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item]
    return flat


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end > len(items) or start > end:
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _find(text: str, pattern: str) -> str:
    found = re.search(schemapatterns.to_python(pattern), text, re.ASCII)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    matches = re.finditer(schemapatterns.to_python(pattern), text, re.ASCII)
    found = [match.group() for match in matches]
    return found if most < 0 else found[:most]


def _contains(items: list[Any], wanted: list[Any]) -> bool:
    return all(_index(items, one) >= 0 for one in wanted)


# -- texts

_ASCII_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_ASCII_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise ValueError(f"index out of range: {at}")
    return text[at : at + 1]


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= stop <= len(text):
        raise ValueError(f"index out of range: {start if not 0 <= start <= len(text) else stop}")
    if start > stop:
        raise ValueError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _split(text: str, mark: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    pieces = text.split(mark, most - 1 if most > 0 else -1) if mark else list(text)
    return pieces if mark or most < 0 else [*pieces[: most - 1], "".join(pieces[most - 1 :])]


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def shown(value: Any) -> str:
    """A value inside of a formatted text."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case dt.timedelta():
            return f"{fielderrors.number(value.total_seconds())}s"
        case dt.datetime():
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case bytes():
            return value.decode(errors="replace")
        case list():
            return f"[{', '.join(shown(item) for item in value)}]"
        case dict():
            members = sorted(f"{shown(key)}: {shown(member)}" for key, member in value.items())
            return f"{{{', '.join(members)}}}"
        case float():
            return fielderrors.number(value)
    return str(value)


def _format(text: str, values: list[Any]) -> str:
    left = iter(values)

    def clause(found: re.Match[str]) -> str:
        verb = found[2]
        if verb == "%":
            return "%"
        try:
            value = next(left)
        except StopIteration:
            raise ValueError("index out of range: not enough arguments for the format") from None
        if verb == "s":
            return shown(value)
        if verb in "xX" and isinstance(value, str | bytes):
            made = (value.encode() if isinstance(value, str) else value).hex()
            return made.upper() if verb == "X" else made
        precision = found[1] or (".6" if verb in "fe" else "")
        return format(value, f"{precision}{verb}")

    return re.sub(r"%(\.[0-9]+)?([%sdfebxXo])", clause, text)


# -- quantities


def _quantity(text: str) -> Tagged:
    return {"quantity": f"{quantity.parse(text).nano}n"}


def _amount(value: Tagged) -> quantity.Quantity:
    return quantity.parse(value["quantity"])


def _of_amount(value: quantity.Quantity) -> Tagged:
    return {"quantity": f"{value.nano}n"}


def _plus(left: Tagged, right: Any) -> Tagged:
    return _of_amount(
        _amount(left) + (quantity.parse(right) if isinstance(right, int) else _amount(right))
    )


def _minus(left: Tagged, right: Any) -> Tagged:
    return _of_amount(
        _amount(left) - (quantity.parse(right) if isinstance(right, int) else _amount(right))
    )


def _is_integer(value: Tagged) -> bool:
    whole, rest = divmod(_amount(value).nano, 10**9)
    return not rest and -(2**63) <= whole < 2**63


def _as_integer(value: Tagged) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _amount(value).nano // 10**9


# -- versions

_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?",
    re.ASCII,
)


def _semver(text: str, lenient: bool = False) -> Tagged:  # noqa: FBT001, FBT002  CEL calls it so
    if lenient:
        core, mark, rest = text.removeprefix("v").partition("-")
        numbers = [part.lstrip("0") or "0" for part in core.split(".")]
        text = ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + mark + rest
    if not _SEMVER.fullmatch(text):
        raise ValueError(f"No Major.Minor.Patch elements found in {text!r}")
    return {"semver": text}


def _version(value: Tagged) -> tuple[Any, ...]:
    found = _SEMVER.fullmatch(value["semver"])
    if found is None:
        raise ValueError(f"no version: {value}")
    parts = [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in (found[4] or "").split(".")
    ]
    return (*(int(found[i]) for i in (1, 2, 3)), found[4] is None, parts)


def _ordered(value: Tagged) -> Any:
    return _amount(value) if "quantity" in value else _version(value)


def _compare(left: Tagged, right: Tagged) -> int:
    mine, other = _ordered(left), _ordered(right)
    return (mine > other) - (mine < other)


# -- URLs


def _url(text: str) -> Tagged:
    if not schemaformats.is_uri(text):
        raise ValueError(
            f'URL parse error during conversion from string: parse "{text}": invalid URI for request'
        )
    return {"url": text}


def _host_of(text: str) -> str:
    return urlsplit(text).netloc.rpartition("@")[2]


# -- addresses


def _ip(text: str) -> Tagged:
    address = ipaddress.ip_address(text)
    if "%" in text:
        raise ValueError(f"IP address {text!r} with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise ValueError(f"IPv4-mapped IPv6 address {text!r} is not allowed")
    return {"ip": str(address)}


def _cidr(text: str) -> Tagged:
    if "/" not in text:
        raise ValueError(f"network address parse error during conversion from string: {text}")
    return {"cidr": str(ipaddress.ip_interface(text))}


def _address(value: Any) -> Any:
    return ipaddress.ip_address(value["ip"] if isinstance(value, dict) else value)


def _interface(value: Any) -> Any:
    return ipaddress.ip_interface(value["cidr"] if isinstance(value, dict) else value)


def _contains_ip(value: Tagged, other: Any) -> bool:
    return _address(other) in _interface(value).network


def _contains_cidr(value: Tagged, other: Any) -> bool:
    mine, theirs = _interface(value).network, _interface(other).network
    return mine.version == theirs.version and theirs.subnet_of(mine)


def _global_unicast(value: Tagged) -> bool:
    it = _address(value)
    broadcast = it == ipaddress.ip_address("255.255.255.255")
    return not (
        it.is_unspecified or it.is_loopback or it.is_multicast or it.is_link_local or broadcast
    )


def _link_local_multicast(value: Tagged) -> bool:
    it = _address(value)
    return it in ipaddress.ip_network("224.0.0.0/24" if it.version == 4 else "ff02::/16")


# -- named formats

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SHAPES: Final = {
    "dns1123Label": (_LABEL, 63, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"),
    "dns1123Subdomain": (rf"{_LABEL}(\.{_LABEL})*", 253, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"),
    "dns1035Label": (r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"),
    "dns1123LabelPrefix": (rf"{_LABEL[:-2]})?-?", 63, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"),
    "dns1123SubdomainPrefix": (rf"{_LABEL}(\.{_LABEL})*-?", 253, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"),
    "dns1035LabelPrefix": (r"[a-z]([-a-z0-9]*[a-z0-9])?-?", 63, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"),
    "labelValue": (r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", 63, "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"),
    "qualifiedName": (rf"({_LABEL}(\.{_LABEL})*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", 317, "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"),
}  # fmt: skip
_CHECKS: Final = {
    "uri": "uri",
    "uuid": "uuid",
    "byte": "byte",
    "date": "date",
    "datetime": "datetime",
}


def _validate(value: Tagged, text: str) -> list[str]:
    name = value["format"]
    if name in _CHECKS:
        return [] if schemaformats.FORMATS[_CHECKS[name]](text) else [f"invalid {name}"]
    shape, longest, why = _SHAPES[name]
    problems = (
        [] if re.fullmatch(shape, text) else [f"{why} (regex used for validation is '{shape}')"]
    )
    return (
        problems
        if len(text) <= longest
        else [*problems, f"must be no more than {longest} characters"]
    )


def _named(name: str) -> Tagged:
    return {"format": name} if name in _SHAPES or name in _CHECKS else {}


def _accepts(read: Callable[[str], object]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return accepts


class _Book:
    """Collects declarations; overloads of one name are one function."""

    def __init__(self) -> None:
        self._overloads: dict[str, list[cel.Overload]] = {}

    def add(
        self,
        name: str,
        impl: Callable[..., Any],
        result: cel.Type,
        *parameters: cel.Type,
        member: bool = True,
    ) -> None:
        found = self._overloads.setdefault(name, [])
        found.append(
            cel.Overload(f"k8s_{name}_{len(found)}", result, list(parameters), member, impl)
        )

    def call(
        self, name: str, impl: Callable[..., Any], result: cel.Type, *parameters: cel.Type
    ) -> None:
        self.add(name, impl, result, *parameters, member=False)

    def declared(self) -> list[cel.FunctionDecl]:
        return [cel.FunctionDecl(name, overloads) for name, overloads in self._overloads.items()]


def _lists(book: _Book) -> None:
    book.add("isSorted", _is_sorted, T.BOOL, _LIST)
    book.add("sum", _sum, T.DYN, _LIST)
    book.add("min", _extreme(min, "min"), T.DYN, _LIST)
    book.add("max", _extreme(max, "max"), T.DYN, _LIST)
    for kind in _ANY:
        book.add("indexOf", _index, T.INT, _LIST, kind)
        book.add("lastIndexOf", _last_index, T.INT, _LIST, kind)
    book.add("slice", _slice, _LIST, _LIST, T.INT, T.INT)
    book.add("flatten", _flatten, _LIST, _LIST)
    book.add("flatten", _flatten, _LIST, _LIST, T.INT)
    book.add("distinct", _distinct, _LIST, _LIST)
    book.add("reverse", lambda items: items[::-1], _LIST, _LIST)
    book.add("sort", sorted, _LIST, _LIST)
    book.call("lists.range", lambda size: list(range(size)), T.List(T.INT), T.INT)
    book.call("sets.contains", _contains, T.BOOL, _LIST, _LIST)
    book.call(
        "sets.equivalent", lambda a, b: _contains(a, b) and _contains(b, a), T.BOOL, _LIST, _LIST
    )
    book.call(
        "sets.intersects", lambda a, b: any(_index(a, one) >= 0 for one in b), T.BOOL, _LIST, _LIST
    )
    book.call("k8s_keys", lambda items: list(range(len(items))), _LIST, T.LIST)
    book.call("k8s_keys", list, _LIST, T.MAP)
    book.call(
        "k8s_zip",
        lambda keys, values: dict(zip(keys, values, strict=True)),
        T.Map(T.DYN, T.DYN),
        _LIST,
        _LIST,
    )
    book.call(
        "k8s_merge",
        lambda maps: {k: v for one in maps for k, v in one.items()},
        T.Map(T.DYN, T.DYN),
        _LIST,
    )


def _strings(book: _Book) -> None:
    text, number = T.STRING, T.INT
    book.add("charAt", _char_at, text, text, number)
    book.add("indexOf", str.find, number, text, text)
    book.add("indexOf", str.find, number, text, text, number)
    book.add("lastIndexOf", str.rfind, number, text, text)
    book.add("join", "".join, text, _LIST)
    book.add("join", lambda items, mark: mark.join(items), text, _LIST, text)
    book.add("lowerAscii", lambda value: value.translate(_ASCII_LOWER), text, text)
    book.add("upperAscii", lambda value: value.translate(_ASCII_UPPER), text, text)
    book.add("replace", _replace, text, text, text, text)
    book.add("replace", _replace, text, text, text, text, number)
    book.add("split", _split, _TEXTS, text, text)
    book.add("split", _split, _TEXTS, text, text, number)
    book.add("substring", _substring, text, text, number)
    book.add("substring", _substring, text, text, number, number)
    book.add("trim", str.strip, text, text)
    book.add("format", _format, text, text, _LIST)
    book.call("strings.quote", fielderrors.quote, text, text)
    book.add("find", _find, text, text, text)
    book.add("findAll", _find_all, _TEXTS, text, text)
    book.add("findAll", _find_all, _TEXTS, text, text, number)
    book.call(
        "jsonpatch.escapeKey", lambda key: key.replace("~", "~0").replace("/", "~1"), text, text
    )


def _quantities(book: _Book) -> None:
    book.call("quantity", _quantity, _TAGGED, T.STRING)
    book.call("isQuantity", _accepts(quantity.parse), T.BOOL, T.STRING)
    book.add("sign", lambda q: (_amount(q).nano > 0) - (_amount(q).nano < 0), T.INT, _TAGGED)
    book.add("isInteger", _is_integer, T.BOOL, _TAGGED)
    book.add("asInteger", _as_integer, T.INT, _TAGGED)
    book.add("asApproximateFloat", lambda q: _amount(q).nano / 1e9, T.DOUBLE, _TAGGED)
    for kind in (_TAGGED, T.INT):
        book.add("add", _plus, _TAGGED, _TAGGED, kind)
        book.add("sub", _minus, _TAGGED, _TAGGED, kind)
    book.add("compareTo", _compare, T.INT, _TAGGED, _TAGGED)
    book.add("isGreaterThan", lambda a, b: _compare(a, b) > 0, T.BOOL, _TAGGED, _TAGGED)
    book.add("isLessThan", lambda a, b: _compare(a, b) < 0, T.BOOL, _TAGGED, _TAGGED)
    book.call("semver", _semver, _TAGGED, T.STRING)
    book.call("semver", _semver, _TAGGED, T.STRING, T.BOOL)
    book.call("isSemver", _accepts(_semver), T.BOOL, T.STRING)
    for place, name in enumerate(("major", "minor", "patch")):
        book.add(name, lambda v, place=place: _version(v)[place], T.INT, _TAGGED)


def _addresses(book: _Book) -> None:
    book.call("url", _url, _TAGGED, T.STRING)
    book.call("isURL", schemaformats.is_uri, T.BOOL, T.STRING)
    parts: dict[str, Callable[[str], str]] = {
        "getScheme": lambda text: urlsplit(text).scheme,
        "getHost": _host_of,
        "getHostname": lambda text: re.sub(r":[0-9]*$", "", _host_of(text)).strip("[]"),
        "getPort": lambda text: str(urlsplit(text).port or ""),
        "getEscapedPath": lambda text: urlsplit(text).path,
    }
    for name, part in parts.items():
        book.add(name, lambda url, part=part: part(url["url"]), T.STRING, _TAGGED)
    book.add(
        "getQuery",
        lambda url: parse_qs(urlsplit(url["url"]).query, keep_blank_values=True),
        T.Map(T.STRING, _TEXTS),
        _TAGGED,
    )
    book.call("ip", _ip, _TAGGED, T.STRING)
    book.call("isIP", _accepts(_ip), T.BOOL, T.STRING)
    book.call(
        "ip.isCanonical", lambda text: str(ipaddress.ip_address(text)) == text, T.BOOL, T.STRING
    )
    book.add("family", lambda it: _address(it).version, T.INT, _TAGGED)
    book.add("isUnspecified", lambda it: _address(it).is_unspecified, T.BOOL, _TAGGED)
    book.add("isLoopback", lambda it: _address(it).is_loopback, T.BOOL, _TAGGED)
    book.add("isLinkLocalMulticast", _link_local_multicast, T.BOOL, _TAGGED)
    book.add("isLinkLocalUnicast", lambda it: _address(it).is_link_local, T.BOOL, _TAGGED)
    book.add("isGlobalUnicast", _global_unicast, T.BOOL, _TAGGED)
    book.call("cidr", _cidr, _TAGGED, T.STRING)
    book.call("isCIDR", _accepts(_cidr), T.BOOL, T.STRING)
    for kind in (_TAGGED, T.STRING):
        book.add("containsIP", _contains_ip, T.BOOL, _TAGGED, kind)
        book.add("containsCIDR", _contains_cidr, T.BOOL, _TAGGED, kind)
    book.add("ip", lambda it: {"ip": str(_interface(it).ip)}, _TAGGED, _TAGGED)
    book.add("masked", lambda it: {"cidr": str(_interface(it).network)}, _TAGGED, _TAGGED)
    book.add("prefixLength", lambda it: _interface(it).network.prefixlen, T.INT, _TAGGED)
    for name in (*_SHAPES, *_CHECKS):
        book.call(f"format.{name}", lambda name=name: {"format": name}, _TAGGED)
    book.call("format.k8s_named", _named, _TAGGED, T.STRING)
    book.add("k8s_validate", _validate, _TEXTS, _TAGGED, T.STRING)


def declarations() -> list[cel.FunctionDecl]:
    """All functions, ready for an environment."""
    book = _Book()
    for chapter in (_lists, _strings, _quantities, _addresses):
        chapter(book)
    return book.declared()
