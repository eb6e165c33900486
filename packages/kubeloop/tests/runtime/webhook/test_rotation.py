"""What is due when, for everything a shared Secret can hold; and that no order of events breaks a handshake."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings, strategies as st
import pytest

from kubeloop.net import certificates
from kubeloop.net.certificates import Pair
from kubeloop.runtime.webhook import rotation
from kubeloop.runtime.webhook.rotation import (
    AddAuthority,
    Issue,
    Material,
    Policy,
    Prune,
    Step,
    Wait,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
NAMES = frozenset({"korder.korder-system.svc"})
POLICY = Policy(NAMES, authority_life=300 * DAY, certificate_life=30 * DAY, settle=5 * MINUTE)
LONG_AGO = START - DAY


def after(*steps: AddAuthority | Issue | Prune, at: datetime, material: Material) -> Material:
    for step in steps:
        material = rotation.take(step, material, POLICY, at)
    return material


FRESH = after(AddAuthority(), Issue(NAMES), at=START, material=Material())
TRUSTING_TWO = after(AddAuthority(), at=START + 200 * DAY, material=FRESH)
SWITCHED = after(Issue(NAMES), at=START + 201 * DAY, material=TRUSTING_TWO)
RENEWED = after(Issue(NAMES), at=START + 19 * DAY, material=FRESH)
OTHER = after(AddAuthority(), Issue(NAMES), at=START, material=Material())

RENEWAL = START - HOUR + (30 * DAY + HOUR) * 2 / 3
"""When two thirds of the first certificate are over; it is dated back an hour."""


@pytest.mark.parametrize(
    ("material", "now", "published", "step"),
    [
        pytest.param(
            Material(), START, None, AddAuthority(), id="nothing: begin with an authority"
        ),
        pytest.param(
            replace(FRESH, served=rotation.NO_PAIR),
            START,
            None,
            Issue(NAMES),
            id="no certificate: issue one at once",
        ),
        pytest.param(FRESH, START, None, Wait(RENEWAL), id="all fresh: wait for the first renewal"),
        pytest.param(
            FRESH,
            RENEWAL - timedelta(seconds=1),
            LONG_AGO,
            Wait(RENEWAL),
            id="a second before renewal: wait",
        ),
        pytest.param(
            FRESH, RENEWAL, None, Issue(NAMES), id="renewal by the same authority: issue at once"
        ),
        pytest.param(
            FRESH, START + 200 * DAY, LONG_AGO, AddAuthority(), id="the authority is two thirds old"
        ),
        pytest.param(
            after(AddAuthority(), at=START + 19 * DAY, material=FRESH),
            START + 19 * DAY,
            None,
            Wait(START + 19 * DAY + 5 * MINUTE),
            id="a new authority nobody has heard of: wait",
        ),
        pytest.param(
            after(AddAuthority(), at=START + 19 * DAY, material=FRESH),
            START + 19 * DAY + 4 * MINUTE,
            START + 19 * DAY,
            Wait(START + 19 * DAY + 5 * MINUTE),
            id="a new authority published just now: wait until it has settled",
        ),
        pytest.param(
            after(AddAuthority(), at=START + 19 * DAY, material=FRESH),
            START + 19 * DAY + 5 * MINUTE,
            START + 19 * DAY,
            Issue(NAMES),
            id="a new authority that has settled: let it sign",
        ),
        pytest.param(
            TRUSTING_TWO,
            START + 200 * DAY,
            None,
            Issue(NAMES),
            id="an expired certificate: issue at once, settled or not",
        ),
        pytest.param(
            SWITCHED,
            START + 202 * DAY,
            LONG_AGO,
            Wait(START + 201 * DAY - HOUR + (30 * DAY + HOUR) * 2 / 3),
            id="both authorities are trusted after the switch",
        ),
        pytest.param(
            after(Issue(NAMES), at=START + 299 * DAY, material=SWITCHED),
            START + 299 * DAY,
            LONG_AGO,
            Wait(START + 300 * DAY),
            id="wait for the end of the old authority",
        ),
        pytest.param(
            after(Issue(NAMES), at=START + 299 * DAY, material=SWITCHED),
            START + 300 * DAY,
            LONG_AGO,
            Prune(),
            id="the old authority has ended: forget it",
        ),
        pytest.param(
            replace(FRESH, key=OTHER.key),
            START,
            LONG_AGO,
            AddAuthority(),
            id="the key of another authority: make a new one",
        ),
        pytest.param(
            replace(FRESH, key=b"garbage"), START, LONG_AGO, AddAuthority(), id="a broken key"
        ),
        pytest.param(
            replace(FRESH, served=OTHER.served),
            START,
            LONG_AGO,
            Issue(NAMES),
            id="a certificate of a stranger: issue at once",
        ),
        pytest.param(
            replace(FRESH, served=Pair(FRESH.served.certificate, RENEWED.served.key)),
            START,
            LONG_AGO,
            Issue(NAMES),
            id="a certificate without its key: issue at once",
        ),
    ],
)
def test_what_is_due(
    material: Material, now: datetime, published: datetime | None, step: Step
) -> None:
    due = rotation.next_step(material, POLICY, now, published)

    if isinstance(step, Wait) and isinstance(due, Wait):
        # Certificates count in whole seconds.
        assert abs(due.until - step.until) < timedelta(seconds=2)
    else:
        assert due == step


def test_a_name_that_is_missing_is_added_to_those_that_are_there() -> None:
    policy = replace(POLICY, names=frozenset({"korder.other.svc"}))

    assert rotation.next_step(FRESH, policy, START, LONG_AGO) == Issue(policy.names | NAMES)


def test_replicas_that_wish_for_different_names_come_to_rest() -> None:
    one, other = (replace(POLICY, names=frozenset({name})) for name in ("a.svc", "b.svc"))
    material = Material()
    for policy in (one, other, one, other):
        while not isinstance(step := rotation.next_step(material, policy, START, None), Wait):
            material = rotation.take(step, material, policy, START)

    assert certificates.names(material.served.certificate) == {"a.svc", "b.svc"}
    assert isinstance(rotation.next_step(material, one, START, None), Wait)


def test_the_key_of_the_old_authority_is_gone_when_it_has_a_successor() -> None:
    assert FRESH.key not in rotation.write(TRUSTING_TWO).values()


def test_only_authorities_that_have_ended_are_forgotten() -> None:
    three = after(AddAuthority(), at=START + 250 * DAY, material=TRUSTING_TWO)
    newest, old, _ = three.authorities

    assert after(Prune(), at=START + 450 * DAY, material=three).authorities == (newest, old)


def test_material_survives_the_secret() -> None:
    assert rotation.read(rotation.write(SWITCHED)) == SWITCHED


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="an empty Secret"),
        pytest.param({"ca.crt": b"junk", "ca.key": b"junk"}, id="junk for an authority"),
        pytest.param({"tls.crt": b"junk", "tls.key": b"junk"}, id="junk for a certificate"),
        pytest.param(
            {**rotation.write(FRESH), "ca.crt": FRESH.authorities[0][:-40]}, id="a torn authority"
        ),
        pytest.param(
            {**rotation.write(FRESH), "tls.crt": FRESH.served.certificate[:-40]},
            id="a torn certificate",
        ),
    ],
)
def test_whatever_a_secret_holds_a_few_steps_lead_to_a_certificate(data: dict[str, bytes]) -> None:
    material = rotation.read(data)
    for _ in range(2):
        step = rotation.next_step(material, POLICY, START, None)
        if not isinstance(step, Wait):
            material = rotation.take(step, material, POLICY, START)

    assert isinstance(rotation.next_step(material, POLICY, START, None), Wait)
    assert certificates.belong_together(material.served)
    assert certificates.issued_by(material.served.certificate, material.authorities[0])


QUICK = replace(POLICY, authority_life=60 * DAY, certificate_life=20 * DAY)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    looks=st.lists(
        st.tuples(
            st.timedeltas(MINUTE, 10 * DAY),  # time until the next look
            st.booleans(),  # whether the bundle can be published after it
        ),
        min_size=10,
        max_size=25,
    )
)
def test_whoever_trusted_the_old_certificate_trusts_the_new_one(
    looks: list[tuple[timedelta, bool]],
) -> None:
    """Looks come at any time and publishing fails at will; a slow API server still knows the bundle before the last."""
    now, material = START, Material()
    settled, (published, since) = b"", (b"", START)
    for pause, reachable in looks:
        before = material
        if now - since >= QUICK.settle:
            settled = published
        while True:
            known = since if published == material.bundle else None
            step = rotation.next_step(material, QUICK, now, known)
            if isinstance(step, Wait):
                assert step.until > now
                break
            material = rotation.take(step, material, QUICK, now)
        for bundle in (settled, published):
            assert trusts(bundle, material, now) or not trusts(bundle, before, now)
        if reachable and published != material.bundle:
            assert trusts(material.bundle, before, now) or not trusts(published, before, now)
            published, since = material.bundle, now
        now += pause


def trusts(bundle: bytes, material: Material, now: datetime) -> bool:
    served = material.served.certificate
    if not (bundle and served and now < certificates.lifetime(served).end):
        return False
    return any(
        certificates.issued_by(served, pem) and now < certificates.lifetime(pem).end
        for pem in certificates.split(bundle)
    )
