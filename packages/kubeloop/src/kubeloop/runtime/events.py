"""Events for people, aggregated and sent off the critical path.

Controllers hand in notices and go on. The same notice about the same object within ten minutes becomes one series with a
count; a flood about one object is held back; the queue to the API server is bounded, and what does not fit is counted,
never waited for. Losing an Event must never cost a turn.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
import hashlib

import structlog

from kubeloop.client.client import Client
from kubeloop.client.errors import AlreadyExists, KubeError, NotFound
from kubeloop.objects import instant
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import Emit
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.metrics import Metrics

log = structlog.get_logger(__name__)

SERIES = timedelta(minutes=10)
_MOST_WAITING = 2_000
_MOST_SERIES = 4_096
_PER_OBJECT = 25
_NOTE_BYTES = 1_024
"""What a server takes; it counts bytes."""


@dataclass(slots=True)
class _Series:
    """Notices that say the same: the Event they share and how often it was said."""

    name: str
    first: datetime
    last: datetime
    count: int = 1


class Recorder:
    """Takes notices, sends Events."""

    def __init__(
        self, client: Client, clock: Clock, metrics: Metrics, *, component: str, instance: str
    ) -> None:
        self._client = client
        self._clock = clock
        self._counted = cache(metrics.events.labels)
        self._component = component
        self._instance = instance
        self._waiting: asyncio.Queue[tuple[Emit, _Series]] = asyncio.Queue(_MOST_WAITING)
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._reported: dict[str, tuple[float, int]] = {}
        """By UIDs, since when notices are counted and how many there were; a wall clock can be set back."""

    def record(self, emit: Emit) -> None:
        """Takes a notice; never waits and never fails."""
        series = self._join(emit)
        if self._flooding(emit) or self._waiting.full():
            self._counted("dropped").inc()
            return
        self._waiting.put_nowait((emit, series))

    async def run(self) -> None:
        """Sends what was recorded until cancelled."""
        while True:
            emit, series = await self._waiting.get()
            try:
                await self._send(emit, series)
            finally:
                self._waiting.task_done()

    async def flush(self) -> None:
        """Waits until everything recorded so far was tried."""
        await self._waiting.join()

    def _join(self, emit: Emit) -> _Series:
        now = self._clock.now()
        meta = emit.about.metadata
        same = (meta.uid, emit.type, emit.reason, emit.note)
        series = self._series.get(same)
        if series is not None and now - series.last < SERIES:
            series.count += 1
            series.last = now
            self._series.move_to_end(same)
            return series
        stated = "\0".join((*same, self._instance, now.isoformat()))
        digest = hashlib.sha256(stated.encode(errors="replace"))
        series = _Series(
            f"{meta.name[:200].rstrip('-.')}.{digest.hexdigest()[:16]}", first=now, last=now
        )
        self._series[same] = series
        if len(self._series) > _MOST_SERIES:
            self._series.popitem(last=False)
        return series

    def _flooding(self, emit: Emit) -> bool:
        now, uid = self._clock.monotonic(), emit.about.metadata.uid
        since, stated = self._reported.get(uid, (now, 0))
        if now - since >= SERIES.total_seconds():
            since, stated = now, 0
        self._reported[uid] = (since, stated + 1)
        if len(self._reported) > _MOST_SERIES:
            self._reported.pop(next(iter(self._reported)))
        return stated >= _PER_OBJECT

    async def _send(self, emit: Emit, series: _Series) -> None:
        namespace = emit.about.metadata.namespace or "default"
        try:
            if series.count > 1 and await self._continue(Key(namespace, series.name), series):
                outcome = "merged"
            else:
                await self._client.create(EVENTS, self._event(emit, series, namespace))
                outcome = "sent"
        except AlreadyExists:
            outcome = "sent"
        except KubeError as error:
            outcome = "failed"
            log.info("event not sent", reason=emit.reason, error=str(error))
        self._counted(outcome).inc()

    async def _continue(self, key: Key, series: _Series) -> bool:
        last = instant.render_micro(series.last)
        body: JSON = {"series": {"count": series.count, "lastObservedTime": last}}
        try:
            await self._client.patch(EVENTS, key, body)
        except NotFound:
            return False
        return True

    def _event(self, emit: Emit, series: _Series, namespace: str) -> dict[str, JSON]:
        meta = emit.about.metadata
        regarding: dict[str, JSON] = {
            "apiVersion": emit.kind.api_version,
            "kind": emit.kind.kind,
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        }
        return {
            "metadata": {"name": series.name, "namespace": namespace},
            "eventTime": instant.render_micro(series.first),
            "regarding": regarding,
            "type": emit.type.value,
            "reason": emit.reason,
            "note": _fitting(emit.note),
            "action": emit.action or emit.reason,
            "reportingController": self._component,
            "reportingInstance": self._instance,
        }


def _fitting(note: str) -> str:
    return note.encode(errors="replace")[:_NOTE_BYTES].decode(errors="ignore")
