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


_MUST = f"({_has(REQUIRED)} && {ANNOTATIONS}['{REQUIRED}'] == 'true')"
SEEKS = f"has({ANNOTATIONS}) && ({' || '.join([_MUST, *map(_has, (ORDER, ORDER_REQUEST, TICKET_REQUEST, FALLBACK_AFTER))])})"
"""Whether a pod wants a ticket: it may have words of ours and want none."""

OF_PODS = (
    Demand(_fits(REQUIRED, "true|false"), f"annotation {REQUIRED} must be true or false"),
    Demand(
        _fits(ORDER, patterns.ORDER),
        f"annotation {ORDER} must be an order's name or namespace/name",
    ),
    Demand(
        _fits(ORDER_REQUEST, patterns.ORDER),
        f"annotation {ORDER_REQUEST} must be an order's name or namespace/name",
    ),
    Demand(
        _fits(TICKET_REQUEST, patterns.TICKET),
        f"annotation {TICKET_REQUEST} must be name:<ticket>, selector:<labels>, group:<group>, or the ticket's bare name",
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
    Demand(
        f"{_fits(FALLBACK_AFTER, patterns.DURATION)}",
        f"annotation {FALLBACK_AFTER} must be a duration such as 90s or 1h30m",
    ),
    Demand(
        f"!({_MUST} && {_has(FALLBACK_AFTER)})",
        f"annotation {FALLBACK_AFTER} must not be used together with {REQUIRED}=true:"
        " a pod that requires a ticket never falls back",
    ),
    Demand(
        f"!({SEEKS}) || !has(object.spec.nodeName) || object.spec.nodeName == ''",
        f"spec.nodeName {sentences.NODE_NAME}",
    ),
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

_BOTH = "has(variables.ticket.resources) && has(variables.ticket.resources.requests) && has(variables.ticket.resources.limits)"
_WITHIN = (
    "variables.ticket.resources.limits.all(name, !(name in variables.ticket.resources.requests)"
    " || !quantity(string(variables.ticket.resources.requests[name]))"
    ".isGreaterThan(quantity(string(variables.ticket.resources.limits[name]))))"
)
ZONE_TOLD = "timeZone must be the name of a time zone such as UTC or Europe/Berlin"
SCHEDULE_TOLD = (
    "must be five cron fields such as '0 2 * * 1-5' that can come true, or a word such as @daily"
)


def known(zone: str) -> str:
    """Whether there is a time zone of this name."""
    year = f"timestamp('2000-06-15T12:00:00Z').getFullYear({zone})"
    return f"{zone} == '' || ({zone} != 'Local' && {year} == 2000)"


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
        Demand(f"!({_BOTH}) || {_WITHIN}", "resources.requests must not be greater than limits"),
        *(() if system_classes else (classes,)),
        Demand(
            "!has(object.spec.strategy) || !has(object.spec.strategy.schedule) || object.spec.strategy.schedule == ''"
            f" || ({fires('object.spec.strategy.schedule')})",
            f"spec.strategy.schedule {SCHEDULE_TOLD}",
        ),
        Demand(
            f"variables.zones.all(zone, {known('zone')})",
            ZONE_TOLD,
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


ADVICE_ON_ORDERS = (
    Demand(
        f"!has(object.spec.replicas) || object.spec.replicas <= {sentences.MANY}",
        sentences.many(f"more than {sentences.MANY}"),
    ),
    Demand(
        "!(has(object.spec.daemonSet) && object.spec.daemonSet && has(object.spec.replicas) && object.spec.replicas > 1)",
        sentences.NO_REPLICAS,
    ),
)
