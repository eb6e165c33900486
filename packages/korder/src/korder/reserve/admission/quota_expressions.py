"""Quotas in CEL: what they demand of orders and tickets, and what is demanded of quotas themselves."""

from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    RESERVED_PREFIX,
    TICKETS_KEY,
    Enforcement,
    ScopeType,
)
from korder.api.reserve import DEFAULT_DURATION, ORDER_LABEL
from korder.reserve.admission import expressions, expressions as cel
from korder.reserve.admission.expressions import Condition, Demand


def _selects(selector: str, labels: str) -> str:
    there = f"each.key in {labels} && {labels}[each.key] in each.values"
    return (
        f"(!has({selector}.matchLabels) || {selector}.matchLabels.all(key,"
        f" key in {labels} && {labels}[key] == {selector}.matchLabels[key]))"
        f" && (!has({selector}.matchExpressions) || {selector}.matchExpressions.all(each,"
        f" each.operator == 'In' ? {there} : each.operator == 'NotIn' ? !({there})"
        f" : each.operator == 'Exists' ? each.key in {labels} : !(each.key in {labels})))"
    )


def _means(labels: str) -> str:
    scope = "params.spec.scope"
    return (
        f"{scope}.type == '{ScopeType.CLUSTER}'"
        f" || ({scope}.type == '{ScopeType.NAMESPACE_LIST}' && request.namespace in {scope}.namespaces)"
        f" || ({scope}.type == '{ScopeType.NAMESPACE_SELECTOR}'"
        f" && {_selects(f'{scope}.namespaceSelector', 'variables.placeLabels')})"
        f" || ({scope}.type == '{ScopeType.OBJECT_SELECTOR}'"
        f" && {_selects(f'{scope}.objectSelector', labels)})"
    )


def _labels(meta: str) -> str:
    return f"(has({meta}.labels) ? {meta}.labels : {{}})"


def _replicas(spec: str) -> str:
    """How many tickets; none in DaemonSet mode, where nobody can tell here."""
    return f"(has({spec}.daemonSet) && {spec}.daemonSet ? 0 : has({spec}.replicas) ? {spec}.replicas : 1)"


def _amounts(ticket: str, side: str) -> str:
    """What a ticket says of one side, `requests` or `limits`."""
    return f"(has({ticket}.resources) && has({ticket}.resources.{side}) ? {ticket}.resources.{side} : {{}})"


def _length(ticket: str) -> str:
    return (
        f"duration(has({ticket}.window) ? {ticket}.window.duration"
        f" : has({ticket}.duration) ? {ticket}.duration : '{DEFAULT_DURATION}')"
    )


def _number(text: str) -> str:
    return f"quantity(string({text})).asApproximateFloat()"


_ORDER = "request.resource.resource == 'orders'"
_CHOOSES = "params.spec.scope.objectSelector"
_NAMES_ORDERS = (
    f"has({_CHOOSES}) && (has({_CHOOSES}.matchLabels) && '{ORDER_LABEL}' in {_CHOOSES}.matchLabels"
    f" || has({_CHOOSES}.matchExpressions)"
    f" && {_CHOOSES}.matchExpressions.exists(each, each.key == '{ORDER_LABEL}'))"
)
"""Whether a quota asks by which order tickets are made, a label that they get only when they are."""
_NEW = "request.operation == 'CREATE'"
ASKED = {
    "ticket": f"{_ORDER} ? object.spec.template.spec : object.spec",
    "before": f"{_NEW} ? object.spec : {_ORDER} ? oldObject.spec.template.spec : oldObject.spec",
    "count": f"{_ORDER} ? {_replicas('object.spec')} : 1",
    "counted": f"{_NEW} ? 0 : {_ORDER} ? {_replicas('oldObject.spec')} : 1",
    "requests": _amounts("variables.ticket", "requests"),
    "limits": _amounts("variables.ticket", "limits"),
    "held": "variables.requests.map(name, name) + variables.limits.filter(name, !(name in variables.requests))",
    "requested": _amounts("variables.before", "requests"),
    "limited": _amounts("variables.before", "limits"),
    "placeLabels": _labels("namespaceObject.metadata"),
    "ownLabels": _labels("object.metadata"),
    "ticketLabels": f"!({_ORDER}) ? variables.ownLabels : has(object.spec.template.metadata)"
    f" ? {_labels('object.spec.template.metadata')} : {{}}",
    "meansOrder": f"{_ORDER} && ({_means('variables.ownLabels')})",
    "meansTickets": f"!({_ORDER} && {_NAMES_ORDERS}) && ({_means('variables.ticketLabels')})",
    "hard": "has(params.status) && has(params.status.hard) && !has(params.metadata.deletionTimestamp)"
    " ? params.status.hard : {}",
    "used": "has(params.status) && has(params.status.used) ? params.status.used : {}",
    "refuses": f"!({_ORDER}) || !has(params.spec.enforcement) || params.spec.enforcement == '{Enforcement.REFUSE}'",
}
"""What is asked, what was there before, and what the quota that is looked at says to such things."""

