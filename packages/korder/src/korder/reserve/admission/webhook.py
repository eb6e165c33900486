"""The admission handlers of pods, orders, tickets and quotas: from the review of an API server to a verdict of the rules, and back.

`by_path` lists them by the paths they answer at. `check` reports at the start whether admission exempts the manager.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import msgspec
import structlog

from korder.api.quota import Quota
from korder.api.reserve import MANAGER_USER_ANNOTATION, ORDERS, SCHEDULING_GATE, Order, Ticket
from korder.install_config import JUDGING, WEBHOOK
from korder.reserve.admission import configs, verdicts
from korder.reserve.quotas import delta as quota_delta, status as quota_status
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.quotas.verdict import Shortfall
from korder.reserve.validation import Judgement, Question, Refusal
from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError, NotFound
from kubeloop.objects import codec
from kubeloop.objects.admission import (
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    AdmissionRequest,
)
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.machinery import SELF_SUBJECT_REVIEWS
from kubeloop.objects.meta import JSON, HasMetadata, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.handler import AdmissionHandler
from kubeloop.runtime.webhook.review import Verdict

log = structlog.get_logger(__name__)


async def check(client: Client) -> None:
    """Warns a manager whose writes admission judges as if they were anybody's."""
    try:
        known = await _known(client)
        if not known:
            return
        asked = await client.create(SELF_SUBJECT_REVIEWS, {})
    except KubeError as error:
        log.info("not known whether admission judges this manager", error=str(error))
        return
    own = asked.status.user_info.username
    if own and own not in known:
        log.warning(
            "admission judges what this manager writes: where its own charges fill a quota, its tickets are refused;"
            " run it as the user that admission knows, or install again with --manager-user and its own",
            user=own,
            known=", ".join(sorted(known)),
        )


async def _known(client: Client) -> frozenset[str]:
    """The users whose writes are not judged, by whichever means of admission is installed; earlier versions did not note them."""
    installed: list[HasMetadata] = []
    with suppress(NotFound):
        installed.append(await client.get(VALIDATING_ADMISSION_POLICIES, Key("", JUDGING)))
    with suppress(NotFound):
        installed.append(await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, Key("", WEBHOOK)))
    users = (each.metadata.annotations.get(MANAGER_USER_ANNOTATION, "") for each in installed)
    return frozenset(filter(None, users))


def pods(request: AdmissionRequest) -> Verdict:
    """Marks pods that ask for a ticket."""
    pod = codec.convert(request.object, Pod)
    judgement = verdicts.judge_pod(pod)
    return _verdict(judgement, _mark(pod) if judgement.marked else ())


