"""The ledger under rivals: whatever the interleaving, what is made stays within the limits, and nothing is charged for ever."""

from datetime import datetime

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.quotas.competing_managers import World

from korder.api.quota import PendingTicket, Quota
from korder.reserve.orders import template as order_template
from korder.reserve.quotas import charging, charging as quotaplan, ledger as quota_ledger
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.objects import quantity
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import Patch

WORLDS = st.builds(World, st.integers(0, 10**9), restless=st.booleans())


@settings(max_examples=40, deadline=None)
@given(WORLDS)
def test_rivals_never_make_or_charge_more_than_is_allowed(world: World) -> None:
    world.play(250)


@pytest.mark.soak
@pytest.mark.parametrize("restless", [False, True], ids=["quiet", "restless"])
@pytest.mark.parametrize("seed", range(300))
def test_rivals_never_make_or_charge_more_than_is_allowed_in_the_long_run(
    seed: int, restless: bool
) -> None:
    World(seed, restless=restless).play(1000)


@settings(max_examples=15, deadline=None)
@given(WORLDS)
def test_what_was_charged_and_never_made_is_free_again(world: World) -> None:
    world.play(200)
    world.come_to_rest()
    for quota in world.server.quotas.values():
        assert quota.status.pending == ()
        used = world.server.used(quota)
        for key, amount in quota.status.used.items():
            assert quantity.parse(amount) == used.get(key, quantity.ZERO)


@settings(max_examples=15, deadline=None)
@given(WORLDS)
def test_when_all_tickets_are_gone_nothing_is_used(world: World) -> None:
    world.play(200)
    for key in tuple(world.server.tickets):
        world.server.change(key, None)
    world.come_to_rest()
    for quota in world.server.quotas.values():
        assert {quantity.parse(amount).nano for amount in quota.status.used.values()} == {0}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9))
def test_no_write_says_that_more_is_used_than_is_allowed(seed: int) -> None:
    world = World(seed)
    world.play(200)
    for _, quota in world.server.quota_events:
        for key, amount in quota.status.used.items():
            if key in quota.status.hard:
                hard = quantity.parse(quota.status.hard[key])
                assert quantity.parse(amount) <= hard, f"{quota.metadata.name} {key}"


def test_rivals_do_make_tickets() -> None:
    """Whoever makes nothing keeps within every limit."""
    made = 0
    for seed in range(5):
        world = World(seed)
        world.play(250)
        made += world.made
    assert made > 30


def test_an_older_ticket_of_the_name_does_not_settle_an_entry() -> None:
    """One deletes a ticket and charges it anew; the other, who has been shown as much, still sees the old one."""
    world = World(0, managers=2)
    one, other = world.managers
    quota = one.quotas["all"]
    order, (name, *_) = world.orders[2]
    (step,) = quotaplan.plan(one.view, quota, world.now).stages[0]
    assert isinstance(step, Patch)
    assert world.server.write(step)
    old = world.server.create(order_template.ticket(order, name))
    assert old is not None
    for manager in (one, other):
        manager.watch_tickets(1)
        manager.watch_quotas(1)
    one.quota_cache.ticket_changed(old, None)
    world.server.change(key_of(old), None)
    granted, _ = charging.grant(one.view, order, [order_template.ticket(order, name)], world.now)
    (step,) = granted.charges
    assert world.server.write(step)
    other.watch_quotas(1)
    charged = other.quotas["all"]
    assert not quota_ledger.is_behind(charged, other.seen)
    assert [
        entry.name for entry in quota_ledger.lasting(charged, other.quota_cache, world.now)
    ] == [name]


def _once_seen_never_more(
    quota: Quota, quota_cache: QuotaCache, now: datetime
) -> list[PendingTicket]:
    return [entry for entry in quota.status.pending if not quota_ledger.is_made(entry, quota_cache)]


@pytest.fixture(
    params=[
        pytest.param(
            ("is_behind", lambda quota, seen: False),
            id="what others have struck out is not waited for",
        ),
        pytest.param(("is_made", lambda entry, quota_cache: True), id="entries do not count"),
        pytest.param(
            ("is_void", lambda entry, now: True), id="entries are dropped while tickets are made"
        ),
        pytest.param(("lasting", _once_seen_never_more), id="a second attempt is forgotten"),
    ]
)
def _left_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_ledger, *request.param)


HINTS = (1, 18, 210, 321)
"""Where to look first, so that it does not take long; if the rules change, others will do."""


def _play_many() -> None:
    for seed in (*HINTS, *range(600)):
        World(seed).play(250)


@pytest.mark.usefixtures("_left_out")
def test_rivals_find_every_rule_that_is_left_out() -> None:
    with pytest.raises(AssertionError, match=r" of \d"):
        _play_many()