_TOLERANCE = "1.000000001"


def _room(key: str, asked: str) -> str:
    used = f"({key} in variables.used ? {_number(f'variables.used[{key}]')} : 0.0)"
    return f"{used} + {asked} <= {_number(f'variables.hard[{key}]')} * {_TOLERANCE}"


def _reported(key: str, asked: str) -> str:
    used = f"({key} in variables.used ? string(variables.used[{key}]) : '0')"
    return (
        f"'exceeded quota ' + params.metadata.name + ': ' + {key} + ' used ' + {used}"
        f" + ' of ' + string(variables.hard[{key}]) + ', requested ' + {asked}"
    )


_MORE = "double(variables.count - variables.counted)"
_LONGEST = f"variables.hard['{MAX_DURATION_KEY}']"


def _counted(key: str, means: str, asked: str) -> Demand:
    """A demand on a count."""
    word = f"'{key}'"
    return Demand(
        f"!variables.refuses || !({means}) || !({word} in variables.hard) || {asked} <= 0.0"
        f" || {_room(word, asked)}",
        f"a quota has no room for more {key}",
        _reported(word, f"string(int({asked}))"),
    )


_ASKS = "(name in variables.requests ? string(variables.requests[name]) : string(variables.limits[name]))"
"""What a ticket holds: a limit stands for the request that is not there."""
_HAD = (
    "(name in variables.requested ? string(variables.requested[name])"
    " : name in variables.limited ? string(variables.limited[name]) : '0')"
)
_OF_RESOURCE = (
    f"{_number(_ASKS)} * double(variables.count) - {_number(_HAD)} * double(variables.counted)"
)


def _each(count: str, amount: str) -> str:
    """Tells what is asked in the words in which it was written."""
    return f"({count} == 1 ? '' : string({count}) + ' x ') + {amount}"


_WORDS = (
    f"{_each('variables.count', _ASKS)} + (!({_NEW}) && (name in variables.requested || name in variables.limited)"
    f" ? ' instead of ' + {_each('variables.counted', _HAD)} : '')"
)
_HELD = f"('{RESERVED_PREFIX}' + name)"
_FITS = (
    f"!({_HELD} in variables.hard) || {_OF_RESOURCE} <= 0.0 || {_room(_HELD, f'({_OF_RESOURCE})')}"
)
BEYOND = (
    _counted(ORDERS_KEY, f"variables.meansOrder && {_NEW}", "1.0"),
    _counted(TICKETS_KEY, "variables.meansTickets", _MORE),
    Demand(
        f"!variables.refuses || !variables.meansTickets || variables.held.all(name, {_FITS})",
        "a quota has no room for what the tickets reserve",
        f"variables.held.filter(name, !({_FITS})).map(name, {_reported(_HELD, _WORDS)})[0]",
    ),
    Demand(
        f"!variables.meansTickets || !('{MAX_DURATION_KEY}' in variables.hard)"
        f" || {_length('variables.ticket')} <= duration(string({_LONGEST}))"
        f" || (!({_NEW}) && {_length('variables.ticket')} <= {_length('variables.before')})",
        "a quota allows no hold of this length",
        f"'exceeded quota ' + params.metadata.name + ': {MAX_DURATION_KEY} is ' + string({_LONGEST})"
        f" + ', requested ' + string({_length('variables.ticket')})",
    ),
)
"""What an order or a ticket asks for that was not there before must have room in a quota that refuses; a ticket made by hand cannot wait."""


OF_CLUSTER = Condition("for-the-whole-cluster", f"object.spec.scope.type == '{ScopeType.CLUSTER}'")
"""Quotas of which there can be only one."""

_WINDOWS = "object.spec.timeWindows"
_LABELS = "one.matchLabels.map(key, {'key': [key], 'values': [one.matchLabels[key]]})"
_EXPRESSIONS = "one.matchExpressions.map(each, {'key': [each.key], 'values': has(each.values) ? each.values.map(value, value) : []})"
VARIABLES = {
    "limits": "(has(object.spec.hard) ? [object.spec.hard] : [])"
    " + (has(object.spec.timeWindows) ? object.spec.timeWindows.filter(each, has(each.hard)).map(each, each.hard) : [])"
    " + (has(object.spec.allocation) ? object.spec.allocation.map(each, each.limits) : [])",
    "selectors": "(has(object.spec.scope.namespaceSelector) ? [object.spec.scope.namespaceSelector] : [])"
    " + (has(object.spec.scope.objectSelector) ? [object.spec.scope.objectSelector] : [])"
    " + (has(object.spec.allocation) ? object.spec.allocation.filter(each, has(each.namespaceSelector))"
    ".map(each, each.namespaceSelector) : [])",
    "labels": f"variables.selectors.filter(one, has(one.matchLabels) && one.matchLabels != null).map(one, {_LABELS})"
    " + variables.selectors.filter(one, has(one.matchExpressions) && one.matchExpressions != null)"
    f".map(one, {_EXPRESSIONS})",
}
"""All limits that a quota has, all its selectors, and the labels that they look for, selector by selector.

The compiler wants both members of a label to be lists, and knows of a list only if it was made here.
"""


