"""The store: truth from the watch, our own writes before it, and nothing in between lost."""

from collections.abc import Iterable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
import pytest

from kubeloop.objects.meta import Key, Object, ObjectMeta, key_of
from kubeloop.runtime.store import Change, Store, by_namespace


def an_object(name: str, version: int, uid: str = "", **labels: str) -> Object:
    meta = ObjectMeta(
        name=name,
        namespace="ns",
        uid=uid or f"{name}-1",
        resource_version=str(version),
        labels=labels,
    )
    return Object(metadata=meta)


def by_app(obj: Object) -> Iterable[str]:
    return (obj.metadata.labels["app"],) if "app" in obj.metadata.labels else ()


@pytest.fixture
def store() -> Store[Object]:
    return Store({"app": by_app, "namespace": by_namespace})


def names(objects: Iterable[Object]) -> list[str]:
    return sorted(obj.metadata.name for obj in objects)


def test_an_index_follows_its_objects(store: Store[Object]) -> None:
    store.apply(an_object("a", 1, app="x"))
    store.apply(an_object("b", 2, app="x"))
    store.apply(an_object("a", 3, app="y"))
    assert names(store.reader.where("app", "x")) == ["b"]
    assert names(store.reader.where("app", "y")) == ["a"]
    store.remove(an_object("a", 4))
    assert names(store.reader.where("app", "y")) == []
    assert names(store.reader.where("namespace", "ns")) == ["b"]


def test_an_index_added_late_knows_what_is_there(store: Store[Object]) -> None:
    store.apply(an_object("a", 1, tier="gold"))
    store.add_index("tier", lambda obj: (obj.metadata.labels.get("tier"),))
    assert names(store.reader.where("tier", "gold")) == ["a"]


def test_an_index_that_is_there_already_is_not_built_again(store: Store[Object]) -> None:
    store.apply(an_object("a", 1, app="x"))
    buckets = store.buckets
    store.add_indexes({"app": by_app})
    assert store.buckets is buckets


def test_two_indexes_cannot_have_one_name(store: Store[Object]) -> None:
    with pytest.raises(ValueError, match="app"):
        store.add_indexes({"app": by_namespace})


def test_neighbours_and_successors_keep_what_is_equal_once(store: Store[Object]) -> None:
    first, second, later = (
        an_object("a", 1, app="x"),
        an_object("b", 2, app="x"),
        an_object("a", 3, app="x"),
    )
    for obj in (first, second, later):
        store.apply(obj)
    assert second.metadata.labels is first.metadata.labels
    assert later.metadata.labels is first.metadata.labels
    assert (second, later) == (an_object("b", 2, app="x"), an_object("a", 3, app="x"))
    listed = [an_object("a", 4, app="x"), an_object("c", 5, app="x")]
    store.replace(listed, "6")
    assert all(obj.metadata.labels is first.metadata.labels for obj in listed)


def test_a_relist_reports_exactly_the_differences(store: Store[Object]) -> None:
    same, changed, gone = an_object("same", 1), an_object("changed", 2), an_object("gone", 3)
    for obj in (same, changed, gone):
        store.apply(obj)
    newer, new = an_object("changed", 7), an_object("new", 8)
    changes = store.replace([same, newer, new], "9")
    assert sorted(changes, key=str) == sorted(
        [Change(changed, newer), Change(None, new), Change(gone, None)], key=str
    )
    assert names(store.reader.all()) == ["changed", "new", "same"]


def test_our_own_write_is_visible_at_once_and_reported_once(store: Store[Object]) -> None:
    mine = an_object("mine", 5)
    assert store.assume(mine) == Change(None, mine)
    assert store.apply(mine) is None
    assert names(store.reader.all()) == ["mine"]


def test_a_late_answer_does_not_bring_back_what_the_watch_has_already_removed(
    store: Store[Object],
) -> None:
    store.apply(an_object("mine", 5))
    store.remove(an_object("mine", 6))
    assert store.assume(an_object("mine", 5)) is None
    assert len(store.reader) == 0


def test_an_older_watch_event_does_not_undo_our_newer_write(store: Store[Object]) -> None:
    store.assume(an_object("mine", 9, app="new"))
    assert store.apply(an_object("mine", 7, app="old")) is None
    assert names(store.reader.where("app", "new")) == ["mine"]


