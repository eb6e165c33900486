"""Watches: a stream of lines, one for each change that concerns the watcher.

A plain watch joins lines that were encoded once for everybody. One with a selector looks at the object before and after a change:
what moves into the selection is ADDED, what leaves it DELETED, as it was when it was still selected. A watcher that keeps up is told
through the outlet of its reply while its stream sleeps; the stream tells the beginning, bookmarks, the end, and what a slow one missed.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import closing

from kubeloop.net.direct_writer import Outlet
from kubeloop.net.server import Reply
from pocketkube.apiserver import refusal
from pocketkube.apiserver.serving import answers, documents, selection, shaping
from pocketkube.apiserver.serving.call import Call
from pocketkube.apiserver.serving.negotiation import JSON, YAML, not_acceptable
from pocketkube.apiserver.serving.selection import ListOptions
from pocketkube.apiserver.storage import Change, Closed, Event, Expired, Record, Watch

BOOKMARK_BEFORE_END = 2.0
SHORTEST, LONGEST = 1800.0, 3600.0
"""Seconds after which a watch without a timeout of its own ends; chance spreads them."""


def watch(call: Call) -> Reply:
    """GET of a stream of changes."""
    if call.form.media == YAML:
        raise not_acceptable()
    options = selection.read(call.route, call.resource)
    selection.version(options.version, "")
    outlet = Outlet()
    stream = _Watcher(call, options, outlet).lines()
    headers = {"Content-Type": JSON, "Cache-Control": "no-cache, private"}
    return answers.warned(call, Reply(200, b"", headers, stream, outlet))


class _Watcher:
    def __init__(self, call: Call, options: ListOptions, outlet: Outlet) -> None:
        self._call = call
        self._outlet = outlet
        self._options = options
        self._resource = call.resource
        self._plain = options.selection.everything and not call.form.kind
        self._first = True
        self._passed = 0

    async def lines(self) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience()
        try:
            initial, watch = self._begin()
            with closing(watch):
                if initial:
                    yield initial
                mark = self._next_mark(loop.time(), end)
                while (now := loop.time()) < end:
                    patience = max(0.0, min(mark, end) - now)
                    chunk = self._reported(await watch.next(patience, self._push))
                    if mark <= loop.time() < end:
                        mark = self._next_mark(loop.time(), end)
                        chunk += self._bookmark(watch.version) if self._options.bookmarks else b""
                    if chunk:
                        yield chunk
        except Expired as error:
            yield self._too_old(error)
        except Closed:
            return

    def _next_mark(self, now: float, end: float) -> float:
        """When the next bookmark is due: every minute or so, and once more shortly before the end."""
        last = end - BOOKMARK_BEFORE_END
        return min(now + self._call.world.bookmark_seconds, last) if now < last else end

    def _patience(self) -> float:
        asked = self._options.timeout or 0
        return asked if asked > 0 else self._call.world.rng.uniform(SHORTEST, LONGEST)

    def _begin(self) -> tuple[bytes, Watch]:
        """What is told of the present, and the watch that goes on from there."""
        storage, options = self._call.world.storage, self._options
        namespace = self._call.key_of("").namespace
        wanted = selection.version(options.version)
        initial = options.initial if options.initial is not None else not wanted
        if not initial:
            since = None if not wanted else min(wanted, storage.version)
            self._passed = wanted
            return b"", storage.watch(self._resource.stored, namespace, since=since)
        page = storage.page(self._resource.stored, namespace)
        records = page.records
        if not options.selection.everything:
            records = [record for record in records if options.selection.matches(record)]
        stated = b"".join([self._line(Change.ADDED, record) for record in records])
        if options.initial and options.bookmarks:
            stated += self._bookmark(page.version, complete=True)
        return stated, storage.watch(self._resource.stored, namespace, since=page.version)

    def _push(self, events: Sequence[Event]) -> bool:
        """Tells changes at once while the watcher waits, so that its task sleeps on: there may be very many."""
        free = self._outlet.free
        if free and (chunk := self._reported(events)):
            self._outlet.send(chunk)
        return free

    def _reported(self, events: Sequence[Event]) -> bytes:
        if self._passed and events:
            events = [event for event in events if event.version > self._passed]
            self._passed = 0 if events else self._passed
        if self._plain:
            return self._call.world.lines.joined(self._resource, events)
        return b"".join(self._selected(events))

    def _selected(self, events: Sequence[Event]) -> Iterator[bytes]:
        matches = self._options.selection.matches
        everything = self._options.selection.everything
        for event in events:
            before = event.previous is not None and (everything or matches(event.previous))
            after = event.change is not Change.DELETED and (everything or matches(event.record))
            if after:
                yield self._line(Change.MODIFIED if before else Change.ADDED, event.record)
            elif before and event.change is Change.DELETED:
                yield self._line(Change.DELETED, event.record)
            elif before and event.previous is not None:
                last = documents.at_version(self._resource, event.previous, event.version)
                yield self._shaped(Change.DELETED, last)

    def _line(self, change: Change, record: Record) -> bytes:
        return self._shaped(change, documents.whole(self._resource, record))

    def _shaped(self, change: Change, whole: bytes) -> bytes:
        shaped = shaping.event(self._call, whole, first=self._first)
        self._first = False
        return documents.line(change, shaped)

    def _bookmark(self, version: int, *, complete: bool = False) -> bytes:
        return documents.bookmark(self._resource, version, complete=complete)

    def _too_old(self, error: Expired) -> bytes:
        stated = f"too old resource version: {error.version} ({error.oldest})"
        status = refusal.failure(410, "Expired", stated).status
        return documents.line("ERROR", documents.encode(answers.status(status)))
