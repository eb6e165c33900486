"""The containers of a pod: ordinary ones, those that run before them, and those added for debugging."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import environment, handlers, mounts, resources, security

Values = Mapping[str, Any]

_PROTOCOLS: Final = "SCTP", "TCP", "UDP"
_PULLS: Final = "Always", "IfNotPresent", "Never"
_MESSAGES: Final = "File", "FallbackToLogsOnError"
_RESTARTS: Final = "Always", "Never", "OnFailure"
_ACTIONS: Final = "Restart", "RestartAllContainers"
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_FOR_DEBUGGING: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
    "resizePolicy", "restartPolicy", "restartPolicyRules",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks of a container must know of its pod."""

    volumes: Mapping[str, Values]
    claims: Sequence[str]
    grace: int | None
    restart: str
    host_users: bool
    os: str


def check(field: str, containers: Sequence[Values], around: Surroundings) -> Iterator[Cause]:
    """The ordinary containers."""
    if not containers:
        yield fielderrors.required(field)
        return
    names: set[str] = set()
    for at, one in enumerate(containers):
        where = f"{field}[{at}]"
        name = one.get("name", "")
        yield from _check_common(where, one, around)
        if name in names:
            yield fielderrors.duplicate(f"{where}.name", name)
        names.add(name)
        yield from _check_living(where, one, around)
        yield from _check_restarts(where, one)
    yield from check_host_ports(field, containers)


