"""The status of a quota: what is used and allowed, whether it is exceeded, whether its spec is valid, and which entries go."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from korder.api.quota import (
    MAX_DURATION_KEY,
    ORDERS_KEY,
    QUOTAS,
    RESERVED_PREFIX,
    TICKETS_KEY,
    AllocationStatus,
    Enforcement,
    PendingTicket,
    Quota,
    QuotaCondition,
    QuotaReason,
    QuotaSpec,
    QuotaStatus,
    ScopeType,
)
from korder.reserve.quotas import ledger, limits, limits as quota_limits, verdict
from korder.reserve.quotas.limits import InForce
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.quotas.verdict import Use
from korder.reserve.validation import Judgement, Refusal
from kubeloop.objects import codec, conditions, quantity, resources, selector
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Emit, EventType, Patch
from kubeloop.objects.resources import Resources
from kubeloop.objects.selector import LabelSelector

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
        if why := quota_limits.check(window):
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
    stated = "must be a duration such as 24h or whole seconds such as 86400, longer than zero"
    return "" if positive else stated


def _wrong_amount(key: str, value: str | int) -> str:
    try:
        amount = quantity.parse(value)
    except quantity.InvalidQuantity:
        return "must be a quantity such as 20, 500m or 40Gi"
    if amount < quantity.ZERO:
        return "must not be less than zero"
    if key in _WHOLE and amount.nano % verdict.ONE.nano:
        return "must be a whole number"
    return ""


def _second(quota: Quota, others: Iterable[Quota]) -> Iterator[Refusal]:
    if quota.spec.scope.type is not ScopeType.CLUSTER:
        return
    for other in others:
        same = other.metadata.name == quota.metadata.name
        if not same and other.spec.scope.type is ScopeType.CLUSTER:
            name = other.metadata.name
            stated = f"must be another than Cluster: quota {name} is for the whole cluster already; change that one instead"
            yield Refusal("spec.scope.type", stated)
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


_ENFORCED = {
    Enforcement.REFUSE: (QuotaReason.REFUSES, "what goes beyond the limits is refused"),
    Enforcement.WAIT: (QuotaReason.MAKES_WAIT, "what goes beyond the limits waits for room"),
}


def status_of(
    quota: Quota,
    quota_cache: QuotaCache,
    entries: Sequence[PendingTicket],
    now: datetime,
    shown: int,
) -> QuotaStatus:
    """The status of a quota with these entries in its ledger, by one to whom tickets up to a version are shown."""
    force = quota_cache.limits(quota, now)
    use = ledger.use_of(quota, quota_cache, entries)
    before = quota.status
    status = msgspec.structs.replace(
        before,
        observed_generation=quota.metadata.generation,
        hard=force.hard.render(),
        used=_shown(use.total, force.hard.amounts),
        pending=tuple(entries),
        tickets_version=max(
            before.tickets_version, shown, ledger.version_after(quota, quota_cache, entries)
        ),
        allocation=tuple(_allocations(quota, force, use)),
        active_time_window=",".join(force.windows),
        next_transition_time=quota_cache.next_change(quota, now),
    )
    return _judged(quota, status, list(exceeded(force, use, quota)), now)


def exceeded(force: InForce, use: Use, quota: Quota) -> Iterator[str]:
    """What is used beyond a limit, and by how much."""
    yield from _beyond("", use.total, force.hard.amounts)
    for number, allocation in enumerate(quota.spec.allocation):
        if not allocation.borrow:
            allowed = force.allocations[number].amounts
            yield from _beyond(f"allocation {allocation.key}: ", use.of(number), allowed)


def _beyond(who: str, used: Resources, hard: Resources) -> Iterator[str]:
    for key, allowed in hard.items():
        there = used.get(key, quantity.ZERO)
        if there > allowed:
            yield f"{who}{key} {there} of {allowed}, {there - allowed} too much"


def _shown(used: Resources, hard: Resources) -> dict[str, str]:
    """Use of all that is limited, be it nothing, and of whatever else is used."""
    shown = {**dict.fromkeys(hard, quantity.ZERO), **used}
    stated = {k: a for k, a in shown.items() if k in hard or not a.is_zero}
    return resources.render(dict(sorted(stated.items())))


def _allocations(quota: Quota, force: InForce, use: Use) -> Iterator[AllocationStatus]:
    for number, allocation in enumerate(quota.spec.allocation):
        allowed = force.allocations[number]
        shown = _shown(use.of(number), allowed.amounts)
        yield AllocationStatus(name=allocation.key, hard=allowed.render(), used=shown)


def _judged(quota: Quota, status: QuotaStatus, beyond: Sequence[str], now: datetime) -> QuotaStatus:
    wrong = [f"{each.field}: {each.message}" for each in wrongs(quota.spec)]
    verdicts = (
        (
            QuotaCondition.READY,
            not wrong,
            QuotaReason.INVALID if wrong else QuotaReason.COUNTED,
            "; ".join(wrong),
        ),
        (QuotaCondition.ENFORCED, True, *_ENFORCED[quota.spec.enforcement]),
        (
            QuotaCondition.EXCEEDED,
            bool(beyond),
            QuotaReason.EXCEEDED if beyond else QuotaReason.WITHIN_LIMITS,
            "; ".join(beyond),
        ),
    )
    said = status.conditions
    for name, holds, reason, message in verdicts:
        condition = Condition(
            type=name.value,
            status=Status.TRUE if holds else Status.FALSE,
            observed_generation=quota.metadata.generation,
            reason=reason.value,
            message=message,
        )
        said = conditions.set_condition(said, condition, now)
    return msgspec.structs.replace(status, conditions=said)


def report(quota: Quota, status: QuotaStatus) -> tuple[Patch, ...]:
    """The step that writes a status, if it says something new, provided that nobody has written since."""
    if status == quota.status:
        return ()
    said = msgspec.to_builtins(status)
    body: dict[str, JSON] = {wire: said.get(wire) for _, wire in codec.names(status)}
    for name, before in (("used", quota.status.used), ("hard", quota.status.hard)):
        body[name] = _replacing(before, said.get(name) or {})
    meta = quota.metadata
    return (
        Patch(
            QUOTAS,
            key_of(quota),
            {"status": body},
            subresource="status",
            uid=meta.uid,
            resource_version=meta.resource_version,
        ),
    )


def _replacing(before: Iterable[str], after: Mapping[str, JSON]) -> dict[str, JSON]:
    """A map in the place of another: a merge keeps what is not taken away by name."""
    return {**dict.fromkeys(before, None), **after}


def news(quota: Quota, status: QuotaStatus, written: Sequence[Patch]) -> list[Emit]:
    """Tells of limits that other windows have changed, and of use that has come to be too much or is no longer, once it is written."""
    (step,) = written or (None,)
    return [replace(emit, after=step) for emit in _reported(quota, status)]


def _reported(quota: Quota, status: QuotaStatus) -> list[Emit]:
    stated = []
    before = quota.status
    if before.hard and before.active_time_window != status.active_time_window:
        now = f"window {status.active_time_window}" if status.active_time_window else "no window"
        listed = ", ".join(f"{key} {limit}" for key, limit in status.hard.items())
        stated.append(_emit(quota, QuotaReason.LIMITS_CHANGED, f"{now} is open: {listed}"))
    exceeds = conditions.find(status.conditions, QuotaCondition.EXCEEDED)
    was = conditions.is_true(before.conditions, QuotaCondition.EXCEEDED)
    if exceeds is not None and conditions.is_true((exceeds,), QuotaCondition.EXCEEDED) is not was:
        if was:
            stated.append(_emit(quota, QuotaReason.WITHIN_LIMITS, "no limit is exceeded any more"))
        else:
            stated.append(_emit(quota, QuotaReason.EXCEEDED, exceeds.message, EventType.WARNING))
    return stated


def _emit(quota: Quota, reason: QuotaReason, note: str, kind: EventType = EventType.NORMAL) -> Emit:
    return Emit(QUOTAS, quota, reason.value, note, kind)
