"""Whether the spec of a pod, or of a template of pods, can be accepted.

`pods` and the workloads call this; each subject has a module of its own beside this one. The order of the causes is that
of a real server.
"""

from collections.abc import Iterator, Mapping, Sequence
import ipaddress
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import (
    containers,
    defaults,
    internal,
    placement,
    resources,
    security,
    systems,
    volumes,
)
from pocketkube.apiserver.kinds.podspec.containers import Surroundings

Values = Mapping[str, Any]

MIRROR: Final = "kubernetes.io/config.mirror"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_MOST: Final = 2**31 - 1
_POLICIES: Final = "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"
_NAMES: Final = (
    ("serviceAccountName", naming.dns_subdomain),
    ("nodeName", naming.dns_subdomain),
)


def check(field: str, spec: Values, *, pod: str = "", of_pod: bool = False) -> Iterator[Cause]:
    """What is wrong with a spec.

    Args:
        field: Where it stands.
        spec: The spec, completed by defaults.
        pod: The pod's name, if it is known already.
        of_pod: Whether this is a pod and not a template.
    """
    wrong, known = volumes.check(f"{field}.volumes", spec.get("volumes") or (), pod, of_pod=of_pod)
    yield from wrong
    yield from _check_claims(f"{field}.resourceClaims", spec.get("resourceClaims") or ())
    yield from _check_containers(field, spec, known)
    yield from resources.check_pod(f"{field}.resources", spec)
    yield from _check_host_network(f"{field}.containers", spec, of_pod=of_pod)
    yield from containers.one_of(
        f"{field}.restartPolicy", spec.get("restartPolicy", ""), ("Always", "OnFailure", "Never")
    )
    yield from containers.one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy", ""), _POLICIES)
    yield from naming.labels(f"{field}.nodeSelector", spec.get("nodeSelector"))
    yield from security.check_pod(f"{field}.securityContext", spec)
    yield from placement.check_affinity(f"{field}.affinity", spec.get("affinity"))
    yield from _check_dns(f"{field}.dnsConfig", spec.get("dnsConfig"), spec.get("dnsPolicy"))
    for at, gate in enumerate(spec.get("readinessGates") or ()):
        where = f"{field}.readinessGates[{at}].conditionType"
        yield from naming.named(where, gate.get("conditionType", ""), naming.label_key)
    yield from placement.check_gates(f"{field}.schedulingGates", spec.get("schedulingGates") or ())
    yield from placement.check_spreading(
        f"{field}.topologySpreadConstraints", spec.get("topologySpreadConstraints") or ()
    )
    yield from security.check_host_users(field, spec)
    yield from _check_host_name(field, spec)
    yield from _check_rest(field, spec)


def check_annotations(field: str, annotations: Mapping[str, str], spec: Values) -> Iterator[Cause]:
    """Annotations that mean something for pods."""
    if MIRROR in annotations and not spec.get("nodeName"):
        said = "must set spec.nodeName if mirror pod annotation is set"
        yield fielderrors.invalid(f"{field}[{MIRROR}]", annotations[MIRROR], said)
    cost = annotations.get(_COST)
    if cost is not None and not _is_cost(cost):
        yield fielderrors.invalid(f"{field}[{_COST}]", cost, "must be a 32bit integer")


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (len(digits) > 1 and digits[0] == "0"):
        return False
    return len(digits) <= 10 and -_MOST - 1 <= int(text) <= _MOST and text != "-0"


def _check_containers(field: str, spec: Values, known: Mapping[str, Values]) -> Iterator[Cause]:
    around = Surroundings(
        volumes=known,
        claims=[one["name"] for one in spec.get("resourceClaims") or () if one.get("name")],
        grace=spec.get("terminationGracePeriodSeconds"),
        restart=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
        os=(spec.get("os") or {}).get("name", ""),
    )
    ordinary = spec.get("containers") or ()
    first = spec.get("initContainers") or ()
    yield from containers.check(f"{field}.containers", ordinary, around)
    yield from containers.check_first(f"{field}.initContainers", first, ordinary, around)
    yield from containers.check_debugging(
        f"{field}.ephemeralContainers",
        spec.get("ephemeralContainers") or (),
        (*ordinary, *first),
        around,
    )


def _check_claims(field: str, claims: Sequence[Values]) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, claim in enumerate(claims):
        where = f"{field}[{at}]"
        name = claim.get("name", "")
        if not name:
            yield fielderrors.required(f"{where}.name")
        elif name in seen:
            yield fielderrors.duplicate(f"{where}.name", name)
        else:
            yield from naming.named(f"{where}.name", name, naming.dns_label)
            seen.add(name)
        sources = "resourceClaimName", "resourceClaimTemplateName"
        given = [member for member in sources if claim.get(member) is not None]
        if len(given) != 1:
            said = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if given:
                said = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield fielderrors.written(where, internal.text("PodResourceClaim", claim), said)
        for member in given:
            yield from naming.named(f"{where}.{member}", claim[member], naming.dns_subdomain)


