"""Whether a quota makes sense: what no schema can see.

Admission asks; `quotastatus` tells of what got in nevertheless. Limits that nobody understands and allocations that promise more than
there is are odd, not wrong: the originals only warn of them.
"""

from collections.abc import Iterable, Iterator, Mapping

from korder.api import quantity, resources, selector
from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    RESERVED_PREFIX,
    TICKETS_KEY,
    Quota,
    QuotaSpec,
    ScopeType,
)
from korder.api.selector import LabelSelector
from korder.reserve.rules.doors.admission import Judgement, Refusal
from korder.reserve.rules.quotas import charges, limits, windows

_WHOLE = (ORDERS_KEY, TICKETS_KEY)


def judge(quota: Quota, others: Iterable[Quota]) -> Judgement:
    """Refuses a quota that says nothing or says it a second time, and warns of one that will surprise.

    `others` are those that a new quota joins; what is there already may be changed though there are two for the whole cluster.
    """
    spec = quota.spec
    refusals = (*wrongs(spec), *_second(quota, others))
    if refusals:
        return Judgement(refusals)
    return Judgement(warnings=(*_unknown(spec), *_over_allocated(spec)))


def wrongs(spec: QuotaSpec) -> Iterator[Refusal]:
    """What cannot be understood, or cannot be meant."""
    for path, structured in _selectors(spec):
        try:
            selector.from_struct(structured)
        except selector.InvalidSelector as error:
            yield Refusal(path, str(error))
    for number, window in enumerate(spec.time_windows):
        if why := windows.check(window):
            yield Refusal(f"spec.timeWindows[{number}]", f"window {window.name}: {why}")
    for path, written in _maps(spec):
        yield from _nonsense(path, written)


def _selectors(spec: QuotaSpec) -> Iterator[tuple[str, LabelSelector | None]]:
    yield "spec.scope.namespaceSelector", spec.scope.namespace_selector
    yield "spec.scope.objectSelector", spec.scope.object_selector
    for number, each in enumerate(spec.allocation):
        yield f"spec.allocation[{number}].namespaceSelector", each.namespace_selector


def _maps(spec: QuotaSpec) -> Iterator[tuple[str, limits.Written]]:
    yield "spec.hard", spec.hard
    for number, window in enumerate(spec.time_windows):
        yield f"spec.timeWindows[{number}].hard", window.hard
    for number, allocation in enumerate(spec.allocation):
        yield f"spec.allocation[{number}].limits", allocation.limits


def _nonsense(path: str, written: Mapping[str, str | int]) -> Iterator[Refusal]:
    for key, value in written.items():
        wrong = _wrong_length(value) if key == MAX_DURATION_KEY else _wrong_amount(key, value)
        if wrong:
            yield Refusal(f"{path}.{key}", f"{wrong}, not {value}")
        if key == RESERVED_PREFIX:
            yield Refusal(f"{path}.{key}", "must name a resource, such as reserved.cpu")


def _wrong_length(value: str | int) -> str:
    try:
        positive = limits.length(value).nanoseconds > 0
    except ValueError:
        positive = False
    told = "must be a duration such as 24h or whole seconds such as 86400, longer than zero"
    return "" if positive else told


def _wrong_amount(key: str, value: str | int) -> str:
    try:
        amount = quantity.parse(value)
    except quantity.InvalidQuantity:
        return "must be a quantity such as 20, 500m or 40Gi"
    if amount < quantity.ZERO:
        return "must not be less than zero"
    if key in _WHOLE and amount.nano % charges.ONE.nano:
        return "must be a whole number"
    return ""


def _second(quota: Quota, others: Iterable[Quota]) -> Iterator[Refusal]:
    if quota.spec.scope.type is not ScopeType.CLUSTER:
        return
    for other in others:
        same = other.metadata.name == quota.metadata.name
        if not same and other.spec.scope.type is ScopeType.CLUSTER:
            name = other.metadata.name
            told = f"must be another than Cluster: quota {name} is for the whole cluster already; change that one instead"
            yield Refusal("spec.scope.type", told)
            return


def _unknown(spec: QuotaSpec) -> Iterator[str]:
    for path, written in _maps(spec):
        for key in written:
            known = key in (*_WHOLE, MAX_DURATION_KEY) or key.startswith(RESERVED_PREFIX)
            if not known:
                yield (
                    f"{path}.{key} limits nothing:"
                    " use orders, tickets, reserved.<resource> or max-duration"
                )


def _over_allocated(spec: QuotaSpec) -> Iterator[str]:
    hard, total = limits.ordinary(spec).amounts, dict[str, quantity.Quantity]()
    for allocation in spec.allocation:
        total = resources.add(total, limits.read(allocation.limits).amounts)
    for key, amount in total.items():
        if key in hard and amount > hard[key]:
            yield (
                f"spec.allocation: {key} adds up to {amount}, but spec.hard allows {hard[key]}:"
                " not everybody can use his part at the same time"
            )
