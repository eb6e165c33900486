"""Where the API server is and who we are there, from a kubeconfig or from inside a pod, through which proxy.

Errors name the file and the field. Looked for in this order: an explicit path, KUBECONFIG, the home folder, the service account of a pod.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
import ipaddress
import os
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import msgspec

from kubeloop.client import kubeconfig
from kubeloop.client.auth import User
from kubeloop.client.errors import ConfigError
from kubeloop.client.exec_plugin import Plugin
from kubeloop.client.kubeconfig import Chosen, Fields
from kubeloop.net.tls import ClientTls
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON, Base


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


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Config:
    """One server, and how to speak to it."""

    server: str
    tls: ClientTls = field(default_factory=ClientTls)
    user: User = field(default_factory=User)
    namespace: str = "default"
    proxy: str = ""
    compress: bool = True
    source: str = ""
    """Where this was found, and which context: for messages."""


def load(
    path: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Config:
    """Finds the configuration, or raises `ConfigError` with one sentence about what is wrong."""
    if path:
        files = [Path(path).expanduser()]
    elif environment.get("KUBECONFIG"):
        named = environment["KUBECONFIG"].split(os.pathsep)
        files = [Path(name).expanduser() for name in dict.fromkeys(named) if name]
    elif environment.get("KUBERNETES_SERVICE_HOST"):
        return _resolve(_in_cluster(environment, service_account), context, "the pod", environment)
    else:
        files = [(home or Path.home()) / ".kube" / "config"]
    source = os.pathsep.join(map(str, files))
    return _resolve(kubeconfig.read(files), context, source, environment)


def _in_cluster(environment: Mapping[str, str], account: Path) -> Fields:
    if not (account / "token").exists():
        raise ConfigError(
            f"this looks like a pod (KUBERNETES_SERVICE_HOST is set), but there is no token in {account};"
            " let the pod mount its service account token, or give a kubeconfig"
        )
    host, port = (
        environment["KUBERNETES_SERVICE_HOST"],
        environment.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    namespace = account / "namespace"
    inside: Fields = {
        "cluster": "in-cluster",
        "user": "in-cluster",
        "namespace": namespace.read_text().strip() if namespace.exists() else "",
    }
    return {
        "current-context": "in-cluster",
        "contexts": {"in-cluster": inside},
        "clusters": {
            "in-cluster": {
                "server": f"https://{f'[{host}]' if ':' in host else host}:{port}",
                "certificate-authority": str(account / "ca.crt"),
            }
        },
        "users": {"in-cluster": {"tokenFile": str(account / "token")}},
    }


class _MoreOfCluster(Base, rename="kebab"):
    """What the loader does not read of a cluster."""

    proxy_url: str = ""
    tls_server_name: str = ""
    disable_compression: bool = False


class _Variable(Base):
    name: str
    value: str = ""


class _Plugin(Base):
    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


_REPORTED = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
)


def _resolve(
    merged: Fields, context: str | None, source: str, environment: Mapping[str, str]
) -> Config:
    chosen = kubeconfig.choose(merged, context or "", source)
    source = f"{source} (context {chosen.name})"
    try:
        return _typed(chosen, source, environment)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {error}") from error
    except binascii.Error as error:
        raise ConfigError(f"{source}: certificate or key data is not base64: {error}") from error
    except OSError as error:
        raise ConfigError(f"{source}: {error.filename} cannot be read: {error.strerror}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{source} cannot be understood: {error}") from error


def _typed(chosen: Chosen, source: str, environment: Mapping[str, str]) -> Config:
    # The import costs half a second, mostly for HTTP that is not used here; commands without a cluster do not pay.
    from lightkube.config.kubeconfig import KubeConfig  # noqa: PLC0415

    found = KubeConfig.from_dict(
        {
            "contexts": [
                {"name": "it", "context": {**chosen.context, "cluster": "it", "user": "it"}}
            ],
            "clusters": [{"name": "it", "cluster": {"server": "", **chosen.cluster}}],
            "users": [{"name": "it", "user": chosen.user}],
        }
    )
    cluster, user = found.clusters["it"], found.users["it"]
    more = msgspec.convert(chosen.cluster, _MoreOfCluster)
    if borrowed := [name for name in chosen.user if name == "as" or name.startswith("as-")]:
        raise ConfigError(
            f"{source}: acting as somebody else ({', '.join(borrowed)}) is not supported"
        )
    if user.auth_provider:
        raise ConfigError(
            f"{source}: auth-provider has been removed from Kubernetes; use an exec plugin or a token"
        )
    return Config(
        server=_server(cluster.server, source),
        tls=ClientTls(
            ca_file=cluster.certificate_auth or "",
            ca_data=_pem(cluster.certificate_auth_data),
            cert_file=user.client_cert or "",
            cert_data=_pem(user.client_cert_data),
            key_file=user.client_key or "",
            key_data=_pem(user.client_key_data),
            insecure=cluster.insecure,
            server_name=more.tls_server_name,
        ),
        user=User(
            token=(user.token or "").strip(),
            token_file=user.token_file or "",
            username=user.username or "",
            password=user.password or "",
            plugin=_plugin(chosen),
        ),
        namespace=found.contexts["it"].namespace or "default",
        proxy=_proxy(more.proxy_url, cluster.server, environment, source),
        compress=not more.disable_compression,
        source=source,
    )


def _pem(encoded: str | None) -> bytes:
    return base64.b64decode(encoded or "", validate=True)


def _server(url: str, source: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ConfigError(f"{source}: the server {url!r} is not an http:// or https:// address")
    return url


def _proxy(named: str, server: str, environment: Mapping[str, str], source: str) -> str:
    chosen = named or from_environment(server, environment)
    if chosen and urlsplit(chosen).scheme not in ("http", "https"):
        raise ConfigError(
            f"{source}: the proxy {chosen} is of a kind that is not supported; use an http:// one"
        )
    return chosen


def _plugin(chosen: Chosen) -> Plugin | None:
    """Reads the plugin here and not with the loader, which misses half of what the plugin must be told."""
    if not chosen.user.get("exec"):
        return None
    said = codec.convert(chosen.user["exec"], _Plugin)
    return Plugin(
        api_version=said.api_version,
        command=said.command,
        args=said.args,
        env={variable.name: variable.value for variable in said.env},
        install_hint=said.install_hint,
        interactive_mode=said.interactive_mode,
        cluster=_passed_to_plugin(chosen.cluster) if said.provide_cluster_info else None,
    )


def _passed_to_plugin(cluster: Fields) -> JSON:
    """Describes the cluster to a plugin that asks: authority as data, settings of its own from the extensions."""
    stated: Fields = {name: cluster[name] for name in _REPORTED if cluster.get(name)}
    if not stated.get("certificate-authority-data") and cluster.get("certificate-authority"):
        authority = Path(cast("str", cluster["certificate-authority"]))
        stated["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
    for extension in cast("list[Fields]", cluster.get("extensions") or []):
        if extension.get("name") == "client.authentication.k8s.io/exec":
            stated["config"] = extension.get("extension")
    return stated