def _check_host_network(field: str, spec: Values, *, of_pod: bool) -> Iterator[Cause]:
    if not spec.get("hostNetwork"):
        return
    for at, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            on_host = port.get("hostPort", 0)
            if (of_pod or on_host) and on_host != port.get("containerPort", 0):
                said = "must match `containerPort` when `hostNetwork` is true"
                yield fielderrors.invalid(f"{field}[{at}].ports[{number}].hostPort", on_host, said)


def _check_dns(field: str, config: Values | None, policy: str | None) -> Iterator[Cause]:
    servers = (config or {}).get("nameservers") or ()
    if policy == "None" and config is None:
        yield fielderrors.required(field, "must provide `dnsConfig` when `dnsPolicy` is None")
    elif policy == "None" and not servers:
        said = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield fielderrors.required(f"{field}.nameservers", said)
    elif config is not None:
        yield from _check_servers(f"{field}.nameservers", servers)
        yield from _check_searches(f"{field}.searches", config.get("searches") or ())
        for at, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                yield fielderrors.required(f"{field}.options[{at}]", "must not be empty")


def _check_servers(field: str, servers: Sequence[str]) -> Iterator[Cause]:
    if len(servers) > 3:
        yield fielderrors.invalid(field, list(servers), "must not have more than 3 nameservers")
    for at, server in enumerate(servers):
        yield from check_address(f"{field}[{at}]", server)


def _check_searches(field: str, searches: Sequence[str]) -> Iterator[Cause]:
    if len(searches) > 32:
        said = "must not have more than 32 search paths"
        yield fielderrors.invalid(field, list(searches), said)
    if len(" ".join(searches)) > 2048:
        said = "must not have more than 2048 characters (including spaces) in the search list"
        yield fielderrors.invalid(field, list(searches), said)
    for at, search in enumerate(searches):
        if search != ".":
            yield from naming.named(f"{field}[{at}]", search.removesuffix("."), naming.dns_search)


def check_address(field: str, address: str) -> Iterator[Cause]:
    """An address of the network; zeros in front are an old habit a server still allows."""
    parts = address.split(".")
    plain = (
        ".".join(part.lstrip("0") or part[-1:] for part in parts) if len(parts) == 4 else address
    )
    try:
        ipaddress.ip_address(plain)
    except ValueError:
        said = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield fielderrors.invalid(field, address, said)


def _check_host_name(field: str, spec: Values) -> Iterator[Cause]:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    where = f"{field}.hostnameOverride"
    for member in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(member):
            yield fielderrors.forbidden(where, f"may not be specified when {member} is true")
    if len(name.encode()) > 64:
        yield fielderrors.too_long(where, 64)
    yield from naming.named(where, name, naming.dns_subdomain)


def _check_rest(field: str, spec: Values) -> Iterator[Cause]:
    for member, rule in _NAMES:
        if spec.get(member):
            yield from naming.named(f"{field}.{member}", spec[member], rule)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST:
        said = naming.between(1, _MOST)
        yield fielderrors.invalid(f"{field}.activeDeadlineSeconds", deadline, said)
    for member in ("hostname", "subdomain"):
        if spec.get(member):
            yield from naming.named(f"{field}.{member}", spec[member], naming.dns_label)
    yield from placement.check_tolerations(f"{field}.tolerations", spec.get("tolerations") or ())
    for at, alias in enumerate(spec.get("hostAliases") or ()):
        yield from check_address(f"{field}.hostAliases[{at}].ip", alias.get("ip", ""))
        for number, name in enumerate(alias.get("hostnames") or ()):
            where = f"{field}.hostAliases[{at}].hostnames[{number}]"
            yield from naming.named(where, name, naming.dns_subdomain)
    if spec.get("priorityClassName"):
        where = f"{field}.priorityClassName"
        yield from naming.named(where, spec["priorityClassName"], naming.dns_subdomain)
    if spec.get("runtimeClassName") is not None:
        where = f"{field}.runtimeClassName"
        yield from naming.named(where, spec["runtimeClassName"], naming.dns_subdomain)
    yield from _check_last(field, spec)


def _check_last(field: str, spec: Values) -> Iterator[Cause]:
    if spec.get("preemptionPolicy") is not None:
        known = "PreemptLowerPriority", "Never"
        yield from containers.one_of(f"{field}.preemptionPolicy", spec["preemptionPolicy"], known)
    if spec.get("overhead"):
        yield from resources.check(f"{field}.overhead", {"limits": spec["overhead"]})
    yield from systems.check(field, spec)
    yield from _check_files(field, spec)


def _check_files(field: str, spec: Values) -> Iterator[Cause]:
    """Variables that are read from files need a volume to which a container can write."""
    volumes_of_pod = {one.get("name", ""): one for one in spec.get("volumes") or ()}
    for kind in defaults.CONTAINERS:
        for at, container in enumerate(spec.get(kind) or ()):
            for number, variable in enumerate(container.get("env") or ()):
                ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if ref is None:
                    continue
                name = ref.get("volumeName", "")
                where = f"{field}.{kind}[{at}].env[{number}].valueFrom.fileKeyRef.volumeName"
                if name not in volumes_of_pod:
                    yield fielderrors.not_found(where, name)
                elif volumes_of_pod[name].get("emptyDir") is None:
                    said = "referenced volume must be of type emptyDir"
                    yield fielderrors.invalid(where, name, said)
