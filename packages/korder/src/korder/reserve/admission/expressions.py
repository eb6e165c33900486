"""Admission in CEL: which writes concern korder, what `verdicts` demands of them, and the messages that both forms share."""

from dataclasses import dataclass
from typing import NamedTuple

from korder.api import reserve
from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION as FALLBACK_AFTER,
    ORDER_ANNOTATION as ORDER,
    ORDER_REQUEST_ANNOTATION as ORDER_REQUEST,
    REQUIRED_ANNOTATION as REQUIRED,
    TICKET_GROUP_ANNOTATION as TICKET_GROUP,
    TICKET_REQUEST_ANNOTATION as TICKET_REQUEST,
    StrategyType,
)
from korder.reserve.claims.requirements import REQUEST_ANNOTATIONS
from korder.reserve.orders.template import OUR_PREFIX

ANSWERS = (reserve.TICKET_CLAIMED_ANNOTATION, reserve.TICKET_NODE_ANNOTATION)
"""What korder writes."""

NOTES = (
    reserve.SCHEDULED_TIME_ANNOTATION,
    reserve.LEAD_TIME_ANNOTATION,
    reserve.STANDING_ANNOTATION,
    reserve.RENEWAL_ANNOTATION,
    reserve.TERMS_ANNOTATION,
)
"""What an order says to its tickets: when their clock starts, and whether they are renewed."""

ANNOTATIONS = "object.metadata.annotations"


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression and what it is called in messages."""

    name: str
    cel: str


def listed(words: tuple[str, ...]) -> str:
    """A list of texts in CEL."""
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _carries(words: tuple[str, ...]) -> str:
    return f"has({ANNOTATIONS}) && {listed(words)}.exists(word, word in {ANNOTATIONS})"


_MUST_HAVE_TICKET = (
    f"has({ANNOTATIONS}) && '{reserve.REQUIRED_ANNOTATION}' in {ANNOTATIONS}"
    f" && {ANNOTATIONS}['{reserve.REQUIRED_ANNOTATION}'] != 'false'"
)

MUST = Condition("must-have-a-ticket", _MUST_HAVE_TICKET)
"""Pods that may not run without a ticket; a misspelled `required` is taken for one."""
MAY = Condition(
    "may-have-a-ticket", f"{_carries((*REQUEST_ANNOTATIONS, *ANSWERS))} && !({_MUST_HAVE_TICKET})"
)
"""All other pods with words of ours."""
ASKS = Condition("asks-for-a-ticket", _carries(REQUEST_ANNOTATIONS))
"""Pods with words that only users write."""
CLAIMS = Condition("claims-by-itself", _carries(ANSWERS))
"""Pods with words that only korder writes."""


def _noted(obj: str) -> str:
    """What an object says under a word, empty if nothing."""
    said = f"{obj}.metadata.annotations"
    return f"(has({said}) && word in {said} ? {said}[word] : '')"


RENOTED = f"{_noted('object')} != (request.operation == 'CREATE' ? '' : {_noted('oldObject')})"
"""Whether somebody writes such a note, the word is given."""
CHANGES = Condition(
    "changes-what-is-wanted",
    "!has(object.metadata.deletionTimestamp)"
    " && (request.operation == 'CREATE' || object.spec != oldObject.spec"
    f" || {listed(NOTES)}.exists(word, {RENOTED}))",
)
"""New orders and tickets, and such whose spec or notes change: what was once let in is not refused for a label."""


_OURS = f"has(t.key) && t.key == '{reserve.HANDOVER_TAINT}'"
_KEPT = "request.operation == 'UPDATE' && has(oldObject.spec.tolerations) && t in oldObject.spec.tolerations"
PASSES = Condition(
    "tolerates-hand-overs",
    f"has(object.spec.tolerations) && object.spec.tolerations.exists(t, {_OURS} && !({_KEPT}))",
)
"""Pods that are given a toleration of the hand-over taint by name; those that have it keep it, because servers take no toleration away."""


NO_MANAGER = Condition(
    "not-by-one-who-may-act-as-the-manager",
    f"!authorizer.group('{reserve.GROUP}').resource('tickets').subresource('status')"
    ".namespace(request.namespace).check('update').allowed()",
)
"""Writes of users who may not write the status of tickets: a manager that a person runs hands over under that person's name."""


