"""When serving certificates and their authority are to be renewed, decided without a clock and without a cluster.

Pure but for the keys it makes. `webhook.cert_sources` holds what all replicas share in a Secret as `Material`, asks `next_step`
what is due and writes what `take` makes of it, one step at a time. The order of a rotation is what keeps every handshake
valid: a new authority is first only trusted; when that has been published long enough for every API server to have
noticed, it signs; and the old one is trusted until its own end, which no certificate of its outlives. Its private key
is gone the moment its successor exists.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kubeloop.net import certificates
from kubeloop.net.certificates import BadCertificate, Lifetime, Pair

AUTHORITY_NAME = "korder webhook authority"
LONGEST_BACKDATING = timedelta(hours=1)
NO_PAIR = Pair(b"", b"")

AUTHORITY, AUTHORITY_KEY, CERTIFICATE, CERTIFICATE_KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
"""The names in the data of the Secret."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How long things live; certificates should live many times longer than `settle`."""

    names: frozenset[str]
    authority_life: timedelta = timedelta(days=365)
    certificate_life: timedelta = timedelta(days=90)
    settle: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Material:
    """Authorities to trust, newest first, the key of the newest, and what is served."""

    authorities: tuple[bytes, ...] = ()
    key: bytes = field(default=b"", repr=False)
    served: Pair = NO_PAIR

    @property
    def bundle(self) -> bytes:
        return certificates.bundle(self.authorities)

    @property
    def signing(self) -> Pair:
        return Pair(self.authorities[0] if self.authorities else b"", self.key)


@dataclass(frozen=True, slots=True)
class AddAuthority:
    """Make a new authority; for now it is only trusted."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Make a new serving certificate for these names, signed by the newest authority."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Prune:
    """Trust only authorities that can still have certificates in use."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due before `until`."""

    until: datetime


Step = AddAuthority | Issue | Prune | Wait


def read(data: Mapping[str, bytes]) -> Material:
    """Reads material from the data of a Secret; what is missing or unreadable is left out and thereby renewed."""
    try:
        authorities = certificates.split(data.get(AUTHORITY, b""))
    except BadCertificate:
        authorities = ()
    served = Pair(data.get(CERTIFICATE, b""), data.get(CERTIFICATE_KEY, b""))
    return Material(authorities, data.get(AUTHORITY_KEY, b""), served)


def write(material: Material) -> dict[str, bytes]:
    """Writes material as the data of a Secret."""
    return {
        AUTHORITY: material.bundle,
        AUTHORITY_KEY: material.key,
        CERTIFICATE: material.served.certificate,
        CERTIFICATE_KEY: material.served.key,
    }


def next_step(
    material: Material, policy: Policy, now: datetime, published: datetime | None
) -> Step:
    """Says what is due; `published` is since when all API servers could learn of every authority in `material`."""
    if not _is_whole(material.signing) or certificates.needs_renewal(material.authorities[0], now):
        return AddAuthority()
    if not _is_trusted(material) or now >= certificates.lifetime(material.served.certificate).end:
        # Nothing valid is being served, so there is nothing to be careful with.
        return Issue(policy.names)
    if not certificates.issued_by(material.served.certificate, material.authorities[0]):
        settled = (published or now) + policy.settle
        return Issue(policy.names) if now >= settled else Wait(settled)
    return _renewal(material, policy, now) or _rest(material, now)


def take(
    step: AddAuthority | Issue | Prune, material: Material, policy: Policy, now: datetime
) -> Material:
    """Makes the material that follows when a step is taken."""
    match step:
        case AddAuthority():
            made = certificates.make_authority(AUTHORITY_NAME, _life(policy.authority_life, now))
            return replace(
                material, authorities=(made.certificate, *material.authorities), key=made.key
            )
        case Issue(names):
            life = _life(policy.certificate_life, now)
            return replace(material, served=certificates.issue(material.signing, names, life))
        case Prune():
            alive = [pem for pem in material.authorities if now < certificates.lifetime(pem).end]
            return replace(material, authorities=tuple(alive))


def _renewal(material: Material, policy: Policy, now: datetime) -> Issue | None:
    served = material.served.certificate
    if certificates.needs_renewal(served, now):
        return Issue(policy.names)
    if certificates.covers(served, policy.names):
        return None
    # Replicas of two releases may wish for different names; each adds its own, so they do not undo each other.
    return Issue(policy.names | certificates.names(served))


def _rest(material: Material, now: datetime) -> Prune | Wait:
    ends = [certificates.lifetime(authority).end for authority in material.authorities]
    if any(now >= end for end in ends):
        return Prune()
    renewals = (
        certificates.lifetime(pem).renew_at
        for pem in (material.authorities[0], material.served.certificate)
    )
    return Wait(min(*renewals, *ends))


def _is_whole(pair: Pair) -> bool:
    try:
        return certificates.belong_together(pair)
    except BadCertificate:
        return False


def _is_trusted(material: Material) -> bool:
    served = material.served
    return _is_whole(served) and any(
        certificates.issued_by(served.certificate, authority) for authority in material.authorities
    )


def _life(length: timedelta, now: datetime) -> Lifetime:
    """Begins a little in the past, for API servers whose clocks are behind ours."""
    return Lifetime(now - min(LONGEST_BACKDATING, length / 100), now + length)
