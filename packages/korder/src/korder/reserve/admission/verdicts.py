"""Admission verdicts on pods, orders and tickets, and the report about pods that carry an answer only korder writes."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from korder import cron
from korder.api.reserve import (
    HANDOVER_TAINT,
    SCHEDULING_GATE,
    TICKET_GROUP_ANNOTATION,
    ClaimReason,
    Order,
    StrategyType,
    Ticket,
    TicketSpec,
    TicketTemplate,
)
from korder.reserve.admission import expressions
from korder.reserve.claims.requirements import InvalidRequest, request_of
from korder.reserve.orders import firings as order_firings, template as order_template
from korder.reserve.tickets import deadlines
from korder.reserve.validation import Judgement, Question, Refusal
from kubeloop.objects import core, instant, quantity, resources
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.plan import NOTHING, Emit, EventType, Plan


def judge_pod(pod: Pod) -> Judgement:
    """Refuses a pod nobody can understand, marks one that asks for a ticket, and lets all others pass."""
    annotations = pod.metadata.annotations
    warnings = tuple(
        map(expressions.output_only, filter(annotations.__contains__, expressions.ANSWERS))
    )
    try:
        request = request_of(annotations)
    except InvalidRequest as error:
        return Judgement((Refusal("metadata.annotations", str(error)),), warnings)
    if not request.asks:
        return Judgement(warnings=warnings)
    if pod.spec.node_name:
        return Judgement((Refusal("spec.nodeName", expressions.NODE_NAME),), warnings)
    gated = any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates)
    return Judgement(warnings=warnings, marked=not gated)


def judge_tolerations(pod: Pod, before: Pod | None) -> Judgement:
    """Refuses a pod that is given leave to take room which is being handed over to another."""
    had = before.spec.tolerations if before is not None else ()
    given = (each for each in pod.spec.tolerations if each.key == HANDOVER_TAINT)
    if all(each in had for each in given):
        return Judgement()
    return Judgement((Refusal("spec.tolerations", expressions.HANDOVER_TOLERATION),))


def judge_order(order: Order, question: Question) -> Judgement:
    """Refuses an order that could never hold anything, and warns of one that will surprise."""
    refusals = (
        *_template(order.spec.template.spec, "spec.template.spec", question),
        *_words(order.spec.template),
        *_timetable(order),
        *_switched(question),
    )
    if refusals:
        return Judgement(refusals)
    return Judgement(warnings=tuple(_advice(order, question.now)))


def judge_ticket(ticket: Ticket, question: Question) -> Judgement:
    """Refuses a ticket that could never hold anything, one that speaks for an order, and changes that could not reach its guardian."""
    spoken = [] if ticket.metadata.owner_references else _notes(ticket, question)
    return Judgement((*_template(ticket.spec, "spec", question), *spoken, *_changes(question)))


def _notes(ticket: Ticket, question: Question) -> list[Refusal]:
    """What a ticket without an order says as if it had one; a manager whom admission does not know writes for an owner."""
    said, before = ticket.metadata.annotations, question.noted
    written = (word for word in expressions.NOTES if said.get(word, "") != before.get(word, ""))
    return [Refusal("metadata.annotations", f"{word} {expressions.NOTED}") for word in written]


def _template(spec: TicketSpec, path: str, question: Question) -> list[Refusal]:
    refusals = _amounts(spec, path)
    name = spec.priority_class_name
    if name.startswith("system-") and not question.system_classes:
        refusals.append(Refusal(f"{path}.priorityClassName", expressions.SYSTEM_CLASS))
    if spec.window is not None:
        refusals += _zone(spec.window.time_zone, f"{path}.window.timeZone")
    return refusals


def _words(said: TicketTemplate) -> list[Refusal]:
    """Keys that tell of a ticket what only korder can know."""
    kinds = (("labels", said.metadata.labels), ("annotations", said.metadata.annotations))
    return [
        Refusal(f"spec.template.metadata.{kind}", f"{key} {expressions.OUR_WORDS}")
        for kind, words in kinds
        for key in filter(order_template.is_ours, words)
    ]


def _zone(name: str, path: str) -> list[Refusal]:
    try:
        cron.zone_of(name)
    except cron.InvalidSchedule as error:
        return [Refusal(path, str(error))]
    return []


def _timetable(order: Order) -> list[Refusal]:
    strategy = order.spec.strategy
    if strategy is None:
        return []
    if wrong := _zone(strategy.time_zone, "spec.strategy.timeZone"):
        return wrong
    if not strategy.schedule.strip():
        return []
    problem = cron.check(strategy.schedule, strategy.time_zone)
    return [Refusal("spec.strategy.schedule", problem)] if problem else []


def _amounts(spec: TicketSpec, path: str) -> list[Refusal]:
    try:
        asked = resources.parse_list(spec.resources.requests)
        allowed = resources.parse_list(spec.resources.limits)
    except quantity.InvalidQuantity as error:
        return [Refusal(f"{path}.resources", str(error))]
    return [
        Refusal(
            f"{path}.resources.requests.{name}",
            f"must not be greater than its limit: {amount} is more than {allowed[name]}",
        )
        for name, amount in asked.items()
        if name in allowed and amount > allowed[name]
    ]


def _switched(question: Question) -> list[Refusal]:
    before, after = question.before, question.spec
    if before is None or bool(before.get("daemonSet")) == bool(after.get("daemonSet")):
        return []
    return [Refusal("spec.daemonSet", expressions.DAEMON_SET)]


def _changes(question: Question) -> list[Refusal]:
    before, after = question.before, question.spec
    if before is None:
        return []
    changed = [field for field in expressions.KEPT if before.get(field) != after.get(field)]
    return [Refusal(f"spec.{field}", expressions.IMMUTABLE) for field in changed]


def _advice(order: Order, now: datetime) -> Iterator[str]:
    spec, strategy = order.spec, order.spec.strategy
    if TICKET_GROUP_ANNOTATION in spec.template.metadata.labels:
        yield expressions.NO_GROUP
    scheduled = strategy is not None and strategy.type is StrategyType.SCHEDULED
    if scheduled and spec.template.spec.starts_at is not None:
        yield expressions.NO_START
    close = order_firings.only_close(order)
    if close is not None and close <= now:
        yield expressions.over(instant.render(close))
    if spec.daemon_set:
        if spec.replicas > 1:
            yield expressions.NO_REPLICAS
        return
    if spec.replicas > expressions.MANY:
        yield expressions.many(str(spec.replicas))
    if strategy is not None and strategy.type is StrategyType.RECURRING:
        first = cron.parse(strategy.schedule, strategy.time_zone).next_after(now)
        gap = order_firings.gap_message(strategy, deadlines.hold_length(spec.template.spec), first)
        if gap:
            yield f"spec.template.spec.duration leaves times in which nothing is held: {gap}"


YOUNG = timedelta(minutes=1)
"""Of an older pod nobody can tell whether its ticket has only gone before it."""


def words(pod: Pod) -> tuple[str, ...]:
    """Which annotations that only korder writes the pod carries."""
    return tuple(word for word in expressions.ANSWERS if word in pod.metadata.annotations)


def plan(pod: Pod, now: datetime, *, claims: bool) -> Plan:
    """Tells a young pod with words of ours, and no ticket behind them, that they claim nothing."""
    born = pod.metadata.creation_timestamp
    if claims or born is None or now - born > YOUNG or core.is_finished(pod):
        return NOTHING
    emits = (
        Emit(PODS, pod, ClaimReason.NOT_A_CLAIM, expressions.output_only(word), EventType.WARNING)
        for word in words(pod)
    )
    return NOTHING.tell(*emits)