def not_handed_over_by(user: str) -> Condition:
    """Everything but what this user makes for an owner or changes, as the manager does in a hand-over."""
    made = "(request.operation == 'CREATE' && !has(object.metadata.ownerReferences))"
    return Condition(
        "not-by-the-manager", f"request.userInfo.username != '{_quoted(user)}' || {made}"
    )


def not_by(user: str) -> Condition:
    """Everything but what this user makes for an owner, as the manager does: people who run it themselves are judged like others."""
    return Condition(
        "not-by-the-manager",
        f"request.userInfo.username != '{_quoted(user)}' || !has(object.metadata.ownerReferences)",
    )


def _quoted(user: str) -> str:
    return user.replace("\\", "\\\\").replace("'", "\\'")


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def _name(most: int) -> str:
    return f"[a-z0-9](?:[-a-z0-9.]{{0,{most - 2}}}[a-z0-9])?"


ORDER_PATTERN = f"(?:{_name(63)}/)?{_name(253)}"

_BLANK = r"[ \t\r\n]*"
_WORD = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
KEY_PATTERN = rf"(?:{_LABEL}(?:\.{_LABEL})*/)?{_WORD}"
VALUE_PATTERN = f"(?:{_WORD})?"
"""The key of a label, whose prefix has at most 253 characters, and its value."""
_VALUES = rf"{VALUE_PATTERN}(?:{_BLANK},{_BLANK}{VALUE_PATTERN})*"
_COMPARED = (
    rf"(?:{_BLANK}(?:==?|!=){_BLANK}{VALUE_PATTERN}"
    rf"|{_BLANK}[<>]{_BLANK}[+-]?[0-9]+"
    rf"|[ \t\r\n]+(?:in|notin){_BLANK}\({_BLANK}{_VALUES}{_BLANK}\))?"
)
_REQUIREMENT = rf"{_BLANK}(?:!{_BLANK}{KEY_PATTERN}|{KEY_PATTERN}{_COMPARED}){_BLANK}"
_SELECTOR = f"{_REQUIREMENT}(?:,{_REQUIREMENT})*"
TICKET_PATTERN = rf"(?:name:)?{_name(253)}|group:(?s:\S(?:.*\S)?)|selector:{_SELECTOR}"

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
DURATION_PATTERN = rf"[+-]?0|\+?(?:{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h)){{1,6}}"

_MONTHS = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
_DAYS = "SUN|MON|TUE|WED|THU|FRI|SAT"


def _field(value: str, step: str, *more: str) -> str:
    """One cron field: a list of stars, values and ranges, each perhaps with a step, and of forms of its own."""
    item = rf"(?:\*|(?:{value})(?:-(?:{value}))?)(?:/0*(?:{step}))?"
    items = "|".join((item, *more))
    return f"(?:{items})(?:,(?:{items}))*"


_DAY_OF_WEEK = f"0*[0-7]|{_DAYS}"
_MINUTE = _field("0*[1-5]?[0-9]", "[1-9]|[1-5][0-9]|60")
_HOUR = _field("0*1?[0-9]|0*2[0-3]", "[1-9]|1[0-9]|2[0-4]")
_DAY = _field("0*[1-9]|0*[12][0-9]|0*3[01]", "[1-9]|[12][0-9]|3[01]", r"\?", "LW?")
_MONTH = _field(f"0*[1-9]|0*1[0-2]|{_MONTHS}", "[1-9]|1[0-2]")
_WEEKDAY = _field(_DAY_OF_WEEK, "[1-7]", r"\?", "[0-7]L", f"(?:[0-7]|{_DAYS})#[1-5]")
_GAP = r"[ \t]+"
_FIELDS = _GAP.join((_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY))
_MACRO = "@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)"
SCHEDULE_PATTERN = rf"(?i:[ \t]*(?:{_MACRO}|{_FIELDS})[ \t]*)"


def _only(item: str) -> str:
    return f"(?:{item})(?:,(?:{item}))*"


