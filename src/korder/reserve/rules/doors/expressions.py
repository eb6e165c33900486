"""What `admission` demands of pods, orders and tickets, said in CEL.

`policies` makes admission policies of it. Words of pods are judged by pattern, amounts by CEL's own quantities. A time zone is judged by
asking for the year in it: CEL has no other way to look one up, and what cannot be computed is refused.
"""

from typing import NamedTuple

from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION as FALLBACK_AFTER,
    ORDER_ANNOTATION as ORDER,
    ORDER_REQUEST_ANNOTATION as ORDER_REQUEST,
    REQUIRED_ANNOTATION as REQUIRED,
    TICKET_GROUP_ANNOTATION as TICKET_GROUP,
    TICKET_REQUEST_ANNOTATION as TICKET_REQUEST,
    StrategyType,
)
from korder.reserve.rules.doors import conditions, patterns, sentences
from korder.reserve.rules.doors.conditions import ANNOTATIONS
from korder.reserve.rules.orders.template import OUR_PREFIX


class Demand(NamedTuple):
    """An expression that must hold, and what to say when it does not; `tell` says it with names and values, in CEL."""

    cel: str
    message: str
    tell: str = ""


def _has(word: str) -> str:
    return f"'{word}' in {ANNOTATIONS}"


def _fits(word: str, pattern: str) -> str:
    return f"!({_has(word)}) || {ANNOTATIONS}['{word}'].matches(r'^(?:{pattern})$')"


def _worded(word: str, pattern: str, told: str) -> Demand:
    """A demand on an annotation that is there, and a sentence with what it says instead."""
    message = f"annotation {word} must be {told}"
    return Demand(
        _fits(word, pattern), message, f"\"{message}, not '\" + {ANNOTATIONS}['{word}'] + \"'\""
    )


_MUST = f"({_has(REQUIRED)} && {ANNOTATIONS}['{REQUIRED}'] == 'true')"
SEEKS = f"has({ANNOTATIONS}) && ({' || '.join([_MUST, *map(_has, (ORDER, ORDER_REQUEST, TICKET_REQUEST, FALLBACK_AFTER))])})"
"""Whether a pod wants a ticket: it may have words of ours and want none."""
_ANYWHERE = "(!has(object.spec.nodeName) || object.spec.nodeName == '')"
GATED = f"{SEEKS} && {_ANYWHERE}"
"""Whether a pod gets the gate; one that names its node is not given it, or the server would complain of the gate before we can say what is wrong."""

OF_PODS = (
    _worded(REQUIRED, "true|false", "true or false"),
    _worded(ORDER, patterns.ORDER, "an order's name or namespace/name"),
    _worded(ORDER_REQUEST, patterns.ORDER, "an order's name or namespace/name"),
    _worded(
        TICKET_REQUEST,
        patterns.TICKET,
        "name:<ticket>, selector:<labels>, group:<group>, or the ticket's bare name",
    ),
    Demand(
        f"!({_has(ORDER)} && {_has(ORDER_REQUEST)}) || {ANNOTATIONS}['{ORDER}'] == {ANNOTATIONS}['{ORDER_REQUEST}']",
        f"annotations {ORDER} and {ORDER_REQUEST} name different orders: use one of them",
    ),
    Demand(
        f"!({_has(TICKET_REQUEST)} && {_has(ORDER_REQUEST)})",
        f"annotations {TICKET_REQUEST} and {ORDER_REQUEST} exclude each other:"
        f" use one of them, or {ORDER} to narrow {TICKET_REQUEST}",
    ),
    _worded(FALLBACK_AFTER, patterns.DURATION, "a duration such as 90s or 1h30m"),
    Demand(
        f"!({_MUST} && {_has(FALLBACK_AFTER)})",
        f"annotation {FALLBACK_AFTER} must not be used together with {REQUIRED}=true:"
        " a pod that requires a ticket never falls back",
    ),
    Demand(
        f"!({SEEKS}) || {_ANYWHERE}",
        f"spec.nodeName {sentences.NODE_NAME}",
    ),
)

OF_TOLERATIONS = (
    Demand(f"!({conditions.PASSES.cel})", f"spec.tolerations {sentences.HANDOVER_TOLERATION}"),
)

ADVICE_ON_PODS = tuple(
    Demand(f"!({_has(word)})", sentences.output_only(word)) for word in conditions.ANSWERS
)

VARIABLES = {
    "ticket": "request.resource.resource == 'orders' ? object.spec.template.spec : object.spec",
    "before": "oldObject == null || request.resource.resource == 'orders' ? object.spec : oldObject.spec",
    "zones": "(has(object.spec.strategy) && has(object.spec.strategy.timeZone) ? [object.spec.strategy.timeZone] : [])"
    " + (has(variables.ticket.window) && has(variables.ticket.window.timeZone) ? [variables.ticket.window.timeZone] : [])",
}
"""The spec of a ticket wherever it is, what it was, and all time zones."""

