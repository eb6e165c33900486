"""Any sequence of writes, reads, watches, compactions and restarts agrees with a model that remembers everything."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any, NamedTuple

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
import pytest

from kubeloop.runtime.clock import VirtualLoop
from pocketkube.apiserver.storage import (
    AlreadyExists,
    Change,
    Conflict,
    Create,
    Delete,
    Draft,
    Expired,
    Key,
    NotFound,
    Storage,
    StorageError,
    TooNew,
    Update,
    Watch,
    Window,
    Write,
    open_storage,
)

PATIENCE = 0.01

keys = st.builds(
    Key, st.sampled_from(["pods", "leases"]), st.sampled_from(["a", "a-b"]), st.sampled_from("xyz")
)
verbs = st.sampled_from([Update, Update, Delete, Create])
careful = st.integers(0, 9).map(bool)
"""Whether a writer has looked before it writes: mostly."""
fractions = st.floats(0, 1)


class Was(NamedTuple):
    """An object as the model knows it."""

    version: int
    value: bytes


class Said(NamedTuple):
    """A change as the model expects it from a watch."""

    version: int
    change: Change
    key: Key
    value: bytes
    previous: Was | None


@dataclass
class Follower:
    """A watch and what it has heard of so far."""

    watch: Watch
    resource: str
    namespace: str
    position: int


class StorageMachine(RuleBasedStateMachine):
    """Plays on a file with a thread-less storage; the model is a list of all states and a list of all changes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.states: dict[int, dict[Key, Was]] = {1: {}}
        self.log: list[Said] = []
        self.followers: list[Follower] = []
        self.oldest = 1
        self.texts = 0

    @initialize(events=st.sampled_from([4, 20, 20_000]))
    def begin(self, events: int) -> None:
        self.window = Window(events=events)
        self.open()

    def open(self) -> None:
        self.stack = AsyncExitStack()
        path = Path(self.folder.name) / "korder.db"
        opened = open_storage(path, self.window, inline=True)
        self.storage: Storage = self.run(self.stack.enter_async_context(opened))

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    @property
    def version(self) -> int:
        return max(self.states)

    def some_version(self, fraction: float) -> int:
        """From one before the beginning to one after the end."""
        return round(fraction * (self.version + 1))

    @rule(wanted=st.lists(st.tuples(verbs, keys, careful), min_size=1, max_size=4))
    def write(self, wanted: list[tuple[Any, Key, bool]]) -> None:
        now = dict(self.states[self.version])
        writes: list[Write] = []
        said: list[Said] = []
        refusal: type[StorageError] | None = None
        for intended, key, looked in wanted:
            self.texts += 1
            draft = Draft(b'{"rv":"', b'","n":%d}' % self.texts)
            there = now.get(key)
            verb = Create if looked and there is None else intended
            if looked and there is not None and verb is Create:
                verb = Update
            expected = there.version if there is not None and looked else 0
            writes.append(Create(key, draft) if verb is Create else verb(key, draft, expected))  # type: ignore[call-arg]
            refusal = refusal or self.refusal(verb, there, expected)
            version = self.version + len(writes)
            was = Was(version, draft.at(version))
            change = {Create: Change.ADDED, Update: Change.MODIFIED, Delete: Change.DELETED}[verb]
            said.append(Said(version, change, key, was.value, there))
            now.pop(key, None)
            if verb is not Delete:
                now[key] = was
        if refusal is not None:
            with pytest.raises(refusal):
                self.run(self.storage.write(*writes))
            return
        records = self.run(self.storage.write(*writes))
        assert [(r.version, r.key, r.value) for r in records] == [
            (one.version, one.key, one.value) for one in said
        ]
        for one in said:
            state = dict(self.states[self.version])
            state.pop(one.key, None)
            if one.change is not Change.DELETED:
                state[one.key] = Was(one.version, one.value)
            self.states[one.version] = state
        self.log += said

    @staticmethod
    def refusal(verb: type, there: Was | None, expected: int) -> type[StorageError] | None:
        if verb is Create:
            return AlreadyExists if there is not None else None
        if there is None:
            return NotFound
        return Conflict if there.version != expected else None

    @rule(key=keys)
    def get(self, key: Key) -> None:
        record = self.storage.get(key)
        found = None if record is None else Was(record.version, record.value)
        assert found == self.states[self.version].get(key)

    @rule(key=keys, everywhere=st.booleans(), fraction=fractions, limit=st.integers(1, 4))
    def list_in_pages(self, key: Key, everywhere: bool, fraction: float, limit: int) -> None:
        at, namespace = self.some_version(fraction), "" if everywhere else key.namespace
        if not self.storage.oldest <= at <= self.version:
            with pytest.raises(TooNew if at > self.version else Expired):
                self.storage.page(key.resource, namespace, at=at)
            return
        expected = sorted(
            (one.path, was)
            for one, was in self.states[at].items()
            if one.resource == key.resource and namespace in ("", one.namespace)
        )
        found: list[tuple[str, Was]] = []
        after = ""
        while not found or after:
            page = self.storage.page(key.resource, namespace, at=at, after=after, limit=limit)
            found += [(r.key.path, Was(r.version, r.value)) for r in page.records]
            after = page.next
            assert (page.version, page.remaining) == (at, len(expected) - len(found))
            assert bool(after) == bool(page.remaining)
            if not expected:
                break
        assert found == expected

    @rule(key=keys, everywhere=st.booleans(), fraction=fractions)
    def begin_to_watch(self, key: Key, everywhere: bool, fraction: float) -> None:
        since, namespace = self.some_version(fraction), "" if everywhere else key.namespace
        if not self.storage.oldest <= since <= self.version:
            with pytest.raises(TooNew if since > self.version else Expired):
                self.storage.watch(key.resource, namespace, since=since)
            return
        watch = self.storage.watch(key.resource, namespace, since=since)
        self.followers.append(Follower(watch, key.resource, namespace, since))

    @rule(fraction=fractions)
    def follow(self, fraction: float) -> None:
        if not self.followers:
            return
        follower = self.followers[round(fraction * (len(self.followers) - 1))]
        news = [
            one
            for one in self.log
            if one.version > follower.position and one.key.resource == follower.resource
        ]
        if news and news[0].version <= self.storage.oldest:
            with pytest.raises(Expired):
                self.run(follower.watch.next(PATIENCE))
            self.followers.remove(follower)
            return
        heard = self.run(follower.watch.next(PATIENCE))
        assert [
            Said(
                event.version,
                event.change,
                event.record.key,
                event.record.value,
                event.previous and Was(event.previous.version, event.previous.value),
            )
            for event in heard
        ] == [one for one in news if follower.namespace in ("", one.key.namespace)]
        assert follower.watch.version == self.version
        follower.position = self.version

    @rule(fraction=fractions)
    def compact(self, fraction: float) -> None:
        wanted = self.some_version(fraction)
        self.run(self.storage.compact(wanted))
        assert self.storage.oldest >= min(wanted, self.version)

    @rule()
    def reopen(self) -> None:
        oldest = self.storage.oldest
        self.run(self.stack.aclose())
        self.open()
        assert self.storage.oldest == oldest
        again = []
        for follower in self.followers:
            if follower.position >= oldest:
                place = (follower.resource, follower.namespace)
                watch = self.storage.watch(*place, since=follower.position)
                again.append(Follower(watch, *place, follower.position))
        self.followers = again

    @invariant()
    def versions_only_grow(self) -> None:
        if hasattr(self, "storage"):
            assert self.storage.version == self.version
            assert self.oldest <= self.storage.oldest <= self.version
            self.oldest = self.storage.oldest
            assert self.version - self.oldest <= self.window.events + self.window.step + 2


StorageMachine.TestCase.settings = settings(stateful_step_count=25)
TestStorageMachine = pytest.mark.slow(pytest.mark.timeout(120)(StorageMachine.TestCase))
