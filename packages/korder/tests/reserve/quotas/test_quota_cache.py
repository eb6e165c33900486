"""What is used of quotas, whatever happens in whatever order: the sums kept up are those one gets by counting anew."""

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.api.quota import Quota
from korder.api.reserve import Order, Ticket, TicketPhase
from korder.reserve.quotas import (
    ledger as quota_ledger,
    verdict as quota_verdict,
)
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant, resources
from kubeloop.objects.meta import JSON, Key
from kubeloop.testing.builders import Builder


def a_counted_ticket(
    name: str = "t", namespace: str = "a", cpu: str = "500m", phase: str = "Reserved", **more: JSON
) -> Builder[Ticket]:
    spec: JSON = {"resources": {"requests": {"cpu": cpu}}, **more}
    ticket = a_ticket(name).in_namespace(namespace).but({"spec": spec})
    return ticket.but({"status": {"phase": phase}}).stored(f"{namespace}/{name}")


def charge(ticket: Builder[Ticket]) -> dict[str, str]:
    return resources.render(quota_verdict.of_ticket(ticket.build()))


@pytest.mark.parametrize(
    ("phase", "counts"),
    [
        pytest.param("Pending", {"tickets": "1", "reserved.cpu": "500m"}, id="Pending"),
        pytest.param("Reserved", {"tickets": "1", "reserved.cpu": "500m"}, id="Reserved"),
        pytest.param("Claiming", {"tickets": "1", "reserved.cpu": "500m"}, id="Claiming"),
        pytest.param("Claimed", {"tickets": "1"}, id="Claimed: its room is in use"),
        pytest.param("Released", {}, id="Released"),
        pytest.param("Expired", {}, id="Expired"),
    ],
)
def test_what_a_ticket_counts_for(phase: str, counts: dict[str, str]) -> None:
    assert charge(a_counted_ticket(phase=phase)) == counts


def test_a_shared_ticket_counts_for_what_nobody_has_taken() -> None:
    share: JSON = {"namespace": "a", "name": "p", "uid": "p", "requests": {"cpu": "300m"}}
    ticket = a_counted_ticket(allocateOnce=False).but({"status": {"sharedBy": [share]}})
    assert charge(ticket) == {"tickets": "1", "reserved.cpu": "200m"}
    over = ticket.but({"status": {"phase": "Claimed"}})
    assert charge(over) == {"tickets": "1"}, "its time is over and nothing is held any more"


def test_a_ticket_that_does_not_say_counts_for_the_usual_room() -> None:
    ticket = a_ticket("t").but({"spec": {"resources": {"requests": None}}})
    stated = {"tickets": "1", "reserved.cpu": "100m", "reserved.memory": "128Mi"}
    assert charge(ticket) == stated


def used(quota_cache: QuotaCache, quota: Quota) -> dict[str, str]:
    total = quota_cache.use(quota).total
    return {key: str(amount) for key, amount in sorted(total.items()) if not amount.is_zero}


def test_relabelling_a_namespace_moves_what_is_used() -> None:
    quota_cache = QuotaCache()
    team: JSON = {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"team": "x"}}}
    quota = a_quota("q", dict(team), tickets="5").build()
    quota_cache.quota_changed(None, quota)
    quota_cache.namespace_changed("a", {})
    quota_cache.ticket_changed(None, a_counted_ticket().build())
    assert used(quota_cache, quota) == {}
    quota_cache.namespace_changed("a", {"team": "x"})
    assert used(quota_cache, quota) == {"tickets": "1", "reserved.cpu": "500m"}
    quota_cache.namespace_changed("a", {"team": "y"})
    assert used(quota_cache, quota) == {}
    quota_cache.namespace_changed("a", None)
    assert used(quota_cache, quota) == {}


def test_a_new_status_of_a_quota_changes_nothing_that_is_counted() -> None:
    quota_cache = QuotaCache()
    quota = a_quota("q", tickets="5")
    quota_cache.quota_changed(None, quota.build())
    quota_cache.ticket_changed(None, a_counted_ticket().build())
    book = quota_cache.book("q")
    stated = quota.but({"status": {"used": {"tickets": "7"}}}).build()
    quota_cache.quota_changed(quota.build(), stated)
    assert quota_cache.book("q") is book
    assert book is not None
    assert book.quota is stated


