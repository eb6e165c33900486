"""What quotas say at the door, in CEL, to orders and tickets that go beyond one.

`policies` makes admission policies of it, where no webhook is asked. A policy is shown every quota as its parameter, with what its status said
last: that is a breath old, as the count of a webhook's replica is, and the ledger has the last word here as there. CEL cannot multiply
quantities, so sums of resources are compared as numbers with a little tolerance: nothing is refused that fits. Allocations,
quotas that choose tickets by their order, and orders in DaemonSet mode, whose nodes a policy cannot count, are left to the ledger.
"""

from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    RESERVED_PREFIX,
    TICKETS_KEY,
    Enforcement,
    ScopeType,
)
from korder.api.reserve import DEFAULT_DURATION, ORDER_LABEL
from korder.reserve.rules.doors.expressions import Demand


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


def _told(key: str, asked: str) -> str:
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
        _told(word, f"string(int({asked}))"),
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
        f"variables.held.filter(name, !({_FITS})).map(name, {_told(_HELD, _WORDS)})[0]",
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
