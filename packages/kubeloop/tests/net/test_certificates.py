"""Authorities, server certificates and bundles, and a real verifier's opinion of them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
import ssl

from hypothesis import given, strategies as st
import pytest

from kubeloop.net import certificates
from kubeloop.net.certificates import BadCertificate, Lifetime, Pair

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
YEAR = Lifetime(START, START + 365 * DAY)
NINETY_DAYS = Lifetime(START, START + 90 * DAY)
TODAY = Lifetime(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))

AUTHORITY = certificates.make_authority("korder test", YEAR)
OTHER_AUTHORITY = certificates.make_authority("korder test", YEAR)


def handshake(trusted: bytes, served: Pair, server_name: str, directory: Path) -> None:
    """Lets OpenSSL, in its strictest mode, judge a certificate without a socket in between."""
    (directory / "crt").write_bytes(served.certificate)
    (directory / "key").write_bytes(served.key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(directory / "crt", directory / "key")
    client_context = ssl.create_default_context(cadata=trusted.decode())
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    upstream, downstream = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(downstream, upstream, server_hostname=server_name)
    server = server_context.wrap_bio(upstream, downstream, server_side=True)
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def test_a_certificate_keeps_the_names_and_addresses_it_was_asked_for() -> None:
    pair = certificates.issue(
        AUTHORITY, ["b.korder.svc", "a.korder.svc", "127.0.0.1", "::1"], NINETY_DAYS
    )

    assert certificates.names(pair.certificate) == {
        "a.korder.svc",
        "b.korder.svc",
        "127.0.0.1",
        "::1",
    }


@pytest.mark.parametrize(
    ("wanted", "covered"),
    [
        pytest.param([], True, id="nothing"),
        pytest.param(["a.svc"], True, id="one of its names"),
        pytest.param(["a.svc", "0:0:0:0:0:0:0:1"], True, id="an address spelled otherwise"),
        pytest.param(["a.svc", "b.svc"], False, id="one name too many"),
    ],
)
def test_a_certificate_covers_what_is_among_its_names(wanted: list[str], covered: bool) -> None:
    pair = certificates.issue(AUTHORITY, ["a.svc", "::1"], NINETY_DAYS)

    assert certificates.covers(pair.certificate, wanted) is covered


def test_a_certificate_without_a_name_is_not_made() -> None:
    with pytest.raises(ValueError, match="at least one name"):
        certificates.issue(AUTHORITY, [], NINETY_DAYS)


def test_a_private_key_is_not_shown_by_accident() -> None:
    assert "PRIVATE KEY" not in repr(AUTHORITY)


def test_an_authority_speaks_for_no_name() -> None:
    assert certificates.names(AUTHORITY.certificate) == frozenset()


def test_a_certificate_keeps_the_lifetime_it_was_given() -> None:
    pair = certificates.issue(AUTHORITY, ["a"], NINETY_DAYS)

    assert certificates.lifetime(pair.certificate) == NINETY_DAYS


def test_a_certificate_never_outlives_its_authority() -> None:
    wish = Lifetime(START - DAY, START + 400 * DAY)

    pair = certificates.issue(AUTHORITY, ["a"], wish)

    assert certificates.lifetime(pair.certificate) == YEAR


def test_a_name_longer_than_a_common_name_is_still_a_name() -> None:
    name = ".".join(["quite-a-long-label"] * 6)

    pair = certificates.issue(AUTHORITY, [name], NINETY_DAYS)

    assert certificates.names(pair.certificate) == {name}


def test_only_the_authority_that_signed_it_counts_as_issuer_even_among_namesakes() -> None:
    pair = certificates.issue(AUTHORITY, ["a"], NINETY_DAYS)

    assert certificates.issued_by(pair.certificate, AUTHORITY.certificate)
    assert not certificates.issued_by(pair.certificate, OTHER_AUTHORITY.certificate)


@pytest.mark.parametrize(
    ("age", "due"),
    [
        pytest.param(timedelta(0), False, id="when it is new"),
        pytest.param(60 * DAY - timedelta(seconds=1), False, id="just before two thirds"),
        pytest.param(60 * DAY, True, id="at two thirds"),
        pytest.param(91 * DAY, True, id="after its end"),
    ],
)
def test_renewal_is_due_after_two_thirds_of_the_life(age: timedelta, due: bool) -> None:
    pair = certificates.issue(AUTHORITY, ["a"], NINETY_DAYS)

    assert certificates.needs_renewal(pair.certificate, START + age) is due


@given(
    later=st.timedeltas(timedelta(0), 30_000 * DAY),
    length=st.timedeltas(timedelta(seconds=1), 10_000 * DAY),
)
def test_renewal_lies_within_the_life(later: timedelta, length: timedelta) -> None:
    lifetime = Lifetime(START + later, START + later + length)

    assert lifetime.renew_at in lifetime
    assert lifetime.end not in lifetime


def test_a_key_of_another_certificate_is_noticed() -> None:
    one = certificates.issue(AUTHORITY, ["a"], NINETY_DAYS)
    other = certificates.issue(AUTHORITY, ["a"], NINETY_DAYS)

    assert certificates.belong_together(one)
    assert not certificates.belong_together(Pair(one.certificate, other.key))


def test_a_bundle_comes_apart_as_it_was_joined() -> None:
    both = (AUTHORITY.certificate, OTHER_AUTHORITY.certificate)

    assert certificates.split(certificates.bundle(both)) == both


def test_a_bundle_holds_each_authority_once() -> None:
    twice = (AUTHORITY.certificate, b"\n" + AUTHORITY.certificate + b"\n\n")

    assert certificates.bundle(twice) == AUTHORITY.certificate


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(certificates.lifetime, id="lifetime"),
        pytest.param(certificates.names, id="names"),
        pytest.param(certificates.split, id="bundle"),
        pytest.param(
            lambda pem: certificates.belong_together(Pair(AUTHORITY.certificate, pem)), id="key"
        ),
        pytest.param(
            lambda pem: certificates.issue(Pair(AUTHORITY.certificate, pem), ["a"], NINETY_DAYS),
            id="signing key",
        ),
    ],
)
@pytest.mark.parametrize(
    "pem",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"hello", id="text"),
        pytest.param(AUTHORITY.certificate[:100], id="a torn certificate"),
        pytest.param(AUTHORITY.key[:100], id="a torn key"),
    ],
)
def test_bytes_that_are_no_pem_are_refused_as_such(read: object, pem: bytes) -> None:
    assert callable(read)
    with pytest.raises(BadCertificate, match="PEM"):
        read(pem)


def test_a_strict_verifier_trusts_a_certificate_of_either_authority_of_a_bundle(
    tmp_path: Path,
) -> None:
    old = certificates.make_authority("korder test", TODAY)
    new = certificates.make_authority("korder test", TODAY)
    trusted = certificates.bundle([new.certificate, old.certificate])

    for authority in (old, new):
        served = certificates.issue(authority, ["korder.svc", "127.0.0.1"], TODAY)
        handshake(trusted, served, "korder.svc", tmp_path)
        handshake(trusted, served, "127.0.0.1", tmp_path)


def test_a_strict_verifier_refuses_another_authority_and_another_name(tmp_path: Path) -> None:
    old = certificates.make_authority("korder test", TODAY)
    new = certificates.make_authority("korder test", TODAY)
    served = certificates.issue(new, ["korder.svc"], TODAY)

    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        handshake(old.certificate, served, "korder.svc", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(new.certificate, served, "other.svc", tmp_path)