def _wrong(key: str, holds: str, stated: str) -> Demand:
    """A demand on each limit, and a sentence that names the first that does not meet it."""
    bad = f"variables.limits.map(one, one.filter(key, {key} && !({holds})).map(key, key + ' ' + string(one[key])))"
    return Demand(
        f"variables.limits.all(one, one.all(key, !({key}) || {holds}))",
        stated,
        f"{bad}.filter(found, size(found) > 0)[0][0] + ': {stated}'",
    )


def _of_windows(field: str, holds: str, stated: str) -> Demand:
    """A demand on a field of each window that has it, and a sentence that names the first that does not meet it."""
    return Demand(
        f"!has({_WINDOWS}) || {_WINDOWS}.all(one, !has(one.{field}) || ({holds}))",
        f"spec.timeWindows: {stated}",
        f"'spec.timeWindows: window ' + {_WINDOWS}.filter(one, has(one.{field}) && !({holds}))[0].name"
        f' + ": {stated}"',
    )


def _of_labels(holds: str, stated: str) -> Demand:
    """A demand on each label that a selector looks for, and a sentence that names the first that does not meet it."""
    return Demand(
        f"variables.labels.all(some, some.all(label, {holds}))",
        stated,
        f"variables.labels.map(some, some.filter(label, !({holds}))).filter(found, size(found) > 0)[0][0].key[0]"
        f' + ": {stated}"',
    )


_KEY = f"label.key[0].matches(r'^(?:{cel.KEY_PATTERN})$') && label.key[0].indexOf('/') <= 253"
_VALUES = f"label.values.all(value, value.matches(r'^(?:{cel.VALUE_PATTERN})$'))"
_AMOUNT = f"key != '{MAX_DURATION_KEY}'"
_COUNTED = f"(key == '{ORDERS_KEY}' || key == '{TICKETS_KEY}') && isQuantity(string(one[key]))"
OF_QUOTAS = (
    _wrong(
        _AMOUNT,
        "isQuantity(string(one[key]))",
        "every limit but max-duration must be a quantity such as 20, 500m or 40Gi",
    ),
    _wrong(
        _COUNTED,
        "quantity(string(one[key])).isInteger()",
        "a limit of orders or tickets must be a whole number",
    ),
    _wrong(
        f"key == '{RESERVED_PREFIX}'", "false", "a limit must name a resource, such as reserved.cpu"
    ),
    _of_windows(
        "schedule", expressions.fires("one.schedule"), f"schedule {expressions.SCHEDULE_MESSAGE}"
    ),
    _of_windows(
        "timeZone",
        expressions.spoken(expressions.known("one.timeZone"), expressions.ZONE_MESSAGE),
        expressions.ZONE_MESSAGE,
    ),
    _of_labels(
        _KEY,
        "the key of a label must have 1 to 63 letters, digits, '-', '_' or '.', and may have a DNS subdomain and '/' before it",
    ),
    _of_labels(
        _VALUES,
        "the value of a label must have at most 63 letters, digits, '-', '_' or '.', and begin and end with a letter or digit",
    ),
)

_KNOWN = f"key == '{ORDERS_KEY}' || key == '{TICKETS_KEY}' || key == '{MAX_DURATION_KEY}' || key.startsWith('{RESERVED_PREFIX}')"
_PARTS = "object.spec.allocation.filter(part, key in part.limits).map(part, quantity(string(part.limits[key])).asApproximateFloat())"
_OVER = (
    f"key != '{MAX_DURATION_KEY}' && {_PARTS}.sum()"
    " > quantity(string(object.spec.hard[key])).asApproximateFloat() * 1.000000001"
)
ADVICE_ON_QUOTAS = (
    _wrong(
        f"!({_KNOWN})",
        "false",
        "limits nothing: use orders, tickets, reserved.<resource> or max-duration",
    ),
    Demand(
        f"!has(object.spec.hard) || !has(object.spec.allocation) || !object.spec.hard.exists(key, {_OVER})",
        "spec.allocation adds up to more than spec.hard allows: not everybody can use his part at the same time",
        f"'spec.allocation: ' + object.spec.hard.filter(key, {_OVER})[0]"
        " + ' adds up to more than spec.hard allows: not everybody can use his part at the same time'",
    ),
)
"""What is odd in a quota and not wrong."""

ONE_FOR_THE_CLUSTER = (
    Demand(
        f"params.metadata.name == object.metadata.name || params.spec.scope.type != '{ScopeType.CLUSTER}'",
        "spec.scope.type must be another than Cluster: there is a quota for the whole cluster already",
        "'spec.scope.type must be another than Cluster: quota ' + params.metadata.name"
        " + ' is for the whole cluster already; change that one instead'",
    ),
)