def test_a_relist_older_than_our_write_keeps_it(store: Store[Object]) -> None:
    mine = an_object("mine", 9)
    store.assume(mine)
    assert store.replace([], "8") == []
    assert store.reader.get(Key("ns", "mine")) == mine


def test_a_relist_newer_than_our_write_is_the_truth(store: Store[Object]) -> None:
    mine = an_object("mine", 9)
    store.assume(mine)
    assert store.replace([], "10") == [Change(mine, None)]


def test_a_confirmed_deletion_hides_that_object_but_not_its_successor(store: Store[Object]) -> None:
    first = an_object("pod", 3, uid="first")
    store.apply(first)
    assert store.assume_gone(Key("ns", "pod"), "first") == Change(first, None)
    assert store.apply(an_object("pod", 4, uid="first")) is None
    second = an_object("pod", 6, uid="second")
    assert store.apply(second) == Change(None, second)
    assert store.remove(an_object("pod", 5, uid="first")) is None
    assert store.reader.get(Key("ns", "pod")) == second


def test_a_deletion_event_of_the_predecessor_leaves_the_assumed_successor(
    store: Store[Object],
) -> None:
    store.apply(an_object("pod", 3, uid="first"))
    second = an_object("pod", 9, uid="second")
    store.assume(second)
    assert store.remove(an_object("pod", 5, uid="first")) is None
    assert store.reader.get(Key("ns", "pod")) == second


class StoreAgainstServer(RuleBasedStateMachine):
    """A server with a history, a watch that lags behind it, and writes whose answers arrive at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.truth: dict[str, Object] = {}
        self.stream: list[tuple[str, Object]] = []
        self.answers: list[Object] = []
        self.deletions: list[Object] = []
        self.store: Store[Object] = Store({"app": by_app})
        self.seen: dict[Key, Object] = {}

    def note(self, changes: Iterable[Change[Object] | None]) -> None:
        """A handler that keeps its own picture from changes alone."""
        for change in changes:
            if change is None:
                continue
            key = Key("ns", change.objects[0].metadata.name)
            assert self.seen.get(key) == change.old
            if change.new is None:
                del self.seen[key]
            else:
                self.seen[key] = change.new

    @rule(name=st.sampled_from("abc"), app=st.sampled_from("xyz"), ours=st.booleans())
    def write(self, name: str, app: str, ours: bool) -> None:
        self.version += 1
        uid = self.truth[name].metadata.uid if name in self.truth else f"{name}-{self.version}"
        obj = an_object(name, self.version, uid, app=app)
        self.truth[name] = obj
        self.stream.append(("applied", obj))
        if ours:
            self.answers.append(obj)

    @precondition(lambda self: self.truth)
    @rule(data=st.data(), ours=st.booleans())
    def delete(self, data: st.DataObject, ours: bool) -> None:
        self.version += 1
        victim = self.truth.pop(data.draw(st.sampled_from(sorted(self.truth))))
        last = an_object(victim.metadata.name, self.version, victim.metadata.uid)
        self.stream.append(("deleted", last))
        if ours:
            self.deletions.append(last)

    @precondition(lambda self: self.stream)
    @rule()
    def watch_delivers(self) -> None:
        kind, obj = self.stream.pop(0)
        self.note([self.store.apply(obj) if kind == "applied" else self.store.remove(obj)])

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def answer_arrives(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.answers) - 1))
        self.note([self.store.assume(self.answers.pop(index))])

    @precondition(lambda self: self.deletions)
    @rule()
    def deletion_is_confirmed(self) -> None:
        gone = self.deletions.pop(0).metadata
        self.note([self.store.assume_gone(Key("ns", gone.name), gone.uid)])

    @rule()
    def watch_breaks_and_relists(self) -> None:
        self.stream.clear()
        self.note(self.store.replace(list(self.truth.values()), str(self.version)))

    @invariant()
    def handlers_see_what_readers_see(self) -> None:
        assert self.seen == {key_of(obj): obj for obj in self.store.reader.all()}

    @invariant()
    def indexes_agree_with_objects(self) -> None:
        for app in "xyz":
            expected = names(
                o for o in self.store.reader.all() if o.metadata.labels.get("app") == app
            )
            assert names(self.store.reader.where("app", app)) == expected

    def teardown(self) -> None:
        while self.stream:
            self.watch_delivers()
        expected = {Key("ns", name): obj for name, obj in self.truth.items()}
        assert {key_of(obj): obj for obj in self.store.reader.all()} == expected


TestStoreAgainstServer = StoreAgainstServer.TestCase
