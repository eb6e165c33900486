"""Which proxy stands between us and a server, by the environment variables everybody uses.

`kube.config` asks if the kubeconfig names none. Variables are read in lower and upper case; loopback is always direct.
"""

from collections.abc import Mapping
import ipaddress
from urllib.parse import urlsplit


def from_environment(server: str, environment: Mapping[str, str]) -> str:
    """Gives the proxy's URL, empty for a direct connection."""
    url = urlsplit(server)
    host = url.hostname or ""
    if _is_loopback(host) or _is_exempt(host, url.port, _variable(environment, "no_proxy")):
        return ""
    proxy = _variable(environment, f"{url.scheme}_proxy")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_exempt(host: str, port: int | None, rules: str) -> bool:
    return any(_matches(host, port, rule.strip().lower()) for rule in rules.split(","))


def _matches(host: str, port: int | None, rule: str) -> bool:
    if rule in ("", "*"):
        return rule == "*"
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return rule == f"{host}:{port}"
    name, _, only_port = rule.partition(":")
    if only_port and only_port != str(port):
        return False
    name = name.removeprefix("*")
    # A leading dot means only the names below; without it the name itself counts too.
    return (
        host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")
    )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
