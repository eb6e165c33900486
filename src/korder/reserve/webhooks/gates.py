"""The gates of pods, orders, tickets and quotas: from the review of an API server to a verdict of the rules, and back.

`serving` puts them behind the webhook server. They read nothing but the review and what the process keeps up anyway, and
write nothing, so they answer in a millisecond, the same for a dry run. What a quota says here is early advice: every replica
counts its own past, and the ledger has the last word.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import msgspec

from korder.api import codec
from korder.api.admission import AdmissionRequest
from korder.api.core import Node, Pod
from korder.api.meta import JSON, Key
from korder.api.quota import Quota
from korder.api.reserve import ORDERS, SCHEDULING_GATE, Order, Ticket
from korder.reserve.rules.doors import admission
from korder.reserve.rules.doors.admission import Judgement, Question, Refusal
from korder.reserve.rules.quotas import soundness, wishes
from korder.reserve.rules.quotas.tally import Tally
from korder.reserve.rules.quotas.verdict import Shortfall
from korder.runtime.clock import Clock
from korder.runtime.webhook import review
from korder.runtime.webhook.gate import Gate
from korder.runtime.webhook.review import Verdict


def pods(request: AdmissionRequest) -> Verdict:
    """Marks pods that ask for a ticket."""
    pod = codec.convert(request.object, Pod)
    judgement = admission.judge_pod(pod)
    return _verdict(judgement, _mark(pod) if judgement.marked else ())


def tolerations(request: AdmissionRequest) -> Verdict:
    """Refuses pods that are given a toleration of the hand-over taint."""
    before = request.old_object if request.operation == "UPDATE" else None
    old = codec.convert(before, Pod) if before is not None else None
    return _verdict(admission.judge_tolerations(codec.convert(request.object, Pod), old))


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known in this process: the use of quotas, the nodes there are, and each order by its key."""

    tally: Tally
    nodes: Callable[[], Collection[Node]]
    order: Callable[[Key], Order | None]


def orders_and_tickets(clock: Clock, counted: Counted, *, system_classes: bool) -> Gate:
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


def quotas(counted: Counted) -> Gate:
    """Refuses quotas that make no sense."""

    def gate(request: AdmissionRequest) -> Verdict:
        try:
            quota = codec.convert(request.object, Quota)
            others = counted.tally.quotas() if request.operation == "CREATE" else ()
            return _verdict(soundness.judge(quota, others))
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
    place = counted.tally.place(request.namespace)
    before = request.old_object if request.operation == "UPDATE" else None
    if isinstance(wanted, Order):
        old = codec.convert(before, Order) if before is not None else None
        nodes = counted.nodes() if wanted.spec.daemon_set else ()
        wish = wishes.of_order(place, wanted, old, nodes, now)
    else:
        earlier = codec.convert(before, Ticket) if before is not None else None
        wish = wishes.of_ticket(place, wanted, earlier)
    return wishes.judged(counted.tally, wish, now)


def _weighed(judgement: Judgement, short: Sequence[Shortfall], *, may_wait: bool) -> Verdict:
    """Refuses what a quota refuses, and tells what will have to wait; only the tickets of an order can, which are yet to be made."""
    refused = [str(each) for each in short if not (may_wait and each.waits)]
    if refused:
        told = f"exceeded {'; '.join(refused)}"
        return review.deny(told, warnings=judgement.warnings)
    waiting = [f"the order's tickets wait for room: {each}" for each in short]
    return review.allow(warnings=(*judgement.warnings, *waiting))


def _judged(wanted: Order | Ticket, question: Question) -> Judgement:
    if isinstance(wanted, Order):
        return admission.judge_order(wanted, question)
    return admission.judge_ticket(wanted, question)


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
        "; ".join((first.message, *map(_told, more))),
        field=first.field,
        code=422,
        reason="Invalid",
        warnings=judgement.warnings,
    )


def _told(refusal: Refusal) -> str:
    return f"{refusal.field}: {refusal.message}"