def check_first(
    field: str, containers: Sequence[Values], others: Sequence[Values], around: Surroundings
) -> Iterator[Cause]:
    """The containers that run before the ordinary ones, or beside them from the start."""
    names = {one.get("name", "") for one in others}
    for at, one in enumerate(containers):
        where = f"{field}[{at}]"
        name = one.get("name", "")
        yield from _check_common(where, one, around)
        yield from _check_restarts(where, one)
        if name in names:
            yield fielderrors.duplicate(f"{where}.name", name)
        elif name:
            names.add(name)
        yield from check_host_ports(field, [one])
        if one.get("restartPolicy") == "Always":
            yield from _check_living(where, one, around)
            continue
        for member in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if one.get(member) is not None:
                yield fielderrors.forbidden(f"{where}.{member}", _NOT_FOR_INIT)
        for number, policy in enumerate(one.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                yield fielderrors.invalid(
                    f"{where}.resizePolicy[{number}].restartPolicy",
                    "RestartContainer",
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )


def check_debugging(
    field: str, containers: Sequence[Values], others: Sequence[Values], around: Surroundings
) -> Iterator[Cause]:
    """The containers that were added to a running pod."""
    targets = {one.get("name", "") for one in others}
    names = set(targets)
    for at, one in enumerate(containers):
        where = f"{field}[{at}]"
        name = one.get("name", "")
        yield from _check_common(where, one, around)
        yield from check_image(where, one)
        if name in names:
            yield fielderrors.duplicate(f"{where}.name", name)
        names.add(name)
        target = one.get("targetContainerName") or ""
        if target and target not in targets:
            yield fielderrors.not_found(f"{where}.targetContainerName", target)
        for member in _NOT_FOR_DEBUGGING:
            if one.get(member):
                said = "cannot be set for an Ephemeral Container"
                yield fielderrors.forbidden(f"{where}.{member}", said)
        for number, mount in enumerate(one.get("volumeMounts") or ()):
            for member in ("subPath", "subPathExpr"):
                if mount.get(member):
                    said = "cannot be set for an Ephemeral Container"
                    yield fielderrors.forbidden(f"{where}.volumeMounts[{number}].{member}", said)


def check_image(field: str, container: Values) -> Iterator[Cause]:
    """The image of a container in a pod; templates are not that strict."""
    image = container.get("image", "")
    if image != image.strip():
        said = "must not have leading or trailing whitespace"
        yield fielderrors.invalid(f"{field}.image", image, said)


def check_host_ports(field: str, containers: Sequence[Values]) -> Iterator[Cause]:
    """No two containers may take the same port of their node."""
    taken: set[str] = set()
    for at, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if text in taken:
                    where = f"{field}[{at}].ports[{number}].hostPort"
                    yield fielderrors.duplicate(where, text)
                taken.add(text)


def _check_common(field: str, one: Values, around: Surroundings) -> Iterator[Cause]:
    if one.get("name"):
        yield from naming.named(f"{field}.name", one["name"], naming.dns_label)
    else:
        yield fielderrors.required(f"{field}.name")
    if not one.get("image"):
        yield fielderrors.required(f"{field}.image")
    policy = one.get("terminationMessagePolicy", "")
    yield from one_of(f"{field}.terminationMessagePolicy", policy, _MESSAGES)
    yield from _check_ports(f"{field}.ports", one.get("ports") or ())
    yield from environment.check(f"{field}.env", one.get("env") or ())
    yield from environment.check_sets(f"{field}.envFrom", one.get("envFrom") or ())
    yield from mounts.check(field, one, around.volumes)
    yield from one_of(f"{field}.imagePullPolicy", one.get("imagePullPolicy", ""), _PULLS)
    yield from resources.check(f"{field}.resources", one.get("resources"), around.claims)
    yield from _check_resizing(
        f"{field}.resizePolicy", one.get("resizePolicy") or (), around.restart
    )
    yield from security.check(
        f"{field}.securityContext", one.get("securityContext"), host_users=around.host_users
    )


def one_of(field: str, value: str, allowed: Sequence[str]) -> Iterator[Cause]:
    """A word that must be one of a few."""
    if not value:
        yield fielderrors.required(field)
    elif value not in allowed:
        yield fielderrors.not_supported(field, value, allowed)


def _check_living(field: str, one: Values, around: Surroundings) -> Iterator[Cause]:
    """What only a container that keeps running can have."""
    yield from handlers.check_hooks(f"{field}.lifecycle", one.get("lifecycle"), around.grace)
    yield from handlers.check_probes(field, one, around.grace)


def _check_ports(field: str, ports: Sequence[Values]) -> Iterator[Cause]:
    names: set[str] = set()
    for at, port in enumerate(ports):
        where = f"{field}[{at}]"
        name = port.get("name") or ""
        if name in names:
            yield fielderrors.duplicate(f"{where}.name", name)
        elif name:
            wrong = list(naming.named(f"{where}.name", name, naming.port_name))
            yield from wrong
            if not wrong:
                names.add(name)
        number = port.get("containerPort", 0)
        if number:
            yield from handlers.check_port(f"{where}.containerPort", number)
        else:
            yield fielderrors.required(f"{where}.containerPort")
        if port.get("hostPort"):
            yield from handlers.check_port(f"{where}.hostPort", port["hostPort"])
        yield from one_of(f"{where}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _check_restarts(field: str, one: Values) -> Iterator[Cause]:
    """Whether and when the container begins again, apart from its pod."""
    policy, rules = one.get("restartPolicy"), one.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            said = "must specify restartPolicy when restart rules are used"
            yield fielderrors.required(f"{field}.restartPolicy", said)
    elif policy not in _RESTARTS:
        yield fielderrors.not_supported(f"{field}.restartPolicy", policy, _RESTARTS)
    where = f"{field}.restartPolicyRules"
    if len(rules) > 20:
        yield fielderrors.too_many(where, len(rules), 20)
    for at, rule in enumerate(rules):
        if rule.get("action") not in _ACTIONS:
            yield fielderrors.not_supported(
                f"{where}[{at}].action", rule.get("action", ""), _ACTIONS
            )
        codes = rule.get("exitCodes")
        if codes is None:
            yield fielderrors.required(f"{where}[{at}].exitCodes", "must be specified")
            continue
        if codes.get("operator") not in ("In", "NotIn"):
            yield fielderrors.not_supported(
                f"{where}[{at}].exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")
            )
        if len(codes.get("values") or ()) > 255:
            yield fielderrors.too_many(f"{where}[{at}].exitCodes.values", len(codes["values"]), 255)


def _check_resizing(field: str, policies: Sequence[Values], restart: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, policy in enumerate(policies):
        name, how = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield fielderrors.duplicate(f"{field}[{at}]", name)
        seen.add(name)
        yield from one_of(field, name, ("cpu", "memory"))
        yield from one_of(field, how, ("NotRequired", "RestartContainer"))
        if restart == "Never" and how != "NotRequired":
            said = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield fielderrors.invalid(field, how, said)
