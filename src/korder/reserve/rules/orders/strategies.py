"""Which end of a ticket brings a new one, and when: strategy by refresh policy.

`accounting` asks; it calls nothing. The ends are a claim, an expiry, and the loss of a ticket that somebody deleted. Within the window
of a Scheduled order an expiry is the end of the window itself and brings nothing. A lost guardian is no end: its ticket heals.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from korder.api import duration
from korder.api.reserve import (
    DEFAULT_DURATION,
    Order,
    RefreshPolicy,
    Strategy,
    StrategyType,
    TicketSpec,
)


class End(StrEnum):
    """How a ticket stops being one that can be claimed."""

    CLAIM = "claim"
    EXPIRY = "expiry"
    LOSS = "loss"


class When(StrEnum):
    """When a ticket that has ended is replaced."""

    AT_ONCE = "at once"
    AT_THE_FIRING = "at the next firing"
    NEVER = "never"


_REPLACED: Mapping[tuple[StrategyType, RefreshPolicy], Mapping[End, When]] = {
    (StrategyType.ONE_TIME, RefreshPolicy.NEVER): {},
    (StrategyType.ONE_TIME, RefreshPolicy.ON_CLAIM): {End.CLAIM: When.AT_ONCE},
    (StrategyType.ONE_TIME, RefreshPolicy.ALWAYS): dict.fromkeys(End, When.AT_ONCE),
    (StrategyType.SCHEDULED, RefreshPolicy.NEVER): {},
    (StrategyType.SCHEDULED, RefreshPolicy.ON_CLAIM): {End.CLAIM: When.AT_ONCE},
    (StrategyType.SCHEDULED, RefreshPolicy.ALWAYS): {
        End.CLAIM: When.AT_ONCE,
        End.LOSS: When.AT_ONCE,
    },
    (StrategyType.RECURRING, RefreshPolicy.NEVER): {End.EXPIRY: When.AT_THE_FIRING},
    (StrategyType.RECURRING, RefreshPolicy.ON_CLAIM): {
        End.CLAIM: When.AT_THE_FIRING,
        End.EXPIRY: When.AT_THE_FIRING,
    },
    (StrategyType.RECURRING, RefreshPolicy.ALWAYS): dict.fromkeys(End, When.AT_THE_FIRING),
}


def of(order: Order) -> Strategy:
    """The strategy of an order; one that has none is OneTime."""
    spec = order.spec
    if spec.strategy is not None:
        return spec.strategy
    policy = spec.refresh_policy or RefreshPolicy.ON_CLAIM
    return Strategy(type=StrategyType.ONE_TIME, refresh_policy=policy)


def replaced(strategy: Strategy, end: End) -> When:
    """When a ticket that has ended so is replaced."""
    return _REPLACED[strategy.type, strategy.refresh_policy].get(end, When.NEVER)


def issues_once(strategy: Strategy) -> bool:
    """Says whether only more replicas than ever before bring tickets (rule 18)."""
    return strategy.type is StrategyType.ONE_TIME and strategy.refresh_policy is RefreshPolicy.NEVER


def keeps(strategy: Strategy) -> bool:
    """Says whether there are always to be as many tickets as replicas, however others have ended."""
    return (
        strategy.type is StrategyType.ONE_TIME and strategy.refresh_policy is RefreshPolicy.ALWAYS
    )


def renews(strategy: Strategy) -> bool:
    """Says whether a firing renews the tickets that stand."""
    return (
        strategy.type is StrategyType.RECURRING and strategy.refresh_policy is RefreshPolicy.ALWAYS
    )


def lead_time(strategy: Strategy) -> timedelta:
    """How long before a firing its tickets are made."""
    return duration.parse(strategy.lead_time or "0s").timedelta


def hold(spec: TicketSpec) -> timedelta:
    """How long a ticket made from this is held."""
    text = spec.window.duration if spec.window is not None else spec.duration
    return duration.parse(text or DEFAULT_DURATION).timedelta