SCOPES: tuple[dict[str, JSON], ...] = (
    {"type": "Cluster"},
    {"type": "NamespaceList", "namespaces": ["a", "c"]},
    {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {"env": "1"}}},
    {"type": "ObjectSelector", "objectSelector": {"matchLabels": {"app": "1"}}},
    {
        "type": "ObjectSelector",
        "objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    },
    {
        "type": "ObjectSelector",
        "objectSelector": {
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["1", "2"]}]
        },
    },
    {
        "type": "ObjectSelector",
        "objectSelector": {
            "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["1"]}]
        },
    },
)
AHEAD: JSON = [
    {"namespace": "a", "name": "t-0", "charge": {"tickets": "1"}, "attempts": 1},
    {
        "namespace": "b",
        "name": "t-1",
        "charge": {"tickets": "1", "reserved.cpu": "2"},
        "attempts": 2,
    },
]
ALLOCATION: JSON = [
    {"namespace": "a", "limits": {"tickets": "1"}},
    {"name": "e", "namespaceSelector": {"matchLabels": {"env": "2"}}, "limits": {"tickets": "1"}},
]
NAMESPACES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("label"), NAMESPACES, st.sampled_from(["0", "1", "2"])),
        st.tuples(
            st.just("ticket"),
            NAMESPACES,
            st.tuples(
                st.integers(0, 4),
                st.sampled_from(["", *TicketPhase]),
                st.sampled_from(["1m", "500m", "333m"]),
                st.sampled_from(["", "1", "2"]),
            ),
        ),
        st.tuples(st.just("order"), NAMESPACES, st.integers(0, 3)),
        st.tuples(st.just("quota"), st.just(""), st.integers(0, len(SCOPES) - 1)),
    ),
    max_size=60,
)


def an_aged_order(key: Key) -> Order:
    """An order that is the older the smaller its number is; those of two namespaces may be of one age."""
    made = MONDAY + timedelta(seconds=int(key.name[2:]))
    built = an_order(key.name).in_namespace(key.namespace).labelled({"app": "1"})
    stamp: JSON = {"metadata": {"creationTimestamp": instant.render(made)}}
    return built.stored(str(key)).but(stamp).build()


