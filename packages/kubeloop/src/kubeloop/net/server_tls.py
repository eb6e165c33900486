"""TLS for the serving side, with a certificate that can be replaced while connections are open.

`kubeloop.net.server` listens with its context; `kubeloop.runtime.webhook` loads certificates into it. New handshakes show the new certificate,
connections already made live on. A pair is tried on a scratch context first: OpenSSL notices a key of another
certificate only halfway through, and by then the live context would have lost the pair that worked.
"""

import ssl

from kubeloop.net import tls
from kubeloop.net.certificates import BadCertificate, Pair


class ServerTls:
    """What a server shows; refuses every handshake until a pair is loaded."""

    def __init__(self) -> None:
        self.context = _server_context()
        self.pair: Pair | None = None

    def load(self, pair: Pair) -> None:
        """Shows `pair` from the next handshake on; raises `BadCertificate` and changes nothing if it cannot be used."""
        try:
            for context in (_server_context(), self.context):
                tls.load_pair(context, pair.certificate, pair.key)
        except ssl.SSLError as error:
            raise BadCertificate(f"certificate and key cannot be used: {error}") from error
        self.pair = pair


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
