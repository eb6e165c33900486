"""How a workload replaces its pods: numbers and percentages of a rolling update."""

from collections.abc import Iterator, Mapping
from typing import Any

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import NOT_SUPPORTED, Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import handlers, internal

Values = Mapping[str, Any]


def check_deployment(field: str, strategy: Values) -> Iterator[Cause]:
    """The strategy of a Deployment."""
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            said = "may not be specified when strategy `type` is 'Recreate'"
            yield fielderrors.forbidden(f"{field}.rollingUpdate", said)
    elif kind == "RollingUpdate":
        where = f"{field}.rollingUpdate"
        missing, surplus = _shares(rolling)
        yield from check_share(f"{where}.maxUnavailable", missing)
        yield from check_share(f"{where}.maxSurge", surplus)
        if not _size(missing) and not _size(surplus):
            said = "may not be 0 when `maxSurge` is 0"
            yield fielderrors.invalid(f"{where}.maxUnavailable", missing, said)
        yield from check_whole(f"{where}.maxUnavailable", missing)
    else:
        stated = internal.text("DeploymentStrategy", strategy)
        yield _unknown(field, stated, "Recreate", "RollingUpdate")


def check_daemons(field: str, strategy: Values) -> Iterator[Cause]:
    """The strategy of a DaemonSet."""
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "RollingUpdate":
        where = f"{field}.rollingUpdate"
        missing, surplus = _shares(rolling)
        for check in (check_share, check_whole):
            yield from check(f"{where}.maxUnavailable", missing)
            yield from check(f"{where}.maxSurge", surplus)
        if _size(missing) and _size(surplus):
            said = "may not be set when maxUnavailable is non-zero"
            yield fielderrors.invalid(f"{where}.maxSurge", surplus, said)
        elif not _size(missing) and not _size(surplus):
            said = "cannot be 0 when maxSurge is 0"
            yield fielderrors.required(f"{where}.maxUnavailable", said)
    elif kind != "OnDelete":
        stated = internal.text("DaemonSetUpdateStrategy", strategy)
        yield _unknown(field, stated, "RollingUpdate", "OnDelete")


def _shares(rolling: Values | None) -> tuple[int | str, int | str]:
    given = rolling or {}
    return given.get("maxUnavailable", 0), given.get("maxSurge", 0)


def check_share(field: str, share: int | str) -> Iterator[Cause]:
    """A number of pods or a percentage of them."""
    if isinstance(share, str):
        yield from naming.named(field, share, naming.percent)
    else:
        yield from handlers.not_negative(field, share)


def check_whole(field: str, share: int | str) -> Iterator[Cause]:
    """No more than all."""
    if isinstance(share, str) and not naming.percent(share) and _size(share) > 100:
        yield fielderrors.invalid(field, share, "must not be greater than 100%")


def _size(share: int | str) -> int:
    if isinstance(share, int):
        return share
    digits = share if share.isdigit() else share.removesuffix("%")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else 0


def _unknown(field: str, stated: str, *known: str) -> Cause:
    allowed = ", ".join(f'"{kind}"' for kind in known)
    message = f"Unsupported value: {stated}: supported values: {allowed}"
    return Cause(field=field, reason=NOT_SUPPORTED, message=message)
