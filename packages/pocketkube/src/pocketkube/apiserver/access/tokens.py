"""Signed tokens (JWT, ES256): claims in, text out, and back if the signature holds. Knows nothing of what they claim.

`accounts` issues and reads the tokens of service accounts with it. Signatures are deterministic, so equal claims give equal
tokens: a simulation that runs again sends the same bytes. A signature that was checked once is not checked again.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
import binascii
from collections.abc import Callable
import hashlib
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
import msgspec

Claims = dict[str, Any]

_SIZE = 32
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""How many points the curve P-256 has."""
_REMEMBERED = 1000
_HOW = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
_CHECK = ec.ECDSA(hashes.SHA256())


class BadToken(Exception):
    """The token is none, or proves nothing. The text says what else is wrong, to whoever may review tokens; it may be empty."""


class BadKey(Exception):
    """The bytes are no key to sign tokens with."""


class Signer:
    """Signs and reads tokens with one key: a PEM private key on the curve P-256."""

    def __init__(self, key: bytes) -> None:
        self._key = _load(key)
        self._public = self._key.public_key()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.key_id = _encoded(hashlib.sha256(der).digest())
        self._head = _encoded(msgspec.json.encode({"alg": "ES256", "kid": self.key_id}))
        self._trusted: dict[str, Claims] = {}

    def sign(self, claims: Claims) -> str:
        """Makes a token."""
        signed = f"{self._head}.{_encoded(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), _HOW))
        return f"{signed}.{_encoded(r.to_bytes(_SIZE, 'big') + s.to_bytes(_SIZE, 'big'))}"

    def read(self, token: str, *issuers: str) -> Claims:
        """What a token of this key says, if it says to be of one of these issuers.

        Raises:
            BadToken: it is none, is of another issuer, or was signed otherwise.
        """
        known = self._trusted.get(token)
        if known is not None:
            return known
        parts = token.split(".")
        if len(parts) != 3:
            raise BadToken
        claims = _decoded_object(parts[1])
        if claims.get("iss") not in issuers:
            raise BadToken
        self._verify(token)
        if len(self._trusted) >= _REMEMBERED:
            self._trusted.clear()
        self._trusted[token] = claims
        return claims

    def jwks(self) -> Claims:
        """The public key as `/openid/v1/jwks` shows it."""
        numbers = self._public.public_numbers()
        return {
            "keys": [
                {
                    "use": "sig",
                    "kty": "EC",
                    "kid": self.key_id,
                    "crv": "P-256",
                    "alg": "ES256",
                    "x": _encoded(numbers.x.to_bytes(_SIZE, "big")),
                    "y": _encoded(numbers.y.to_bytes(_SIZE, "big")),
                }
            ]
        }

    def _verify(self, token: str) -> None:
        signed, _, signature = token.rpartition(".")
        head = _decoded_object(signed.partition(".")[0])
        if head.get("kid", self.key_id) != self.key_id:
            raise BadToken("invalid signature, no keys found")
        raw = _decoded(signature)
        if head.get("alg") != "ES256" or len(raw) != 2 * _SIZE:
            raise BadToken
        r, s = int.from_bytes(raw[:_SIZE], "big"), int.from_bytes(raw[_SIZE:], "big")
        try:
            self._public.verify(encode_dss_signature(r, s), signed.encode(), _CHECK)
        except InvalidSignature:
            raise BadToken("go-jose/go-jose: error in cryptographic primitive") from None


def make_key(chance: Callable[[int], bytes]) -> bytes:
    """A new key; `chance` gives as many random bytes as it is asked for."""
    # Far more bits than the curve has, so that no key is likelier than another.
    secret = 1 + int.from_bytes(chance(2 * _SIZE), "big") % (_ORDER - 1)
    return ec.derive_private_key(secret, ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _load(key: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        loaded = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey(f"not a PEM private key: {error}") from error
    if not isinstance(loaded, ec.EllipticCurvePrivateKey) or loaded.curve.key_size != 256:
        raise BadKey("tokens are signed with a key on the curve P-256, and this is another one")
    return loaded


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise BadToken from None


def _decoded_object(text: str) -> Claims:
    try:
        found = msgspec.json.decode(_decoded(text))
    except (ValueError, RecursionError):
        raise BadToken from None
    if not isinstance(found, dict):
        raise BadToken
    return found