_REQUESTS, _LIMITS = "variables.ticket.resources.requests", "variables.ticket.resources.limits"
_BOTH = f"has(variables.ticket.resources) && has({_REQUESTS}) && has({_LIMITS})"
_OVER = (
    f"name in {_REQUESTS}"
    f" && quantity(string({_REQUESTS}[name])).isGreaterThan(quantity(string({_LIMITS}[name])))"
)
_OVER_TOLD = (
    "(request.resource.resource == 'orders' ? 'spec.template.spec' : 'spec')"
    f" + {_LIMITS}.filter(name, {_OVER}).map(name, '.resources.requests.' + name + ' must not be greater than its limit: '"
    f" + string({_REQUESTS}[name]) + ' is more than ' + string({_LIMITS}[name]))[0]"
)
ZONE_TOLD = "timeZone must be the name of a time zone such as UTC or Europe/Berlin"
SCHEDULE_TOLD = (
    "must be five cron fields such as '0 2 * * 1-5' that can come true, or a word such as @daily"
)


def known(zone: str) -> str:
    """Whether there is a time zone of this name."""
    year = f"timestamp('2000-06-15T12:00:00Z').getFullYear({zone})"
    return f"{zone} == '' || ({zone} != 'Local' && {year} == 2000)"


def spoken(holds: str, told: str) -> str:
    """The same with a sentence in it: where it cannot be computed people are shown the expression, and no message."""
    return f"'{told}' != '' && ({holds})"


def fires(schedule: str) -> str:
    """Whether a schedule can be read and comes true some day."""
    return (
        f"{schedule}.matches(r'^(?:{patterns.SCHEDULE})$')"
        f" && !{schedule}.matches(r'^(?:{patterns.NEVER})$')"
    )


_EVERYWHERE = "has({0}.spec.daemonSet) && {0}.spec.daemonSet"


def _same(field: str) -> str:
    return (
        f"has(variables.before.{field}) == has(variables.ticket.{field})"
        f" && (!has(variables.ticket.{field}) || variables.before.{field} == variables.ticket.{field})"
    )


def _unworded(kind: str) -> Demand:
    words = f"object.spec.template.metadata.{kind}"
    return Demand(
        "request.resource.resource == 'tickets' || !has(object.spec.template.metadata)"
        f" || !has({words}) || {words}.all(key, !key.startsWith('{OUR_PREFIX}') || key == '{TICKET_GROUP}')",
        f"spec.template.metadata.{kind}: a key of them {sentences.OUR_WORDS}",
    )


def of_ours(*, system_classes: bool) -> tuple[Demand, ...]:
    """Demands on orders and tickets."""
    classes = Demand(
        "!has(variables.ticket.priorityClassName) || !variables.ticket.priorityClassName.startsWith('system-')",
        f"priorityClassName {sentences.SYSTEM_CLASS}",
    )
    kept = (
        Demand(
            f"request.operation == 'CREATE' || request.resource.resource == 'orders' || ({_same(field)})",
            f"spec.{field} {sentences.IMMUTABLE}",
        )
        for field in sentences.KEPT
    )
    return (
        Demand(
            f"!({_BOTH}) || {_LIMITS}.all(name, !({_OVER}))",
            "resources.requests must not be greater than limits",
            _OVER_TOLD,
        ),
        *(() if system_classes else (classes,)),
        Demand(
            "!has(object.spec.strategy) || !has(object.spec.strategy.schedule) || object.spec.strategy.schedule == ''"
            f" || ({fires('object.spec.strategy.schedule')})",
            f"spec.strategy.schedule {SCHEDULE_TOLD}",
            f'"spec.strategy.schedule {SCHEDULE_TOLD}, not \'" + object.spec.strategy.schedule + "\'"',
        ),
        Demand(
            spoken(f"variables.zones.all(zone, {known('zone')})", ZONE_TOLD),
            ZONE_TOLD,
        ),
        Demand(
            "request.resource.resource == 'orders' || has(object.metadata.ownerReferences)"
            f" || {conditions.listed(conditions.NOTES)}.all(word, !({conditions.RENOTED}))",
            f"metadata.annotations: a word of {', '.join(conditions.NOTES)} {sentences.NOTED}",
        ),
        _unworded("labels"),
        _unworded("annotations"),
        *kept,
        Demand(
            "request.operation == 'CREATE' || request.resource.resource == 'tickets'"
            f" || ({_EVERYWHERE.format('object')}) == ({_EVERYWHERE.format('oldObject')})",
            f"spec.daemonSet {sentences.DAEMON_SET}",
        ),
    )


_TICKET, _LABELS = "object.spec.template.spec", "object.spec.template.metadata.labels"
_STARTED = (
    f"(has({_TICKET}.startTime) || (has({_TICKET}.window) && has({_TICKET}.window.startTime)))"
)
ADVICE_ON_ORDERS = (
    Demand(
        f"!has(object.spec.replicas) || object.spec.replicas <= {sentences.MANY}",
        sentences.many(f"more than {sentences.MANY}"),
    ),
    Demand(
        "!(has(object.spec.daemonSet) && object.spec.daemonSet && has(object.spec.replicas) && object.spec.replicas > 1)",
        sentences.NO_REPLICAS,
    ),
    Demand(
        f"!(has(object.spec.strategy) && object.spec.strategy.type == '{StrategyType.SCHEDULED}' && {_STARTED})",
        sentences.NO_START,
    ),
    Demand(
        f"!(has(object.spec.template.metadata) && has({_LABELS}) && '{TICKET_GROUP}' in {_LABELS})",
        sentences.NO_GROUP,
    ),
)
