"""What a client should be told about a spec that is accepted: mistakes that a server has to live with.

`pods` and the workloads call this when pods or templates are new. Not told are old kinds of volumes and old annotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubeloop.objects import quantity
from pocketkube.apiserver.fielderrors import quote
from pocketkube.apiserver.kinds import naming

Values = Mapping[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_NO_MATCH: Final = "a null labelSelector results in matching no pod"
_BYTES: Final = "memory", "ephemeral-storage"


def about_name(name: str, what: str) -> Iterator[str]:
    """A name that will be part of the names of hosts."""
    wrong = naming.dns_label(name)
    if wrong:
        stated = f"this is used in {what}, which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: {stated}: [{' '.join(wrong)}]"


def about(field: str, spec: Values) -> Iterator[str]:
    """All that is odd about a spec."""
    yield from _about_nodes(field, spec)
    for at, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{field}.topologySpreadConstraints[{at}]", one.get("topologyKey", "")
        if key in _OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if one.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_MATCH}"
    yield from _repeated(f"{field}.hostAliases", spec.get("hostAliases") or (), "ip")
    secrets = spec.get("imagePullSecrets") or ()
    yield from _repeated(f"{field}.imagePullSecrets", secrets, "name")
    for at, one in enumerate(secrets):
        if not one.get("name"):
            yield f'{field}.imagePullSecrets[{at}].name: invalid empty name ""'
    yield from _fractions(f"{field}.overhead", spec.get("overhead") or {})
    containers = list(_containers(field, spec))
    for where, container in containers:
        for kind in ("limits", "requests"):
            amounts = (container.get("resources") or {}).get(kind) or {}
            yield from _fractions(f"{where}.resources.{kind}", amounts)
        yield from _hidden(f"{where}.env", container.get("env") or ())
    yield from _about_ports(containers)
    patience = spec.get("terminationGracePeriodSeconds")
    if patience is not None and patience < 0:
        stated = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{field}.terminationGracePeriodSeconds: {stated}"
    yield from _about_neighbours(f"{field}.affinity", spec.get("affinity") or {})


def _containers(field: str, spec: Values) -> Iterator[tuple[str, Values]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for at, container in enumerate(spec.get(kind) or ()):
            yield f"{field}.{kind}[{at}]", container


def _about_nodes(field: str, spec: Values) -> Iterator[str]:
    for key in spec.get("nodeSelector") or {}:
        if key in _OLD_LABELS:
            yield f"{field}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{field}.affinity.nodeAffinity"
    required = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for at, term in enumerate(required):
        yield from _about_term(f"{where}.{_REQUIRED}.nodeSelectorTerms[{at}]", term)
    for at, one in enumerate(nodes.get(_PREFERRED) or ()):
        term = one.get("preference") or {}
        place = f"{where}.{_PREFERRED}[{at}].preference"
        yield from _about_term(place, term)
        for number, expression in enumerate(term.get("matchExpressions") or ()):
            for which, value in enumerate(expression.get("values") or ()):
                for stated in naming.label_value(value):
                    spot = f"{place}.matchExpressions[{number}].values[{which}]"
                    yield f"{spot}: {value} is invalid, {stated}"


def _about_term(field: str, term: Values) -> Iterator[str]:
    for at, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if key in _OLD_LABELS:
            yield f"{field}.matchExpressions[{at}].key: {key} is {_OLD_LABELS[key]}"


def _about_neighbours(field: str, affinity: Values) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        wanted = affinity.get(kind) or {}
        for at, term in enumerate(wanted.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{field}.{kind}.{_REQUIRED}[{at}].labelSelector: {_NO_MATCH}"
        for at, one in enumerate(wanted.get(_PREFERRED) or ()):
            if (one.get("podAffinityTerm") or {}).get("labelSelector") is None:
                where = f"{field}.{kind}.{_PREFERRED}[{at}].podAffinityTerm.labelSelector"
                yield f"{where}: {_NO_MATCH}"


def _repeated(field: str, items: Sequence[Values], member: str) -> Iterator[str]:
    seen: set[str] = set()
    for at, one in enumerate(items):
        value = one.get(member, "")
        if value in seen:
            yield f"{field}[{at}].{member}: duplicate {member} {quote(value)}"
        seen.add(value)


def _fractions(field: str, amounts: Mapping[str, str]) -> Iterator[str]:
    for name in _BYTES:
        if name in amounts and quantity.parse(amounts[name]).milli() % 1000:
            stated = f"fractional byte value {quote(amounts[name])} is invalid, must be an integer"
            yield f"{field}[{name}]: {stated}"


def _hidden(field: str, variables: Sequence[Values]) -> Iterator[str]:
    seen: set[str] = set()
    for at, one in enumerate(variables):
        name, value = one.get("name", ""), one.get("value", "")
        itself = f"$({name})"
        grows = itself in value and value != itself and one.get("valueFrom") is None
        if name in seen and not grows:
            stated = (
                f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            )
            yield f"{field}[{at}]: {stated}"
        seen.add(name)


def _about_ports(containers: Sequence[tuple[str, Values]]) -> Iterator[str]:
    numbers: dict[tuple[int, str], list[tuple[str, Values]]] = {}
    names: dict[str, str] = {}
    ports = [
        (f"{where}.ports[{at}]", port)
        for where, container in containers
        for at, port in enumerate(container.get("ports") or ())
    ]
    for where, port in ports:
        key = port.get("containerPort", 0), port.get("protocol", "")
        for other, taken in numbers.get(key, ()):
            stated = _clash(port, taken)
            if stated:
                yield f"{where}: {stated} port definition with {other}"
        numbers.setdefault(key, []).append((where, port))
    for where, port in ports:
        name = port.get("name") or ""
        if name in names:
            other = names[name]
            stated = f"duplicate port name {quote(name)} with {other}, services and probes that select ports by name will use {other}"
            yield f"{where}: {stated}"
        elif name:
            names[name] = where


def _clash(port: Values, other: Values) -> str:
    mine, theirs = port.get("hostPort", 0), other.get("hostPort", 0)
    here, there = port.get("hostIP", ""), other.get("hostIP", "")
    if mine == theirs and here == there:
        return "duplicate"
    if not mine or not theirs:
        return "overlapping"
    return "dangerously ambiguous" if mine == theirs and bool(here) != bool(there) else ""
