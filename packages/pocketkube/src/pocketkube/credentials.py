"""What an embedded cluster is known by: its authority, the administrator's token, the key of its service accounts.

`cluster` asks when it starts and hands the parts to the API server and to whoever writes a kubeconfig. With a directory they are
made once and kept in one file, which only its owner can read and which is there completely or not at all; certificates
of the server are made anew at each start, because whoever trusts the authority trusts them all.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
import os
from pathlib import Path
import secrets
import tempfile

import msgspec
import yaml

from kubeloop.net import certificates
from kubeloop.net.certificates import BadCertificate, Lifetime, Pair
from pocketkube.apiserver.access.tokens import BadKey, Signer, make_key

FILE = "credentials.json"
CONTEXT = "korder"
_YEARS = timedelta(days=3650)
_DRIFT = timedelta(hours=1)
"""How far the clocks of clients may be behind."""


class Unusable(Exception):
    """The file with the credentials cannot be used; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """All secrets of a cluster; none of them is shown."""

    authority: Pair
    admin_token: str = field(repr=False)
    signing_key: bytes = field(repr=False)

    def serving(self, names: Iterable[str], now: datetime) -> Pair:
        """A certificate for a server with these names and addresses."""
        return certificates.issue(self.authority, names, Lifetime(now - _DRIFT, now + _YEARS))


def make(now: datetime, chance: Callable[[int], bytes] = secrets.token_bytes) -> Credentials:
    """New credentials, for a cluster that keeps nothing."""
    return Credentials(
        certificates.make_authority("korder", Lifetime(now - _DRIFT, now + _YEARS)),
        chance(24).hex(),
        make_key(chance),
    )


def keep(
    directory: Path, now: datetime, chance: Callable[[int], bytes] = secrets.token_bytes
) -> Credentials:
    """The credentials of a directory; made if there are none yet. An authority that grows old is replaced.

    Raises:
        Unusable: the file is damaged or not ours.
    """
    path = directory / FILE
    try:
        kept = path.read_bytes()
    except FileNotFoundError:
        made = make(now, chance)
        write_privately(path, _encoded(made))
        return made
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error}") from error
    found = _decoded(kept, path)
    if not certificates.needs_renewal(found.authority.certificate, now):
        return found
    renewed = replace(found, authority=make(now, chance).authority)
    write_privately(path, _encoded(renewed))
    return renewed


def kubeconfig(credentials: Credentials, server: str) -> bytes:
    """What kubectl needs to talk to the server as administrator."""
    authority = b64encode(credentials.authority.certificate).decode()
    cluster = {"server": server, "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": "kubernetes-admin", "user": {"token": credentials.admin_token}}],
        "contexts": [
            {"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "kubernetes-admin"}}
        ],
        "current-context": CONTEXT,
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def write_privately(path: Path, content: bytes) -> None:
    """Writes a file that only its owner can read: as a whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Temporary files are made readable for their owner only.
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


class _Kept(msgspec.Struct, rename="camel"):
    authority_certificate: str
    authority_key: str
    admin_token: str
    signing_key: str


def _encoded(credentials: Credentials) -> bytes:
    return msgspec.json.encode(
        _Kept(
            credentials.authority.certificate.decode(),
            credentials.authority.key.decode(),
            credentials.admin_token,
            credentials.signing_key.decode(),
        )
    )


def _decoded(kept: bytes, path: Path) -> Credentials:
    try:
        return _checked(msgspec.json.decode(kept, type=_Kept))
    except (ValueError, BadCertificate, BadKey) as error:
        raise Unusable(
            f"{path} does not hold the credentials of a cluster ({error}); remove it to have new ones made"
        ) from error


def _checked(kept: _Kept) -> Credentials:
    authority = Pair(kept.authority_certificate.encode(), kept.authority_key.encode())
    if not certificates.belong_together(authority):
        raise BadCertificate("the authority's key belongs to another certificate")
    if not kept.admin_token:
        raise BadKey("the administrator has no token")
    Signer(kept.signing_key.encode())
    return Credentials(authority, kept.admin_token, kept.signing_key.encode())