def tolerations(request: AdmissionRequest) -> Verdict:
    """Refuses pods that are given a toleration of the hand-over taint."""
    before = request.old_object if request.operation == "UPDATE" else None
    old = codec.convert(before, Pod) if before is not None else None
    return _verdict(verdicts.judge_tolerations(codec.convert(request.object, Pod), old))


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known in this process: the use of quotas, the nodes there are, and each order by its key."""

    quota_cache: QuotaCache
    nodes: Callable[[], Collection[Node]]
    order: Callable[[Key], Order | None]


def orders_and_tickets(clock: Clock, counted: Counted, *, system_classes: bool) -> AdmissionHandler:
    """Refuses orders and tickets that nobody could serve, or that a quota has no room for.

    Who scales an order is judged as if he had edited it; an order that is not shown here yet is left to the ledger.
    """

    def gate(request: AdmissionRequest) -> Verdict:
        if request.sub_resource:
            order = counted.order(Key(request.namespace, request.name))
            if order is None:
                return review.allow()
            request = _as_edit(request, order)
        question = Question(
            clock.now(),
            _spec(request.object) or {},
            _spec(request.old_object) if request.operation == "UPDATE" else None,
            system_classes,
            _annotations(request.old_object),
        )
        try:
            wanted = _wanted(request)
            judgement = _judged(wanted, question)
            if judgement.refusals:
                return _verdict(judgement)
            short = _short(wanted, request, counted, question.now)
            return _weighed(judgement, short, may_wait=isinstance(wanted, Order))
        except msgspec.ValidationError as error:
            return review.deny(str(error), code=422, reason="Invalid")

    return gate


def quotas(counted: Counted) -> AdmissionHandler:
    """Refuses quotas that make no sense."""

    def gate(request: AdmissionRequest) -> Verdict:
        try:
            quota = codec.convert(request.object, Quota)
            others = counted.quota_cache.quotas() if request.operation == "CREATE" else ()
            return _verdict(quota_status.judge(quota, others))
        except msgspec.ValidationError as error:
            return review.deny(str(error), code=422, reason="Invalid")

    return gate


def _as_edit(request: AdmissionRequest, order: Order) -> AdmissionRequest:
    """The scaling of an order, of which a review shows nothing but the numbers, as an edit of the order; none is sent as absent."""

    def scaled(scale: JSON) -> JSON:
        replicas = (_spec(scale) or {}).get("replicas", 0)
        shown = cast("dict[str, JSON]", msgspec.to_builtins(order))
        return {**shown, "spec": {**(_spec(shown) or {}), "replicas": replicas}}

    objects = {"object": scaled(request.object), "old_object": scaled(request.old_object)}
    return msgspec.structs.replace(request, sub_resource="", **objects)


def _wanted(request: AdmissionRequest) -> Order | Ticket:
    if request.resource.resource == ORDERS.plural:
        return codec.convert(request.object, Order)
    return codec.convert(request.object, Ticket)


def _short(
    wanted: Order | Ticket, request: AdmissionRequest, counted: Counted, now: datetime
) -> tuple[Shortfall, ...]:
    """What quotas say to a write."""
    place = counted.quota_cache.place(request.namespace)
    before = request.old_object if request.operation == "UPDATE" else None
    if isinstance(wanted, Order):
        old = codec.convert(before, Order) if before is not None else None
        nodes = counted.nodes() if wanted.spec.daemon_set else ()
        wish = quota_delta.of_order(place, wanted, old, nodes, now)
    else:
        earlier = codec.convert(before, Ticket) if before is not None else None
        wish = quota_delta.of_ticket(place, wanted, earlier)
    return quota_delta.judged(counted.quota_cache, wish, now)


def _weighed(judgement: Judgement, short: Sequence[Shortfall], *, may_wait: bool) -> Verdict:
    """Refuses what a quota refuses, and tells what will have to wait; only the tickets of an order can, which are yet to be made."""
    refused = [str(each) for each in short if not (may_wait and each.waits)]
    if refused:
        stated = f"exceeded {'; '.join(refused)}"
        return review.deny(stated, warnings=judgement.warnings)
    waiting = [f"the order's tickets wait for room: {each}" for each in short]
    return review.allow(warnings=(*judgement.warnings, *waiting))


def _judged(wanted: Order | Ticket, question: Question) -> Judgement:
    if isinstance(wanted, Order):
        return verdicts.judge_order(wanted, question)
    return verdicts.judge_ticket(wanted, question)


def _spec(value: JSON) -> Mapping[str, JSON] | None:
    return cast("Mapping[str, JSON] | None", value.get("spec")) if isinstance(value, dict) else None


def _annotations(value: JSON) -> Mapping[str, str]:
    """Those of an object that is stored, so they are well formed; none of one that is not."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    said = meta.get("annotations") if isinstance(meta, dict) else None
    return cast("Mapping[str, str]", said) if isinstance(said, dict) else {}


def _mark(pod: Pod) -> Sequence[JSON]:
    gate: JSON = {"name": SCHEDULING_GATE}
    if pod.spec.scheduling_gates:
        return ({"op": "add", "path": "/spec/schedulingGates/-", "value": gate},)
    return ({"op": "add", "path": "/spec/schedulingGates", "value": [gate]},)


def _verdict(judgement: Judgement, patch: Sequence[JSON] = ()) -> Verdict:
    if not judgement.refusals:
        return review.allow(patch=patch, warnings=judgement.warnings)
    first, *more = judgement.refusals
    return review.deny(
        "; ".join((first.message, *map(_reported, more))),
        field=first.field,
        code=422,
        reason="Invalid",
        warnings=judgement.warnings,
    )


def _reported(refusal: Refusal) -> str:
    return f"{refusal.field}: {refusal.message}"


def by_path(
    clock: Clock, counted: Counted, *, system_classes: bool
) -> Mapping[str, AdmissionHandler]:
    """The gates, by the paths they answer at."""
    return {
        configs.PODS_HANDLER: pods,
        configs.TOLERATIONS: tolerations,
        configs.RESERVE_HANDLER: orders_and_tickets(clock, counted, system_classes=system_classes),
        configs.QUOTAS_HANDLER: quotas(counted),
    }