_TOO_LATE = rf"{_only('0*3[01]|0*30-0*3[01]|0*31-0*31')}{_GAP}{_only('0*2|FEB')}|{_only('0*31')}{_GAP}{_only('0*[2469]|0*11|FEB|APR|JUN|SEP|NOV')}"
NEVER_PATTERN = rf"(?i:[ \t]*{_MINUTE}{_GAP}{_HOUR}{_GAP}(?:{_TOO_LATE}){_GAP}[*?][^ ]*[ \t]*)"
"""Schedules for days that none of their months has."""


MANY = 100
"""More tickets than this in one order are worth a second look."""

KEPT = (
    "resources",
    "allocateOnce",
    "schedulerName",
    "priorityClassName",
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
)
"""What a ticket cannot change while its guardian stands: a guardian is never rebuilt."""

IMMUTABLE = "must not change in a ticket, whose guardian stands as it was made; make a new ticket, or change its order"
DAEMON_SET = "must not change: the tickets of the one kind are not those of the other; make a new order instead"
SYSTEM_CLASS = "must not begin with system-: such classes are for the cluster itself; allowed is any other class, or none"
OUR_WORDS = "must not be in a template: keys that begin with korder.dev/ are written by korder; allowed of them is korder.dev/ticket-group"
NOTED = "must not be written by anybody but korder: an order says it to its tickets; give the ticket a startTime and a duration"
NODE_NAME = "must be empty in a pod that asks for a ticket: the ticket decides where it goes"
HANDOVER_TOLERATION = (
    "must not name the key korder.dev/handover: korder adds such a toleration to the pods that it hands a ticket to,"
    " for that hand-over alone; allowed is any other key"
)
NO_REPLICAS = (
    "spec.replicas has no effect with daemonSet: there is one ticket for each eligible node"
)
NO_START = "spec.template.spec.startTime has no effect in a Scheduled order: its tickets start at their firing"
NO_GROUP = "label korder.dev/ticket-group has no effect: pods find a group by the annotation of that name; put it under annotations"


def output_only(annotation: str) -> str:
    """Says that an annotation is ours to write."""
    return (
        f"annotation {annotation} is written by korder and never read: it claims nothing;"
        " ask with korder.dev/required, korder.dev/order or korder.dev/ticket-request"
    )


def over(end: str) -> str:
    """Says that an order comes too late."""
    return f"spec.template.spec.startTime and duration end at {end}, which is over: no ticket will be made"


def many(count: str) -> str:
    """Says that an order is large."""
    return f"spec.replicas is {count}: every ticket is a pod that holds room; is that meant?"


class Demand(NamedTuple):
    """An expression that must hold, and what to say when it does not; `tell` says it with names and values, in CEL."""

    cel: str
    message: str
    tell: str = ""


def _has(word: str) -> str:
    return f"'{word}' in {ANNOTATIONS}"


def _fits(word: str, pattern: str) -> str:
    return f"!({_has(word)}) || {ANNOTATIONS}['{word}'].matches(r'^(?:{pattern})$')"


def _worded(word: str, pattern: str, stated: str) -> Demand:
    """A demand on an annotation that is there, and a sentence with what it says instead."""
    message = f"annotation {word} must be {stated}"
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
    _worded(ORDER, ORDER_PATTERN, "an order's name or namespace/name"),
    _worded(ORDER_REQUEST, ORDER_PATTERN, "an order's name or namespace/name"),
    _worded(
        TICKET_REQUEST,
        TICKET_PATTERN,
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
    _worded(FALLBACK_AFTER, DURATION_PATTERN, "a duration such as 90s or 1h30m"),
    Demand(
        f"!({_MUST} && {_has(FALLBACK_AFTER)})",
        f"annotation {FALLBACK_AFTER} must not be used together with {REQUIRED}=true:"
        " a pod that requires a ticket never falls back",
    ),
    Demand(
        f"!({SEEKS}) || {_ANYWHERE}",
        f"spec.nodeName {NODE_NAME}",
    ),
)

OF_TOLERATIONS = (Demand(f"!({PASSES.cel})", f"spec.tolerations {HANDOVER_TOLERATION}"),)

