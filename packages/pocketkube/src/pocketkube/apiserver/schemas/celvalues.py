"""Kubernetes' own CEL types: quantities, versions, URLs, addresses and named formats.

Declared by `celfunctions`. Their values travel as small maps with one tagged member, because the library hands no foreign
objects to functions; equal values have equal maps.
"""

from collections.abc import Callable
import ipaddress
import re
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs lack the marker

from kubeloop.objects import quantity
from pocketkube.apiserver.schemas import schemaformats

T = cel.Type
Tagged = dict[str, Any]
_TAGGED: Final = T.Map(T.STRING, T.DYN)
_TEXTS: Final = T.List(T.STRING)


class Book:
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
    return int(_amount(value).nano // 10**9)


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
    return int(mine > other) - int(mine < other)


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
    return bool(_address(other) in _interface(value).network)


def _contains_cidr(value: Tagged, other: Any) -> bool:
    mine, theirs = _interface(value).network, _interface(other).network
    return bool(mine.version == theirs.version and theirs.subnet_of(mine))


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


def quantities(book: Book) -> None:
    """Amounts and versions."""
    book.call("quantity", _quantity, _TAGGED, T.STRING)
    book.call("isQuantity", _accepts(quantity.parse), T.BOOL, T.STRING)
    book.call("sign", lambda q: (_amount(q).nano > 0) - (_amount(q).nano < 0), T.INT, _TAGGED)
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


def addresses(book: Book) -> None:
    """URLs, addresses, networks and formats."""
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
