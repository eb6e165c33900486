"""Certificates as values: authorities, the server certificates they issue, and bundles of authorities.

`kubeloop.runtime.webhook` keeps a serving certificate alive with these functions and tests make throw-away ones. Everything goes in
and comes out as PEM bytes, and every instant is handed in. The one thing not handed in is chance: keys and serial
numbers always come from the operating system, because a predictable key is no key.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
import ipaddress

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LONGEST_COMMON_NAME = 64


class BadCertificate(Exception):
    """The bytes are not what they should be: not PEM, cut short, or a key of another certificate."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate, possibly followed by its chain, and its private key, which is never shown."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a certificate is good: from the first instant up to, not including, the second."""

    start: datetime
    end: datetime

    @property
    def renew_at(self) -> datetime:
        """The instant when two thirds are over: what is left is the time to notice that renewal fails."""
        return self.start + (self.end - self.start) * 2 / 3

    def __contains__(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


def make_authority(name: str, lifetime: Lifetime) -> Pair:
    """Makes a self-signed authority that may sign servers but no further authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _common_name(name)
    builder = (
        _certificate(subject, subject, key.public_key(), lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(authority: Pair, names: Iterable[str], lifetime: Lifetime) -> Pair:
    """Makes a server certificate for DNS names and IP addresses; it never outlives its authority."""
    issuer = _load(authority.certificate)
    issuer_key = _load_signing_key(authority.key)
    names = sorted(set(names))
    if not names:
        raise ValueError("a server certificate needs at least one name")
    key = ec.generate_private_key(ec.SECP256R1())
    within = _within(lifetime, _lifetime(issuer))
    builder = (
        _certificate(_common_name(names[0]), issuer.subject, key.public_key(), within)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    return _pair(builder.sign(issuer_key, hashes.SHA256()), key)


def lifetime(certificate: bytes) -> Lifetime:
    """Reads when a certificate is good."""
    return _lifetime(_load(certificate))


def needs_renewal(certificate: bytes, now: datetime) -> bool:
    """Says whether two thirds of the certificate's life are over."""
    return now >= lifetime(certificate).renew_at


def names(certificate: bytes) -> frozenset[str]:
    """Reads the DNS names and IP addresses a certificate speaks for."""
    return frozenset(str(name.value) for name in _alternative_names(certificate))


def covers(certificate: bytes, wanted: Iterable[str]) -> bool:
    """Says whether a certificate speaks for all these names, however their addresses are spelled."""
    return set(map(_general_name, wanted)) <= set(_alternative_names(certificate))


def issued_by(certificate: bytes, authority: bytes) -> bool:
    """Says whether the authority's key signed the certificate."""
    try:
        _load(certificate).verify_directly_issued_by(_load(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def belong_together(pair: Pair) -> bool:
    """Says whether the key is the one the certificate was made for."""
    return _load(pair.certificate).public_key() == _load_key(pair.key).public_key()


def bundle(certificates: Iterable[bytes]) -> bytes:
    """Joins authorities so that certificates of any of them are trusted."""
    return b"".join(dict.fromkeys(pem.strip() + b"\n" for pem in certificates))


def split(bundled: bytes) -> tuple[bytes, ...]:
    """Takes a bundle apart again, in order."""
    try:
        parts = x509.load_pem_x509_certificates(bundled)
    except ValueError as error:
        raise BadCertificate(f"not a bundle of PEM certificates: {error}") from error
    return tuple(part.public_bytes(serialization.Encoding.PEM) for part in parts)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: Lifetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(lifetime.start)
        .not_valid_after(lifetime.end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:LONGEST_COMMON_NAME])])


def _alternative_names(certificate: bytes) -> list[x509.GeneralName]:
    extensions = _load(certificate).extensions
    try:
        return list(extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _within(wished: Lifetime, limit: Lifetime) -> Lifetime:
    return Lifetime(max(wished.start, limit.start), min(wished.end, limit.end))


def _lifetime(certificate: x509.Certificate) -> Lifetime:
    return Lifetime(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _load(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate)
    except ValueError as error:
        raise BadCertificate(f"not a PEM certificate: {error}") from error


def _load_key(key: bytes) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadCertificate(f"not a PEM private key: {error}") from error


def _load_signing_key(key: bytes) -> ec.EllipticCurvePrivateKey:
    loaded = _load_key(key)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise BadCertificate("the authority's key is not an elliptic curve key")
    return loaded
