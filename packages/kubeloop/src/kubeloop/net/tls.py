"""TLS for the calling side: whom to trust, what to show, and certificates that are replaced while we run.

`kubeloop.client.config` describes a `ClientTls`; `kubeloop.net.client` asks a `RotatingTls` for the context of each new request. Files are
looked at every time, which costs a few microseconds and means that a renewed certificate is used by the very next
connection; a file caught half-written is passed over and the context that worked stays.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
import os
from pathlib import Path
import ssl
import tempfile
from typing import IO

from kubeloop.net.http import Unreachable


class TlsError(Unreachable):
    """Certificates or keys that cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """What a client needs for TLS; data is PEM and wins over the file of the same purpose."""

    ca_file: str = ""
    ca_data: bytes = b""
    cert_file: str = ""
    cert_data: bytes = b""
    key_file: str = ""
    key_data: bytes = field(default=b"", repr=False)
    insecure: bool = False
    server_name: str = ""


def client_context(config: ClientTls) -> ssl.SSLContext:
    """Makes the context that `config` describes, or raises `TlsError`."""
    context = _trusting(config)
    # Clusters live with authorities made years ago; newer Pythons refuse those for formalities that Go never asked for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if config.cert_file or config.cert_data:
        _show_certificate(context, config)
    return context


def _trusting(config: ClientTls) -> ssl.SSLContext:
    if not (config.ca_data or config.ca_file):
        return ssl.create_default_context()
    where = "the certificate authority data" if config.ca_data else config.ca_file
    try:
        authority = config.ca_data or Path(config.ca_file).read_bytes()
        return ssl.create_default_context(cadata=authority.decode("ascii"))
    except OSError as error:
        # An SSLError is an OSError too, and says "not enough data" where a reader wants to know what was read.
        raise TlsError(f"{where} cannot be used as certificate authority: {error}") from error
    except ValueError as error:
        raise TlsError(f"{where} is not a PEM certificate authority") from error


def _show_certificate(context: ssl.SSLContext, config: ClientTls) -> None:
    cert = config.cert_file or "the client certificate data"
    key = config.key_file or "the client key data"
    try:
        cert_pem = config.cert_data or Path(config.cert_file).read_bytes()
        key_pem = config.key_data or (
            Path(config.key_file).read_bytes() if config.key_file else b""
        )
        load_pair(context, cert_pem, key_pem)
    except OSError as error:
        raise TlsError(f"{cert} and {key} cannot be used as client certificate: {error}") from error


def load_pair(context: ssl.SSLContext, cert: bytes, key: bytes) -> None:
    """Puts a certificate and its key into a context; raises `ssl.SSLError` if they cannot be used together."""
    # The ssl module reads key pairs from files only; this one is readable by nobody else and gone at once. On Linux it
    # lies in memory, because a careful pod has no directory it may write to.
    with _private_file() as file:
        file.write(cert + b"\n" + key)
        file.flush()
        path = f"/proc/self/fd/{file.fileno()}" if hasattr(os, "memfd_create") else file.name
        context.load_cert_chain(path, password=_no_passphrase)


def _private_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kubeloop"), "wb")
    return tempfile.NamedTemporaryFile(prefix="kubeloop-", suffix=".pem")


def _no_passphrase() -> str:
    raise ssl.SSLError("the key is encrypted, which is not supported")


class RotatingTls:
    """The current context of a client whose certificates may change, on disk or in the hands of a credential plugin."""

    def __init__(self, config: Callable[[], ClientTls]) -> None:
        self._config = config
        self._version: object = None
        self._context: ssl.SSLContext | None = None

    @property
    def server_name(self) -> str:
        return self._config().server_name

    def context(self) -> ssl.SSLContext:
        """Gives the context for a new request; the same one as long as nothing has changed."""
        config = self._config()
        version = (config, *map(_stamp, (config.ca_file, config.cert_file, config.key_file)))
        if self._context is None:
            self._context = client_context(config)
            self._version = version
        elif version != self._version:
            try:
                self._context = client_context(config)
            except TlsError:
                # Probably caught between the new certificate and its key; the next request looks again.
                return self._context
            self._version = version
        return self._context


def _stamp(path: str) -> tuple[int, int, int] | None:
    if not path:
        return None
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