ADVICE_ON_PODS = tuple(Demand(f"!({_has(word)})", output_only(word)) for word in ANSWERS)

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
_OVER_MESSAGE = (
    "(request.resource.resource == 'orders' ? 'spec.template.spec' : 'spec')"
    f" + {_LIMITS}.filter(name, {_OVER}).map(name, '.resources.requests.' + name + ' must not be greater than its limit: '"
    f" + string({_REQUESTS}[name]) + ' is more than ' + string({_LIMITS}[name]))[0]"
)
ZONE_MESSAGE = "timeZone must be the name of a time zone such as UTC or Europe/Berlin"
SCHEDULE_MESSAGE = (
    "must be five cron fields such as '0 2 * * 1-5' that can come true, or a word such as @daily"
)


def known(zone: str) -> str:
    """Whether there is a time zone of this name."""
    year = f"timestamp('2000-06-15T12:00:00Z').getFullYear({zone})"
    return f"{zone} == '' || ({zone} != 'Local' && {year} == 2000)"


def spoken(holds: str, stated: str) -> str:
    """The same with a sentence in it: where it cannot be computed people are shown the expression, and no message."""
    return f"'{stated}' != '' && ({holds})"


def fires(schedule: str) -> str:
    """Whether a schedule can be read and comes true some day."""
    return (
        f"{schedule}.matches(r'^(?:{SCHEDULE_PATTERN})$')"
        f" && !{schedule}.matches(r'^(?:{NEVER_PATTERN})$')"
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
        f"spec.template.metadata.{kind}: a key of them {OUR_WORDS}",
    )


def of_ours(*, system_classes: bool) -> tuple[Demand, ...]:
    """Demands on orders and tickets."""
    classes = Demand(
        "!has(variables.ticket.priorityClassName) || !variables.ticket.priorityClassName.startsWith('system-')",
        f"priorityClassName {SYSTEM_CLASS}",
    )
    kept = (
        Demand(
            f"request.operation == 'CREATE' || request.resource.resource == 'orders' || ({_same(field)})",
            f"spec.{field} {IMMUTABLE}",
        )
        for field in KEPT
    )
    return (
        Demand(
            f"!({_BOTH}) || {_LIMITS}.all(name, !({_OVER}))",
            "resources.requests must not be greater than limits",
            _OVER_MESSAGE,
        ),
        *(() if system_classes else (classes,)),
        Demand(
            "!has(object.spec.strategy) || !has(object.spec.strategy.schedule) || object.spec.strategy.schedule == ''"
            f" || ({fires('object.spec.strategy.schedule')})",
            f"spec.strategy.schedule {SCHEDULE_MESSAGE}",
            f'"spec.strategy.schedule {SCHEDULE_MESSAGE}, not \'" + object.spec.strategy.schedule + "\'"',
        ),
        Demand(
            spoken(f"variables.zones.all(zone, {known('zone')})", ZONE_MESSAGE),
            ZONE_MESSAGE,
        ),
        Demand(
            "request.resource.resource == 'orders' || has(object.metadata.ownerReferences)"
            f" || {listed(NOTES)}.all(word, !({RENOTED}))",
            f"metadata.annotations: a word of {', '.join(NOTES)} {NOTED}",
        ),
        _unworded("labels"),
        _unworded("annotations"),
        *kept,
        Demand(
            "request.operation == 'CREATE' || request.resource.resource == 'tickets'"
            f" || ({_EVERYWHERE.format('object')}) == ({_EVERYWHERE.format('oldObject')})",
            f"spec.daemonSet {DAEMON_SET}",
        ),
    )


_TICKET, _LABELS = "object.spec.template.spec", "object.spec.template.metadata.labels"
_STARTED = (
    f"(has({_TICKET}.startTime) || (has({_TICKET}.window) && has({_TICKET}.window.startTime)))"
)
ADVICE_ON_ORDERS = (
    Demand(
        f"!has(object.spec.replicas) || object.spec.replicas <= {MANY}",
        many(f"more than {MANY}"),
    ),
    Demand(
        "!(has(object.spec.daemonSet) && object.spec.daemonSet && has(object.spec.replicas) && object.spec.replicas > 1)",
        NO_REPLICAS,
    ),
    Demand(
        f"!(has(object.spec.strategy) && object.spec.strategy.type == '{StrategyType.SCHEDULED}' && {_STARTED})",
        NO_START,
    ),
    Demand(
        f"!(has(object.spec.template.metadata) && has({_LABELS}) && '{TICKET_GROUP}' in {_LABELS})",
        NO_GROUP,
    ),
)
