"""Probes and hooks: how a container is asked whether it is well, and told that it begins or ends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming

Values = Mapping[str, Any]

_OF_PROBES: Final = "exec", "httpGet", "tcpSocket", "grpc"
_OF_HOOKS: Final = "exec", "httpGet", "tcpSocket", "sleep"
_COUNTS: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip


def check_probes(field: str, container: Values, grace: int | None) -> Iterator[Cause]:
    """All probes of a container."""
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(kind)
        if probe is not None:
            yield from _check_probe(f"{field}.{kind}", kind, probe, grace)


def check_hooks(field: str, hooks: Values | None, grace: int | None) -> Iterator[Cause]:
    """What runs when a container begins and before it ends."""
    for kind in ("postStart", "preStop"):
        handler = (hooks or {}).get(kind)
        if handler is not None:
            yield from _check_handler(f"{field}.{kind}", handler, _OF_HOOKS, grace)


def _check_probe(field: str, kind: str, probe: Values, grace: int | None) -> Iterator[Cause]:
    yield from _check_handler(field, probe, _OF_PROBES, grace)
    for member in _COUNTS:
        yield from not_negative(f"{field}.{member}", probe.get(member))
    patience = probe.get("terminationGracePeriodSeconds")
    if patience is not None and patience <= 0:
        yield fielderrors.invalid(
            f"{field}.terminationGracePeriodSeconds", patience, "must be greater than 0"
        )
    if kind == "readinessProbe":
        if patience is not None:
            yield fielderrors.invalid(
                f"{field}.terminationGracePeriodSeconds",
                patience,
                "must not be set for readinessProbes",
            )
    elif probe.get("successThreshold", 0) != 1:
        yield fielderrors.invalid(
            f"{field}.successThreshold", probe.get("successThreshold", 0), "must be 1"
        )


def not_negative(field: str, number: int | None) -> Iterator[Cause]:
    """A count, wherever it stands."""
    if number is not None and number < 0:
        yield fielderrors.invalid(field, number, "must be greater than or equal to 0")


def _check_handler(
    field: str, handler: Values, kinds: Sequence[str], grace: int | None
) -> Iterator[Cause]:
    given = [kind for kind in kinds if handler.get(kind) is not None]
    for number, kind in enumerate(given):
        if number:
            said = "may not specify more than 1 handler type"
            yield fielderrors.forbidden(f"{field}.{kind}", said)
        elif kind == "sleep":
            yield from _check_sleep(f"{field}.sleep", handler[kind], grace)
        else:
            yield from _ACTIONS[kind](f"{field}.{kind}", handler[kind])
    if not given:
        yield fielderrors.required(field, "must specify a handler type")


def _check_sleep(field: str, action: Values, grace: int | None) -> Iterator[Cause]:
    seconds = action.get("seconds", 0)
    if grace is not None and not 0 <= seconds <= grace:
        said = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield fielderrors.invalid(field, seconds, said)


def _check_exec(field: str, action: Values) -> Iterator[Cause]:
    if not action.get("command"):
        yield fielderrors.required(f"{field}.command")


def _check_http(field: str, action: Values) -> Iterator[Cause]:
    if not action.get("path"):
        yield fielderrors.required(f"{field}.path")
    yield from check_port(f"{field}.port", action.get("port", 0))
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        yield fielderrors.not_supported(
            f"{field}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")
        )
    for header in action.get("httpHeaders") or ():
        yield from naming.named(f"{field}.httpHeaders", header.get("name", ""), naming.header)


def check_port(field: str, port: int | str) -> Iterator[Cause]:
    """A port by number or name."""
    if isinstance(port, str):
        yield from naming.named(field, port, naming.port_name)
    else:
        for said in naming.port_number(port):
            yield fielderrors.invalid(field, port, said)


_ACTIONS: Final[dict[str, Callable[[str, Values], Iterator[Cause]]]] = {
    "exec": _check_exec,
    "httpGet": _check_http,
    "tcpSocket": lambda field, action: check_port(f"{field}.port", action.get("port", 0)),
    "grpc": lambda field, action: check_port(f"{field}.port", action.get("port", 0)),
}
