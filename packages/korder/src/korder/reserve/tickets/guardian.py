"""The guardian of a ticket: a pod that does nothing but take the room.

`plan` makes guardians with it, and hand-overs the remainder guardians of shared tickets. A guardian must never be a way around
the namespace's own rights, so it fits the `restricted` pod security level and takes no `system-*` priority class (rules 21, 22). To a node
it is bound by affinity on the node's name, in every term, and never by `spec.nodeName`: only the scheduler checks that it fits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
import hashlib
from itertools import count
from typing import cast

import msgspec

from korder.api.reserve import (
    AVOIDED_ANNOTATION,
    COMPONENT_LABEL,
    GUARDIAN_COMPONENT,
    GUARDIAN_GATE,
    GUARDIAN_HASH_ANNOTATION,
    GUARDIAN_LABEL,
    GUARDIAN_NAME_PREFIX,
    GUARDIAN_PRIORITY_CLASS,
    GUARDIAN_ROLE,
    HANDOVER_TAINT,
    NODE_LABEL,
    ORDER_LABEL,
    ORDER_UID_LABEL,
    ROLE_LABEL,
    TICKET_LABEL,
    TICKET_UID_LABEL,
    TICKETS,
    Ticket,
)
from korder.reserve import names as object_names
from korder.reserve.tickets import state
from kubeloop.objects import codec, core, node_room, quantity, resources
from kubeloop.objects.core import Pod, Toleration
from kubeloop.objects.meta import JSON, owner_reference
from kubeloop.objects.node_room import Demand
from kubeloop.objects.quantity import Quantity

GRACE_SECONDS = 1
_NOBODY = 65535
"""The user that pause images run as."""
_ALONE: Mapping[str, str] = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "sidecar.istio.io/inject": "false",
    "linkerd.io/inject": "disabled",
    "kuma.io/sidecar-injection": "disabled",
    "consul.hashicorp.com/connect-inject": "false",
    "vault.hashicorp.com/agent-inject": "false",
    "dapr.io/enabled": "false",
}
"""Keeps the autoscaler's hands and everybody's sidecars off."""
_CLUSTER_TAINTS = (
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
)
"""Taints that Kubernetes itself puts on nodes."""
_INHERITED = (ORDER_LABEL, ORDER_UID_LABEL, NODE_LABEL)


DEFAULT_IMAGE = "registry.k8s.io/pause:3.10"
"""What guardians run unless the manager's flags say otherwise."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the manager's flags say about guardians."""

    image: str = DEFAULT_IMAGE
    pull_secrets: tuple[str, ...] = ()
    allow_system_classes: bool = False
    nominate: bool = False
    """Whether a guardian that is to take room in use asks the scheduler to keep it free."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a guardian goes: to a node, if one is named, and only when its gate is taken off, if it has one; otherwise not to those it avoids.

    Attributes:
        taints: The keys of all taints in the cluster, for a template that tolerates every taint.
    """

    node: str = ""
    gated: bool = False
    avoided: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()


ANYWHERE = Place()


def forbidden(ticket: Ticket, options: Options) -> str:
    """Why the ticket may have no guardian at all; empty if it may."""
    name = ticket.spec.priority_class_name
    if options.allow_system_classes or not name.startswith("system-"):
        return ""
    return (
        f'spec.priorityClassName must not be "{name}": classes that begin with system- are for the cluster itself;'
        " allowed is any other class, or none"
    )


def names(ticket: Ticket) -> Iterator[str]:
    """The names that guardians of this ticket may have, the usual one first; a later one is for when earlier ones are taken."""
    usual = object_names.legal_name(
        f"{GUARDIAN_NAME_PREFIX}{ticket.metadata.name}", object_names.LONGEST_NAME
    )
    yield usual
    for number in count(2):
        yield object_names.legal_name(f"{usual}-{number}", object_names.LONGEST_NAME)


def body(
    ticket: Ticket,
    name: str,
    options: Options,
    amounts: Mapping[str, Quantity],
    place: Place = ANYWHERE,
) -> dict[str, JSON]:
    """The guardian that holds these amounts of the ticket's room."""
    return {
        "metadata": {
            "name": name,
            "namespace": ticket.metadata.namespace,
            "labels": cast("JSON", _labels(ticket)),
            "annotations": {
                **_ALONE,
                GUARDIAN_HASH_ANNOTATION: fingerprint(ticket, amounts, place.node),
                **({AVOIDED_ANNOTATION: ",".join(place.avoided)} if place.avoided else {}),
            },
            "ownerReferences": [codec.plain(owner_reference(TICKETS, ticket))],
        },
        "spec": {
            **_scheduling(ticket, place),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "imagePullSecrets": [{"name": secret} for secret in options.pull_secrets],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _NOBODY,
                "runAsGroup": _NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "guardian",
                    "image": options.image,
                    "resources": _resources(ticket, amounts),
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def holds(guardian: Pod) -> dict[str, Quantity]:
    """What a guardian was made to hold."""
    wire = guardian.spec.containers[0].resources.requests if guardian.spec.containers else {}
    return resources.parse_list(wire)


def demand(ticket: Ticket) -> Demand:
    """What a guardian of the whole room takes of a node."""
    return Demand(node_room.amounts({**state.held(ticket), "pods": quantity.parse(1)}))


def is_gated(guardian: Pod) -> bool:
    """Says whether the guardian still waits for the room it is to take."""
    return any(gate.name == GUARDIAN_GATE for gate in guardian.spec.scheduling_gates)


def avoided(guardian: Pod) -> tuple[str, ...]:
    """The nodes that a guardian without a node cannot be taken to because they were cordoned when it was made."""
    names = guardian.metadata.annotations.get(AVOIDED_ANNOTATION, "")
    return tuple(names.split(",")) if names and not guardian.spec.node_name else ()


def fingerprint(ticket: Ticket, amounts: Mapping[str, Quantity], node: str = "") -> str:
    """Tells guardians of different sizes and places apart; whether it waits behind a gate makes no difference."""
    made: JSON = {**_scheduling(ticket, Place(node)), **_resources(ticket, amounts)}
    text = msgspec.json.encode(made, order="deterministic")
    return hashlib.sha256(text).hexdigest()[:16]


def pinned(affinity: core.Affinity | None, node: str) -> dict[str, JSON]:
    """The affinity with one more condition: that node."""
    return _narrowed(affinity, [{"key": "metadata.name", "operator": "In", "values": [node]}])


def _kept_from(affinity: core.Affinity | None, nodes: Iterable[str]) -> dict[str, JSON]:
    """The affinity with more conditions: none of these nodes. A condition on a name takes one name only."""
    fields: list[JSON] = [
        {"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in nodes
    ]
    return _narrowed(affinity, fields)


def _narrowed(affinity: core.Affinity | None, fields: list[JSON]) -> dict[str, JSON]:
    """The affinity with more conditions on fields. Terms are alternatives, so each of them gets them (K5)."""
    whole: dict[str, JSON] = codec.plain(affinity) if affinity is not None else {}
    of_nodes = _mapping(whole.get("nodeAffinity"))
    required = _mapping(of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = cast("list[dict[str, JSON]]", required.get("nodeSelectorTerms") or [{}])
    each: list[JSON] = [
        {**term, "matchFields": [*cast("list[JSON]", term.get("matchFields") or []), *fields]}
        for term in terms
    ]
    needed: JSON = {"nodeSelectorTerms": each}
    return {
        **whole,
        "nodeAffinity": {**of_nodes, "requiredDuringSchedulingIgnoredDuringExecution": needed},
    }


def _labels(ticket: Ticket) -> dict[str, str]:
    meta = ticket.metadata
    return {
        **{name: meta.labels[name] for name in _INHERITED if name in meta.labels},
        TICKET_LABEL: object_names.legal_label(meta.name),
        TICKET_UID_LABEL: meta.uid,
        ROLE_LABEL: GUARDIAN_ROLE,
        GUARDIAN_LABEL: "true",
        COMPONENT_LABEL: GUARDIAN_COMPONENT,
        "sidecar.istio.io/inject": "false",
    }


def _scheduling(ticket: Ticket, place: Place) -> dict[str, JSON]:
    spec = ticket.spec
    node = spec.node_name or place.node
    tolerations = _tolerations(spec.tolerations, place)
    said: dict[str, JSON] = {
        "schedulerName": spec.scheduler_name,
        "priorityClassName": spec.priority_class_name or GUARDIAN_PRIORITY_CLASS,
        "nodeSelector": dict(spec.node_selector),
        "tolerations": [codec.plain(each) for each in tolerations],
        "topologySpreadConstraints": [
            codec.plain(each) for each in spec.topology_spread_constraints
        ],
    }
    if node:
        said["affinity"] = pinned(spec.affinity, node)
    elif place.avoided:
        said["affinity"] = _kept_from(spec.affinity, place.avoided)
    elif spec.affinity is not None:
        said["affinity"] = codec.plain(spec.affinity)
    if place.gated:
        said["schedulingGates"] = [{"name": GUARDIAN_GATE}]
    return {name: value for name, value in said.items() if value}


def lacks_toleration(ticket: Ticket, guardian: Pod, taints: Callable[[], Iterable[str]]) -> bool:
    """Says whether the template tolerates every taint, and the guardian not all that are in the cluster now, or the barrier too."""
    if not any(map(_is_unlimited, ticket.spec.tolerations)):
        return False
    keys = {each.key for each in guardian.spec.tolerations}
    return "" in keys or not keys.issuperset(taints())


def _tolerations(wanted: Iterable[Toleration], place: Place) -> Iterator[Toleration]:
    """The template's tolerations without that of the barrier, which a guardian passes only by leave.

    One that tolerates every taint is written out: the cluster's own taints, and those that are on some node now.
    """
    for each in wanted:
        if _is_unlimited(each):
            for key in sorted({*_CLUSTER_TAINTS, *place.taints} - {HANDOVER_TAINT}):
                yield msgspec.structs.replace(each, key=key)
        elif each.key != HANDOVER_TAINT:
            yield each


def _is_unlimited(toleration: Toleration) -> bool:
    return not toleration.key and toleration.operator == "Exists"


def _resources(ticket: Ticket, amounts: Mapping[str, Quantity]) -> dict[str, JSON]:
    """Requests, and limits that are lower by what others have of the room; nothing is written as zero, or defaults would fill it in."""
    whole = state.held(ticket)
    limits = {
        name: limit - (whole.get(name, quantity.ZERO) - amounts.get(name, quantity.ZERO))
        for name, limit in resources.parse_list(ticket.spec.resources.limits).items()
    }
    wanted = {**dict.fromkeys(whole, quantity.ZERO), **amounts}
    rendered: dict[str, JSON] = {"requests": dict(resources.render(wanted))}
    if limits:
        rendered["limits"] = dict(resources.render(limits))
    return rendered


def _mapping(value: JSON) -> dict[str, JSON]:
    return dict(value) if isinstance(value, dict) else {}