class World:
    """All there is, and a tally that is told of each change."""

    def __init__(self) -> None:
        self.quota_cache = QuotaCache()
        self.labels: dict[str, Mapping[str, str]] = {}
        self.tickets: dict[Key, Ticket] = {}
        self.orders: set[Key] = set()
        self.quotas: dict[str, Quota] = {}

    def take(self, step: str, namespace: str, how: object) -> None:
        match step, how:
            case "label", str(value):
                self.labels[namespace] = {"env": value}
                self.quota_cache.namespace_changed(namespace, self.labels[namespace])
            case "ticket", (int(number), str(phase), str(cpu), str(app)):
                self._ticket(Key(namespace, f"t-{number}"), phase, cpu, app)
            case "order", int(number):
                key = Key(namespace, f"o-{number}")
                order = an_aged_order(key)
                there = key in self.orders
                self.orders ^= {key}
                self.quota_cache.order_changed(*((order, None) if there else (None, order)))
            case "quota", int(number):
                self._quota(number)

    def _ticket(self, key: Key, phase: str, cpu: str, app: str) -> None:
        old, new = self.tickets.pop(key, None), None
        if phase:
            built = a_counted_ticket(key.name, key.namespace, cpu, phase)
            new = self.tickets[key] = built.labelled({"app": app} if app else {}).build()
        if old is not None or new is not None:
            self.quota_cache.ticket_changed(old, new)

    def _quota(self, number: int) -> None:
        """A quota comes, or changes its scope to the next, or goes."""
        name = f"q-{number % 3}"
        old, new = self.quotas.pop(name, None), None
        scope = SCOPES[number]
        if old is None or old.spec.scope.type != scope["type"]:
            built = a_quota(name, scope, tickets="5").but(
                {"spec": {"allocation": ALLOCATION}, "status": {"pending": AHEAD}}
            )
            new = self.quotas[name] = built.build()
        self.quota_cache.quota_changed(old, new)

    def counted(self, quota: Quota, inside: int | None = None) -> dict[str, str]:
        """The use of a quota, or of one of its allocations, counted anew."""
        total: resources.Resources = {}
        orders = [(key, {"app": "1"}, quota_verdict.ORDER) for key in self.orders]
        tickets = [
            (k, t.metadata.labels, quota_verdict.of_ticket(t)) for k, t in self.tickets.items()
        ]
        for key, labels, amounts in (*orders, *tickets):
            place = quota_verdict.Place(key.namespace, self.labels.get(key.namespace, {}))
            if quota_verdict.covers(quota.spec.scope, place, labels) and (
                inside is None or inside in quota_verdict.allocations(quota.spec, place)
            ):
                total = resources.add(total, amounts)
        return {key: str(amount) for key, amount in sorted(total.items()) if not amount.is_zero}


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_sums_kept_up_are_those_counted_anew(steps: list[tuple[str, str, object]]) -> None:
    world = World()
    for step in steps:
        world.take(*step)
    for quota in world.quotas.values():
        assert used(world.quota_cache, quota) == world.counted(quota)
        for number, amounts in enumerate(world.quota_cache.use(quota).allocations):
            rest = {k: str(a) for k, a in sorted(amounts.items()) if not a.is_zero}
            assert rest == world.counted(quota, number)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_older_orders_are_counted(steps: list[tuple[str, str, object]]) -> None:
    world = World()
    for step in steps:
        world.take(*step)
    asked = an_aged_order(Key("b", "o-2"))
    for quota in world.quotas.values():
        older = [
            quota_verdict.Place(key.namespace, world.labels.get(key.namespace, {}))
            for key in world.orders
            if (key.name, str(key)) < ("o-2", "b/o-2")
        ]
        meant = [
            each for each in older if quota_verdict.covers(quota.spec.scope, each, {"app": "1"})
        ]
        inside = [
            number for each in meant for number in quota_verdict.allocations(quota.spec, each)
        ]
        expected = [len(meant), *(inside.count(number) for number in range(2))]
        assert world.quota_cache.elders(quota, asked) == expected


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_what_is_remembered_with_charges_ahead_is_what_is_worked_out_anew(
    steps: list[tuple[str, str, object]],
) -> None:
    world = World()
    using = quota_ledger.using(world.quota_cache)
    for step in steps:
        world.take(*step)
        for quota in world.quotas.values():
            assert using(quota) == quota_ledger.use_of(
                quota, world.quota_cache, quota.status.pending
            )


@settings(max_examples=50, deadline=None)
@given(STEPS)
def test_when_all_is_gone_nothing_is_used(steps: list[tuple[str, str, object]]) -> None:
    world = World()
    for step in steps:
        world.take(*step)
    for key in tuple(world.tickets):
        world.take("ticket", key.namespace, (int(key.name[2:]), "", "1m", ""))
    for key in tuple(world.orders):
        world.take("order", key.namespace, int(key.name[2:]))
    for quota in world.quotas.values():
        assert used(world.quota_cache, quota) == {}
        book = world.quota_cache.book(quota.metadata.name)
        assert book is not None
        assert not book.served


@settings(max_examples=50, deadline=None)
@given(STEPS, NAMESPACES, st.sampled_from([{}, {"app": "1"}, {"app": "2"}]))
def test_the_quotas_that_apply_are_found(
    steps: list[tuple[str, str, object]], namespace: str, labels: dict[str, str]
) -> None:
    world = World()
    for step in steps:
        world.take(*step)
    place = quota_verdict.Place(namespace, world.labels.get(namespace, {}))
    expected = [
        name
        for name, quota in sorted(world.quotas.items())
        if quota_verdict.covers(quota.spec.scope, place, labels)
    ]
    found = world.quota_cache.applying(namespace, labels)
    assert [quota.metadata.name for quota in found] == expected
