"""What `soundness` demands of quotas, said in CEL.

`policies` makes admission policies of it. As in `expressions`, schedules and labels are judged by pattern, and a time zone by asking for the
year in it: a zone that is unknown is refused in the server's words, around the sentence that stands in the expression.
"""

from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    RESERVED_PREFIX,
    TICKETS_KEY,
    ScopeType,
)
from korder.reserve.rules.doors import expressions, patterns
from korder.reserve.rules.doors.conditions import Condition
from korder.reserve.rules.doors.expressions import Demand

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


def _wrong(key: str, holds: str, told: str) -> Demand:
    """A demand on each limit, and a sentence that names the first that does not meet it."""
    bad = f"variables.limits.map(one, one.filter(key, {key} && !({holds})).map(key, key + ' ' + string(one[key])))"
    return Demand(
        f"variables.limits.all(one, one.all(key, !({key}) || {holds}))",
        told,
        f"{bad}.filter(found, size(found) > 0)[0][0] + ': {told}'",
    )


def _of_windows(field: str, holds: str, told: str) -> Demand:
    """A demand on a field of each window that has it, and a sentence that names the first that does not meet it."""
    return Demand(
        f"!has({_WINDOWS}) || {_WINDOWS}.all(one, !has(one.{field}) || ({holds}))",
        f"spec.timeWindows: {told}",
        f"'spec.timeWindows: window ' + {_WINDOWS}.filter(one, has(one.{field}) && !({holds}))[0].name"
        f' + ": {told}"',
    )


def _of_labels(holds: str, told: str) -> Demand:
    """A demand on each label that a selector looks for, and a sentence that names the first that does not meet it."""
    return Demand(
        f"variables.labels.all(some, some.all(label, {holds}))",
        told,
        f"variables.labels.map(some, some.filter(label, !({holds}))).filter(found, size(found) > 0)[0][0].key[0]"
        f' + ": {told}"',
    )


_KEY = f"label.key[0].matches(r'^(?:{patterns.KEY})$') && label.key[0].indexOf('/') <= 253"
_VALUES = f"label.values.all(value, value.matches(r'^(?:{patterns.VALUE})$'))"
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
        "schedule", expressions.fires("one.schedule"), f"schedule {expressions.SCHEDULE_TOLD}"
    ),
    _of_windows(
        "timeZone",
        expressions.spoken(expressions.known("one.timeZone"), expressions.ZONE_TOLD),
        expressions.ZONE_TOLD,
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
