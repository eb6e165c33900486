"""The gates of pods, orders and tickets: from the review of an API server to a verdict of `rules.doors.admission`, and back.

`setup` puts them behind the webhook server. They read nothing but the review, so they answer in a millisecond, the same for a dry run.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from korder.api import codec
from korder.api.admission import AdmissionRequest
from korder.api.core import Pod
from korder.api.meta import JSON
from korder.api.reserve import ORDERS, SCHEDULING_GATE, Order, Ticket
from korder.reserve.rules.doors import admission
from korder.reserve.rules.doors.admission import Judgement, Question, Refusal
from korder.runtime.clock import Clock
from korder.runtime.webhook import review
from korder.runtime.webhook.gate import Gate
from korder.runtime.webhook.review import Verdict


def pods(request: AdmissionRequest) -> Verdict:
    """Marks pods that ask for a ticket."""
    pod = codec.convert(request.object, Pod)
    judgement = admission.judge_pod(pod)
    return _verdict(judgement, _mark(pod) if judgement.marked else ())


def orders_and_tickets(clock: Clock, *, system_classes: bool) -> Gate:
    """Refuses orders and tickets that nobody could serve."""

    def gate(request: AdmissionRequest) -> Verdict:
        question = Question(
            clock.now(),
            _spec(request.object) or {},
            _spec(request.old_object) if request.operation == "UPDATE" else None,
            system_classes,
        )
        try:
            return _verdict(_judged(request, question))
        except msgspec.ValidationError as error:
            return review.deny(str(error), code=422, reason="Invalid")

    return gate


def _judged(request: AdmissionRequest, question: Question) -> Judgement:
    if request.resource.resource == ORDERS.plural:
        return admission.judge_order(codec.convert(request.object, Order), question)
    return admission.judge_ticket(codec.convert(request.object, Ticket), question)


def _spec(value: JSON) -> Mapping[str, JSON] | None:
    return cast("Mapping[str, JSON] | None", value.get("spec")) if isinstance(value, dict) else None


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
