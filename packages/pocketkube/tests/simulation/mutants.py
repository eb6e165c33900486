"""The sample operator on a runtime that is broken on purpose, each time in one place: what simulation must find."""

from collections.abc import AsyncIterator, Mapping
import copy
from datetime import datetime
import random
from typing import Any, Self, TypeVar

import pytest
from tests.simulation.orders import Operator, WriteLocks

from kubeloop.client.client import Client
from kubeloop.client.request import Selection
from kubeloop.net.http import Response
from kubeloop.objects.core import ConfigMap
from kubeloop.objects.meta import HasMetadata, Key, Kind
from kubeloop.objects.plan import Create
from kubeloop.runtime import manager as managing
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.leader import Leader
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.queue import WorkQueue

T = TypeVar("T", bound=HasMetadata)


class _BrokenClient(Client):
    """A client of which a subclass breaks one method."""

    @classmethod
    def of(cls, client: Client) -> Self:
        twin = copy.copy(client)
        twin.__class__ = cls
        assert isinstance(twin, cls)
        return twin


class DropsVersions(Operator):
    """Writes without the version that was read."""

    def manager(
        self, client: Client, settings: Settings, clock: Clock, rng: random.Random
    ) -> Manager:
        return super().manager(_WithoutVersions.of(client), settings, clock, rng)


class _WithoutVersions(_BrokenClient):
    async def patch(self, kind: Kind[T], key: Key, body: Any, *rest: Any, **options: Any) -> T:
        if kind.plural == "configmaps":
            options.pop("resource_version", None)
        return await super().patch(kind, key, body, *rest, **options)


class LosesEvents(Operator):
    """Misses one in so many events of its watches."""

    def manager(
        self, client: Client, settings: Settings, clock: Clock, rng: random.Random
    ) -> Manager:
        return super().manager(_HardOfHearing.of(client), settings, clock, rng)


class _HardOfHearing(_BrokenClient):
    async def watch(self, kind: Kind[T], selection: Selection, **options: Any) -> Response:
        return _Lossy(await super().watch(kind, selection, **options), self.rng)


class _Lossy:
    """A stream from which pieces are missing; never a bookmark, which nobody would miss."""

    def __init__(self, inner: Response, rng: random.Random) -> None:
        self._inner = inner
        self._rng = rng

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            if b'"BOOKMARK"' in chunk or self._rng.random() >= 0.02:
                yield chunk

    async def close(self) -> None:
        await self._inner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class ActsAfterItsLease(Operator):
    """Leads until it is told that another one does, however long ago it renewed its lease."""

    def manager(
        self, client: Client, settings: Settings, clock: Clock, rng: random.Random
    ) -> Manager:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(managing, "Leader", _Unfenced)
            return super().manager(client, settings, clock, rng)


class _Unfenced(Leader):
    @property
    def leading(self) -> bool:
        return self._until > float("-inf")


class ForgetsTimers(Operator):
    """Now and then does not come back to a name at the instant it was asked for."""

    def adjust(self, controller: Controller, clock: Clock, rng: random.Random) -> None:
        controller.queue = _Forgetful(clock, rng)


class _Forgetful(WorkQueue[Key]):
    def add_at(self, key: Key, instant: datetime) -> None:
        if self._rng.random() >= 0.05:
            super().add_at(key, instant)


class CreatesTwice(Operator):
    """Gives its children random names and does not read its own writes."""

    def manager(
        self, client: Client, settings: Settings, clock: Clock, rng: random.Random
    ) -> Manager:
        manager = super().manager(client, settings, clock, rng)
        manager.informers.wrote = lambda *_: None  # type: ignore[method-assign]
        return manager

    def locks(self, orders: Informer[ConfigMap], lines: Informer[ConfigMap]) -> WriteLocks:
        return _RandomNames(orders, lines)


class _RandomNames(WriteLocks):
    def line(self, order: ConfigMap, number: str) -> Create:
        create = super().line(order, number)
        assert isinstance(create.body, dict)
        meta = {**create.body["metadata"], "name": "", "generateName": f"{order.metadata.name}-"}
        return Create(create.kind, {"metadata": meta})
