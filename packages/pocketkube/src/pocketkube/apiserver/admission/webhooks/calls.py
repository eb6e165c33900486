"""One question to one webhook: over HTTP to a URL or a service, within its time.

The plugins call `Caller.ask`; it opens a transport for each place and authority with the connector it was given (the real
one goes over the network, simulation and tests hand in their own) and keeps it. What can go wrong is told in the words of
kube-apiserver as far as the network says the same things here.
"""

import asyncio
from base64 import b64decode
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kubeloop.net.client import HttpTransport
from kubeloop.net.http import NetError, Request, Transport
from kubeloop.net.tls import ClientTls, RotatingTls
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.admission.webhooks.services import Resolve, Unresolved

_HEADERS = {"Accept": "application/json, */*", "Content-Type": "application/json"}
_KEPT = 32
"""How many places stay connected."""

_UNTRUSTED = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
_WORDS = (
    (
        re.compile("connection refused", re.IGNORECASE),
        "dial tcp {host}: connect: connection refused",
    ),
    (re.compile("self.signed|unable to get local issuer", re.IGNORECASE), _UNTRUSTED),
    (
        re.compile("certificate has expired"),
        "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    ),
    (re.compile("closed the connection without an answer"), "EOF"),
)
_SAYINGS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, "
    "but may still be processing the request",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server to be asked; `authority` is PEM, empty for the system's; `server_name` if it is not that of the address."""

    address: str
    authority: bytes = b""
    server_name: str = ""


Connect = Callable[[Endpoint], Transport]


class CallFailed(Exception):
    """There is no usable answer; `failurePolicy` decides what that means."""


def over_network(endpoint: Endpoint) -> Transport:
    """The real connector."""
    trust = ClientTls(ca_data=endpoint.authority, server_name=endpoint.server_name)
    return HttpTransport(endpoint.address, tls=RotatingTls(lambda: trust), compress=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a webhook is, as its configuration says."""

    url: str
    service: tuple[str, str, int] | None
    authority: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


def place(config: Mapping[str, Any]) -> Place:
    """Reads a clientConfig."""
    try:
        authority = b64decode(config.get("caBundle") or "")
    except (binascii.Error, ValueError):
        authority = b""
    service = config.get("service")
    if not service:
        return Place(str(config.get("url") or ""), None, authority)
    namespace, name = str(service.get("namespace", "")), str(service.get("name", ""))
    port = int(service.get("port") or 443)
    path = str(service.get("path") or "")
    url = f"https://{name}.{namespace}.svc:{port}/{path.removeprefix('/')}"
    return Place(url, (namespace, name, port), authority)


@dataclass(slots=True)
class _Kept:
    transport: Transport
    users: int = 0


class Caller:
    """Asks webhooks and keeps the connections."""

    def __init__(self, resolve: Resolve, connect: Connect = over_network) -> None:
        self._resolve = resolve
        self._connect = connect
        self._kept: dict[Endpoint, _Kept] = {}

    async def ask(self, where: Place, review: Mapping[str, Any], seconds: int) -> Any:
        """Sends a review and returns the answer as it came.

        Raises:
            CallFailed: no answer that could be read.
        """
        url = f"{where.url}?timeout={seconds}s"
        try:
            async with asyncio.timeout(seconds):
                status, body = await self._post(where, url, msgspec.json.encode(review))
        except TimeoutError:
            raise CallFailed(f'Post "{url}": context deadline exceeded') from None
        except (NetError, Unresolved) as error:
            raise CallFailed(f'Post "{url}": {_reported(str(error), where.host)}') from None
        if not 200 <= status < 300:
            raise CallFailed(_unsuccessful(status, body))
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            raise CallFailed(
                "couldn't get version/kind; json parse error: "
                "invalid character in what the webhook answered"
            ) from None

    async def close(self) -> None:
        """Drops all connections."""
        for endpoint in list(self._kept):
            await self._kept.pop(endpoint).transport.close()

    async def _post(self, where: Place, url: str, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(url)
        endpoint = Endpoint(f"{parts.scheme}://{parts.netloc}", where.authority)
        if where.service is not None:
            host = self._resolve(*where.service)
            endpoint = Endpoint(f"https://{host}", where.authority, parts.hostname or "")
        request = Request("POST", f"{parts.path or '/'}?{parts.query}", _HEADERS, body)
        kept = self._kept.pop(endpoint, None) or _Kept(self._connect(endpoint))
        self._kept[endpoint] = kept
        kept.users += 1
        try:
            async with await kept.transport.send(request) as answer:
                return answer.status, await answer.read()
        finally:
            kept.users -= 1
            await self._evict()

    async def _evict(self) -> None:
        """Lets go of those not used for the longest time: a webhook that changes its authority or address leaves them behind."""
        idle = [endpoint for endpoint, kept in self._kept.items() if not kept.users]
        for endpoint in idle[: max(0, len(self._kept) - _KEPT)]:
            await self._kept.pop(endpoint).transport.close()


def _reported(text: str, host: str) -> str:
    for pattern, words in _WORDS:
        if pattern.search(text):
            return words.format(host=host)
    return text


def _unsuccessful(status: int, body: bytes) -> str:
    said = body.decode("utf-8", "replace")[:2048].strip()
    if status == 403:
        return said
    if status >= 500 and status not in _SAYINGS:
        return f"an error on the server ({fielderrors.quote(said)}) has prevented the request from succeeding"
    vague = (
        f"the server responded with the status code {status} but did not return more information"
    )
    return _SAYINGS.get(status, vague)
