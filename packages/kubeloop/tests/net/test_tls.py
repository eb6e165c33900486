"""TLS of the calling side: trust, client certificates, and files that are replaced while we run."""

import asyncio
from collections.abc import AsyncIterator
import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
import socket
import ssl

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
import pytest

from kubeloop.net import certificates, tls
from kubeloop.net.certificates import Lifetime, Pair
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.tls import ClientTls, RotatingTls, TlsError

HOST = "127.0.0.1"
ALWAYS = Lifetime(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def authority() -> Pair:
    return certificates.make_authority("tests", ALWAYS)


@pytest.fixture(scope="module")
def stranger() -> Pair:
    return certificates.make_authority("strangers", ALWAYS)


@pytest.fixture(scope="module")
def pair(authority: Pair) -> Pair:
    return certificates.issue(authority, [HOST, "api.internal"], ALWAYS)


def client_pair(authority: Pair) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signed = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "client")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ALWAYS.start)
        .not_valid_after(ALWAYS.end)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(serialization.load_pem_private_key(authority.key, None), hashes.SHA256())
    )
    return Pair(
        signed.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


@contextlib.asynccontextmanager
async def serving(pair: Pair, folder: Path, client_authority: bytes = b"") -> AsyncIterator[int]:
    async def greet(request: web.Request) -> web.Response:
        shown = request.transport.get_extra_info("peercert")
        return web.Response(text="known" if shown else "unknown")

    chain = folder / "server.pem"
    chain.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    if client_authority:
        context.load_verify_locations(cadata=client_authority.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
    runner = web.ServerRunner(web.Server(greet))
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0, ssl_context=context)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def greeting(port: int, config: ClientTls, host: str = HOST) -> bytes:
    transport = HttpTransport(f"https://{host}:{port}", tls=RotatingTls(lambda: config))
    try:
        async with await transport.send(Request("GET", "/")) as response:
            return await response.read()
    finally:
        await transport.close()


@pytest.mark.enable_socket
async def test_a_server_of_our_authority_is_trusted(
    authority: Pair, pair: Pair, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(authority.certificate)
    async with serving(pair, tmp_path) as port:
        assert await greeting(port, ClientTls(ca_data=authority.certificate)) == b"unknown"
        assert await greeting(port, ClientTls(ca_file=str(file))) == b"unknown"


@pytest.mark.enable_socket
async def test_a_server_of_another_authority_is_unreachable(
    stranger: Pair, pair: Pair, tmp_path: Path
) -> None:
    async with serving(pair, tmp_path) as port:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await greeting(port, ClientTls(ca_data=stranger.certificate))


@pytest.mark.enable_socket
async def test_insecure_asks_for_nothing(stranger: Pair, pair: Pair, tmp_path: Path) -> None:
    async with serving(pair, tmp_path) as port:
        careless = ClientTls(ca_data=stranger.certificate, insecure=True)
        assert await greeting(port, careless) == b"unknown"


@pytest.mark.enable_socket
async def test_a_connection_given_up_at_its_birth_ends_with_the_transport(
    authority: Pair, pair: Pair, tmp_path: Path
) -> None:
    tls = RotatingTls(lambda: ClientTls(ca_data=authority.certificate))
    with socket.create_server((HOST, 0)) as listener:
        transport = HttpTransport(f"https://{HOST}:{listener.getsockname()[1]}", tls=tls)
        async with asyncio.TaskGroup() as group:
            stated = group.create_task(asyncio.to_thread(hears_the_end, listener, pair, tmp_path))
            request = group.create_task(transport.send(Request("GET", "/")))

            class GivenUp(ssl.SSLObject):
                def do_handshake(self) -> None:
                    super().do_handshake()
                    request.cancel()

            tls.context().sslobject_class = GivenUp
            await asyncio.wait([request])
            await transport.close()
        assert request.cancelled()
        assert stated.result()


def hears_the_end(listener: socket.socket, pair: Pair, folder: Path) -> bool:
    """Accepts one client, never says goodbye, and tells whether the client hangs up nevertheless."""
    chain = folder / "server.pem"
    chain.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    plain, _ = listener.accept()
    with socket.socket(fileno=context.wrap_socket(plain, server_side=True).detach()) as rest:
        rest.settimeout(5.0)
        try:
            while rest.recv(1024):
                pass
        except TimeoutError:
            return False
        return True


@pytest.mark.enable_socket
async def test_the_server_name_may_differ_from_the_address(
    authority: Pair, pair: Pair, tmp_path: Path
) -> None:
    plain = ClientTls(ca_data=authority.certificate)
    async with serving(pair, tmp_path) as port:
        with pytest.raises(Unreachable, match="localhost"):
            await greeting(port, plain, "localhost")
        stated = replace(plain, server_name="api.internal")
        assert await greeting(port, stated, "localhost") == b"unknown"


@pytest.mark.enable_socket
async def test_a_client_shows_its_certificate_from_data_or_files(
    authority: Pair, pair: Pair, tmp_path: Path
) -> None:
    ours = client_pair(authority)
    (tmp_path / "tls.crt").write_bytes(ours.certificate)
    (tmp_path / "tls.key").write_bytes(ours.key)
    trusting = ClientTls(ca_data=authority.certificate)
    data = replace(trusting, cert_data=ours.certificate, key_data=ours.key)
    files = replace(
        trusting, cert_file=str(tmp_path / "tls.crt"), key_file=str(tmp_path / "tls.key")
    )
    async with serving(pair, tmp_path, authority.certificate) as port:
        assert await greeting(port, trusting) == b"unknown"
        assert await greeting(port, data) == b"known"
        assert await greeting(port, files) == b"known"


def test_keys_do_not_stay_on_disk(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tls.client_context(ClientTls(cert_data=pair.certificate, key_data=pair.key))
    with pytest.raises(TlsError):
        tls.client_context(ClientTls(cert_data=pair.certificate, key_data=b"nonsense"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        pytest.param(ClientTls(ca_file="/nowhere/ca"), "/nowhere/ca .* No such file", id="no file"),
        pytest.param(ClientTls(ca_data=b"???"), "authority data", id="data that is no certificate"),
        pytest.param(ClientTls(ca_data="ü".encode()), "not a PEM", id="data that is no text"),
        pytest.param(
            ClientTls(cert_file="/nowhere/crt", key_file="/nowhere/key"),
            "/nowhere/crt and /nowhere/key",
            id="no certificate",
        ),
    ],
)
def test_what_cannot_be_used_is_named(config: ClientTls, complaint: str) -> None:
    with pytest.raises(TlsError, match=complaint):
        tls.client_context(config)


def test_a_key_of_another_certificate_is_refused(authority: Pair, pair: Pair) -> None:
    other = certificates.issue(authority, [HOST], ALWAYS)
    with pytest.raises(TlsError, match="client certificate"):
        tls.client_context(ClientTls(cert_data=pair.certificate, key_data=other.key))


def test_an_encrypted_key_is_refused_without_asking_anybody(pair: Pair) -> None:
    encrypted = serialization.load_pem_private_key(pair.key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(TlsError, match="encrypted"):
        tls.client_context(ClientTls(cert_data=pair.certificate, key_data=encrypted))


def test_keys_are_not_shown(pair: Pair) -> None:
    assert "PRIVATE" not in repr(ClientTls(key_data=pair.key))


def test_the_context_stays_until_a_file_changes(
    authority: Pair, pair: Pair, tmp_path: Path
) -> None:
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    rotating = RotatingTls(lambda: ClientTls(cert_file=str(cert), key_file=str(key)))
    first = rotating.context()
    assert rotating.context() is first

    renewed = certificates.issue(authority, [HOST], ALWAYS)
    cert.write_bytes(renewed.certificate)
    assert rotating.context() is first, "a certificate without its key is passed over"
    key.write_bytes(renewed.key)
    second = rotating.context()
    assert second is not first
    assert rotating.context() is second


def test_the_context_follows_credentials_that_come_from_elsewhere(authority: Pair) -> None:
    shown = [ClientTls(ca_data=authority.certificate), ClientTls(insecure=True)]
    rotating = RotatingTls(lambda: shown[0])
    first = rotating.context()
    shown.pop(0)
    assert rotating.context() is not first
    assert rotating.context().verify_mode is ssl.CERT_NONE


def test_the_first_context_must_work() -> None:
    with pytest.raises(TlsError):
        RotatingTls(lambda: ClientTls(ca_file="/nowhere/ca")).context()
