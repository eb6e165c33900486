"""Gather, decide, apply: the loop around every domain's rules.

A controller is a name, a queue of keys, and a *turn*: a function that looks at the stores and the instant and returns a
`Plan`. The turn writes nothing; this module applies the plan, shows its results to the informers so that the next turn
reads its own writes, and turns each outcome into what happens next in one place. A conflict is not an error: somebody was
faster, the turn is taken again on what is true now. Neither is a namespace that ends: what is missing in it will soon not be wanted.
A refusal is an answer too: a controller that wants to tell people about it says what to do then (decision 0016).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import count
import random
from typing import NamedTuple, TypeVar

import structlog

from kubeloop.client.client import Client
from kubeloop.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Fenced,
    Forbidden,
    Invalid,
    KubeError,
    NamespaceEnds,
    NotFound,
    RequestEntityTooLarge,
    UnknownOutcome,
    WebhookFailed,
)
from kubeloop.objects.meta import JSON, HasMetadata, Key, key_of
from kubeloop.objects.plan import AnyKind, Create, Delete, Emit, Patch, Plan, Post, Step
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.events import Recorder
from kubeloop.runtime.informer import Informer, Informers
from kubeloop.runtime.metrics import Metrics
from kubeloop.runtime.pacing import DIRECT, LONGEST_PAUSE, RECONCILING, WRITE, Reconciling
from kubeloop.runtime.queue import QueueClosed, WorkQueue
from kubeloop.runtime.store import Change
from kubeloop.runtime.watchdog import Activity

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=HasMetadata)
Item = TypeVar("Item")
Reconciler = Callable[[Key, datetime], Plan | Awaitable[Plan]]
Keys = Callable[[T], Iterable[Key]]
Refused = Callable[[Key, Step, ApiError, datetime], Plan | None]
"""What to do instead when the server has said no to a step, asked for each; None leaves it to the runtime, which tries the turn again."""

_Target = tuple[AnyKind, Key]
_COME_AGAIN = (Conflict, AlreadyExists, NotFound, NamespaceEnds, UnknownOutcome)
_REFUSALS = (BadRequest, Forbidden, Invalid, RequestEntityTooLarge, WebhookFailed)
"""A no to what was asked for; all others are about the moment and pass."""
_LANES = 16
"""How many steps of one stage run side by side; the client bounds the process as a whole."""


def own_key(obj: HasMetadata) -> Iterable[Key]:
    """The object itself needs the look."""
    return (key_of(obj),)


@dataclass(frozen=True, slots=True)
class Machine:
    """What a process hands to each of its controllers."""

    client: Client
    informers: Informers
    recorder: Recorder
    metrics: Metrics
    clock: Clock
    rng: random.Random
    activity: Activity


class _Failure(NamedTuple):
    """A step that did not succeed."""

    step: Step
    error: KubeError


class _Outcome(NamedTuple):
    """What failed without an answer, and whether anything was refused."""

    left: list[_Failure]
    is_refused: bool


class Controller:
    """Runs one domain's turns."""

    def __init__(
        self,
        name: str,
        reconcile: Reconciler,
        machine: Machine,
        *,
        workers: int = 16,
        refused: Refused | None = None,
    ) -> None:
        self.name = name
        self.queue: WorkQueue[Key] = WorkQueue(machine.clock, machine.rng, paused=self._paused)
        self._reconcile = reconcile
        self._client = machine.client
        self._informers = machine.informers
        self._recorder = machine.recorder
        self._metrics = machine.metrics
        self._clock = machine.clock
        self._activity = machine.activity
        self._workers = workers
        self._refused = refused
        self._reconciling = count(1)
        self._spinning: set[Key] = set()
        """Keys whose pauses have become as long as they get, and of which the log tells."""
        self._waits = machine.metrics.queue_seconds.labels(name)
        self._spent = cache(partial(machine.metrics.reconcile_seconds.labels, name))
        self._written = cache(partial(machine.metrics.writes.labels, name))

    def follow(self, informer: Informer[T], keys: Keys[T] = own_key) -> None:
        """Takes a turn for `keys` of every object that changes, as it was and as it is."""

        def enqueue(change: Change[T]) -> None:
            for obj in change:
                if obj is not None:
                    for key in keys(obj):
                        self.queue.add(key)

        informer.on_change(enqueue)

    async def run(self) -> None:
        """Works until the queue is closed, and then finishes what is under way."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work(), name=f"{self.name} worker")

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            self._waits.observe(self.queue.waited)
            started = self._clock.monotonic()
            try:
                result = await self._take(key)
            except asyncio.CancelledError:
                self.queue.add(key)  # it was cut off, and is reconciled again in the next term
                raise
            finally:
                self.queue.done(key)
            spent = self._clock.monotonic() - started
            self._spent(result).observe(spent)
            if len(self.queue):
                # A reconcile need not await anything, and neither does `get` if a key is ready: others must run too.
                await asyncio.sleep(0)

    def _paused(self, key: Key, seconds: float) -> None:
        """Notes that a key was requeued at once too often; a line is logged once in each series."""
        self._metrics.requeue_pauses.labels(self.name).inc()
        if seconds < LONGEST_PAUSE:
            self._spinning.discard(key)
        elif key not in self._spinning:
            self._spinning.add(key)
            log.warning("key requeued without rest", controller=self.name, key=str(key))

    async def _take(self, key: Key) -> str:
        """Takes one turn and decides what follows from how it went."""
        try:
            return await self._act(key)
        except Fenced:
            self.queue.retry(key)
            return "fenced"
        except _COME_AGAIN as reason:
            log.debug("come again", controller=self.name, key=str(key), reason=str(reason))
            self.queue.retry(key)
            return "conflict"
        except (Exception, asyncio.CancelledError) as error:
            if _we_are_cancelled(error):
                raise
            self._metrics.reconcile_errors.labels(self.name, type(error).__name__).inc()
            reconcile = f"{self.name}-{next(self._reconciling)}"
            if isinstance(error, KubeError):
                log.warning(
                    "turn failed",
                    controller=self.name,
                    key=str(key),
                    reconcile=reconcile,
                    error=str(error),
                )
            else:
                log.exception(
                    "turn failed", controller=self.name, key=str(key), reconcile=reconcile
                )
            self.queue.retry(key)
            return "error"

    async def _act(self, key: Key) -> str:
        RECONCILING.set(Reconciling(self.queue, key, DIRECT))
        reconcile = partial(self._reconcile, key, self._clock.now())
        plan = self._activity.run(self.name, key, reconcile)
        if not isinstance(plan, Plan):
            plan = await self._activity.stepwise(self.name, key, plan)
        RECONCILING.set(Reconciling(self.queue, key, WRITE))
        outcome = await self._settle(key, plan)
        if outcome.left:
            raise outcome.left[0].error
        self.queue.forget(key)
        return "refused" if outcome.is_refused else "success"

    async def _settle(self, key: Key, plan: Plan) -> "_Outcome":
        """Carries a plan out, or what follows from its failures; lanes fail and are answered each for itself."""
        failures = await self._carry_out(key, plan)
        answers, left = self._answers_to(key, failures)

        async def answer(plan: Plan) -> None:
            left.extend(await self._carry_out(key, plan))

        await _side_by_side(answers, answer)
        outcomes: dict[int, _Outcome] = {}

        async def settle(place: int) -> None:
            outcomes[place] = await self._settle(key, plan.lanes[place])

        await _side_by_side(range(0 if failures else len(plan.lanes)), settle)
        for place in sorted(outcomes):
            left.extend(outcomes[place].left)
        is_refused = bool(failures) or any(each.is_refused for each in outcomes.values())
        return _Outcome(left, is_refused)

    def _answers_to(
        self, key: Key, failures: "list[_Failure]"
    ) -> "tuple[list[Plan], list[_Failure]]":
        """What the controller does about the refusals of a stage, and all else that has failed.

        Of several answers that write the same object the first is enough: the others would not know of it. One that has nothing
        to write, because all was said before, is the answer to the others as well.
        """
        answers, left, answered = list[Plan](), list[_Failure](), set[_Target]()
        is_known = False
        for failure in failures:
            plan = self._answer_to(key, failure)
            if plan is None:
                left.append(failure)
            elif not any(plan.steps) and not is_known:
                is_known = True
                answers.append(plan)
            elif not is_known and answered.isdisjoint(targets := _targets(plan)):
                answered |= targets
                answers.append(plan)
        return answers, left

    def _answer_to(self, key: Key, failure: "_Failure") -> Plan | None:
        step, error = failure
        if self._refused is None or isinstance(error, NamespaceEnds):
            return None
        now = self._clock.now()
        return self._refused(key, step, error, now) if isinstance(error, _REFUSALS) else None

    async def _carry_out(self, key: Key, plan: Plan) -> "list[_Failure]":
        """Applies the stages of a plan, up to the first with a failure, and tells of what was done.

        What is due later stays due: the pause after a failure is no reason to be late for it.
        """
        done: list[Step] = []
        for stage in plan.stages:
            failures = await self._apply(stage, done)
            if failures:
                self._tell(_following(plan.emits, done))
                if plan.requeue_at is not None and plan.requeue_at > self._clock.now():
                    self.queue.add_at(key, plan.requeue_at)
                return failures
        self._tell(plan.emits)
        if plan.requeue_at is not None:
            self.queue.add_at(key, plan.requeue_at)
        return []

    def _tell(self, emits: Iterable[Emit]) -> None:
        for emit in emits:
            self._recorder.record(emit)

    async def _apply(self, stage: tuple[Step, ...], done: list[Step]) -> "list[_Failure]":
        """Applies a stage and notes which steps were done; every step is tried, failures are told afterwards."""
        failures: dict[int, _Failure] = {}

        async def attempt(place: int) -> None:
            step = stage[place]
            try:
                await self._step(step)
            except KubeError as error:
                failures[place] = _Failure(step, error)
            else:
                done.append(step)

        await _side_by_side(range(len(stage)), attempt)
        return [failures[place] for place in sorted(failures)]

    async def _step(self, step: Step) -> None:
        verb = type(step).__name__.lower()
        outcome = "failed"
        try:
            match step:
                case Create():
                    self._informers.wrote(
                        step.kind, await self._client.create(step.kind, step.body)
                    )
                case Patch():
                    await self._patch(step)
                case Delete():
                    await self._delete(step)
                case Post():
                    body: dict[str, JSON] = {**step.body, "metadata": {"uid": step.uid}}
                    await self._client.post(step.kind, step.key, step.subresource, body)
            outcome = "ok"
        except KubeError as error:
            outcome = type(error).__name__
            raise
        finally:
            self._written(verb, step.kind.resource, outcome).inc()

    async def _patch(self, step: Patch) -> None:
        obj = await self._client.patch(
            step.kind,
            step.key,
            step.body,
            step.type,
            subresource=step.subresource,
            uid=step.uid,
            resource_version=step.resource_version,
        )
        if step.subresource in ("", "status"):
            self._informers.wrote(step.kind, obj)

    async def _delete(self, step: Delete) -> None:
        try:
            left = await self._client.delete(
                step.kind,
                step.key,
                uid=step.uid,
                resource_version=step.resource_version,
                grace_seconds=step.grace_seconds,
            )
        except NotFound:
            left = None
        except Conflict:
            if not await self._is_replaced(step):
                raise
            left = None
        if left is None:
            self._informers.deleted(step.kind, step.key, step.uid)
        else:
            self._informers.wrote(step.kind, left)

    async def _is_replaced(self, step: Delete) -> bool:
        """Says whether the object we meant is gone although its name is taken; other conflicts do not tell that."""
        try:
            found = await self._client.get(step.kind, step.key)
        except NotFound:
            return True
        return found.metadata.uid != step.uid


async def _side_by_side(items: Sequence[Item], do: Callable[[Item], Awaitable[None]]) -> None:
    """Does something with all items, with a few of them at a time."""
    remaining = iter(items)

    async def lane() -> None:
        for item in remaining:
            await do(item)

    if len(items) <= 1:
        await lane()
        return
    async with asyncio.TaskGroup() as group:
        for _ in range(min(_LANES, len(items))):
            group.create_task(lane())


def _following(emits: Iterable[Emit], done: Iterable[Step]) -> list[Emit]:
    """The Events that belong to one of these steps; steps are compared with those of the same object only."""
    by_target: dict[_Target | None, list[Step]] = {}
    for step in done:
        by_target.setdefault(_target(step), []).append(step)
    return [
        emit
        for emit in emits
        if emit.after is not None and emit.after in by_target.get(_target(emit.after), ())
    ]


def _target(step: Step) -> _Target | None:
    """The object that a step changes; one that is created has no key yet."""
    return None if isinstance(step, Create) else (step.kind, step.key)


def _targets(plan: Plan) -> set[_Target]:
    """The objects that a plan changes."""
    return {(step.kind, step.key) for step in plan.steps if not isinstance(step, Create)}


def _we_are_cancelled(error: BaseException) -> bool:
    """Tells our own end from a cancellation inside the turn, which is only a failure."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
